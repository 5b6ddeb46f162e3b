/* Threads that are not workers come in by a door. */
#ifndef WEFT_SCHED_DOOR_H
#define WEFT_SCHED_DOOR_H

#include "sched/sched.h"

/* Opens a door to the runtime of this instance; NULL when there is none. Held until door_leave: short. */
struct local *door_enter(unsigned instance, unsigned *door);
void door_leave(unsigned instance, unsigned door);
/* Gives the runtime an instance, and the generations and serial numbers that are new there: 0 or WEFT_ENOBUFS. */
int door_open(struct runtime *runtime);
/* Waits for those inside; others may enter. */
void door_settle(unsigned instance);
/* Waits for those inside; nobody enters afterwards. Not `again`: some of its threads are left behind and may still make PIDs, so no other
 * runtime gets the instance. Nothing happens the second time. */
void door_close(struct runtime *runtime, bool again);
/* Whether there is a runtime. */
bool door_any(void);

#endif
