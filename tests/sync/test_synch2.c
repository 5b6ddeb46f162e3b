#define _GNU_SOURCE
#include "base/assert.h"
#include "base/rng.h"
#include "base/spin.h"
#include "scripted.h"
#include "sync/synch2.h"
#include "sys/sys.h"
#include "test.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t MS = 1000 * 1000;

/* ---- One thread -------------------------------------------------------------------------------------------------- */

TEST(synch2_zeroed_memory_is_ready) {
    static weft_synch2 door;
    for (unsigned i = 0; i < 5; i++) {
        weft_synch2_enter(&door, 0);
        weft_synch2_leave(&door, 0);
        weft_synch2_enter(&door, 1);
        weft_synch2_leave(&door, 1);
        weft_synch2_enter(&door, 1);
        weft_synch2_leave(&door, 1);
    }
}

TEST(synch2_init_makes_any_memory_ready) {
    weft_synch2 *door = aligned_alloc(64, sizeof *door);
    memset(door, 0xa5, sizeof *door);
    weft_synch2_init(door);
    EXPECT_EQ(weft_synch2_try(door, 1), 0);
    weft_synch2_leave(door, 1);
    free(door);
}

TEST(synch2_try_says_busy_and_does_no_harm) {
    static weft_synch2 door;
    for (unsigned role = 0; role < 2; role++) {
        EXPECT_EQ(weft_synch2_try(&door, role), 0);
        for (unsigned i = 0; i < 3; i++)
            EXPECT_EQ(weft_synch2_try(&door, 1 - role), WEFT_EBUSY);
        weft_synch2_leave(&door, role);
        EXPECT_EQ(weft_synch2_try(&door, 1 - role), 0);
        weft_synch2_leave(&door, 1 - role);
    }
}

TEST(synch2_deadline_in_the_past_enters_only_if_free) {
    static weft_synch2 door;
    EXPECT_EQ(weft_synch2_enter_until(&door, 0, 0), 0);
    EXPECT_EQ(weft_synch2_enter_until(&door, 1, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_synch2_enter_until(&door, 1, weft_now()), WEFT_ETIMEDOUT);
    weft_synch2_leave(&door, 0);
    EXPECT_EQ(weft_synch2_enter_until(&door, 1, 0), 0);
    weft_synch2_leave(&door, 1);
}

TEST(synch2_deadline_is_kept) {
    static weft_synch2 door;
    weft_synch2_enter(&door, 1);
    for (uint64_t wait = 0; wait <= 20 * MS; wait += 5 * MS) {
        uint64_t start = sys->now();
        EXPECT_EQ(weft_synch2_enter_until(&door, 0, start + wait), WEFT_ETIMEDOUT);
        EXPECT(sys->now() >= start + wait);
    }
    weft_synch2_leave(&door, 1);
    EXPECT_EQ(weft_synch2_enter_until(&door, 0, WEFT_SYNCH2_FOREVER), 0);
    weft_synch2_leave(&door, 0);
}

/* ---- Misuse aborts by name --------------------------------------------------------------------------------------- */

static weft_synch2 misused;

static void enter_twice(void) {
    weft_synch2_enter(&misused, 0);
    weft_synch2_enter(&misused, 0);
}
static void try_inside(void) {
    weft_synch2_enter(&misused, 1);
    weft_synch2_try(&misused, 1);
}
static void until_inside(void) {
    weft_synch2_enter(&misused, 1);
    weft_synch2_enter_until(&misused, 1, 0);
}
static void leave_without_enter(void) { weft_synch2_leave(&misused, 1); }
static void leave_twice(void) {
    weft_synch2_enter(&misused, 0);
    weft_synch2_leave(&misused, 0);
    weft_synch2_leave(&misused, 0);
}
static void leave_the_others(void) {
    weft_synch2_enter(&misused, 0);
    weft_synch2_leave(&misused, 1);
}
static void leave_after_busy(void) {
    weft_synch2_enter(&misused, 0);
    if (weft_synch2_try(&misused, 1) == WEFT_EBUSY) weft_synch2_leave(&misused, 1);
}
static void leave_after_late(void) {
    weft_synch2_enter(&misused, 0);
    if (weft_synch2_enter_until(&misused, 1, 0) == WEFT_ETIMEDOUT) weft_synch2_leave(&misused, 1);
}
static void enter_no_role(void) { weft_synch2_enter(&misused, 2); }
static void try_no_role(void) { weft_synch2_try(&misused, 77); }
static void until_no_role(void) { weft_synch2_enter_until(&misused, UINT32_MAX, 0); }
static void leave_no_role(void) { weft_synch2_leave(&misused, 3); }
static void init_crooked(void) {
    static char memory[2 * sizeof(weft_synch2)] __attribute__((aligned(64)));
    char *volatile crooked = memory + 16; /* as malloc might give it; hidden from the compiler, which would know better */
    weft_synch2_init((weft_synch2 *)(void *)crooked);
}

TEST(synch2_same_role_twice_aborts) {
    EXPECT_ABORT(enter_twice, "weft_synch2_enter", "role 0 is inside already", "leave first");
    EXPECT_ABORT(try_inside, "weft_synch2_try", "role 1 is inside already", "leave first");
    EXPECT_ABORT(until_inside, "weft_synch2_enter_until", "role 1 is inside already", "leave first");
}

TEST(synch2_leave_without_enter_aborts) {
    EXPECT_ABORT(leave_without_enter, "weft_synch2_leave", "role 1 is not inside", "enter before you leave");
    EXPECT_ABORT(leave_twice, "weft_synch2_leave", "role 0 is not inside", "enter before you leave");
    EXPECT_ABORT(leave_the_others, "weft_synch2_leave", "role 1 is not inside", "enter before you leave");
    EXPECT_ABORT(leave_after_busy, "weft_synch2_leave", "role 1 is not inside", "enter before you leave");
    EXPECT_ABORT(leave_after_late, "weft_synch2_leave", "role 1 is not inside", "enter before you leave");
}

TEST(synch2_other_roles_abort) {
    EXPECT_ABORT(enter_no_role, "weft_synch2_enter", "no role 2", "role 0 and role 1");
    EXPECT_ABORT(try_no_role, "weft_synch2_try", "no role 77", "role 0 and role 1");
    EXPECT_ABORT(until_no_role, "weft_synch2_enter_until", "no role 4294967295", "role 0 and role 1");
    EXPECT_ABORT(leave_no_role, "weft_synch2_leave", "no role 3", "role 0 and role 1");
}

TEST(synch2_crooked_memory_aborts) { EXPECT_ABORT(init_crooked, "weft_synch2_init", "aligned", "aligned_alloc"); }

/* ---- Two threads ------------------------------------------------------------------------------------------------- */

/* The real way of waiting, counted; it also is the hook's test. */
static struct {
    struct synch2_waiter waiter;
    atom_u64 sleeps, wakes;
} counted;

static int counted_sleep(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell, uint64_t deadline) {
    EXPECT(waiter == &counted.waiter && role < 2);
    atom_add_rlx(&counted.sleeps, 1);
    return synch2_thread_waiter.sleep(waiter, role, bell, deadline);
}
static void counted_wake(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell) {
    EXPECT(waiter == &counted.waiter && role < 2);
    atom_add_rlx(&counted.wakes, 1);
    synch2_thread_waiter.wake(waiter, role, bell);
}
static void count_sleeps(weft_synch2 *door, uint32_t rounds) {
    counted.waiter = (struct synch2_waiter){.sleep = counted_sleep, .wake = counted_wake, .rounds = {rounds, rounds}};
    synch2_set_waiter(door, &counted.waiter);
}
static void await_sleeps(uint64_t n) {
    while (atom_load_rlx(&counted.sleeps) < n)
        usleep(200);
}

static weft_synch2 door;
static sys_thread second;
static void start(void *(*entry)(void *)) { EXPECT_EQ(sys->thread_start(&second, entry, NULL), 0); }
static void join(void) { EXPECT_EQ(sys->thread_join(second), 0); }

static void *enter_and_leave_1(void *none) {
    weft_synch2_enter(&door, 1);
    weft_synch2_leave(&door, 1);
    return none;
}

static void enter_waiting_role(void) {
    weft_synch2_enter(&door, 0);
    count_sleeps(&door, 0);
    start(enter_and_leave_1);
    await_sleeps(1);
    weft_synch2_enter(&door, 1);
}
static void leave_waiting_role(void) {
    weft_synch2_enter(&door, 0);
    count_sleeps(&door, 0);
    start(enter_and_leave_1);
    await_sleeps(1);
    weft_synch2_leave(&door, 1);
}
TEST(synch2_role_used_by_two_threads_aborts) {
    EXPECT_ABORT(enter_waiting_role, "weft_synch2_enter", "role 1 is still waiting", "a role of its own");
    EXPECT_ABORT(leave_waiting_role, "weft_synch2_leave", "role 1 is still waiting", "a role of its own");
}

static uint64_t cpu_of_this_program(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec;
}

TEST(synch2_sleeper_is_woken_and_uses_no_cpu) {
    count_sleeps(&door, synch2_thread_waiter.rounds[0]);
    weft_synch2_enter(&door, 0);
    start(enter_and_leave_1);
    await_sleeps(1);
    uint64_t before = cpu_of_this_program();
    usleep(300 * 1000);
    EXPECT(cpu_of_this_program() - before < 100 * MS);
    weft_synch2_leave(&door, 0);
    join();
    EXPECT(atom_load_rlx(&counted.wakes) >= 1);
    EXPECT_EQ(weft_synch2_try(&door, 0), 0);
}

static void *enter_until_1(void *none) {
    EXPECT_EQ(weft_synch2_enter_until(&door, 1, sys->now() + 20 * 1000 * MS), 0);
    weft_synch2_leave(&door, 1);
    return none;
}
TEST(synch2_deadline_not_reached) {
    count_sleeps(&door, 0);
    weft_synch2_enter(&door, 0);
    start(enter_until_1);
    await_sleeps(1);
    weft_synch2_leave(&door, 0);
    join();
}

/* Role 0, at the start the waker, sleeps; role 1 leaves, takes the waker's role over without asking it, and comes back at
 * once: role 0 has to be let in. */
static void *twice_1(void *none) {
    weft_synch2_enter(&door, 1);
    await_sleeps(1);
    weft_synch2_leave(&door, 1);
    weft_synch2_enter(&door, 1);
    weft_synch2_leave(&door, 1);
    return none;
}
TEST(synch2_sleeper_is_not_passed_over) {
    for (unsigned i = 0; i < 200; i++) {
        weft_synch2_init(&door);
        count_sleeps(&door, 0);
        atom_store_rlx(&counted.sleeps, 0);
        start(twice_1);
        while (!atom_load_rlx(&synch2_of(&door)->role[1].active))
            sys->yield();
        weft_synch2_enter(&door, 0);
        weft_synch2_leave(&door, 0);
        join();
    }
}

/* ---- Stress: conservation, with everything mixed ----------------------------------------------------------------- */

static struct {
    uint64_t turns;      /* each thread, given up ones included */
    unsigned sleep_each; /* every so many turns the one inside sleeps; 0: never */
    bool only_enter;
    uint64_t seed;
    /* Plain, protected by the door. */
    uint64_t total, by[2];
    unsigned passed[2];
    /* Own. */
    uint64_t entered[2], gave_up[2];
    atom_u64 done[2]; /* turns; neither runs far ahead, or there would be no contention */
} stress;

static void stress_inside(unsigned role, bool other_waits, struct rng *rng) {
    stress.total++;
    stress.by[role]++;
    /* While one waits, the other is let in at most once. One that may give up does not count. */
    stress.passed[role] = 0;
    stress.passed[1 - role] = other_waits ? stress.passed[1 - role] + 1 : 0;
    if (stress.only_enter) EXPECT(stress.passed[1 - role] <= 1);
    if (stress.sleep_each && rng_below(rng, stress.sleep_each) == 0) usleep(100 + rng_below(rng, 200));
    if (rng_below(rng, 16) == 0) sys->yield(); /* the other runs into it even if there is one CPU for both */
    EXPECT_EQ(stress.total, stress.by[0] + stress.by[1]);
}

static void keep_together(unsigned role, uint64_t done) {
    enum { AHEAD = 64 };
    struct spin spin = spin_begin();
    atom_store_rlx(&stress.done[role], done);
    while (done > atom_load_rlx(&stress.done[1 - role]) + AHEAD)
        spin_wait(&spin);
}

static void stress_role(unsigned role) {
    struct rng rng;
    rng_seed(&rng, stress.seed, role);
    for (uint64_t i = 0; i < stress.turns; i++) {
        keep_together(role, i);
        unsigned how = stress.only_enter ? 0 : rng_below(&rng, 4);
        int error = 0;
        if (how == 0) weft_synch2_enter(&door, role);
        else if (how == 1) error = weft_synch2_try(&door, role);
        else error = weft_synch2_enter_until(&door, role, how == 2 ? 0 : sys->now() + rng_below(&rng, 100) * 1000);
        bool other_waits = atom_load_rlx(&synch2_of(&door)->role[1 - role].active);
        if (error) {
            EXPECT(error == (how == 1 ? WEFT_EBUSY : WEFT_ETIMEDOUT));
            stress.gave_up[role]++;
            continue;
        }
        stress_inside(role, other_waits, &rng);
        stress.entered[role]++;
        weft_synch2_leave(&door, role);
    }
    atom_store_rlx(&stress.done[role], stress.turns);
}
static void *stress_1(void *none) {
    stress_role(1);
    return none;
}

static void run_stress(uint64_t turns, uint32_t rounds, unsigned sleep_each, bool only_enter) {
    memset(&stress, 0, sizeof stress);
    stress.turns = turns * test_scale();
    stress.sleep_each = sleep_each;
    stress.only_enter = only_enter;
    stress.seed = test_seed(4);
    weft_synch2_init(&door);
    count_sleeps(&door, rounds);
    start(stress_1);
    stress_role(0);
    join();
    EXPECT_EQ(stress.total, stress.entered[0] + stress.entered[1]);
    EXPECT_EQ(stress.by[0], stress.entered[0]);
    for (unsigned role = 0; role < 2; role++)
        EXPECT_EQ(stress.entered[role] + stress.gave_up[role], stress.turns);
    if (only_enter) EXPECT_EQ(stress.total, 2 * stress.turns);
    if (sleep_each) EXPECT(atom_load_rlx(&counted.sleeps) > 0 && atom_load_rlx(&counted.wakes) > 0);
    printf("%llu turns, %llu given up, %llu sleeps, %llu wakes\n", (unsigned long long)stress.total,
           (unsigned long long)stress.gave_up[0] + stress.gave_up[1], (unsigned long long)atom_load_rlx(&counted.sleeps),
           (unsigned long long)atom_load_rlx(&counted.wakes));
}

TEST(synch2_stress_busy) { run_stress(5000, synch2_thread_waiter.rounds[0], 0, true); }
TEST(synch2_stress_spins_only) { run_stress(5000, SYNCH2_NO_SLEEP, 0, true); }
TEST(synch2_stress_sleeps_at_once) { run_stress(5000, 0, 0, true); }
TEST(synch2_stress_with_naps) { run_stress(2000, synch2_thread_waiter.rounds[0], 4, true); }
TEST(synch2_stress_mixed) { run_stress(5000, synch2_thread_waiter.rounds[0], 100, false); }
TEST(synch2_stress_mixed_sleeps_at_once) { run_stress(2000, 0, 50, false); }

/* Signals and wake-ups for no reason. */
TEST(synch2_stress_disturbed) {
    sys_scripted_install();
    sys_script.futex_eintr_every = 3;
    sys_script.futex_spurious_every = 5;
    run_stress(10000, 0, 50, false);
    sys_scripted_reset();
}

/* A kernel without membarrier. */
TEST(synch2_stress_full_fences) {
    sys_scripted_install();
    sys_script.fence_refused = true;
    sys_fence_setup();
    EXPECT(atom_load_rlx(&atom_fence_light_is_full));
    run_stress(2000, 0, 50, false);
    run_stress(5000, synch2_thread_waiter.rounds[0], 0, true);
    sys_scripted_reset();
    sys_fence_setup();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
