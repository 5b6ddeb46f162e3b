#include "queue/inject.h"

#include "crew.h"

#include <errno.h>

static struct inject inject;

/* ---- One thread ------------------------------------------------------------------------------------------------ */

static void expect_taken(uint64_t from, uint64_t count) {
    uint64_t out[1000];
    EXPECT_EQ(inject_take_batch(&inject, out, count), count);
    for (uint64_t i = 0; i < count; i++)
        EXPECT_EQ(out[i], from + i);
}

static void push_numbers(uint64_t from, uint64_t count) {
    uint64_t batch[1000];
    for (uint64_t i = 0; i < count; i++)
        batch[i] = from + i;
    EXPECT_EQ(inject_push_batch(&inject, batch, count), 0);
}

TEST(inject_is_first_in_first_out) {
    uint64_t out[4];
    inject_init(&inject);
    EXPECT_EQ(inject_size(&inject), 0);
    EXPECT_EQ(inject_take_batch(&inject, out, 4), 0);
    push_numbers(1, 3);
    EXPECT_EQ(inject_push(&inject, 4), 0);
    EXPECT_EQ(inject_push_batch(&inject, out, 0), 0);
    EXPECT_EQ(inject_size(&inject), 4);
    EXPECT_EQ(inject_take_batch(&inject, out, 0), 0);
    expect_taken(1, 2);
    push_numbers(5, 2);
    expect_taken(3, 4);
    EXPECT_EQ(inject_size(&inject), 0);
    inject_destroy(&inject);
}

TEST(inject_gives_the_newest) {
    uint64_t out[10];
    inject_init(&inject);
    EXPECT_EQ(inject_take_newest(&inject, out, 10), 0);
    push_numbers(1, 6);
    EXPECT_EQ(inject_take_newest(&inject, out, 2), 2);
    EXPECT(out[0] == 5 && out[1] == 6);
    expect_taken(1, 1);
    push_numbers(7, 1);
    EXPECT_EQ(inject_take_newest(&inject, out, 10), 4);
    EXPECT(out[0] == 2 && out[1] == 3 && out[2] == 4 && out[3] == 7);
    EXPECT_EQ(inject_size(&inject), 0);
    push_numbers(8, 1);
    expect_taken(8, 1);
    inject_destroy(&inject);
}

TEST(inject_gives_what_there_is) {
    uint64_t out[10];
    inject_init(&inject);
    push_numbers(1, 3);
    EXPECT_EQ(inject_take_batch(&inject, out, 10), 3);
    EXPECT_EQ(inject_size(&inject), 0);
    inject_destroy(&inject);
}

TEST(inject_goes_round_and_grows) {
    inject_init(&inject);
    uint64_t in = 1, out = 1;
    for (unsigned round = 0; round < 200; round++) {
        push_numbers(in, 37 + round);
        in += 37 + round;
        uint64_t count = 30 + round / 2;
        expect_taken(out, count);
        out += count;
        EXPECT_EQ(inject_size(&inject), in - out);
    }
    while (out < in) {
        uint64_t count = in - out < 1000 ? in - out : 1000;
        expect_taken(out, count);
        out += count;
    }
    EXPECT_EQ(inject_size(&inject), 0);
    inject_destroy(&inject);
}

/* ---- No memory ------------------------------------------------------------------------------------------------- */

TEST(inject_push_reports_no_memory_and_loses_nothing) {
    inject_init(&inject);
    crew_limit_allocs(0);
    EXPECT_EQ(inject_push(&inject, 1), -ENOMEM);
    EXPECT_EQ(inject_size(&inject), 0);
    crew_limit_allocs(1);
    push_numbers(1, INJECT_FIRST_CAPACITY - 1);
    EXPECT_EQ(inject_push_batch(&inject, (uint64_t[]){901, 902}, 2), -ENOMEM); /* not even the one that fits */
    EXPECT_EQ(inject_size(&inject), INJECT_FIRST_CAPACITY - 1);
    EXPECT_EQ(inject_push(&inject, INJECT_FIRST_CAPACITY), 0);
    expect_taken(1, INJECT_FIRST_CAPACITY);
    crew_unlimit_allocs();
    inject_destroy(&inject);
}

TEST(inject_reserve_makes_pushes_certain) {
    inject_init(&inject);
    EXPECT_EQ(inject_reserve(&inject, 900), 0);
    push_numbers(1, 1);
    expect_taken(1, 1);
    crew_limit_allocs(0);
    EXPECT_EQ(inject_reserve(&inject, 900), 0);
    push_numbers(1, 500);
    push_numbers(501, 400);
    EXPECT_EQ(inject_reserve(&inject, 5000), -ENOMEM);
    EXPECT_EQ(inject_reserve(&inject, SIZE_MAX), -ENOMEM);
    EXPECT_EQ(inject_reserve(&inject, SIZE_MAX / 8), -ENOMEM);
    expect_taken(1, 900);
    crew_unlimit_allocs();
    inject_destroy(&inject);
}

TEST(inject_growth_keeps_the_order_of_a_wrapped_array) {
    inject_init(&inject);
    push_numbers(1, INJECT_FIRST_CAPACITY);
    expect_taken(1, 100);
    push_numbers(INJECT_FIRST_CAPACITY + 1, 100);
    EXPECT_EQ(inject_reserve(&inject, INJECT_FIRST_CAPACITY + 1), 0);
    expect_taken(101, INJECT_FIRST_CAPACITY);
    inject_destroy(&inject);
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

enum { PRODUCERS = 2, TAKERS = 2 };

static uint64_t stress_each, stress_seed;
static atom_u32 producers_left;

static void stress_produce(struct rng *rng, unsigned self) {
    uint64_t batch[8], id = self * stress_each, end = id + stress_each;
    while (id < end) {
        uint64_t count = 1 + rng_below(rng, 8);
        for (uint64_t i = 0; i < count; i++)
            batch[i] = id + i < end ? crew_item(id + i) : 0;
        count = count < end - id ? count : end - id;
        EXPECT_EQ(inject_push_batch(&inject, batch, count), 0);
        id += count;
        crew_stumble(rng, 64);
    }
    atom_sub_rel(&producers_left, 1);
}

static void stress_consume(struct rng *rng) {
    uint64_t out[16], last[PRODUCERS] = {0};
    for (;;) {
        bool over = atom_load_acq(&producers_left) == 0;
        size_t count = inject_take_batch(&inject, out, 1 + rng_below(rng, 16));
        for (size_t i = 0; i < count; i++) {
            crew_got(out[i]);
            uint64_t id = (uint64_t)((struct crew_item *)entry_ptr(out[i]) - crew_items), producer = id / stress_each;
            EXPECT(id + 1 > last[producer]); /* one producer's entries come to one taker in order */
            last[producer] = id + 1;
        }
        if (over && count == 0 && inject_size(&inject) == 0) return;
        crew_stumble(rng, 64);
    }
}

static void stress_work(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    if (self < PRODUCERS) stress_produce(&rng, self);
    else stress_consume(&rng);
}

TEST_WITHIN(inject_stress, 120) {
    stress_seed = test_seed(20240504);
    stress_each = UINT64_C(1000000) * test_scale();
    atom_store_rlx(&producers_left, PRODUCERS);
    crew_items_make(PRODUCERS * stress_each);
    inject_init(&inject);
    crew_run(PRODUCERS + TAKERS, stress_work, stress_work);
    inject_destroy(&inject);
    crew_items_check(1);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
