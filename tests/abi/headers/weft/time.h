/* Time: sleeping until a moment of the monotonic clock, and messages that are sent later. */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <weft/process.h>

WEFT_BEGIN

#define WEFT_MICROSECOND UINT64_C(1000)
#define WEFT_MILLISECOND UINT64_C(1000000)
#define WEFT_SECOND UINT64_C(1000000000)

/* weft_now() + nanoseconds, or WEFT_FOREVER where that would be too much. */
WEFT_API uint64_t weft_in(uint64_t nanoseconds);

/* Waits, in a stackful process. 0 when the moment has come, or WEFT_ECANCELED: a cancelled process does not sleep, and is told so even when
 * the moment has come already. */
WEFT_API int weft_sleep(uint64_t nanoseconds);
WEFT_API int weft_sleep_until(uint64_t moment);

/* A message that is sent later; its sender may have ended by then. */
typedef struct weft_timer {
    void *place;
    uint64_t serial;
} weft_timer;

/* From processes of both kinds and from threads that are not workers. The data is copied. 0 and *timer (may be NULL), or WEFT_EFOREIGN,
 * WEFT_ENOMEM. If the receiver has ended when the time has come, the message is dropped. Such messages reach one receiver in the order of
 * their times, and with equal times in that of these calls. */
WEFT_API int weft_after(uint64_t nanoseconds, weft_pid to, uint64_t tag, const void *data, size_t size, weft_timer *timer);
/* The same again and again, every `period` nanoseconds, until it is cancelled or the receiver has ended. A period that was missed, because
 * all workers were busy, is left out. WEFT_EINVAL: a period of 0. */
WEFT_API int weft_every(uint64_t period, weft_pid to, uint64_t tag, const void *data, size_t size, weft_timer *timer);
/* From anywhere. 0: it was pending, and nothing will be sent any more. WEFT_ENOENT: it has been sent, or cancelled, already. */
WEFT_API int weft_timer_cancel(weft_timer timer);

WEFT_END

#endif
