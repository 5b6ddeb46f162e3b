/* Sysmon's part of packing (fiber/pack.h): it asks processes that have waited for a while to pack themselves. */
#ifndef WEFT_THREAD_SYSMON_PACK_H
#define WEFT_THREAD_SYSMON_PACK_H

#include "sched/sched.h"

/* Begins a look at all processes; pack_slice goes on with it. */
void pack_survey(struct runtime *runtime);
void pack_slice(struct runtime *runtime, uint64_t now);
/* All workers are asleep, and were so for a while, but for moments that sysmon has not seen: asks every process that was not asked in vain before. True: some were
 * asked, or have begun to wait too late for that: sysmon must not sleep yet. */
bool pack_asleep(struct runtime *runtime);

#endif
