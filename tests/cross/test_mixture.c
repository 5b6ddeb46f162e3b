/* A random mixture of everything, by seed, with conservation oracles (mix.h): on every policy, with 1, 2, 4 and 16 workers, without preemption and
 * with slices of 50 us. A runtime that hangs is shown by weft_dump. */
#include "mix_life.h"

#include <signal.h>

enum { FIRST = 24, SEEDS = 3 };

/* A thread of the program's own takes part where no process is needed. */
static void *outsider(void *arg) {
    static void (*const all[])(struct member *) = {act_send,  act_chan_send, act_chan_recv, act_select, act_sem,
                                                   act_mutex, act_after,     act_write,     act_cancel};
    struct member member = {.id = MEMBERS + (uint32_t)(uintptr_t)arg};
    rng_seed(&member.rng, mix.seed, member.id);
    for (unsigned i = 0; i < 200 / RT_SLOW; i++)
        all[mix_below(&member, sizeof all / sizeof all[0])](&member);
    return NULL;
}

static unsigned descriptors(void) {
    unsigned count = 0;
    for (int i = 0; i < 1024; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

static void mix_open(uint64_t seed) {
    memset(&mix, 0, sizeof mix);
    mix.seed = seed;
    EXPECT_EQ(weft_start(&mix.other, &(weft_config){.workers = 2, .seed = seed}), 0);
    mail_open();
    sync_open();
    time_open();
    fd_open();
    work_open();
    life_open();
}

/* While they run: the number of workers changes, others look. */
static void mix_meddle(struct rng *rng, unsigned workers) {
    bool resizes = rng_below(rng, 2);
    for (unsigned i = 0; atom_load_acq(&mix.begun) != atom_load_acq(&mix.ended); i++) {
        if (resizes && i % 8 == 0) {
            int error = weft_set_workers(rt.runtime, 1 + rng_below(rng, workers + 2));
            EXPECT(error == 0 || error == WEFT_EBUSY);
        }
        if (i % 50 == 10) rt_dump_text();
        usleep(500);
    }
}

static void mix_close(unsigned before) {
    weft_stats stats;
    life_close();
    EXPECT_EQ(weft_stop(mix.other, WEFT_FOREVER, NULL), 0);
    time_close();
    fd_close_all();
    work_close();
    mail_close();
    sync_audit();
    rt_wait_for_nobody();
    weft_get_stats(rt.runtime, &stats);
    EXPECT_EQ(stats.spawned, stats.ended);
    rt_stop();
    mail_audit();
    EXPECT_EQ(descriptors(), before);
}

static void run(const char *policy, unsigned workers, bool preempt, uint64_t seed) {
    struct rng rng;
    pthread_t threads[THREADS];
    test_doing("WEFT_TEST_SEED=%llu", (unsigned long long)seed);
    printf("policy %s, %u workers, preemption %s, seed %llu\n", policy, workers, preempt ? "50us" : "off", (unsigned long long)seed);
    unsigned before = descriptors();
    rng_seed(&rng, seed, 1 << 21);
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .preempt = preempt, .preempt_us = 50, .seed = seed});
    mix_open(seed);
    for (unsigned i = 0; i < FIRST / (RT_SLOW > 4 ? 2 : 1); i++)
        member_spawn(NULL, NULL, (weft_stackful_options){.runtime = i % 4 ? rt.runtime : mix.other});
    for (unsigned i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, outsider, (void *)(uintptr_t)i), 0);
    mix_meddle(&rng, workers);
    for (unsigned i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    mix_close(before);
}

static void seeds(const char *policy, unsigned workers, bool preempt) {
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 1; i <= SEEDS * test_scale(); i++) {
        run(policy, workers, preempt, test_seed(i));
        if (getenv("WEFT_TEST_SEED")) return;
    }
}

#define MIXTURE(policy, workers)                                                                                                           \
    TEST_WITHIN(mixture_##policy##_##workers, 300) { seeds(#policy, workers, false); }                                                     \
    TEST_WITHIN(mixture_##policy##_##workers##_preempt, 300) { seeds(#policy, workers, true); }
MIXTURE(ring, 1)
MIXTURE(ring, 2)
MIXTURE(ring, 4)
MIXTURE(ring, 16)
MIXTURE(deque, 1)
MIXTURE(deque, 2)
MIXTURE(deque, 4)
MIXTURE(deque, 16)
MIXTURE(line, 1)
MIXTURE(line, 2)
MIXTURE(line, 4)
MIXTURE(line, 16)

int main(int argc, char **argv) { return test_main(argc, argv); }
