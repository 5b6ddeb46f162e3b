/* Merging and reading of histograms: see base/hist.h. */
#include "base/hist.h"

#include <string.h>

void hist_init(struct hist *hist) {
    memset(hist, 0, sizeof *hist);
    hist->min = UINT64_MAX;
}

uint64_t hist_bucket_top(unsigned bucket) {
    if (bucket < 2 * HIST_SUB) return bucket;
    unsigned shift = bucket / HIST_SUB - 1;
    uint64_t lowest = (uint64_t)(bucket % HIST_SUB + HIST_SUB) << shift;
    return lowest + ((UINT64_C(1) << shift) - 1);
}

void hist_merge(struct hist *into, const struct hist *from) {
    if (__builtin_add_overflow(into->sum, from->sum, &into->sum)) into->sum = UINT64_MAX;
    into->count += from->count;
    if (from->min < into->min) into->min = from->min;
    if (from->max > into->max) into->max = from->max;
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

uint64_t hist_percentile(const struct hist *hist, double percent) {
    if (hist->count == 0) return 0;
    if (!(percent > 0)) return hist->min; /* also when it is not a number */
    if (percent >= 100) return hist->max;
    double exact = percent / 100 * (double)hist->count;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact || rank == 0) rank++; /* the first record that reaches the share */
    uint64_t seen = 0;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        seen += hist->bucket[i];
        if (seen < rank) continue;
        uint64_t top = hist_bucket_top(i);
        return top < hist->max ? top : hist->max;
    }
    return hist->max;
}

uint64_t hist_min(const struct hist *hist) { return hist->count ? hist->min : 0; }
uint64_t hist_max(const struct hist *hist) { return hist->max; }
double hist_mean(const struct hist *hist) { return hist->count ? (double)hist->sum / (double)hist->count : 0; }
