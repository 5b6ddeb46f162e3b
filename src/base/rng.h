/* Random numbers for decisions (which victim first), not for secrets: xoshiro256** (Blackman, Vigna 2018), seeded
 * through splitmix64. The same seed and stream give the same numbers on every machine. One generator per worker; no
 * sharing. */
#ifndef WEFT_BASE_RNG_H
#define WEFT_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* Streams of one seed are unrelated to each other: give each worker its own. */
void rng_seed(struct rng *rng, uint64_t seed, uint64_t stream);

/* One step of splitmix64: advances *state, returns 64 well mixed bits. Also good as a hash. */
static inline uint64_t rng_splitmix(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t rng_rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t rng_next(struct rng *rng) {
    uint64_t *s = rng->s, result = rng_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rng_rotl(s[3], 45);
    return result;
}

/* 0 or 1, in three instructions: the top bit of a linear congruential generator (Knuth's MMIX), which has the longest period. Any *state will do. */
static inline unsigned rng_coin(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*state >> 63);
}

/* One of 0 … n-1, all equally likely; n must not be 0. */
uint32_t rng_below(struct rng *rng, uint32_t n);

#endif
