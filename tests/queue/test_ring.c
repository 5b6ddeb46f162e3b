#include "queue/ring.h"

#include "crew.h"
#include "proc/state.h"
#include "queue/slot.h"

#include <errno.h>

static struct ring ring, other;

/* ---- One thread ------------------------------------------------------------------------------------------------ */

/* Puts an empty ring's indices somewhere else. */
static void start_at(struct ring *at, uint64_t index) {
    ring_init(at);
    atom_store_rlx(&at->head, index);
    atom_store_rlx(&at->tail, index);
}

TEST(ring_is_first_in_first_out) {
    ring_init(&ring);
    EXPECT(ring_is_empty(&ring));
    EXPECT_EQ(ring_pop(&ring), ENTRY_NONE);
    for (uint64_t i = 1; i <= 3; i++)
        EXPECT(ring_push(&ring, i));
    EXPECT_EQ(ring_size(&ring), 3);
    for (uint64_t i = 1; i <= 3; i++)
        EXPECT_EQ(ring_pop(&ring), i);
    EXPECT_EQ(ring_pop(&ring), ENTRY_NONE);
}

TEST(ring_holds_its_size_and_no_more) {
    ring_init(&ring);
    for (uint64_t i = 1; i <= RING_SIZE; i++)
        EXPECT(ring_push(&ring, i));
    EXPECT(!ring_push(&ring, 999));
    EXPECT_EQ(ring_pop(&ring), 1);
    EXPECT(ring_push(&ring, RING_SIZE + 1));
    for (uint64_t i = 2; i <= RING_SIZE + 1; i++)
        EXPECT_EQ(ring_pop(&ring), i);
    EXPECT(ring_is_empty(&ring));
}

TEST(ring_indices_come_round) {
    start_at(&ring, UINT64_MAX - 2);
    start_at(&other, UINT64_MAX - 1);
    for (uint64_t i = 1; i <= 8; i++)
        EXPECT(ring_push(&ring, i));
    EXPECT_EQ(ring_size(&ring), 8);
    uint64_t first;
    EXPECT_EQ(ring_steal(&other, &ring, &first), 4);
    EXPECT_EQ(first, 1);
    for (uint64_t i = 2; i <= 4; i++)
        EXPECT_EQ(ring_pop(&other), i);
    for (uint64_t i = 5; i <= 8; i++)
        EXPECT_EQ(ring_pop(&ring), i);
    EXPECT(ring_is_empty(&ring) && ring_is_empty(&other));
}

TEST(ring_next_is_one_entry_last_in_first_out) {
    ring_init(&ring);
    EXPECT_EQ(ring_take_next(&ring), ENTRY_NONE);
    EXPECT_EQ(ring_put_next(&ring, 1), ENTRY_NONE);
    EXPECT_EQ(ring_put_next(&ring, 2), 1);
    EXPECT_EQ(ring_size(&ring), 1);
    EXPECT(!ring_is_empty(&ring));
    EXPECT_EQ(ring_pop(&ring), ENTRY_NONE);
    EXPECT_EQ(ring_steal_next(&ring), 2);
    EXPECT_EQ(ring_steal_next(&ring), ENTRY_NONE);
    EXPECT_EQ(ring_put_next(&ring, 3), ENTRY_NONE);
    EXPECT_EQ(ring_take_next(&ring), 3);
    EXPECT(ring_is_empty(&ring));
}

TEST(slot_owner_is_sure_unless_a_thief_came) {
    struct slot slot;
    slot_init(&slot);
    EXPECT(slot_is_empty(&slot) && slot_take(&slot).entry == ENTRY_NONE && slot_steal(&slot) == ENTRY_NONE);
    EXPECT_EQ(slot_put(&slot, 1).entry, ENTRY_NONE);
    struct slot_got got = slot_put(&slot, 2);
    EXPECT(got.entry == 1 && got.sure);
    got = slot_take(&slot);
    EXPECT(got.entry == 2 && got.sure && slot_is_empty(&slot));
    slot_put(&slot, 3);
    EXPECT_EQ(slot_steal(&slot), 3);
    EXPECT(slot_is_empty(&slot) && slot_put(&slot, 4).entry == ENTRY_NONE);
    got = slot_take(&slot);
    EXPECT(got.entry == 4 && !got.sure); /* it may have been the thief's */
    slot_put(&slot, 5);
    EXPECT(slot_take(&slot).sure); /* the thief was seen, and has left */
}

TEST(ring_steal_takes_the_older_half_rounded_up_or_a_batch) {
    for (unsigned size = 0; size <= RING_SIZE; size += size < 3 * RING_BATCH ? 1 : 61) {
        ring_init(&ring);
        ring_init(&other);
        for (uint64_t i = 1; i <= size; i++)
            ring_push(&ring, i);
        uint64_t first = 777;
        unsigned half = size - size / 2 < RING_BATCH ? size - size / 2 : RING_BATCH;
        EXPECT_EQ(ring_steal(&other, &ring, &first), half);
        EXPECT_EQ(first, size ? 1 : 777);
        for (uint64_t i = 2; i <= half; i++)
            EXPECT_EQ(ring_pop(&other), i);
        EXPECT(ring_is_empty(&other));
        for (uint64_t i = half + 1; i <= size; i++)
            EXPECT_EQ(ring_pop(&ring), i);
        EXPECT(ring_is_empty(&ring));
    }
}

TEST(ring_steal_is_bounded_by_the_thiefs_room) {
    for (unsigned room = 0; room <= RING_BATCH + 1; room++) {
        ring_init(&ring);
        ring_init(&other);
        for (uint64_t i = 1; i <= RING_SIZE; i++)
            ring_push(&ring, i);
        for (uint64_t i = 0; i < RING_SIZE - room; i++)
            ring_push(&other, 1000 + i);
        unsigned expected = room + 1 < RING_BATCH ? room + 1 : RING_BATCH;
        uint64_t first;
        EXPECT_EQ(ring_steal(&other, &ring, &first), expected);
        EXPECT_EQ(first, 1);
        for (uint64_t i = 0; i < RING_SIZE - room; i++)
            EXPECT_EQ(ring_pop(&other), 1000 + i);
        for (uint64_t i = 2; i <= expected; i++)
            EXPECT_EQ(ring_pop(&other), i);
        EXPECT(ring_is_empty(&other));
        EXPECT_EQ(ring_size(&ring), RING_SIZE - expected);
    }
}

TEST(ring_steal_says_so_when_it_cannot_tell) {
    ring_init(&ring);
    ring_init(&other);
    ring_push(&ring, 1);
    atom_store_rlx(&ring.head, 7); /* as if head had been read later than tail */
    uint64_t first = 777;
    EXPECT_EQ(ring_steal(&other, &ring, &first), -EAGAIN);
    EXPECT_EQ(first, 777);
    EXPECT(!ring_is_empty(&ring));
}

TEST(ring_overflow_takes_the_oldest) {
    uint64_t out[RING_BATCH];
    ring_init(&ring);
    for (uint64_t i = 1; i < RING_BATCH; i++)
        ring_push(&ring, i);
    EXPECT_EQ(ring_overflow(&ring, out), 0); /* there are not so many */
    for (uint64_t i = RING_BATCH; i <= RING_SIZE; i++)
        EXPECT(ring_push(&ring, i));
    EXPECT(!ring_push(&ring, RING_SIZE + 1));
    EXPECT_EQ(ring_overflow(&ring, out), RING_BATCH);
    for (uint64_t i = 0; i < RING_BATCH; i++)
        EXPECT_EQ(out[i], i + 1);
    EXPECT(ring_push(&ring, RING_SIZE + 1));
    EXPECT_EQ(ring_size(&ring), RING_SIZE - RING_BATCH + 1);
    EXPECT(!ring_push_below(&ring, RING_SIZE + 2, RING_SIZE - RING_BATCH + 1));
    EXPECT_EQ(ring_oldest(&ring), RING_BATCH + 1);
    for (uint64_t i = RING_BATCH + 1; i <= RING_SIZE + 1; i++)
        EXPECT_EQ(ring_pop(&ring), i);
    EXPECT(ring_is_empty(&ring));
}

/* ---- Threads: nothing is lost at the queue, and the claim is won once ------------------------------------------ */

enum { THIEVES = 3 };

static struct ring rings[THIEVES + 1];
static uint64_t stress_count, stress_seed;
static atom_bool stress_over;
static atom_u64 delivered;

static struct state *states;
static atom_u32 *runs;

static void stress_got(uint64_t entry) {
    crew_got(entry);
    uint64_t id = (uint64_t)((struct crew_item *)entry_ptr(entry) - crew_items);
    if (state_claim(&states[id], (uint16_t)STATE_FIRST_TICKET)) atom_add_rlx(&runs[id], 1);
    atom_add_rlx(&delivered, 1);
}

static void stress_drain(struct ring *own) {
    uint64_t entry;
    while ((entry = ring_take_next(own)) != ENTRY_NONE || (entry = ring_pop(own)) != ENTRY_NONE)
        stress_got(entry);
}

static void stress_push(uint64_t entry) {
    uint64_t out[RING_BATCH];
    while (!ring_push(&rings[0], entry)) {
        unsigned count = ring_overflow(&rings[0], out);
        for (unsigned i = 0; i < count; i++)
            stress_got(out[i]);
    }
}

static void stress_owner(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    for (uint64_t id = 0; id < stress_count; id++) {
        state_init(&states[id]);
        uint64_t entry = crew_item(id);
        switch (rng_below(&rng, 8)) {
        case 0: /* through the LIFO slot */
            entry = ring_put_next(&rings[0], entry);
            if (entry != ENTRY_NONE) stress_push(entry);
            break;
        default: stress_push(entry);
        }
        if (rng_below(&rng, 2) == 0 && (entry = ring_pop(&rings[0])) != ENTRY_NONE) stress_got(entry);
        if (rng_below(&rng, 32) == 0 && (entry = ring_take_next(&rings[0])) != ENTRY_NONE) stress_got(entry);
        crew_stumble(&rng, 512);
    }
    stress_drain(&rings[0]);
    atom_store_rel(&stress_over, true);
}

static void stress_thief(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    while (!atom_load_acq(&stress_over)) {
        uint64_t entry;
        unsigned victim = rng_below(&rng, 4) ? 0 : rng_below(&rng, THIEVES + 1);
        if (victim != self && ring_steal(&rings[self], &rings[victim], &entry) > 0) stress_got(entry);
        if (rng_below(&rng, 8) == 0 && (entry = ring_steal_next(&rings[0])) != ENTRY_NONE) stress_got(entry);
        if ((entry = ring_pop(&rings[self])) != ENTRY_NONE) stress_got(entry);
        if (rng_below(&rng, 4) == 0) stress_drain(&rings[self]);
        crew_stumble(&rng, 64);
    }
    stress_drain(&rings[self]);
}

static void stress(void) {
    crew_items_make(stress_count);
    states = calloc(stress_count, sizeof *states);
    runs = calloc(stress_count, sizeof *runs);
    EXPECT(states && runs);
    atom_store_rlx(&stress_over, false);
    for (unsigned i = 0; i <= THIEVES; i++)
        start_at(&rings[i], UINT64_MAX - 1000 * i);
    crew_run(THIEVES + 1, stress_owner, stress_thief);
    for (unsigned i = 0; i <= THIEVES; i++)
        stress_drain(&rings[i]);
    for (uint64_t id = 0; id < stress_count; id++)
        EXPECT_EQ(atom_load_rlx(&runs[id]), 1);
    crew_items_check(UINT32_MAX);
    free(states);
    free(runs);
}

TEST_WITHIN(ring_stress, 120) {
    uint64_t seed = test_seed(20240501), rounds = 20 * test_scale();
    stress_count = 100000;
    for (uint64_t round = 0; round < rounds; round++) {
        stress_seed = seed + round;
        stress();
    }
    printf("%llu entries, %llu deliveries\n", (unsigned long long)rounds * stress_count, (unsigned long long)atom_load_rlx(&delivered));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
