/* (The functions are in sys/signal_handler.c.) Calls of weft in signal handlers of the program's that have interrupted weft: they are ended with a sentence.
 *
 *   H1  Something is noticed first that cannot be in order, at no cost or nearly none: a thread finds that it is at work on its own lists already
 *       (local_enter), that it holds the lock which it is to take (door_enter), or that a lock or a spin lasts for very long.
 *   H2  Only then handler_refuse looks at the thread's stack. If there is the frame of a signal handler, the program ends. If there is none it goes on:
 *       functions of the program's that weft has called, such as `release`, may call weft again.
 *   H3  Weft's own handlers (preemption) do what they may, and are left alone. */
#ifndef WEFT_BASE_HANDLER_H
#define WEFT_BASE_HANDLER_H

#include "base/config.h"

#include <stdbool.h>

#if WEFT_CHECK
static inline void handler_refuse(const char *call) { (void)call; }
#else
/* Ends the program, naming `call`, if this thread is in a signal handler of the program's. */
void handler_refuse(const char *call) __attribute__((noinline, cold));
/* Ends it in any case: a process that waits on another stack than its own. */
void handler_refuse_wait(void) __attribute__((noinline, cold, noreturn));

/* H3: this thread is in a handler of weft's. */
extern _Thread_local bool handler_is_wefts __attribute__((tls_model("initial-exec")));
#endif

#endif
