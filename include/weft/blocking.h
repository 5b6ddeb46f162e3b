/* Calls that block their thread, from a stackful process.
 *
 * The process keeps its thread and does not move. If the call is short nothing else happens; if it lasts, the worker is given to another
 * thread and the other processes go on. Inside such a call no other weft call may be made but those that any thread may make. */
#ifndef WEFT_BLOCKING_H
#define WEFT_BLOCKING_H

#include <weft/api.h>

WEFT_BEGIN

/* Calls fn(arg). */
WEFT_API void weft_blocking(void (*fn)(void *arg), void *arg);
/* The same for what is known to take long (100 microseconds and more): the worker is given away at once. */
WEFT_API void weft_blocking_long(void (*fn)(void *arg), void *arg);

/* The same around code of one's own: everything between the two blocks. They nest. */
WEFT_API void weft_blocking_enter(void);
WEFT_API void weft_blocking_enter_long(void);
WEFT_API void weft_blocking_leave(void);

WEFT_END

#endif
