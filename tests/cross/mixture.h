/* One run of the random mixture, from its seed (mix.h). */
#ifndef WEFT_TESTS_CROSS_MIXTURE_H
#define WEFT_TESTS_CROSS_MIXTURE_H

#include "mix_life.h"

enum { FIRST = 24 };

/* A thread of the program's own takes part where no process is needed. */
static inline void *outsider(void *arg) {
    static void (*const all[])(struct member *) = {act_send,  act_chan_send, act_chan_recv, act_select, act_sem,
                                                   act_mutex, act_after,     act_write,     act_cancel};
    struct member member = {.id = MEMBERS + (uint32_t)(uintptr_t)arg};
    rng_seed(&member.rng, mix.seed, member.id);
    for (unsigned i = 0; i < 200 / RT_SLOW; i++)
        all[mix_below(&member, sizeof all / sizeof all[0])](&member);
    return NULL;
}

static inline void mix_open(uint64_t seed) {
    memset(&mix, 0, sizeof mix);
    mix.seed = seed;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2, .seed = seed}, &mix.other), 0);
    mail_open();
    sync_open();
    time_open();
    fd_open();
    work_open();
    life_open();
    pack_open();
    if (mix_servants_pack()) {
        pack_note(mix.clock);
        pack_note(mix.server);
        pack_note(mix.reader);
        pack_note(mix.echo);
    }
}

/* While they run: the number of workers changes, others look. */
static inline void mix_meddle(struct rng *rng, unsigned workers) {
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

static inline void mix_close(unsigned before) {
    weft_stats stats;
    life_close();
    pack_close();
    EXPECT_EQ(weft_stop(mix.other, NULL, WEFT_FOREVER), 0);
    time_close();
    fd_close_all();
    work_close();
    mail_close();
    sync_audit();
    rt_wait_until_none_lives();
    weft_get_stats(rt.runtime, &stats);
    EXPECT_EQ(stats.spawned, stats.ended);
    rt_stop();
    mail_audit();
    EXPECT_EQ(rt_descriptors(), before);
}

enum mix_preempt { MIX_PREEMPT_OFF, MIX_PREEMPT, MIX_PREEMPT_ALARMS };
static inline void mixture_run(const char *policy, unsigned workers, enum mix_preempt preempt, uint64_t seed) {
    static const char *const preempts[] = {"off", "on", "by timers"};
    struct rng rng;
    pthread_t threads[THREADS];
    test_doing("WEFT_TEST_SEED=%llu", (unsigned long long)seed);
    printf("policy %s, %u workers, preemption %s, seed %llu\n", policy, workers, preempts[preempt], (unsigned long long)seed);
    unsigned before = rt_descriptors();
    rng_seed(&rng, seed, 1 << 21);
    rt_start_with(&(weft_config){.policy = policy,
                                 .workers = workers,
                                 .preempt = preempt != MIX_PREEMPT_OFF,
                                 .preempt_us = seed % 2 ? 50 : 500, /* with alarms or without */
                                 .preempt_alarms = preempt == MIX_PREEMPT_ALARMS,
                                 .seed = seed});
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

#endif
