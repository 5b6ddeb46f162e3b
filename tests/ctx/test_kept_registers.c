/* What is kept over a switch: registers with patterns in them, what a compiler has in them, on one thread and
 * between threads. */
#include "flow.h"
#include "pattern.h"

#include <pthread.h>

static struct flow home, one, two;

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

static uint64_t rounds; /* of three switches; counted at home */

struct keeper {
    struct flow *from, *to;
    unsigned change_every, wrong;
};

static __attribute__((noinline)) void keeper_switch(void *arg) {
    struct keeper *keeper = arg;
    flow_switch(keeper->from, keeper->to, NULL);
}

/* New patterns now and then: a switch meets the same modes as its own, and others. */
static struct keeper in_home;
static void keeper_run(struct keeper *keeper, uint64_t random) {
    struct pattern pattern;
    some_pattern(&pattern, &random);
    while (rounds > 0) {
        if (rounds % keeper->change_every == 0) some_pattern(&pattern, &random);
        rounds -= keeper == &in_home;
        keeper->wrong |= registers_over(keeper_switch, keeper, &pattern);
    }
}

static struct keeper in_home = {&home, &one, 5, 0}, in_one = {&one, &two, 64, 0}, in_two = {&two, &home, 7, 0};

static void keeps_in_one(void *gift) {
    (void)gift;
    annotate_after_switch(&one.annotate);
    keeper_run(&in_one, test_seed(1) + 1);
    flow_end(&one, &two, NULL); /* in the last round */
}

static void keeps_in_two(void *gift) {
    (void)gift;
    annotate_after_switch(&two.annotate);
    keeper_run(&in_two, test_seed(1) + 2);
    flow_end(&two, &home, NULL);
}

TEST_WITHIN(registers_are_kept, 120) {
    flow_home(&home);
    flow_make(&one, keeps_in_one);
    flow_make(&two, keeps_in_two);
    rounds = UINT64_C(10000000) / 3 / FLOW_SLOW * test_scale();
    keeper_run(&in_home, test_seed(1));
    EXPECT_EQ(in_home.wrong, 0);
    EXPECT_EQ(in_one.wrong, 0);
    EXPECT_EQ(in_two.wrong, 0);
    flow_free(&one);
    flow_free(&two);
}

/* The checker of registers, checked. */
static void spoils(void *arg) {
#if defined(__x86_64__)
    uint32_t mxcsr = 0x1f80, *which = arg;
    uint16_t fpucw = 0x37f;
    if (*which == 0) __asm__ volatile("ldmxcsr %0" ::"m"(mxcsr));
    if (*which == 1) __asm__ volatile("fldcw %0" ::"m"(fpucw));
#else
    uint32_t *which = arg;
    if (*which == 0) __asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)0));
    if (*which == 1) __asm__ volatile("fmov d8, xzr");
#endif
}

TEST(registers_that_are_lost_are_noticed) {
    struct pattern pattern;
    uint64_t random = 5;
    some_pattern(&pattern, &random);
    pattern.modes = some_modes(0x7f);
    for (uint32_t which = 0; which < 3; which++)
        EXPECT_EQ(registers_over(spoils, &which, &pattern) != 0, which < 2);
}

/* ---- what the compiler keeps ------------------------------------------------------------------------------------- */

typedef double four __attribute__((vector_size(32)));

/* More values than there are registers of any kind, alive over switches in a loop. */
static __attribute__((noinline)) double juggle(struct flow *from, struct flow *to, unsigned rounds, long double x) {
    uint64_t a = rounds, b = a * 3, c = b + 7, d = c * 5, e = d ^ 99, f = e + a, g = f * 11, h = g - 1;
    double p = 1.5, q = p * 3, r = q + 0.25, s = r * r;
    four v = {p, q, r, s};
    long double y = x * 3, z = y + x;
    for (unsigned i = 0; i < rounds; i++) {
        flow_switch(from, to, NULL);
        a += b, b ^= c, c += d, d = d * 3 + e, e ^= f, f += g, g = g * 5 + h, h ^= a;
        p = p * 0.5 + q, q = q * 0.25 + r, r = r * 0.125 + s, s = s * 0.5 + p;
        v = v * 0.5 + 1.0;
        x = x * 0.5L + y, y = y * 0.25L + z, z = z * 0.125L + x;
    }
    return (double)(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h) + p + q + r + s + v[0] + v[1] + v[2] + v[3] + (double)(x + y + z);
}

static __attribute__((noinline)) double juggle_alone(unsigned rounds, long double x) {
    uint64_t a = rounds, b = a * 3, c = b + 7, d = c * 5, e = d ^ 99, f = e + a, g = f * 11, h = g - 1;
    double p = 1.5, q = p * 3, r = q + 0.25, s = r * r;
    four v = {p, q, r, s};
    long double y = x * 3, z = y + x;
    for (unsigned i = 0; i < rounds; i++) {
        a += b, b ^= c, c += d, d = d * 3 + e, e ^= f, f += g, g = g * 5 + h, h ^= a;
        p = p * 0.5 + q, q = q * 0.25 + r, r = r * 0.125 + s, s = s * 0.5 + p;
        v = v * 0.5 + 1.0;
        x = x * 0.5L + y, y = y * 0.25L + z, z = z * 0.125L + x;
    }
    return (double)(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h) + p + q + r + s + v[0] + v[1] + v[2] + v[3] + (double)(x + y + z);
}

static double got[2];
static void juggles_one(void *gift) {
    (void)gift;
    annotate_after_switch(&one.annotate);
    got[0] = juggle(&one, &two, 1001, 1.25L);
    flow_end(&one, &two, NULL);
}
static void juggles_two(void *gift) {
    (void)gift;
    annotate_after_switch(&two.annotate);
    got[1] = juggle(&two, &one, 1001, 7.75L);
    flow_end(&two, &home, NULL);
}

TEST(registers_keep_what_is_alive) {
    flow_home(&home);
    flow_make(&one, juggles_one);
    flow_make(&two, juggles_two);
    flow_switch(&home, &one, NULL);
    EXPECT(got[0] == juggle_alone(1001, 1.25L));
    EXPECT(got[1] == juggle_alone(1001, 7.75L));
    flow_free(&one);
    flow_free(&two);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { MOVERS = 8, DRIVERS = 4 };
static struct mover {
    struct flow flow, *host;
    struct mover *next;
    uint64_t rounds, moved;
    unsigned wrong;
} movers[MOVERS];
static struct mover *parked;
static unsigned living = MOVERS;
static pthread_mutex_t parked_lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void mover_park(void *arg) {
    struct mover *mover = arg;
    struct flow *before = mover->host;
    mover->host = flow_switch(&mover->flow, before, mover);
    mover->moved += mover->host != before;
}

static void moves(void *gift) {
    struct mover *mover = NULL;
    for (unsigned i = 0; i < MOVERS; i++)
        if ((char *)__builtin_frame_address(0) >= movers[i].flow.low &&
            (char *)__builtin_frame_address(0) < movers[i].flow.low + FLOW_STACK)
            mover = &movers[i];
    annotate_after_switch(&mover->flow.annotate);
    mover->host = gift;
    struct pattern pattern;
    for (uint64_t random = (uint64_t)(mover - movers) + 1; mover->rounds > 0; mover->rounds--) {
        some_pattern(&pattern, &random);
        mover->wrong |= registers_over(mover_park, mover, &pattern);
    }
    flow_end(&mover->flow, mover->host, NULL);
}

/* Runs the flow that it finds, and parks it when it has come back: not earlier, or another thread would run on its stack
 * with him. */
static void *drives(void *arg) {
    struct flow host;
    (void)arg;
    flow_home(&host);
    for (;;) {
        pthread_mutex_lock(&parked_lock);
        struct mover *mover = parked;
        bool over = living == 0;
        if (mover) parked = mover->next;
        pthread_mutex_unlock(&parked_lock);
        if (over) return NULL;
        if (!mover) {
            sched_yield();
            continue;
        }
        struct mover *back = flow_switch(&host, &mover->flow, &host);
        pthread_mutex_lock(&parked_lock);
        if (back) {
            struct mover **end = &parked; /* at the end, so that all come round */
            while (*end)
                end = &(*end)->next;
            back->next = NULL;
            *end = back;
        } else {
            living--;
        }
        pthread_mutex_unlock(&parked_lock);
    }
}

TEST_WITHIN(registers_move_between_threads, 120) {
    for (unsigned i = 0; i < MOVERS; i++) {
        flow_make(&movers[i].flow, moves);
        movers[i].rounds = 100000 / FLOW_SLOW * test_scale();
        movers[i].next = parked;
        parked = &movers[i];
    }
    pthread_t threads[DRIVERS];
    for (unsigned i = 0; i < DRIVERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, drives, NULL) == 0);
    for (unsigned i = 0; i < DRIVERS; i++)
        pthread_join(threads[i], NULL);
    uint64_t moved = 0;
    for (unsigned i = 0; i < MOVERS; i++) {
        EXPECT_EQ(movers[i].rounds, 0);
        EXPECT_EQ(movers[i].wrong, 0);
        moved += movers[i].moved;
        flow_free(&movers[i].flow);
    }
    EXPECT(moved > 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
