/* Tickers: a step process that gets periodic messages (weft_every) and passes them on to a channel: a ready-made process, as a server is.
 *
 *   T1  A ticker belongs to its process and to the program. Each gives its half up when it is done with it, the second frees it. So it does not matter
 *       which is first: weft_ticker_free, or the end of the process. */
#include "base/assert.h"
#include "base/atom.h"
#include "fiber/fiber.h"
#include "life/cancel.h"
#include "sched/heed.h"
#include "sys/sys.h"

#include <weft/channel.h>
#include <weft/ticker.h>
#include <weft/time.h>

#include <string.h>

struct weft_ticker {
    weft_chan *chan;
    uint64_t first, period; /* the moment of the first tick; nanoseconds */
    weft_pid pid;
    atom_u32 halves; /* T1 */
};

static void ticker_drop(weft_ticker *ticker) {
    if (atom_sub_acqrel(&ticker->halves, 1) > 1) return; /* acqrel: the one that frees it sees what the other has done */
    weft_chan_free(ticker->chan);
    sys->free(ticker, sizeof *ticker);
}

/* ---- its process ---------------------------------------------------------------------------------------------------------------- */

enum ticker_stage { TICKER_NEW, TICKER_FIRST, TICKER_PERIODIC };
struct ticker_self {
    weft_ticker *ticker;
    enum ticker_stage stage;
};

static int ticker_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    memcpy(&((struct ticker_self *)self)->ticker, input, sizeof(weft_ticker *));
    return 0;
}

/* Asks for the first tick: not in init, because a message that came before the process is born would be lost. */
static int ticker_begin(struct ticker_self *self) {
    const weft_ticker *ticker = self->ticker;
    uint64_t now = sys->now(), left = ticker->first > now ? ticker->first - now : 0;
    self->stage = TICKER_FIRST;
    return weft_after(left, weft_self(), 0, NULL, 0, NULL);
}

/* A tick is there: WEFT_STEP_DONE if it was the last. */
static int ticker_tick(struct ticker_self *self, enum weft_status *status) {
    weft_ticker *ticker = self->ticker;
    uint64_t now = sys->now();
    weft_chan_send(ticker->chan, &now, 0); /* it is left out if there is no room */
    *status = ticker->period ? WEFT_STEP_IDLE : WEFT_STEP_DONE;
    if (!ticker->period || self->stage == TICKER_PERIODIC) return 0;
    self->stage = TICKER_PERIODIC;
    return weft_every(ticker->period, weft_self(), 0, NULL, 0, NULL);
}

static int ticker_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct ticker_self *mine = self;
    enum weft_status status = WEFT_STEP_IDLE;
    int error = mine->stage == TICKER_NEW ? ticker_begin(mine) : 0;
    for (size_t i = 0; i < count && !error && status != WEFT_STEP_DONE; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) status = WEFT_STEP_DONE;
        else if (events[i].type == WEFT_EVENT_MESSAGE) error = ticker_tick(mine, &status);
    }
    weft_out_status(out, status);
    return error;
}

static void ticker_close(void *self) {
    weft_ticker *ticker = ((struct ticker_self *)self)->ticker;
    weft_chan_close(ticker->chan);
    ticker_drop(ticker);
}

static const weft_behavior ticker_behavior = {
    .name = "ticker", .state_size = sizeof(struct ticker_self), .init = ticker_init, .step = ticker_step, .close = ticker_close};

/* ---- the program's half ------------------------------------------------------------------------------------------------------------ */

static int ticker_make(weft_runtime *runtime, uint64_t first, uint64_t period, weft_ticker **made) {
    weft_ticker *ticker = sys->alloc(sizeof *ticker);
    if (!ticker) return WEFT_ENOMEM;
    *ticker = (weft_ticker){.first = weft_in(first), .period = period};
    atom_store_rlx(&ticker->halves, 2); /* rlx: no other thread knows it */
    weft_spawn_options options = {.runtime = runtime, .input = &ticker, .input_size = sizeof ticker};
    int error = weft_chan_new(sizeof(uint64_t), 1, &ticker->chan);
    if (!error) error = weft_spawn_step(&ticker_behavior, &options, &ticker->pid);
    if (error) {
        weft_chan_free(ticker->chan);
        sys->free(ticker, sizeof *ticker);
        return error;
    }
    *made = ticker;
    return 0;
}

int weft_ticker_new(weft_runtime *runtime, uint64_t first, uint64_t period, weft_ticker **made) {
    heed(worker_here());
    struct proc *proc = guard_process(worker_here());
    fiber_keep(proc, true); /* it calls what would end a condemned process */
    int error = ticker_make(runtime, first, period, made);
    fiber_keep(proc, false);
    return error;
}

weft_chan *weft_ticker_chan(weft_ticker *ticker) { return ticker->chan; }

void weft_ticker_free(weft_ticker *ticker) {
    if (!ticker) return;
    cancel_pid(ticker->pid); /* or it has ended already */
    ticker_drop(ticker);
}
