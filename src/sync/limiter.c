/* The rate limiter behind weft/sync.h: one word, the moment at which all `burst` permits will be there again. Taking one moves it on by `each`. A caller
 * whose permits are not there yet takes them all the same, and sleeps until they have come. So callers are served in the order in which they moved that word.
 *
 * A permit need not take whole nanoseconds. The fractions of those that were taken are summed up; when they make a nanosecond it is added to the moment,
 * at the expense of the next caller. */
#include "sys/deadline.h"
#include "wait/wait.h"

#include <weft/sync.h>

struct limiter {
    atom_u64 full;        /* rlx everywhere: a number that orders nothing else */
    uint64_t each, saved; /* nanoseconds that a permit takes to come, and all `burst` */
    uint64_t part;        /* and 2^-32 ns, below 2^32 */
    atom_u64 parts;       /* of the permits that were taken; rlx, and the lower half alone counts */
};
_Static_assert(sizeof(struct limiter) <= sizeof(weft_limiter), "the public struct has room");

/* The most nanoseconds that anything here takes: sums do not overflow. */
#define LIMITER_MOST (UINT64_MAX / 4)

static struct limiter *limiter_of(weft_limiter *limiter) { return (struct limiter *)(void *)limiter; }

void weft_limiter_init(weft_limiter *opaque, uint32_t permits, uint64_t period, uint32_t burst) {
    struct limiter *limiter = limiter_of(opaque);
    uint64_t each = permits ? period / permits : 0;
    if (each == 0 || burst == 0 || each > LIMITER_MOST / burst)
        WEFT_REFUSE("weft_limiter_init", "a rate of 0, or above a thousand million a second, or no burst",
                    "give permits and a burst from 1 on");
    uint64_t rest = period % permits;
    *limiter = (struct limiter){.each = each, .saved = each * burst + rest * burst / permits, .part = (rest << 32) / permits};
}

static void limiter_sum_up(struct limiter *limiter, uint32_t parts) {
    if (parts && (uint32_t)atom_add_rlx(&limiter->parts, parts) + (uint64_t)parts > UINT32_MAX) atom_add_rlx(&limiter->full, 1);
}

/* The moment at which the permits are there, from which on they are the caller's; or WEFT_FOREVER: that is after `latest`, and nothing was taken. */
static uint64_t limiter_reserve(struct limiter *limiter, uint64_t cost, uint64_t now, uint64_t latest) {
    uint64_t full = atom_load_rlx(&limiter->full), next, moment;
    do {
        next = (full > now ? full : now) + cost;
        moment = next > limiter->saved ? next - limiter->saved : 0;
        if (moment > latest || next > 2 * LIMITER_MOST) return WEFT_FOREVER;
    } while (!atom_cas_rlx_rlx(&limiter->full, &full, next));
    return moment;
}

/* It has to wait. */
static int limiter_wait(struct limiter *limiter, uint64_t cost, uint64_t moment) {
    struct wait wait;
    wait_begin(&wait);
    wait.about = limiter;
    int why = wait_for(&wait, moment, "weft_limiter_take");
    if (why == WEFT_ETIMEDOUT) return 0;
    atom_sub_rlx(&limiter->full, cost);
    return why;
}

int weft_limiter_take(weft_limiter *opaque, uint32_t permits, uint64_t deadline) {
    struct limiter *limiter = limiter_of(opaque);
    if (limiter->each == 0) WEFT_REFUSE("weft_limiter_take", "the limiter has no rate", "call weft_limiter_init first");
    fiber_spend(worker_here(), deadline);
    uint64_t parts = limiter->part * permits, now = sys->now(), cost = limiter->each * permits + (parts >> 32);
    if (__builtin_expect(permits > LIMITER_MOST / limiter->each, 0)) return wait_late(); /* they would take centuries */
    uint64_t moment = limiter_reserve(limiter, cost, now, deadline > now ? deadline : now);
    if (moment == WEFT_FOREVER && deadline <= now) deadline_check(deadline, "weft_limiter_take");
    if (moment == WEFT_FOREVER) return wait_late();
    limiter_sum_up(limiter, (uint32_t)parts);
    return moment <= now ? 0 : limiter_wait(limiter, cost, moment);
}
