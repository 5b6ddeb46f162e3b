/* Seeding, and numbers below a bound: see base/rng.h. */
#include "base/rng.h"

#include "base/assert.h"

void rng_seed(struct rng *rng, uint64_t seed, uint64_t stream) {
    uint64_t mix = stream;
    uint64_t state = seed ^ rng_splitmix(&mix); /* so that (seed, stream) and (stream, seed) differ */
    for (int i = 0; i < 4; i++)
        rng->s[i] = rng_splitmix(&state); /* four equal words, all zero, cannot come out */
}

/* Lemire's method: the high half of a product, and a retry for the few values that would make some results likelier. */
uint32_t rng_below(struct rng *rng, uint32_t n) {
    WEFT_ASSERT(n > 0, "rng_below(%u)", n);
    uint64_t product = (rng_next(rng) >> 32) * n;
    if ((uint32_t)product < n) {
        uint32_t threshold = -n % n;
        while ((uint32_t)product < threshold)
            product = (rng_next(rng) >> 32) * n;
    }
    return (uint32_t)(product >> 32);
}
