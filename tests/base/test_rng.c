/* The generator: known first numbers, streams that differ, an even spread below n. */
#include "base/rng.h"
#include "test.h"

TEST(rng_splitmix_gives_the_published_numbers) {
    uint64_t state = 1234567;
    EXPECT(rng_splitmix(&state) == UINT64_C(6457827717110365317));
    EXPECT(rng_splitmix(&state) == UINT64_C(3203168211198807973));
    EXPECT(rng_splitmix(&state) == UINT64_C(9817491932198370423));
}

TEST(rng_xoshiro_gives_the_published_numbers) {
    struct rng rng = {{1, 2, 3, 4}};
    EXPECT(rng_next(&rng) == UINT64_C(11520));
    EXPECT(rng_next(&rng) == UINT64_C(0));
    EXPECT(rng_next(&rng) == UINT64_C(1509978240));
    EXPECT(rng_next(&rng) == UINT64_C(1215971899390074240));
}

TEST(rng_same_seed_same_numbers) {
    struct rng a, b;
    rng_seed(&a, 42, 7);
    rng_seed(&b, 42, 7);
    for (int i = 0; i < 100; i++)
        EXPECT(rng_next(&a) == rng_next(&b));
}

TEST(rng_streams_and_seeds_differ) {
    struct rng r[4];
    rng_seed(&r[0], 0, 0);
    rng_seed(&r[1], 0, 1);
    rng_seed(&r[2], 1, 0);
    rng_seed(&r[3], 1, 1);
    for (int i = 0; i < 100; i++) {
        uint64_t v[4];
        for (int k = 0; k < 4; k++)
            v[k] = rng_next(&r[k]);
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < k; j++)
                EXPECT(v[k] != v[j]);
    }
}

/* Chi squared with n-1 degrees of freedom; the bound is far beyond 99.999 % for each n, and the seed is fixed. */
static double chi_squared(uint32_t n, unsigned draws) {
    enum { MOST = 64 };
    unsigned seen[MOST] = {0};
    struct rng rng;
    EXPECT(n <= MOST);
    rng_seed(&rng, test_seed(3), n);
    for (unsigned i = 0; i < draws; i++) {
        uint32_t value = rng_below(&rng, n);
        EXPECT(value < n);
        seen[value]++;
    }
    double expected = (double)draws / n, sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += (seen[i] - expected) * (seen[i] - expected) / expected;
    return sum;
}

TEST(rng_below_is_even) {
    EXPECT_EQ(chi_squared(1, 1000), 0);
    EXPECT(chi_squared(2, 100000) < 25);
    EXPECT(chi_squared(3, 100000) < 30);
    EXPECT(chi_squared(10, 100000) < 50);
    EXPECT(chi_squared(64, 100000) < 140);
}

TEST(rng_below_takes_large_n) {
    struct rng rng;
    rng_seed(&rng, test_seed(4), 0);
    uint32_t n = UINT32_C(3) << 30; /* where the plain multiplication would make every third value twice as likely */
    unsigned thirds = 0, draws = 100000;
    for (unsigned i = 0; i < draws; i++) {
        uint32_t value = rng_below(&rng, n);
        EXPECT(value < n);
        thirds += value % 3 == 0;
    }
    EXPECT(thirds > draws / 3 - 1000 && thirds < draws / 3 + 1000);
}

/* Heads, and changes from one side to the other, are half of all. */
TEST(rng_coin_is_even) {
    uint64_t state = test_seed(5);
    unsigned heads = 0, changes = 0, draws = 100000;
    for (unsigned i = 0, before = 0; i < draws; i++) {
        unsigned side = rng_coin(&state);
        EXPECT(side <= 1);
        heads += side;
        changes += side != before;
        before = side;
    }
    EXPECT(heads > draws / 2 - 1000 && heads < draws / 2 + 1000);
    EXPECT(changes > draws / 2 - 1000 && changes < draws / 2 + 1000);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
