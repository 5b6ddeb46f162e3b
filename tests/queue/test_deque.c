#include "queue/deque.h"

#include "crew.h"

#include <errno.h>

static struct deque deque, other;

/* ---- One thread ------------------------------------------------------------------------------------------------ */

static void begin(void) { EXPECT(deque_init(&deque) == 0 && deque_init(&other) == 0); }
static void end(void) {
    deque_destroy(&deque);
    deque_destroy(&other);
}
static void start_at(struct deque *at, uint64_t index) {
    atom_store_rlx(&at->top, index);
    atom_store_rlx(&at->bottom, index);
}

TEST(deque_owner_is_last_in_first_out) {
    begin();
    EXPECT(deque_is_empty(&deque));
    EXPECT_EQ(deque_pop(&deque), ENTRY_NONE);
    for (uint64_t i = 1; i <= 3; i++)
        EXPECT_EQ(deque_push(&deque, i), 0);
    EXPECT_EQ(deque_size(&deque), 3);
    for (uint64_t i = 3; i >= 1; i--)
        EXPECT_EQ(deque_pop(&deque), i);
    EXPECT_EQ(deque_pop(&deque), ENTRY_NONE);
    EXPECT_EQ(deque_pop(&deque), ENTRY_NONE);
    EXPECT(deque_is_empty(&deque));
    end();
}

TEST(deque_thieves_take_the_oldest) {
    begin();
    uint64_t entry = 777;
    EXPECT_EQ(deque_steal(&deque, &entry), 0);
    EXPECT_EQ(entry, 777);
    for (uint64_t i = 1; i <= 3; i++)
        deque_push(&deque, i);
    EXPECT_EQ(deque_steal(&deque, &entry), 1);
    EXPECT_EQ(entry, 1);
    EXPECT_EQ(deque_pop(&deque), 3);
    EXPECT_EQ(deque_steal(&deque, &entry), 1);
    EXPECT_EQ(entry, 2);
    EXPECT_EQ(deque_pop(&deque), ENTRY_NONE);
    EXPECT_EQ(deque_steal(&deque, &entry), 0);
    end();
}

TEST(deque_grows) {
    begin();
    enum { MANY = 5000 };
    uint64_t entry;
    for (uint64_t i = 1; i <= MANY; i++)
        EXPECT_EQ(deque_push(&deque, i), 0);
    EXPECT_EQ(deque_size(&deque), MANY);
    for (uint64_t i = 1; i <= MANY / 2; i++) {
        EXPECT_EQ(deque_steal(&deque, &entry), 1);
        EXPECT_EQ(entry, i);
    }
    for (uint64_t i = MANY; i > MANY / 2; i--)
        EXPECT_EQ(deque_pop(&deque), i);
    EXPECT(deque_is_empty(&deque));
    end();
}

TEST(deque_indices_come_round) {
    begin();
    uint64_t entry;
    start_at(&deque, UINT64_MAX - 100);
    start_at(&other, UINT64_MAX - 1);
    for (uint64_t i = 1; i <= 600; i++) /* grows twice, once with indices on both sides of zero */
        EXPECT_EQ(deque_push(&deque, i), 0);
    EXPECT_EQ(deque_size(&deque), 600);
    EXPECT_EQ(deque_steal_half(&other, &deque, &entry), 300);
    EXPECT_EQ(entry, 1);
    for (uint64_t i = 600; i > 300; i--)
        EXPECT_EQ(deque_pop(&deque), i);
    for (uint64_t i = 300; i > 1; i--)
        EXPECT_EQ(deque_pop(&other), i);
    EXPECT(deque_is_empty(&deque) && deque_is_empty(&other));
    end();
}

TEST(deque_steal_half_rounds_up) {
    for (uint64_t size = 0; size <= 20; size++) {
        begin();
        for (uint64_t i = 1; i <= size; i++)
            deque_push(&deque, i);
        deque_push(&other, 1000);
        uint64_t entry = 777, half = size - size / 2;
        EXPECT_EQ(deque_steal_half(&other, &deque, &entry), half);
        EXPECT_EQ(entry, size ? 1 : 777);
        for (uint64_t i = half; i > 1; i--)
            EXPECT_EQ(deque_pop(&other), i);
        EXPECT_EQ(deque_pop(&other), 1000);
        EXPECT_EQ(deque_size(&deque), size - half);
        end();
    }
}

/* ---- No memory ------------------------------------------------------------------------------------------------- */

TEST(deque_init_reports_no_memory) {
    crew_limit_allocs(0);
    EXPECT_EQ(deque_init(&deque), -ENOMEM);
    crew_unlimit_allocs();
}

TEST(deque_push_reports_no_memory_and_loses_nothing) {
    begin();
    crew_limit_allocs(1);
    uint64_t pushed = 0;
    while (deque_push(&deque, pushed + 1) == 0)
        pushed++;
    EXPECT_EQ(pushed, 2 * DEQUE_FIRST_CAPACITY);
    EXPECT_EQ(deque_push(&deque, 999), -ENOMEM);
    EXPECT_EQ(deque_reserve(&deque, 1), -ENOMEM);
    EXPECT_EQ(deque_size(&deque), pushed);
    for (uint64_t i = pushed; i >= 1; i--)
        EXPECT_EQ(deque_pop(&deque), i);
    EXPECT_EQ(deque_push(&deque, 1), 0); /* there is room again */
    crew_unlimit_allocs();
    end();
}

TEST(deque_reserve_makes_room) {
    begin();
    deque_push(&deque, 1);
    EXPECT_EQ(deque_reserve(&deque, 0), 0);
    EXPECT_EQ(deque_reserve(&deque, 3000), 0);
    crew_limit_allocs(0);
    for (uint64_t i = 0; i < 3000; i++)
        EXPECT_EQ(deque_push(&deque, 2 + i), 0);
    crew_unlimit_allocs();
    EXPECT_EQ(deque_reserve(&deque, UINT64_MAX), -ENOMEM);
    EXPECT_EQ(deque_reserve(&deque, UINT64_MAX / 4), -ENOMEM);
    for (uint64_t i = 3001; i >= 1; i--)
        EXPECT_EQ(deque_pop(&deque), i);
    end();
}

TEST(deque_steal_half_stops_when_there_is_no_memory) {
    begin();
    for (uint64_t i = 1; i <= DEQUE_FIRST_CAPACITY; i++)
        deque_push(&other, 1000 + i);
    for (uint64_t i = 1; i <= 10; i++)
        deque_push(&deque, i);
    crew_limit_allocs(0);
    uint64_t entry;
    EXPECT_EQ(deque_steal_half(&other, &deque, &entry), 1);
    EXPECT_EQ(entry, 1);
    EXPECT_EQ(deque_size(&deque), 9);
    EXPECT_EQ(deque_size(&other), DEQUE_FIRST_CAPACITY);
    crew_unlimit_allocs();
    end();
}

/* ---- Threads: everything exactly once -------------------------------------------------------------------------- */

enum { THIEVES = 3 };

static struct deque deques[THIEVES + 1];
static uint64_t stress_count, stress_seed;
static atom_bool stress_over;

static void stress_drain(struct deque *own) {
    uint64_t entry;
    while ((entry = deque_pop(own)) != ENTRY_NONE)
        crew_got(entry);
}

static void stress_owner(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    for (uint64_t id = 0; id < stress_count;) {
        /* Short bursts keep the deque near empty, where owner and thieves meet; a long one now and then makes it
         * grow. */
        uint64_t burst = 1 + rng_below(&rng, rng_below(&rng, 64) ? 4 : 2000);
        for (uint64_t i = 0; i < burst && id < stress_count; i++)
            EXPECT_EQ(deque_push(&deques[0], crew_item(id++)), 0);
        for (uint64_t i = rng_below(&rng, (uint32_t)burst + 2); i > 0; i--) {
            uint64_t entry = deque_pop(&deques[0]);
            if (entry != ENTRY_NONE) crew_got(entry);
        }
        crew_stumble(&rng, 256);
    }
    stress_drain(&deques[0]);
    atom_store_rel(&stress_over, true);
}

static void stress_thief(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    while (!atom_load_acq(&stress_over)) {
        uint64_t entry;
        unsigned victim = rng_below(&rng, 4) ? 0 : rng_below(&rng, THIEVES + 1);
        if (victim == self) continue;
        int got = rng_below(&rng, 2) ? deque_steal(&deques[victim], &entry) : deque_steal_half(&deques[self], &deques[victim], &entry);
        if (got > 0) crew_got(entry);
        if (rng_below(&rng, 4) == 0) stress_drain(&deques[self]);
        crew_stumble(&rng, 64);
    }
    stress_drain(&deques[self]);
}

static void stress(void) {
    crew_items_make(stress_count);
    atom_store_rlx(&stress_over, false);
    for (unsigned i = 0; i <= THIEVES; i++) {
        EXPECT_EQ(deque_init(&deques[i]), 0);
        start_at(&deques[i], UINT64_MAX - 1000 * i);
    }
    crew_run(THIEVES + 1, stress_owner, stress_thief);
    for (unsigned i = 0; i <= THIEVES; i++) {
        stress_drain(&deques[i]);
        deque_destroy(&deques[i]);
    }
    crew_items_check(1);
}

TEST_WITHIN(deque_stress, 120) {
    uint64_t seed = test_seed(20240502);
    stress_count = 100000;
    for (uint64_t round = 0; round < 20 * test_scale(); round++) {
        stress_seed = seed + round;
        stress();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
