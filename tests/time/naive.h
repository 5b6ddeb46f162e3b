/* What the wheel is held against: a row of (when, age) pairs that is searched from end to end. */
#ifndef WEFT_TESTS_TIME_NAIVE_H
#define WEFT_TESTS_TIME_NAIVE_H

#include "test.h"
#include "time/timer.h"

enum { NAIVE_MAX = 512 };

struct naive {
    struct {
        uint64_t when, age;
        unsigned id;
    } items[NAIVE_MAX];
    unsigned count;
    uint64_t age;
};

static inline void naive_add(struct naive *naive, unsigned id, uint64_t when) {
    EXPECT(naive->count < NAIVE_MAX);
    naive->items[naive->count].when = when;
    naive->items[naive->count].age = naive->age++;
    naive->items[naive->count++].id = id;
}

static inline void naive_remove_at(struct naive *naive, unsigned at) { naive->items[at] = naive->items[--naive->count]; }

static inline void naive_remove(struct naive *naive, unsigned id) {
    for (unsigned i = 0; i < naive->count; i++)
        if (naive->items[i].id == id) {
            naive_remove_at(naive, i);
            return;
        }
    test_fail(__FILE__, __LINE__, "timer %u is not armed", id);
}

/* Where the earliest is; there is one. */
static inline unsigned naive_first(const struct naive *naive) {
    unsigned best = 0;
    for (unsigned i = 1; i < naive->count; i++)
        if (naive->items[i].when < naive->items[best].when ||
            (naive->items[i].when == naive->items[best].when && naive->items[i].age < naive->items[best].age))
            best = i;
    return best;
}

static inline uint64_t naive_next(const struct naive *naive) { return naive->count ? naive->items[naive_first(naive)].when : SYS_FOREVER; }

/* The next one due, taken out, or -1. */
static inline int naive_pop(struct naive *naive, uint64_t now) {
    if (naive->count == 0) return -1;
    unsigned at = naive_first(naive);
    if (naive->items[at].when > now) return -1;
    int id = (int)naive->items[at].id;
    naive_remove_at(naive, at);
    return id;
}

#endif
