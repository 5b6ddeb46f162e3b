/* The wheel: armed timers by time. Plain data, one thread at a time (timers.c holds its lock around every call).
 *
 * Levels of slots. A slot of level 0 is 2^8 ns wide, one of level k is as wide as all of level k - 1. A timer goes to the
 * lowest level at which fewer than WHEEL_SLOTS slots lie between `base` and its own, found by counting bits, whatever
 * the number of timers. When a slot is due, and its list is neither in order nor short, it is spread over the levels below. So
 * each timer is moved once a level at most, and timers that are armed in the order in which they are due (equal timeouts)
 * not at all. Bitmaps say which slots are used: a long stretch of time without timers costs nothing.
 *
 * W1  No timer's `when` is before `base`, except in the slot of level 0 that `base` is in (armed too late). `base`
 *     never goes back.
 * W2  At each level the used slots are among the WHEEL_SLOTS that begin with the one `base` is in. So a slot stands for one
 *     interval of time only, and a circular search from there finds the earliest.
 * W3  `bound` is at most the `when` of every timer in the slot: never late. It is early only when the slot's earliest
 *     timer was cancelled while the list was out of order; spreading or sorting the slot makes it exact again.
 * W4  A slot with its `sorted` bit has its list in the order of (when, serial), and `bound` is the first one's `when`.
 * W5  `used` bits tell which slots have a list; a slot's fields are valid only with its bit. `levels` tells which words of
 *     `used` are not 0.
 * W6  `lag` is a timer of the slot's list. When one is put to the end, the timer at `lag` gets its address as `ahead` and
 *     `lag` moves on. A walk through a list prefetches `ahead`: each timer lies on another stack, and a walk that misses the
 *     cache for each in turn costs four times as much. `ahead` may point to freed memory; it is never dereferenced. */
#ifndef WEFT_TIME_WHEEL_H
#define WEFT_TIME_WHEEL_H

#include "time/timer.h"

/* WHEEL_SHORT: a slot with at most that many timers is sorted rather than spread. WHEEL_AHEAD: how many timers ahead to
 * prefetch. */
#if WEFT_CHECK
enum { WHEEL_GRANULE_BITS = 0, WHEEL_DIGIT_BITS = 1, WHEEL_LEVELS = 5, WHEEL_SHORT = 1, WHEEL_AHEAD = 1 };
#else
enum { WHEEL_GRANULE_BITS = 8, WHEEL_DIGIT_BITS = 6, WHEEL_LEVELS = 10, WHEEL_SHORT = 8, WHEEL_AHEAD = 12 };
_Static_assert(WHEEL_GRANULE_BITS + WHEEL_DIGIT_BITS * WHEEL_LEVELS >= 64, "every time has a slot");
#endif
enum { WHEEL_SLOTS = 1 << WHEEL_DIGIT_BITS };

struct wheel_slot {
    struct timer *first, *last;
    struct timer *lag; /* about WHEEL_AHEAD places before `last` */
    uint64_t bound;
};

struct wheel {
    uint64_t base;
    uint64_t levels;
    uint32_t serial; /* the next timer's */
    uint64_t used[WHEEL_LEVELS];
    uint64_t sorted[WHEEL_LEVELS];
    struct wheel_slot slots[WHEEL_LEVELS * WHEEL_SLOTS]; /* all of level 0, then all of level 1 … */
};

/* Makes it empty; a good `now` saves moving the first timers through the levels. */
void wheel_init(struct wheel *wheel, uint64_t now);

/* timer->when is set and not SYS_FOREVER. */
void wheel_add(struct wheel *wheel, struct timer *timer);
/* Returns what the slot's bound was, or SYS_FOREVER if that has not changed: only if it was the earliest can wheel_bound have changed. */
uint64_t wheel_remove(struct wheel *wheel, struct timer *timer);

/* No timer is due before this; SYS_FOREVER when there is none. */
uint64_t wheel_bound(const struct wheel *wheel);

/* Takes out the earliest timer, if it is due, and of several with the same time the one armed first. Else NULL, and then
 * wheel_bound is after `now`; or NULL with *moves 0: it had to move more timers between slots than *moves allowed, which
 * it counts down, and has to be called again. */
struct timer *wheel_pop(struct wheel *wheel, uint64_t now, unsigned *moves);

/* Moves all timers of `from` to `to`. Equal times keep their order within each of the two. Calls `moved` for each. */
void wheel_move(struct wheel *to, struct wheel *from, void (*moved)(struct timer *timer, void *arg), void *arg);

#endif
