/* What signal handlers have for a runtime. A handler may have interrupted anything, so it leaves what it has in the runtime's list
 * (queue/posts.h) and wakes sysmon, a thread that no handler can find in the middle of a weft call on its own behalf; that one sends.
 *
 *   operation       who may call
 *   post_put        any thread, any signal handler
 *   post_deliver    sysmon; and whoever stops the runtime, when sysmon has gone
 *   post_open       the thread that starts sysmon, when it runs
 *   post_close      the thread that stops it, before it does */
#ifndef WEFT_MAIL_POST_H
#define WEFT_MAIL_POST_H

#include "sched/runtime.h"

void post_open(struct runtime *runtime);
void post_close(struct runtime *runtime);
/* Whether there is a runtime of this instance that takes posts; a look in passing. */
bool post_is_open(unsigned instance);
/* An entry of the caller's own, which is not in any list. False: there is no such runtime. */
bool post_put(unsigned instance, struct posted *posted);
/* A watched signal may wake a process, or none may any more: for deadlock.c. `by`: 1 or -1 as unsigned. */
void post_expect(unsigned instance, uint32_t by);

#endif
