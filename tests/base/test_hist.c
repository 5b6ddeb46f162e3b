/* The histogram against the sorted data itself. */
#include "base/hist.h"
#include "base/rng.h"
#include "test.h"

#include <stdlib.h>

static struct hist hist, other;

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* At most 1/HIST_SUB above the true value, and not below it. */
static void expect_close(uint64_t got, uint64_t truth) {
    if (got < truth || got - truth > truth / HIST_SUB)
        test_fail(__FILE__, __LINE__, "%llu is too far from %llu", (unsigned long long)got, (unsigned long long)truth);
}

static void expect_agrees(uint64_t *data, unsigned count) {
    static const double percents[] = {0.001, 1, 10, 25, 50, 75, 90, 99, 99.9, 99.999};
    qsort(data, count, sizeof data[0], compare);
    EXPECT_EQ(hist.count, count);
    EXPECT(hist_min(&hist) == data[0] && hist_percentile(&hist, 0) == data[0]);
    EXPECT(hist_max(&hist) == data[count - 1] && hist_percentile(&hist, 100) == data[count - 1]);
    for (unsigned i = 0; i < sizeof percents / sizeof percents[0]; i++) {
        double exact = percents[i] / 100 * count;
        unsigned rank = (unsigned)exact;
        if (rank < exact || rank == 0) rank++;
        expect_close(hist_percentile(&hist, percents[i]), data[rank - 1]);
    }
}

TEST(hist_buckets_cover_all_values_in_order) {
    unsigned last = 0;
    for (unsigned b = 0; b < HIST_BUCKETS; b++) {
        uint64_t top = hist_bucket_top(b);
        EXPECT_EQ(hist_bucket(top), b);
        EXPECT(b == 0 || hist_bucket_top(b - 1) < top);
        if (top != UINT64_MAX) EXPECT_EQ(hist_bucket(top + 1), b + 1);
        last = b;
    }
    EXPECT(hist_bucket_top(last) == UINT64_MAX);
    EXPECT_EQ(hist_bucket(0), 0);
    EXPECT_EQ(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

TEST(hist_empty_is_all_zero) {
    hist_init(&hist);
    EXPECT_EQ(hist_min(&hist), 0);
    EXPECT_EQ(hist_max(&hist), 0);
    EXPECT_EQ(hist_percentile(&hist, 50), 0);
    EXPECT(hist_mean(&hist) == 0);
}

TEST(hist_small_values_are_exact) {
    hist_init(&hist);
    for (uint64_t v = 1; v <= 60; v++)
        hist_record(&hist, v);
    EXPECT_EQ(hist_percentile(&hist, 50), 30);
    EXPECT_EQ(hist_percentile(&hist, 90), 54);
    EXPECT_EQ(hist_percentile(&hist, 100), 60);
    EXPECT_EQ(hist_percentile(&hist, 0), 1);
    EXPECT(hist_mean(&hist) == 30.5);
}

TEST(hist_agrees_with_sorted_data) {
    enum { MOST = 20000 };
    static uint64_t data[MOST];
    struct rng rng;
    rng_seed(&rng, test_seed(1), 0);
    for (unsigned round = 0; round < 12 * test_scale(); round++) {
        unsigned count = 1 + rng_below(&rng, MOST), bits = 1 + rng_below(&rng, 64);
        hist_init(&hist);
        for (unsigned i = 0; i < count; i++) {
            /* Spread over the magnitudes up to 2^bits, as latencies are. */
            data[i] = rng_next(&rng) >> (64 - bits) >> rng_below(&rng, bits);
            hist_record(&hist, data[i]);
        }
        expect_agrees(data, count);
    }
}

TEST(hist_merge_is_as_if_recorded_in_one) {
    enum { COUNT = 5000 };
    static uint64_t data[COUNT];
    struct rng rng;
    rng_seed(&rng, test_seed(2), 0);
    hist_init(&hist);
    hist_init(&other);
    double sum = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        data[i] = rng_next(&rng) >> (20 + rng_below(&rng, 40));
        sum += (double)data[i];
        hist_record(i % 3 ? &hist : &other, data[i]);
    }
    hist_merge(&hist, &other);
    expect_agrees(data, COUNT);
    EXPECT(hist_mean(&hist) > sum / COUNT * 0.999999 && hist_mean(&hist) < sum / COUNT * 1.000001);
    hist_init(&other);
    hist_merge(&hist, &other); /* an empty one changes nothing */
    expect_agrees(data, COUNT);
}

TEST(hist_counts_many_at_once_and_saturates) {
    hist_init(&hist);
    hist_record_times(&hist, 10, 99);
    hist_record_times(&hist, 1000, 1);
    hist_record_times(&hist, 5, 0);
    EXPECT_EQ(hist.count, 100);
    EXPECT_EQ(hist_percentile(&hist, 99), 10);
    EXPECT_EQ(hist_percentile(&hist, 99.5), 1000);
    EXPECT_EQ(hist_min(&hist), 10);
    hist_record_times(&hist, UINT64_MAX, 2);
    EXPECT(hist.sum == UINT64_MAX && hist_max(&hist) == UINT64_MAX);
    hist_record(&hist, 1);
    EXPECT(hist.sum == UINT64_MAX);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
