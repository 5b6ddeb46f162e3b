/* Catches a misuse: a duration that is passed as a deadline. The call aborts, by name. A deadline is a moment of the monotonic clock, which begins when the machine starts: 1,000,000,000, meant as "one
 * second from now", is the moment one second after that. It has passed, and the call would time out at once, always.
 *
 * A deadline in the first half of the time between the machine's start and the program's is regarded as a mistaken duration. A moment that the program, or another
 * program before it, has computed from the clock is later than that, even if it passed long ago. 0 is no duration: it means that the call does not wait.
 *
 * Caller: a call whose deadline has passed, before it says so. A call that need not wait does not ask. */
#ifndef WEFT_SYS_DEADLINE_H
#define WEFT_SYS_DEADLINE_H

#include "base/config.h"

#include <stdint.h>

#if WEFT_CHECK
static inline void deadline_check(uint64_t deadline, const char *call) { (void)deadline, (void)call; } /* the checker's clock begins at 0 */
#else
/* What is earlier is a duration. Written when the library is loaded. */
extern uint64_t deadline_earliest;
/* Aborts, naming the call; returns if the clock is not the machine's own (a test's, a simulation's). */
void deadline_refuse(const char *call) __attribute__((noinline, cold));

static inline void deadline_check(uint64_t deadline, const char *call) {
    if (__builtin_expect(deadline < deadline_earliest && deadline != 0, 0)) deadline_refuse(call);
}
#endif

#endif
