/* A histogram of 64-bit values (durations, sizes) in fixed memory: log-linear, as HdrHistogram's.
 *
 * Every power of two is cut into HIST_SUB equal buckets, and values below 2 x HIST_SUB have one each. So a value read
 * back (a percentile) differs from the true one by at most 1/HIST_SUB of it, 3.1 %, always upwards and never beyond
 * the largest value recorded. Minimum, maximum, count and sum are exact (the sum as long as it fits 64 bits; it then
 * stays at the largest).
 *
 * Owner-only data: one histogram per thread, merged when the threads have ended. About 15 KiB. */
#ifndef WEFT_BASE_HIST_H
#define WEFT_BASE_HIST_H

#include <stdint.h>

enum {
    HIST_SUB_BITS = 5,
    HIST_SUB = 1 << HIST_SUB_BITS,
    HIST_BUCKETS = (64 - HIST_SUB_BITS + 1) * HIST_SUB,
};

struct hist {
    uint64_t count, sum, min, max;
    uint64_t bucket[HIST_BUCKETS];
};

void hist_init(struct hist *hist);

/* The bucket of a value, and the largest value of a bucket. */
static inline unsigned hist_bucket(uint64_t value) {
    if (value < UINT64_C(2) * HIST_SUB) return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HIST_SUB_BITS;
    return shift * HIST_SUB + (unsigned)(value >> shift);
}
uint64_t hist_bucket_top(unsigned bucket);

/* Records a value once, or `times` times. */
static inline void hist_record_times(struct hist *hist, uint64_t value, uint64_t times) {
    if (times == 0) return;
    uint64_t product, sum;
    if (__builtin_mul_overflow(value, times, &product) || __builtin_add_overflow(hist->sum, product, &sum)) sum = UINT64_MAX;
    hist->sum = sum;
    hist->count += times;
    if (value < hist->min) hist->min = value;
    if (value > hist->max) hist->max = value;
    hist->bucket[hist_bucket(value)] += times;
}
static inline void hist_record(struct hist *hist, uint64_t value) { hist_record_times(hist, value, 1); }

void hist_merge(struct hist *into, const struct hist *from);

/* The value that a share of `percent` (0 … 100) of the records does not exceed: 50 is the median, 0 the minimum, 100
 * the maximum. 0 when nothing was recorded. */
uint64_t hist_percentile(const struct hist *hist, double percent);
/* All 0 when nothing was recorded. */
uint64_t hist_min(const struct hist *hist);
uint64_t hist_max(const struct hist *hist);
double hist_mean(const struct hist *hist);

#endif
