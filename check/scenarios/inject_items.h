/* What the two files with scenarios of the global FIFO share: producers of pairs, takers, and the verdict at the
 * end. */
#ifndef WEFT_CHECK_INJECT_ITEMS_H
#define WEFT_CHECK_INJECT_ITEMS_H

#include "items.h"
#include "queue/inject.h"

static struct inject inject;
SHARED uint64_t taken[CHK_THREADS][ITEMS]; /* in the order in which the thread got them */
SHARED unsigned taken_count[CHK_THREADS];

static inline void set_up(void) { inject_init(&inject); }

static inline void push(unsigned id) { chk_assert(inject_push(&inject, item_make(id)) == 0, "there is memory"); }
static inline void push_two(unsigned id) {
    uint64_t batch[2] = {item_make(id), item_make(id + 1)};
    chk_assert(inject_push_batch(&inject, batch, 2) == 0, "there is memory");
}

static inline void take(size_t max) {
    uint64_t out[ITEMS];
    size_t count = inject_take_batch(&inject, out, max);
    chk_assert(count <= max, "no more than asked for");
    for (size_t i = 0; i < count; i++) {
        item_got(out[i]);
        taken[chk_self()][taken_count[chk_self()]++] = out[i];
    }
}

/* Where in its own order a thread got an item, or -1. */
static inline int position(unsigned thread, unsigned id) {
    for (unsigned i = 0; i < taken_count[thread]; i++)
        if (entry_ticket(taken[thread][i]) == id) return (int)i;
    return -1;
}

/* `pairs` pairs were pushed: {0, 1}, {2, 3} ... each pair by one producer. */
static inline void finish(unsigned pairs) {
    uint64_t out[ITEMS];
    size_t count = inject_take_batch(&inject, out, ITEMS);
    chk_assert(inject_size(&inject) == 0, "all taken");
    for (size_t i = 0; i < count; i++)
        item_count(&left, out[i]);
    items_all_delivered_once(2 * pairs);
    for (unsigned pair = 0; pair < pairs; pair++) {
        unsigned a = 2 * pair, b = a + 1;
        chk_assert(!left.times[a] || left.times[b], "the younger one cannot be gone while the older one is there");
        for (unsigned thread = 0; thread < CHK_THREADS; thread++)
            if (position(thread, a) >= 0 && position(thread, b) >= 0)
                chk_assert(position(thread, a) < position(thread, b), "one producer's entries come in order");
    }
    inject_destroy(&inject);
}
static inline void finish_1(void) { finish(1); }
static inline void finish_2(void) { finish(2); }

static inline void push_0_1(void) {
    push(0);
    push(1);
}
static inline void push_2_3(void) {
    push(2);
    push(3);
}
static inline void batch_0_1(void) { push_two(0); }
static inline void batch_2_3(void) { push_two(2); }
static inline void take_1(void) { take(1); }
static inline void take_2(void) { take(2); }
static inline void take_3(void) { take(3); }

/* The array is full and its first entry is not in its first slot when it grows. */
static inline void set_up_wrapped(void) {
    uint64_t out;
    set_up();
    push(0);
    chk_assert(inject_take_batch(&inject, &out, 1) == 1, "it is there");
    push_two(0);
}

#endif
