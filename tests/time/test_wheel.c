#include "time/wheel.h"

#include "base/rng.h"
#include "naive.h"

#include <stdio.h>
#include <stdlib.h>

static struct wheel wheel;

static struct timer *add(struct timer *timer, uint64_t when) {
    timer->when = when;
    wheel_add(&wheel, timer);
    return timer;
}

/* How many moves at a time, in the tests that do not ask for less. */
static unsigned moves_at_once = UINT32_MAX;

static struct timer *pop(struct wheel *from, uint64_t now) {
    for (;;) {
        unsigned moves = moves_at_once;
        struct timer *timer = wheel_pop(from, now, &moves);
        if (timer || moves) return timer;
        EXPECT(wheel_bound(from) <= now);
    }
}

static void expect_pops(uint64_t now, struct timer *const *expected, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        EXPECT(pop(&wheel, now) == expected[i]);
    EXPECT(pop(&wheel, now) == NULL);
}

/* ---- By hand --------------------------------------------------------------------------------------------------- */

TEST(wheel_starts_empty) {
    wheel_init(&wheel, 5);
    EXPECT(wheel_bound(&wheel) == SYS_FOREVER);
    EXPECT(pop(&wheel, 4) == NULL);
    EXPECT(pop(&wheel, UINT64_MAX) == NULL);
}

TEST(wheel_fires_to_the_nanosecond) {
    struct timer timer;
    for (unsigned shift = 0; shift < 63; shift++) {
        uint64_t when = (UINT64_C(1) << shift) + 12345;
        wheel_init(&wheel, 12345);
        add(&timer, when);
        EXPECT(wheel_bound(&wheel) == when);
        EXPECT(pop(&wheel, when - 1) == NULL);
        EXPECT(wheel_bound(&wheel) == when);
        EXPECT(pop(&wheel, when) == &timer);
        EXPECT(wheel_bound(&wheel) == SYS_FOREVER);
    }
}

TEST(wheel_orders_equal_times_by_arming) {
    struct timer timers[100], *expected[100];
    /* Armed at different distances, hence on different levels, and for one and the same time. */
    uint64_t when = UINT64_C(1) << 40;
    wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 100; i++) {
        expected[i] = add(&timers[i], when);
        EXPECT(pop(&wheel, when - (when >> (i / 3))) == NULL);
    }
    expect_pops(when, expected, 100);
}

/* The same with lists out of order on every level: armed for a few times close together, in turns. */
TEST(wheel_orders_almost_equal_times) {
    static struct timer timers[200];
    static struct naive naive;
    for (unsigned step = 1; step < 40; step++) {
        uint64_t when = UINT64_C(1) << 40;
        wheel_init(&wheel, 0);
        for (unsigned i = 0; i < 200; i++) {
            naive_add(&naive, i, add(&timers[i], when + i * step % 7)->when);
            EXPECT(pop(&wheel, when - (when >> (i / 5))) == NULL);
        }
        for (unsigned i = 0; i < 200; i++)
            EXPECT_EQ(pop(&wheel, when + 7) - timers, naive_pop(&naive, when + 7));
    }
}

/* Equal times in slots of two levels, one of them out of order, with the oldest timer behind a young one. */
static void order_across_levels(bool near) {
    struct timer oldest, older, young, early[2], fill[2][WHEEL_SHORT];
    uint64_t when = (UINT64_C(1) << 40) + (1 << 25) + (1 << 19) + (1 << 13); /* not close to the ends of its slots */
    wheel_init(&wheel, when - 3000000000);
    add(&oldest, when);
    add(&early[0], when - 300000);
    for (unsigned i = 0; i < WHEEL_SHORT; i++)
        add(&fill[0][i], when + 1000 + i);
    expect_pops(when - 30000000, NULL, 0);
    add(&older, when);
    if (near) add(&early[1], when - 10000);
    for (unsigned i = 0; i < WHEEL_SHORT && near; i++)
        add(&fill[1][i], when + 1000 + i);
    expect_pops(when - 500000, NULL, 0);
    add(&young, when + 1);
    /* Spreads the slot of `oldest`, which comes to lie behind `young`; and then perhaps that of `older`. */
    expect_pops(when - 300000, (struct timer *[]){&early[0]}, 1);
    EXPECT_EQ(oldest.slot, young.slot);
    if (near) expect_pops(when - 10000, (struct timer *[]){&early[1]}, 1);
    EXPECT(near ? older.slot < oldest.slot : older.slot > oldest.slot);
    expect_pops(when + 1, (struct timer *[]){&oldest, &older, &young}, 3);
}

TEST(wheel_orders_equal_times_of_a_higher_level) { order_across_levels(false); }
TEST(wheel_orders_equal_times_of_a_lower_level) { order_across_levels(true); }

TEST(wheel_orders_late_ones) {
    struct timer timers[6];
    wheel_init(&wheel, 1000000);
    add(&timers[0], 1000000);
    add(&timers[1], 500);
    add(&timers[2], 999999);
    add(&timers[3], 500);
    add(&timers[4], 0);
    add(&timers[5], 1000001);
    EXPECT(wheel_bound(&wheel) == 0);
    /* A clock that lags behind does not get what it must not have yet. */
    expect_pops(500, (struct timer *[]){&timers[4], &timers[1], &timers[3]}, 3);
    EXPECT(wheel_bound(&wheel) == 999999);
    expect_pops(1000001, (struct timer *[]){&timers[2], &timers[0], &timers[5]}, 3);
}

TEST(wheel_reaches_the_end_of_time) {
    struct timer timers[4];
    wheel_init(&wheel, 0);
    add(&timers[0], UINT64_MAX - 1);
    add(&timers[1], UINT64_MAX - 2);
    add(&timers[2], UINT64_MAX - 1);
    expect_pops(UINT64_MAX - 3, NULL, 0);
    EXPECT(wheel_bound(&wheel) == UINT64_MAX - 2);
    add(&timers[3], UINT64_MAX - 2);
    expect_pops(UINT64_MAX, (struct timer *[]){&timers[1], &timers[3], &timers[0], &timers[2]}, 4);
    add(&timers[0], 17);
    expect_pops(16, NULL, 0);
    expect_pops(17, (struct timer *[]){&timers[0]}, 1);
}

/* After a cancel the bound may be early, but a look at that time puts it right: no second look for nothing. */
TEST(wheel_bound_is_early_once) {
    static struct timer timers[1000];
    wheel_init(&wheel, 0);
    for (unsigned i = 0; i < 1000; i++)
        add(&timers[i], (UINT64_C(1) << 36) + 1000000 - i * 1000);
    wheel_remove(&wheel, &timers[999]);
    uint64_t early = wheel_bound(&wheel);
    EXPECT(early <= timers[998].when);
    EXPECT(pop(&wheel, early) == NULL);
    EXPECT(wheel_bound(&wheel) == timers[998].when);
}

static struct timer timers[NAIVE_MAX];

static void count_moved(struct timer *timer, void *count) {
    EXPECT(timer >= timers && timer < timers + 300);
    ++*(unsigned *)count;
}

TEST(wheel_moves_all_and_keeps_the_order) {
    static struct wheel other;
    static struct naive naive;
    unsigned count = 0;
    wheel_init(&wheel, 1000);
    wheel_init(&other, 4000000);
    for (unsigned i = 0; i < 300; i++) {
        timers[i].when = 1000 + (i * 7919 % 100) * 100000;
        wheel_add(i % 3 ? &wheel : &other, &timers[i]);
        if (i % 3) naive_add(&naive, i, timers[i].when);
    }
    wheel_move(&other, &wheel, count_moved, &count);
    EXPECT_EQ(count, 200);
    EXPECT(wheel_bound(&wheel) == SYS_FOREVER);
    uint64_t last = 0;
    for (struct timer *timer; (timer = pop(&other, UINT64_MAX)); last = timer->when, count++) {
        EXPECT(timer->when >= last);
        if ((timer - timers) % 3) EXPECT_EQ(naive_pop(&naive, UINT64_MAX), timer - timers);
    }
    EXPECT_EQ(count, 500);
}

TEST(wheel_arms_after_what_was_moved) {
    static struct wheel other;
    wheel_init(&wheel, 0);
    wheel_init(&other, 0);
    for (unsigned i = 0; i < 10; i++)
        add(&timers[i], 1000);
    wheel_move(&other, &wheel, count_moved, &(unsigned){0});
    timers[10].when = 1000;
    wheel_add(&other, &timers[10]);
    for (unsigned i = 0; i <= 10; i++)
        EXPECT(pop(&other, 1000) == &timers[i]);
}

/* ---- Against the naive one ------------------------------------------------------------------------------------- */

static bool armed[NAIVE_MAX];

/* Of every magnitude. */
static uint64_t any_size(struct rng *rng) {
    uint64_t value = rng_next(rng);
    return value >> rng_below(rng, 64);
}

/* A distance in time: mostly small, of every magnitude, often the same as others. */
static uint64_t some_distance(struct rng *rng) {
    uint64_t value = any_size(rng);
    switch (rng_below(rng, 4)) {
    case 0: return value;
    case 1: return value & 0xff;
    case 2: return UINT64_C(1) << rng_below(rng, 40);
    default: return value & 0x3fffffff;
    }
}

static uint64_t some_time(struct rng *rng, uint64_t now) {
    uint64_t distance = some_distance(rng);
    if (rng_below(rng, 8) == 0) return now > distance ? now - distance : 0;
    return distance < SYS_FOREVER - 1 - now ? now + distance : SYS_FOREVER - 1;
}

static struct naive naive;

/* Takes out what is due, in both; false when nothing that is due is left. */
static bool pop_both(uint64_t now, unsigned most) {
    while (most--) {
        struct timer *timer = pop(&wheel, now);
        EXPECT_EQ(timer ? timer - timers : -1, naive_pop(&naive, now));
        if (!timer) return false;
        armed[timer - timers] = false;
    }
    return true;
}

/* One program of random operations, `live` timers at most. */
static void random_program(struct rng *rng, unsigned live, unsigned operations) {
    naive.count = 0;
    for (unsigned i = 0; i < live; i++)
        armed[i] = false;
    uint64_t now = any_size(rng);
    wheel_init(&wheel, rng_below(rng, 2) ? now : 0);
    unsigned cancelled = 0, needless = 0; /* cancels, and looks for nothing, since no timer was armed */
    while (operations--) {
        unsigned id = rng_below(rng, live), what = rng_below(rng, 16);
        if (what < 9) {
            if (armed[id]) {
                wheel_remove(&wheel, &timers[id]);
                naive_remove(&naive, id);
                cancelled++;
            }
            armed[id] = !armed[id] || rng_below(rng, 2);
            if (armed[id]) naive_add(&naive, id, add(&timers[id], some_time(rng, now))->when);
        } else if (what < 15) {
            uint64_t step = rng_below(rng, 3) ? naive_next(&naive) - now : some_distance(rng);
            now = rng_below(rng, 64) == 0 ? some_time(rng, now) : now + step < now ? now : now + step;
            if (now == SYS_FOREVER) now -= 1 + rng_below(rng, 1000);
            unsigned most = rng_below(rng, 8) ? UINT32_MAX : 1 + rng_below(rng, 8);
            needless += wheel_bound(&wheel) <= now && naive_next(&naive) > now;
            if (!pop_both(now, most)) EXPECT(wheel_bound(&wheel) > now || naive.count == 0);
            if (naive.count == 0) cancelled = needless = 0;
        }
        EXPECT(wheel_bound(&wheel) <= naive_next(&naive));
        EXPECT(cancelled || wheel_bound(&wheel) == naive_next(&naive));
        EXPECT(needless <= cancelled);
    }
    while (naive.count)
        EXPECT_EQ(pop(&wheel, SYS_FOREVER) - timers, naive_pop(&naive, SYS_FOREVER));
    EXPECT(wheel.levels == 0);
}

TEST_WITHIN(wheel_agrees_with_a_naive_one, 300) {
    struct rng rng;
    uint64_t seed = test_seed(20261115);
    for (unsigned i = 0; i < 400 * test_scale(); i++) {
        rng_seed(&rng, seed, i);
        moves_at_once = i % 2 ? UINT32_MAX : 1 + rng_below(&rng, 30);
        random_program(&rng, 1 + rng_below(&rng, i % 4 ? 24 : NAIVE_MAX), 8000);
    }
}

/* ---- Many ------------------------------------------------------------------------------------------------------ */

TEST(wheel_holds_many) {
    enum { MANY = 300000 };
    struct timer *many = calloc(MANY, sizeof *many);
    struct rng rng;
    rng_seed(&rng, test_seed(4), 0);
    wheel_init(&wheel, 0);
    for (unsigned i = 0; i < MANY; i++)
        add(&many[i], rng_next(&rng) % 1000000000 >> (i % 8));
    for (unsigned i = 0; i < MANY; i += 3)
        wheel_remove(&wheel, &many[i]);
    const struct timer *last = NULL, *timer;
    unsigned count = 0;
    for (uint64_t now; (now = wheel_bound(&wheel)) != SYS_FOREVER;)
        while ((timer = pop(&wheel, now))) {
            EXPECT((timer - many) % 3 != 0);
            EXPECT(timer->when <= now);
            if (last) EXPECT(timer->when > last->when || (timer->when == last->when && timer > last));
            last = timer;
            count++;
        }
    EXPECT_EQ(count, MANY - MANY / 3);
    free(many);
}

/* A full slot is spread a part at a time; what comes meanwhile finds its place, what goes leaves no trace. */
TEST(wheel_spreads_in_parts) {
    enum { MANY = 10000 };
    static struct timer many[MANY], late;
    static const uint64_t first = UINT64_C(1) << 36;
    wheel_init(&wheel, 0);
    for (unsigned i = 0; i < MANY; i++)
        add(&many[i], first + (i * 7919 % MANY) * 1000);
    unsigned calls = 0, moves;
    for (struct timer *timer = NULL; !timer; calls++) {
        moves = 1000;
        timer = wheel_pop(&wheel, first, &moves);
        if (!timer && moves == 0) EXPECT_EQ(wheel_bound(&wheel), first);
        if (calls == 3) {
            wheel_remove(&wheel, &many[17]);   /* moved already */
            wheel_remove(&wheel, &many[9017]); /* not yet */
            add(&late, first - 1);
            EXPECT(pop(&wheel, first) == &late);
        }
    }
    EXPECT(calls >= MANY / 1000);
    unsigned count = 1;
    for (uint64_t last = first; wheel.levels; count++) {
        struct timer *timer = pop(&wheel, UINT64_MAX);
        EXPECT(timer->when > last && timer != &many[17] && timer != &many[9017]);
        last = timer->when;
    }
    EXPECT_EQ(count, MANY - 2);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
