/* Time: waiting for a moment of the monotonic clock. */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <weft/runtime.h>

WEFT_BEGIN

#define WEFT_MICROSECOND UINT64_C(1000)
#define WEFT_MILLISECOND UINT64_C(1000000)
#define WEFT_SECOND UINT64_C(1000000000)

/* weft_now() + nanoseconds, or WEFT_FOREVER where that would be too much. */
WEFT_API uint64_t weft_in(uint64_t nanoseconds);

/* Waits, in a stackful process. 0 when the moment has come, or WEFT_ECANCELED. */
WEFT_API int weft_sleep(uint64_t nanoseconds);
WEFT_API int weft_sleep_until(uint64_t moment);

WEFT_END

#endif
