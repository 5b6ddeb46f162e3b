/* The thread sanitizer keeps signals back until their thread is in a function of the C library that it knows. It does not know syscall, by
 * which weft's threads wait. So their waits are short there, and after each such a function is called. Nothing in other builds. */
#ifndef WEFT_SYS_DELAYED_SIGNALS_H
#define WEFT_SYS_DELAYED_SIGNALS_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

#if defined(__SANITIZE_THREAD__) && !WEFT_CHECK
#define DELAYED_SIGNALS 1
#elif defined(__has_feature) && !WEFT_CHECK
#if __has_feature(thread_sanitizer)
#define DELAYED_SIGNALS 1
#endif
#endif
#ifndef DELAYED_SIGNALS
#define DELAYED_SIGNALS 0
#endif

enum { DELAYED_SIGNALS_NS = 10000000 }; /* a signal that comes just before a wait is handled so much later at most */

/* Runs the handlers of what was kept back. May change errno. */
static inline void delayed_signals_run(void) {
    if (DELAYED_SIGNALS) poll(NULL, 0, 0);
}

#endif
