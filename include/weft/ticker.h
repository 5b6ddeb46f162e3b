/* Timers and tickers as channels, for weft_select and for loops that receive.
 *
 *     weft_ticker *ticker;
 *     weft_ticker_new(NULL, WEFT_SECOND, WEFT_SECOND, &ticker);
 *     while (weft_chan_recv(weft_ticker_chan(ticker), NULL, WEFT_FOREVER) == 0)
 *         ...;                                                                 once a second, until it is cancelled
 *     weft_ticker_free(ticker);
 *
 * (weft_after and weft_every, weft/time.h, send messages instead.) */
#ifndef WEFT_TICKER_H
#define WEFT_TICKER_H

#include <weft/channel.h>

WEFT_BEGIN

typedef struct weft_ticker weft_ticker;

/* Ticks in `first` nanoseconds, and every `period` nanoseconds from then on; a period of 0: once. In `runtime`; NULL: the caller's own, inside a process. From processes
 * of both kinds and from threads. 0 and *ticker, or WEFT_ENOMEM, WEFT_ENOTINSIDE, WEFT_ESTOPPING, and whatever else spawning a step process returns. When its
 * runtime is stopped, it ticks no more, and its channel is closed. */
WEFT_API int weft_ticker_new(weft_runtime *runtime, uint64_t first, uint64_t period, weft_ticker **ticker);
/* Its channel, as long as the ticker is not freed. Each element is a uint64_t: the moment of the tick (weft_now()). It holds one tick; while that has
 * not been received, further ones are left out. One that ticks once closes its channel behind the tick. */
WEFT_API weft_chan *weft_ticker_chan(weft_ticker *ticker);
/* No more ticks; when no process or thread uses its channel any more. From anywhere, and also when its runtime has been stopped. NULL: nothing happens. */
WEFT_API void weft_ticker_free(weft_ticker *ticker);

WEFT_END

#endif
