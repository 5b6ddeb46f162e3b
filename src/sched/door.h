/* Threads that are not workers come in by a door. */
#ifndef WEFT_SCHED_DOOR_H
#define WEFT_SCHED_DOOR_H

#include "sched/sched.h"

/* Opens a door to the runtime of this instance; NULL when there is none. Held until foreign_leave: short. */
struct actor *foreign_enter(unsigned instance, unsigned *door);
void foreign_leave(unsigned instance, unsigned door);
/* Gives the runtime an instance, and the generations and serial numbers that are new there: 0 or WEFT_ENOBUFS. */
int foreign_open(struct runtime *runtime);
/* Waits for those inside; others may enter. */
void foreign_settle(unsigned instance);
/* Waits for those inside; nobody enters afterwards. Not `again`: some of its threads are left behind and may still make PIDs, so no other
 * runtime gets the instance. Nothing happens the second time. */
void foreign_close(struct runtime *runtime, bool again);
/* Whether there is a runtime. */
bool foreign_any(void);

#endif
