/* Sleepers and searchers: the rules one by one, and hammers that hang if a worker sleeps beside work. */
#include "base/rng.h"
#include "base/spin.h"
#include "queue/idle.h"
#include "queue/parker.h"
#include "scripted.h"
#include "test.h"

#include <errno.h>
#include <unistd.h>

static struct idle idle;

TEST(idle_without_sleepers_none_is_woken) {
    idle_init(&idle, 4);
    EXPECT_EQ(idle_wake(&idle), IDLE_NOBODY);
    EXPECT_EQ(idle_sleepers(&idle), 0);
    EXPECT_EQ(idle_searchers(&idle), 0);
    EXPECT(!idle_wake_one(&idle, 2));
}

TEST(idle_wakes_the_lowest_and_one_at_a_time) {
    idle_init(&idle, 4);
    idle_enter(&idle, 3, false);
    idle_enter(&idle, 1, false);
    idle_enter(&idle, 2, false);
    EXPECT_EQ(idle_sleepers(&idle), 3);
    EXPECT_EQ(idle_wake(&idle), 1);
    EXPECT_EQ(idle_searchers(&idle), 1);
    EXPECT_EQ(idle_wake(&idle), IDLE_NOBODY); /* worker 1 searches (I4) */
    EXPECT_EQ(idle_found(&idle), 2);          /* the last searcher hands on */
    EXPECT_EQ(idle_found(&idle), 3);
    EXPECT_EQ(idle_found(&idle), IDLE_NOBODY);
    EXPECT_EQ(idle_searchers(&idle), 0);
    EXPECT_EQ(idle_sleepers(&idle), 0);
}

TEST(idle_a_searcher_that_is_not_the_last_wakes_none) {
    idle_init(&idle, 8);
    EXPECT(idle_search(&idle) && idle_search(&idle));
    idle_enter(&idle, 5, false);
    EXPECT_EQ(idle_found(&idle), IDLE_NOBODY);
    EXPECT_EQ(idle_found(&idle), 5);
}

TEST(idle_few_search) {
    idle_init(&idle, 4);
    EXPECT(idle_search(&idle));  /* 0 < 4 */
    EXPECT(idle_search(&idle));  /* 2 < 4 */
    EXPECT(!idle_search(&idle)); /* 4 < 4 */
    idle_enter(&idle, 0, true);
    EXPECT_EQ(idle_searchers(&idle), 1);
    EXPECT(idle_search(&idle)); /* 2 < 3 */
    idle_enter(&idle, 1, true);
    idle_enter(&idle, 2, true);
    EXPECT(idle_search(&idle)); /* one awake may always search */
    EXPECT_EQ(idle_searchers(&idle), 1);
}

TEST(idle_leaves_by_itself) {
    idle_init(&idle, 2);
    idle_enter(&idle, 1, false);
    EXPECT(idle_leave(&idle, 1, false));
    EXPECT_EQ(idle_wake(&idle), IDLE_NOBODY);
    EXPECT_EQ(idle_searchers(&idle), 0);
    EXPECT(idle_search(&idle));
    idle_enter(&idle, 1, true);
    EXPECT_EQ(idle_searchers(&idle), 0);
    EXPECT(idle_leave(&idle, 1, true)); /* having seen work: goes on searching (I3) */
    EXPECT_EQ(idle_searchers(&idle), 1);
    EXPECT_EQ(idle_found(&idle), IDLE_NOBODY);
}

TEST(idle_leaving_late_inherits_the_search) {
    idle_init(&idle, 2);
    idle_enter(&idle, 0, false);
    EXPECT_EQ(idle_wake(&idle), 0);
    EXPECT(!idle_leave(&idle, 0, true)); /* the token is on its way (I1), the count came with it (I2) */
    EXPECT_EQ(idle_searchers(&idle), 1);
}

TEST(idle_wakes_one_in_particular) {
    idle_init(&idle, 3);
    idle_enter(&idle, 0, false);
    idle_enter(&idle, 2, false);
    EXPECT_EQ(idle_wake(&idle), 0);
    EXPECT(idle_wake_one(&idle, 2)); /* although a worker searches */
    EXPECT(!idle_wake_one(&idle, 2));
    EXPECT_EQ(idle_searchers(&idle), 2);
}

TEST(idle_goes_beyond_one_word) {
    idle_init(&idle, IDLE_MAX);
    for (unsigned w = 0; w < IDLE_MAX; w++)
        idle_enter(&idle, w, false);
    EXPECT_EQ(idle_sleepers(&idle), IDLE_MAX);
    EXPECT_EQ(idle_wake(&idle), 0);
    for (int w = 1; w < IDLE_MAX; w++)
        EXPECT_EQ(idle_found(&idle), w);
    EXPECT_EQ(idle_found(&idle), IDLE_NOBODY);
    idle_enter(&idle, 64, false);
    idle_enter(&idle, 63, false);
    EXPECT_EQ(idle_wake(&idle), 63);
    EXPECT_EQ(idle_found(&idle), 64);
}

/* ---- Workers ------------------------------------------------------------------------------------------------- */

/* What work comes from stands in for run queues: two counts. Each submitter has one, and adds to it by a plain store,
 * as the owner of a run queue does: no read-modify-write that would be a full fence by itself. */
enum { WORKERS = 4, SUBMITTERS = 2 };
static struct parker beds[WORKERS];
static struct {
    atom_u32 put __attribute__((aligned(64)));
    atom_u32 taken __attribute__((aligned(64)));
} sources[SUBMITTERS];
static atom_bool stop;
static atom_u64 submitted, done, woken, timed_out;
static void (*run_item)(void);
static uint64_t seed;
static bool naps;               /* workers sleep with deadlines */
static unsigned crew = WORKERS; /* how many there are */

static bool take(unsigned source) {
    uint32_t taken = atom_load_rlx(&sources[source].taken);
    while (taken != atom_load_acq(&sources[source].put))
        if (atom_cas_rlx_rlx(&sources[source].taken, &taken, taken + 1)) return true;
    return false;
}
static bool take_any(void) {
    for (unsigned i = 0; i < SUBMITTERS; i++)
        if (take(i)) return true;
    return false;
}
static bool look(void) {
    for (unsigned i = 0; i < SUBMITTERS; i++)
        if (atom_load_rlx(&sources[i].put) != atom_load_rlx(&sources[i].taken)) return true;
    return atom_load_rlx(&stop);
}

static void unpark(int worker) {
    if (worker != IDLE_NOBODY) parker_unpark(&beds[worker]);
}

static void submit(unsigned source) {
    atom_store_rel(&sources[source].put, atom_load_rlx(&sources[source].put) + 1);
    unpark(idle_wake(&idle));
}

/* Goes to sleep and comes back; returns whether the worker now searches. */
static bool sleep_once(unsigned me, bool searching, struct rng *rng) {
    idle_enter(&idle, me, searching);
    if (!look()) {
        uint64_t deadline = naps && rng_below(rng, 2) ? sys->now() + rng_below(rng, 50) * 1000 : SYS_FOREVER;
        if (parker_park(&beds[me], deadline) == 0) {
            atom_add_rlx(&woken, 1);
            return true;
        }
        atom_add_rlx(&timed_out, 1);
        searching = false;
    }
    if (idle_leave(&idle, me, searching)) return searching;
    EXPECT_EQ(parker_park(&beds[me], SYS_FOREVER), 0);
    return true;
}

static void *works(void *arg) {
    unsigned me = *(unsigned *)arg;
    struct rng rng;
    rng_seed(&rng, seed, me);
    for (bool searching = false;;) {
        if (take_any()) {
            if (searching) unpark(idle_found(&idle));
            searching = false;
            run_item();
            atom_add_rel(&done, 1);
        } else if (atom_load_rlx(&stop)) {
            return NULL;
        } else if (!searching && idle_search(&idle)) {
            searching = true; /* and look again */
        } else {
            searching = sleep_once(me, searching, &rng);
        }
    }
}

static unsigned names[WORKERS];
static sys_thread workers[WORKERS];

static void start_workers(void) {
    seed = test_seed(1);
    idle_init(&idle, crew);
    for (unsigned i = 0; i < crew; i++) {
        names[i] = i;
        parker_init(&beds[i]);
        EXPECT_EQ(sys->thread_start(&workers[i], works, &names[i]), 0);
    }
}

static void stop_workers(void) {
    atom_store_rel(&stop, true);
    for (unsigned i = 0; i < crew; i++)
        if (idle_wake_one(&idle, i)) parker_unpark(&beds[i]);
    for (unsigned i = 0; i < crew; i++)
        EXPECT_EQ(sys->thread_join(workers[i]), 0);
    EXPECT_EQ(idle_sleepers(&idle), 0);
}

static void no_item(void) {}

/* All items are run though they come at awkward moments. */
static unsigned items;
static void *submits(void *arg) {
    unsigned me = *(unsigned *)arg;
    struct rng rng;
    rng_seed(&rng, seed, WORKERS + me);
    for (unsigned i = 0; i < items;) {
        unsigned burst = 1 + rng_below(&rng, 4);
        for (unsigned k = 0; k < burst && i < items; k++, i++) {
            submit(me);
            atom_add_rlx(&submitted, 1);
        }
        if (rng_below(&rng, 2)) /* let them fall asleep */
            for (unsigned spins = rng_below(&rng, 2000); spins > 0; spins--)
                __asm__ volatile("");
        else if (rng_below(&rng, 8) == 0) usleep(rng_below(&rng, 100));
    }
    return NULL;
}

static void run_submitters(void) {
    run_item = no_item;
    start_workers();
    sys_thread threads[SUBMITTERS];
    for (unsigned i = 0; i < SUBMITTERS; i++)
        EXPECT_EQ(sys->thread_start(&threads[i], submits, &names[i]), 0);
    for (unsigned i = 0; i < SUBMITTERS; i++)
        EXPECT_EQ(sys->thread_join(threads[i]), 0);
    while (atom_load_acq(&done) < (uint64_t)SUBMITTERS * items)
        sys->yield(); /* hangs if work is left with all asleep */
    stop_workers();
    EXPECT_EQ(atom_load_rlx(&done), atom_load_rlx(&submitted));
    for (unsigned i = 0; i < SUBMITTERS; i++)
        EXPECT_EQ(atom_load_rlx(&sources[i].put), atom_load_rlx(&sources[i].taken));
}

TEST(idle_stress_submitted_is_done) {
    items = 40000 * test_scale();
    run_submitters();
}

TEST(idle_stress_with_naps_and_false_wakeups) {
    sys_scripted_install();
    sys_script.futex_eintr_every = 7;
    sys_script.futex_spurious_every = 5;
    items = 5000 * test_scale();
    naps = true;
    run_submitters();
}

TEST(idle_stress_without_membarrier) {
    sys_scripted_install();
    sys_script.fence_refused = true;
    sys_fence_setup();
    items = 40000 * test_scale();
    run_submitters();
}

/* One item at a time, brought just when the worker may be going to bed; no later item makes up for one that was
 * missed. */
static void one_at_a_time(unsigned rounds) {
    crew = 1;
    run_item = no_item;
    start_workers();
    struct rng rng;
    rng_seed(&rng, seed, 99);
    for (uint64_t r = 1; r <= rounds; r++) {
        submit(0);
        while (atom_load_acq(&done) < r)
            spin_pause();
        for (unsigned spins = rng_below(&rng, 1 << rng_below(&rng, 14)); spins > 0; spins--)
            __asm__ volatile("");
    }
    stop_workers();
}

TEST(idle_stress_one_at_a_time) { one_at_a_time(20000 * test_scale()); }

TEST(idle_stress_one_at_a_time_without_membarrier) {
    sys_scripted_install();
    sys_script.fence_refused = true;
    sys_fence_setup();
    one_at_a_time(20000 * test_scale());
}

/* As many items as workers, each of which ends only when all of the round are being run at once. A single worker that
 * sleeps beside an item makes it hang: no other will come for it. */
static atom_u64 arrived;
static void meets(void) {
    uint64_t place = atom_add_acqrel(&arrived, 1);
    while (atom_load_acq(&arrived) < (place / WORKERS + 1) * WORKERS)
        sys->yield();
}
static void *submits_half(void *arg) {
    for (unsigned i = 0; i < WORKERS / SUBMITTERS; i++)
        submit(*(unsigned *)arg);
    return NULL;
}

TEST(idle_stress_all_workers_are_brought_in) {
    run_item = meets;
    start_workers();
    unsigned rounds = 3000 * test_scale();
    struct rng rng;
    rng_seed(&rng, seed, 99);
    for (uint64_t r = 1; r <= rounds; r++) {
        if (r % 16 == 0) { /* the expensive way, at the same time */
            sys_thread threads[SUBMITTERS];
            for (unsigned i = 0; i < SUBMITTERS; i++)
                EXPECT_EQ(sys->thread_start(&threads[i], submits_half, &names[i]), 0);
            for (unsigned i = 0; i < SUBMITTERS; i++)
                EXPECT_EQ(sys->thread_join(threads[i]), 0);
        } else {
            for (unsigned i = 0; i < WORKERS; i++)
                submit(i % SUBMITTERS);
        }
        while (atom_load_acq(&done) < r * WORKERS)
            sys->yield();
        if (rng_below(&rng, 4) == 0) usleep(rng_below(&rng, 100));
    }
    stop_workers();
    EXPECT_EQ(atom_load_rlx(&done), (uint64_t)rounds * WORKERS);
}

TEST(idle_runtime_makes_no_wake_ups) {
    sys_scripted_install();
    run_item = no_item;
    start_workers();
    submit(0);
    while (atom_load_acq(&done) < 1 || idle_sleepers(&idle) < WORKERS)
        usleep(1000);
    usleep(20000); /* the last one may still be on its way to bed */
    uint64_t waits = atom_load_rlx(&sys_script.counts.futex_wait), before = atom_load_rlx(&woken);
    uint64_t fences = atom_load_rlx(&sys_script.counts.fence_heavy);
    usleep(200000);
    EXPECT_EQ(atom_load_rlx(&woken), before);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.futex_wait), waits);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.fence_heavy), fences);
    EXPECT_EQ(idle_searchers(&idle), 0);
    stop_workers();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
