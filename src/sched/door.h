/* Doors: how a thread that drives no worker enters a runtime to send, spawn or cancel. */
#ifndef WEFT_SCHED_DOOR_H
#define WEFT_SCHED_DOOR_H

#include "sched/sched.h"

/* Takes the calling thread's door to the runtime of this instance; NULL when there is none. Held until door_leave: short. */
struct local *door_enter(unsigned instance, unsigned *door);
/* For a dump, without waiting: keeps the runtime by any door that is free. NULL: there is no runtime, or all doors are in use. Left by door_leave. */
struct runtime *door_hold(unsigned instance, unsigned *door);
void door_leave(unsigned instance, unsigned door);
/* Gives the runtime an instance, and the generations and serial numbers that are new there: 0 or WEFT_ENOBUFS. */
int door_open(struct runtime *runtime);
/* Waits until every thread that is behind a door has left it; other threads may enter meanwhile. */
void door_settle(unsigned instance);
/* Waits until every thread has left its door; no thread enters afterwards. Not `again`: some threads of the runtime are left behind and
 * may still make PIDs, so no other runtime gets the instance. A second call does nothing. */
void door_close(struct runtime *runtime, bool again);
/* The runtime that has the instance; NULL: none has. */
struct runtime *door_runtime(unsigned instance);
/* Whether there is any runtime. */
bool door_any(void);

#endif
