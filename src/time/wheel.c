/* The timer wheel: see time/wheel.h. */
#include "time/wheel.h"

#include <stddef.h>

/* A slot by level and number. */
struct wheel_where {
    unsigned level, digit;
};

static unsigned wheel_shift(unsigned level) { return WHEEL_GRANULE_BITS + level * WHEEL_DIGIT_BITS; }
static unsigned wheel_digit(uint64_t at, unsigned level) { return (unsigned)(at >> wheel_shift(level)) & (WHEEL_SLOTS - 1); }

static unsigned wheel_number(unsigned level, unsigned digit) { return level * WHEEL_SLOTS + digit; }
static struct wheel_slot *wheel_slot_at(struct wheel *wheel, struct wheel_where at) {
    return &wheel->slots[wheel_number(at.level, at.digit)];
}

/* Serial numbers wrap around: right as long as fewer than 2^31 timers were armed in between. */
static bool wheel_older(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }

/* The order in which timers fire. Without a branch: times that are armed at random would be guessed wrong every second time, 3 ns. */
static bool wheel_before(const struct timer *a, const struct timer *b) {
    return (a->when < b->when) | ((a->when == b->when) & wheel_older(a->serial, b->serial));
}

void wheel_init(struct wheel *wheel, uint64_t now) {
    wheel->base = now;
    wheel->serial = 0;
    wheel->levels = 0;
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        wheel->used[level] = wheel->sorted[level] = 0;
}

/* ---- In and out of slots --------------------------------------------------------------------------------------- */

/* The lowest level whose window (W2) reaches `at`, which is not before `base`. */
static unsigned wheel_level(uint64_t base, uint64_t at) {
    uint64_t granules = (at - base) >> WHEEL_GRANULE_BITS;
    unsigned bits = 63 - (unsigned)__builtin_clzll(granules | 1);
    unsigned level = bits / WHEEL_DIGIT_BITS;
    /* At this level `base` and `at` are at most WHEEL_SLOTS slots apart, which may be one too many. */
    unsigned shift = wheel_shift(level);
    return level + ((at >> shift) - (base >> shift) >= WHEEL_SLOTS);
}

/* Puts a timer, which has its serial number, to the end of its slot. */
static void wheel_place(struct wheel *wheel, struct timer *timer) {
    uint64_t at = timer->when > wheel->base ? timer->when : wheel->base; /* W1: too late, but not lost */
    unsigned level = wheel_level(wheel->base, at), digit = wheel_digit(at, level);
    WEFT_ASSERT(level < WHEEL_LEVELS, "no level reaches %llu", (unsigned long long)at);
    unsigned number = wheel_number(level, digit);
    struct wheel_slot *slot = &wheel->slots[number];
    uint64_t bit = UINT64_C(1) << digit;
    timer->slot = (uint16_t)number;
    timer->next = timer->ahead = NULL;
    if (!(wheel->used[level] & bit)) {
        wheel->levels |= UINT64_C(1) << level;
        wheel->used[level] |= bit;
        wheel->sorted[level] |= bit;
        timer->prev = NULL;
        timer->gap = 0;
        slot->first = slot->last = slot->lag = timer;
        slot->bound = timer->when;
        return;
    }
    struct timer *last = slot->last;
    wheel->sorted[level] &= ~((uint64_t)wheel_before(timer, last) << digit); /* W4 */
    if (timer->when < slot->bound) slot->bound = timer->when;
    timer->prev = last;
    last->next = timer;
    slot->last = timer;
    if (last->gap < WHEEL_AHEAD) {
        timer->gap = last->gap + 1;
        return;
    }
    timer->gap = WHEEL_AHEAD;
    slot->lag->ahead = timer; /* W6 */
    slot->lag = slot->lag->next;
}

static void wheel_empty(struct wheel *wheel, unsigned level, unsigned digit) {
    wheel->used[level] &= ~(UINT64_C(1) << digit);
    if (wheel->used[level] == 0) wheel->levels &= ~(UINT64_C(1) << level);
}

void wheel_add(struct wheel *wheel, struct timer *timer) {
    timer->serial = wheel->serial++;
    wheel_place(wheel, timer);
}

uint64_t wheel_remove(struct wheel *wheel, struct timer *timer) {
    unsigned number = timer->slot, level = number / WHEEL_SLOTS, digit = number % WHEEL_SLOTS;
    struct wheel_slot *slot = &wheel->slots[number];
    struct timer *next = timer->next, *prev = timer->prev;
    uint64_t bound = SYS_FOREVER;
    if (!prev && !next) { /* W5: the slot's fields need not be valid any more */
        wheel_empty(wheel, level, digit);
        return slot->bound;
    }
    if (timer == slot->lag) slot->lag = next ? next : prev; /* W6 */
    if (next) next->prev = prev;
    else slot->last = prev;
    if (prev) prev->next = next;
    else slot->first = next;
    if (!prev && wheel->sorted[level] >> digit & 1) { /* W4; of a list out of order the bound stays, W3 */
        bound = slot->bound;
        slot->bound = next->when;
    }
    return bound;
}

/* ---- The earliest slot ----------------------------------------------------------------------------------------- */

/* The first used slot of a level that is in use, by time (W2). */
static unsigned wheel_first_digit(const struct wheel *wheel, unsigned level) {
    unsigned from = wheel_digit(wheel->base, level);
    uint64_t used = wheel->used[level];
    uint64_t ahead = used >> from; /* slots from `base` on come before those that wrapped around */
    return ahead ? from + (unsigned)__builtin_ctzll(ahead) : (unsigned)__builtin_ctzll(used);
}

uint64_t wheel_bound(const struct wheel *wheel) {
    uint64_t bound = SYS_FOREVER;
    for (uint64_t levels = wheel->levels; levels; levels &= levels - 1) {
        unsigned level = (unsigned)__builtin_ctzll(levels);
        uint64_t found = wheel->slots[wheel_number(level, wheel_first_digit(wheel, level))].bound;
        if (found < bound) bound = found;
    }
    return bound;
}

/* With equal bounds, a slot out of order comes first, since it may hold anything; then the slot whose first timer was armed first. */
static bool wheel_slot_before(struct wheel *wheel, struct wheel_where a, struct wheel_where b) {
    const struct wheel_slot *slot_a = wheel_slot_at(wheel, a), *slot_b = wheel_slot_at(wheel, b);
    if (slot_a->bound != slot_b->bound) return slot_a->bound < slot_b->bound;
    if (!(wheel->sorted[a.level] >> a.digit & 1)) return true;
    if (!(wheel->sorted[b.level] >> b.digit & 1)) return false;
    return wheel_older(slot_a->first->serial, slot_b->first->serial);
}

/* The slot with the earliest bound; there is one. Slots of different levels overlap in time, so every level is looked at. */
static struct wheel_where wheel_earliest(struct wheel *wheel) {
    uint64_t levels = wheel->levels;
    unsigned level = (unsigned)__builtin_ctzll(levels);
    struct wheel_where best = {level, wheel_first_digit(wheel, level)};
    while (levels &= levels - 1) {
        level = (unsigned)__builtin_ctzll(levels);
        struct wheel_where other = {level, wheel_first_digit(wheel, level)};
        if (wheel_slot_before(wheel, other, best)) best = other;
    }
    return best;
}

/* ---- Putting a slot in order ------------------------------------------------------------------------------------ */

/* Both by `next` only, in order, not empty. */
static struct timer *wheel_merge(struct timer *a, struct timer *b) {
    struct timer *first, **end = &first;
    while (a && b) {
        struct timer **from = wheel_before(b, a) ? &b : &a;
        *end = *from;
        end = &(*from)->next;
        *from = *end;
    }
    *end = a ? a : b;
    return first;
}

/* Cuts off the part at the front of *list that is in order. */
static struct timer *wheel_run(struct timer **list) {
    struct timer *first = *list, *last = first;
    while (last->next && !wheel_before(last->next, last))
        last = last->next;
    *list = last->next;
    last->next = NULL;
    return first;
}

/* Natural merge sort: a list in order costs one walk. runs[i] is the merger of 2^i runs. */
static void wheel_sort(struct wheel *wheel, struct wheel_where at) {
    struct wheel_slot *slot = wheel_slot_at(wheel, at);
    struct timer *runs[32], *list = slot->first;
    uint64_t count = 0, i;
    for (; list; count++) {
        struct timer *run = wheel_run(&list);
        for (i = 0; count >> i & 1; i++)
            run = wheel_merge(runs[i], run);
        runs[i] = run;
    }
    i = (uint64_t)__builtin_ctzll(count);
    list = runs[i];
    while (count >> ++i)
        if (count >> i & 1) list = wheel_merge(runs[i], list);
    slot->first = list;
    slot->bound = list->when;
    for (list->prev = NULL; list->next; list = list->next)
        list->next->prev = list;
    slot->last = list;
    slot->lag = slot->first;
    wheel->sorted[at.level] |= UINT64_C(1) << at.digit;
}

static bool wheel_short(const struct wheel_slot *slot) {
    const struct timer *timer = slot->first;
    for (unsigned i = 0; i < WHEEL_SHORT && timer; i++)
        timer = timer->next;
    return !timer;
}

/* Sorts the earliest slot, which is out of order, or spreads it over lower levels; or spreads a part of it, when *moves does
 * not allow for more. What is left keeps its bound and is still the earliest. */
static void wheel_order(struct wheel *wheel, struct wheel_where at, unsigned *moves) {
    struct wheel_slot *slot = wheel_slot_at(wheel, at);
    if (at.level == 0 || wheel_short(slot)) {
        wheel_sort(wheel, at);
        return;
    }
    /* No timer is before this bound, so `base` may go there (W1), into the slot, and every timer finds a lower level. */
    WEFT_ASSERT(slot->bound >= wheel->base, "a slot that has passed is in use");
    wheel->base = slot->bound;
    struct timer *timer = slot->first, *next;
    for (; timer && *moves; timer = next, --*moves) {
        next = timer->next;
        if (timer == slot->lag) slot->lag = next; /* W6 */
        __builtin_prefetch(timer->ahead, 1);
        wheel_place(wheel, timer);
    }
    slot->first = timer;
    if (timer) timer->prev = NULL;
    else wheel_empty(wheel, at.level, at.digit);
}

struct timer *wheel_pop(struct wheel *wheel, uint64_t now, unsigned *moves) {
    while (wheel->levels) {
        struct wheel_where at = wheel_earliest(wheel);
        struct wheel_slot *slot = wheel_slot_at(wheel, at);
        if (slot->bound > now) break;
        if (wheel->sorted[at.level] >> at.digit & 1) {
            struct timer *timer = slot->first;
            __builtin_prefetch(timer->ahead, 1);
            wheel_remove(wheel, timer);
            return timer;
        }
        if (*moves == 0) return NULL;
        wheel_order(wheel, at, moves);
    }
    if (now > wheel->base) wheel->base = now; /* nothing is due: W1 */
    return NULL;
}

void wheel_move(struct wheel *to, struct wheel *from, void (*moved)(struct timer *timer, void *arg), void *arg) {
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        for (uint64_t used = from->used[level]; used; used &= used - 1) {
            for (struct timer *timer = from->slots[wheel_number(level, (unsigned)__builtin_ctzll(used))].first, *next; timer;
                 timer = next) {
                next = timer->next;
                wheel_place(to, timer); /* with its old serial number: keeps the order within each wheel */
                moved(timer, arg);
            }
        }
        from->used[level] = from->sorted[level] = 0;
    }
    from->levels = 0;
    if (wheel_older(to->serial, from->serial)) to->serial = from->serial; /* timers armed from now on are younger than all */
}
