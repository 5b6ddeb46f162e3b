/* Calls of weft in a forked child. The child has one thread, the one that forked, and a copy of a runtime whose other threads do not
 * exist there. Nothing of the copy can be used: locks may be held by threads that do not exist, and no thread runs processes. So in the
 * child every weft call that has to do with processes or runtimes aborts and says which; exec and _exit work, and that is what fork is
 * for in a program with threads.
 *
 * In the child the thread that forked drives no worker, so its calls take the path of the program's own threads, and the check is made
 * there: calls from a process pay nothing for it. */
#ifndef WEFT_SCHED_ATFORK_H
#define WEFT_SCHED_ATFORK_H

#include "base/atom.h"

#include <stdbool.h>

#if WEFT_CHECK
static inline void atfork_check(const char *call) { (void)call; }
static inline void atfork_register(void) {}
#else
extern atom_bool atfork_is_child;
/* The thread is in fork, which holds all locks of malloc meanwhile: its process is not stopped there (preempt/preempt.c). With one that was, no thread could be made to run others: the thread maker
 * waited for such a lock. */
extern _Thread_local bool atfork_forks __attribute__((tls_model("initial-exec")));
void atfork_refuse(const char *call) __attribute__((noreturn, cold));
/* At the beginning of calls by threads that drive no worker. */
static inline void atfork_check(const char *call) {
    if (__builtin_expect(atom_load_rlx(&atfork_is_child), 0)) atfork_refuse(call); /* rlx: written by the child's only thread */
}
/* Before the first runtime starts. */
void atfork_register(void);
#endif

#endif
