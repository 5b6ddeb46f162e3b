/* A program that forks while a runtime lives: the child has one thread, the one that forked, and a picture of a runtime whose other threads do not
 * exist there. Nothing of it can be used: locks may be held by nobody, and nobody runs anybody. So in the child every weft call that has to do
 * with processes or runtimes aborts and says which; exec and _exit work, and that is what fork is for in a program with threads.
 *
 * The thread that forked is not a worker's in the child, so calls take the way of threads of the program's own, and the question is asked
 * there: where a process runs it costs nothing. */
#ifndef WEFT_SCHED_ATFORK_H
#define WEFT_SCHED_ATFORK_H

#include "base/atom.h"

#if WEFT_CHECK
static inline void atfork_check(const char *call) { (void)call; }
static inline void atfork_register(void) {}
#else
extern atom_bool atfork_is_child;
void atfork_refuse(const char *call) __attribute__((noreturn, cold));
/* Where a thread that is no worker's calls something. */
static inline void atfork_check(const char *call) {
    if (__builtin_expect(atom_load_rlx(&atfork_is_child), 0)) atfork_refuse(call); /* rlx: written by the child's only thread */
}
/* Before the first runtime starts. */
void atfork_register(void);
#endif

#endif
