/* Posts: what signal handlers leave for a runtime, mostly messages to processes. A handler may have interrupted anything, so it only puts
 * an entry into the runtime's list (queue/posts.h) and wakes sysmon, which is not in the middle of a weft call: sysmon delivers the entries
 * (posts_deliver), and when it has gone the thread that stops the runtime delivers the last ones.
 *
 *   operation       caller
 *   post_put        any thread, any signal handler
 *   post_open       the thread that starts sysmon, once sysmon runs
 *   post_close      the thread that stops it, before it does */
#ifndef WEFT_MAIL_POST_H
#define WEFT_MAIL_POST_H

#include "sched/runtime.h"

void post_open(struct runtime *runtime);
void post_close(struct runtime *runtime);
#if WEFT_SIM
/* Of a runtime whose machine has crashed. False: a thread is inside, or was when the machine crashed; then it stays open. */
bool post_close_if_empty(const struct runtime *runtime);
#endif
/* Whether there is a runtime of this instance that takes posts. A racy read; the answer is a hint. */
bool post_is_open(unsigned instance);
/* Puts in an entry of the caller's own, which must not be in any list. False: there is no such runtime. */
bool post_put(unsigned instance, struct posted *posted);
/* Counts the watched signals that may wake a process, for deadlock.c. `by`: 1 or -1 as unsigned. */
void post_expect(unsigned instance, uint32_t by);

#endif
