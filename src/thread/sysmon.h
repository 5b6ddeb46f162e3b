/* Sysmon: the thread that looks after workers which cannot look after themselves. */
#ifndef WEFT_THREAD_SYSMON_H
#define WEFT_THREAD_SYSMON_H

#include "sched/sched.h"

int sysmon_start(struct runtime *runtime);
void sysmon_stop(struct runtime *runtime);
/* Ends its nap, if it naps for long: by a thread that will be stuck in a call, when no worker is idle. */
void sysmon_hurry(struct runtime *runtime);

#endif
