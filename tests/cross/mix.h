/* The random mixture: what all its parts share. Processes (members) and threads do things at random, by a seed, and keep books in the ledger:
 * what goes in must come out. Each part has actions, which a member picks among, and a balance, which is drawn when all have ended. */
#ifndef WEFT_TESTS_CROSS_MIX_H
#define WEFT_TESTS_CROSS_MIX_H

#include "runtime_helpers.h"

#include <weft/weft.h>

enum { MEMBERS = 512, THREADS = 2, SENDERS = MEMBERS + THREADS, TAGS = 4, LIVING = 48 };

struct member {
    uint32_t id, letters; /* it has sent so many */
    weft_pid self;
    struct rng rng;
    unsigned depth;         /* of scopes around it */
    uint32_t (*last)[TAGS]; /* the number of the last letter from each sender, by tag */
};

static struct {
    uint64_t seed;
    weft_runtime *other;        /* has members too, which use the same things */
    atom_u64 ids, begun, ended; /* members so far; processes that begin and end by themselves */
    atom_u64 pids[MEMBERS];
    weft_pid clock, server, reader, echo; /* these live until the end: mix_*.h */
} mix;

static inline uint32_t mix_below(struct member *member, uint32_t n) { return rng_below(&member->rng, n); }

/* A deadline that may be met or not. */
static inline uint64_t mix_deadline(struct member *member) {
    static const uint64_t spans[] = {0, 1000, 20 * 1000, 200 * 1000, 2000 * 1000};
    uint32_t which = rng_below(&member->rng, 6);
    return which == 5 ? 0 : weft_in(spans[which] + rng_below(&member->rng, 1000));
}
/* One, or none. */
static inline uint64_t mix_limit(struct member *member) { return mix_below(member, 2) ? WEFT_FOREVER : mix_deadline(member); }
/* A member that still lives, perhaps. */
static inline weft_pid mix_any_member(struct member *member) {
    uint64_t count = atom_load_acq(&mix.ids);
    uint32_t back = rng_below(&member->rng, LIVING);
    return count ? atom_load_acq(&mix.pids[back < count ? count - 1 - back : 0]) : WEFT_NOBODY;
}
/* What a call may answer that is not done: its deadline has passed, or the caller, which is a process then, is cancelled. */
static inline void mix_expect(int error, uint64_t deadline) {
    bool late = error == WEFT_ETIMEDOUT && weft_now() >= deadline;
    bool told = error == WEFT_ECANCELED && weft_self() != WEFT_NOBODY && weft_cancelled();
    if (error && !late && !told) test_fail(__FILE__, __LINE__, "a call answered %s", weft_errname(error));
}

/* In a process or in a thread. */
static inline void mix_give_way(void) {
    if (weft_self() == WEFT_NOBODY) sched_yield();
    else weft_yield();
}

/* Until two counts are the same: what one side has done the other is about to know. In vain, the watchdog ends it. */
static inline void mix_balance(const char *what, atom_u64 *in, atom_u64 *out) {
    enum { ROUNDS = 10000 }; /* until it says what it waits for */
    for (unsigned round = 0; atom_load_acq(in) != atom_load_acq(out); round++) {
        unsigned long long went = atom_load_acq(in), came = atom_load_acq(out);
        if (came > went) test_fail(__FILE__, __LINE__, "%s: %llu in, %llu out", what, went, came);
        if (round == ROUNDS) printf("%s: %llu in, %llu out\n", what, went, came);
        usleep(200);
    }
}

/* Most runs have servants that may be packed: mix_pack.h. */
static inline bool mix_servants_pack(void) { return mix.seed % 4 != 0; }
static inline weft_pid mix_spawn(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = mix_servants_pack() ? WEFT_SPAWN_PACK : 0};
    EXPECT_EQ(weft_spawn_with(entry, arg, &options, &pid), 0);
    return pid;
}

/* From the test's thread, at the end: a servant that lives until then shall end. */
enum { MIX_END = 0xe0d };
static inline void mix_dismiss(weft_pid pid) {
    EXPECT_EQ(weft_send(pid, MIX_END, NULL, 0), 0);
    while (weft_alive(pid))
        usleep(100);
}

#endif
