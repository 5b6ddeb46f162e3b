/* Detects a call of weft from a signal handler of the program that has interrupted weft, and ends the program with a message. (The
 * functions are in sys/signal_handler.c.)
 *
 *   H1  The first suspicion costs nothing, or nearly nothing: a thread finds that it is already changing its own lists (local_enter), that
 *       it holds the lock which it is about to take (door_enter), or that a lock or a spin lasts for very long.
 *   H2  Only then handler_refuse searches the thread's stack. If it finds the frame of a signal handler, the program ends. If not, the
 *       call goes on: upcalls such as `release` may call weft again.
 *   H3  Weft's own handlers (preemption) call only what they may, and are not refused. */
#ifndef WEFT_BASE_HANDLER_H
#define WEFT_BASE_HANDLER_H

#include "base/config.h"

#include <stdbool.h>

#if WEFT_CHECK
static inline void handler_refuse(const char *call) { (void)call; }
#else
/* Ends the program, naming `call`, if this thread is in a signal handler of the program. */
void handler_refuse(const char *call) __attribute__((noinline, cold));
/* Ends the program in any case: a process would wait on a stack that is not its own. */
void handler_refuse_wait(void) __attribute__((noinline, cold, noreturn));

/* H3: this thread is in one of weft's own handlers. */
extern _Thread_local bool handler_is_wefts __attribute__((tls_model("initial-exec")));
#endif

#endif
