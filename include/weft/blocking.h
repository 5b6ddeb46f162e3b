/* Calls that block their thread, from a stackful process.
 *
 * The process keeps its thread and does not move. If the call is short nothing else happens; if it lasts, the worker is given to another
 * thread and the other processes go on. Inside such a call no other weft call may be made but those that any thread may make: weft_self is
 * WEFT_NOBODY there.
 *
 * The function is called on the process's own stack. For a library that needs more than the 64 KiB of most processes: stack_size of the spawn options, or
 * weft_call_big (weft/stack.h).
 *
 * If other processes are pinned to the thread (weft/stack.h), they keep it: the process makes its call on another thread. A process that
 * needs its own thread in the call pins itself; other processes pinned to the same thread then wait for the call, unless it is made by
 * weft_blocking_until. */
#ifndef WEFT_BLOCKING_H
#define WEFT_BLOCKING_H

#include <weft/api.h>
#include <weft/errors.h>

#include <stdint.h>

WEFT_BEGIN

/* Calls fn(arg), and returns 0. (A C++ exception that leaves fn goes on in the caller.) Nothing can stop fn: a process that is cancelled
 * meanwhile, or was before, gets WEFT_ECANCELED instead of 0 when fn has returned. At the limit of threads (weft_config.max_threads) none
 * is left to run the other processes if the call lasts, so they wait until a thread is back; or, with at_max_threads "error", fn is not
 * called and the result is WEFT_EAGAIN. */
WEFT_API int weft_blocking(void (*fn)(void *arg), void *arg);
/* The same for calls that are known to take long (100 microseconds and more): the worker is given away at once. */
WEFT_API int weft_blocking_long(void (*fn)(void *arg), void *arg);

/* The same for calls that can be abandoned: fn(arg) is called on another thread, with 256 KiB of stack or more, and the process waits as in any other call, until the
 * deadline and unless it is cancelled. 0: fn has returned, and arg is the caller's as before. Any other result is returned at once:
 * WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_EAGAIN as above, WEFT_ENOMEM, WEFT_ENOSTACK...; then abandoned(arg), which must not be NULL, is
 * called once, to free what is there: on fn's thread when fn returns, or in this call if fn has not begun. A runtime that stops waits for
 * fn. */
WEFT_API int weft_blocking_until(void (*fn)(void *arg), void *arg, void (*abandoned)(void *arg), uint64_t deadline);

/* The same around the caller's own code: everything between the two may block. They nest. At the limit of threads other processes wait.
 * A process that was killed ends in the first and not in the second: weft/life.h. */
WEFT_API void weft_blocking_enter(void);
WEFT_API void weft_blocking_enter_long(void);
WEFT_API void weft_blocking_leave(void);

WEFT_END

#endif
