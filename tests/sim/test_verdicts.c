/* What the simulation itself finds wrong: memory that is not given back, a process that is ready and never runs, a thread it cannot see. */
#include "seeds.h"

#include "sched/door.h"

#include <weft/weft.h>

/* ---- a leak ---------------------------------------------------------------------------------------------------------------- */

static weft_msg *kept;
static int keeps(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_send(weft_self(), 1, "kept", 4);
    return weft_recv(&kept, WEFT_FOREVER);
}
static int leaking_main(void) { return weft_main(0, NULL, keeps); }

TEST(a_message_that_is_kept_is_a_leak) {
    struct seed_result result;
    seed_run(1, leaking_main, &result);
    EXPECT(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 86);
    EXPECT(strstr(result.said, "leak"));
    EXPECT(strstr(result.line, "verdict=leak"));
}

/* ---- a runtime that cannot be taken down ---------------------------------------------------------------------------------------------- */

static void sleeps_long(void *arg) {
    (void)arg;
    sleep(3600);
}
static void blocks(void *arg) { weft_blocking(sleeps_long, arg); }
static int leaves(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_spawn(blocks, NULL);
    weft_sleep(WEFT_MILLISECOND);
    return 0;
}
static int leaving_main(void) { return weft_main(0, NULL, leaves); }

TEST(a_runtime_that_could_not_be_stopped_is_no_leak) {
    struct seed_result result;
    seed_run(1, leaving_main, &result);
    EXPECT(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 86);
    EXPECT(strstr(result.line, "verdict=unstopped"));
    EXPECT(strstr(result.said, "while a thread was still in a process"));
}

/* The next life stops well, but the memory of the one before stays. */
static int one_life(int argc, char **argv) {
    (void)argc, (void)argv;
    weft_sleep(WEFT_SECOND);
    return 0;
}
static void lives(void *arg) {
    (void)arg;
    weft_main(0, NULL, one_life);
}
static int crash_main(void) {
    int machine = weft_sim_machine("one", lives, NULL);
    weft_sim_wait(machine, weft_in(WEFT_MILLISECOND));
    weft_sim_crash(machine);
    if (weft_sim_wait(machine, WEFT_FOREVER) != WEFT_EKILLED || weft_sim_restart(machine)) return 1;
    return weft_sim_wait(machine, WEFT_FOREVER);
}
TEST(what_a_crashed_machine_leaves_is_no_leak) { seeds_pass(1, 4, crash_main); }

static int late(int argc, char **argv) {
    (void)argc, (void)argv;
    for (int i = 0; i < 4; i++)
        weft_spawn(blocks, NULL);
    return 0;
}
static int late_main(void) { return weft_main(0, NULL, late); }
TEST_WITHIN(threads_that_stall_may_keep_a_runtime_from_its_end, 60) {
    setenv("WEFT_SIM_FAULTS", "stall", 1);
    seeds_pass(1, 20, late_main);
}

/* ---- starvation ------------------------------------------------------------------------------------------------------------ */

enum { TURNS = 60000, TAKERS = 4 };

static void waits(void *arg) {
    weft_msg *message;
    (void)arg;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
}

/* Makes the process ready without a queue entry, as a lost one would. */
static void lose(weft_pid pid) {
    struct proc *proc = table_at(&door_runtime(pid_instance(pid))->table, pid_slot(pid));
    uint64_t word = atom_load_rlx(&proc->state.word);
    atom_store_rlx(&proc->state.word, (word & ~(uint64_t)STATE_MASK) | STATE_READY);
}

static void takes_turns(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < TURNS; i++) {
        weft_yield();
        if (i % 8 == 0) sim_effect("turn", 0); /* where the simulation looks */
    }
}

static int starves(int argc, char **argv) {
    (void)argv;
    weft_pid pid = weft_spawn(waits, NULL), others[TAKERS];
    weft_sleep(1000000);
    if (argc) lose(pid);
    for (unsigned i = 0; i < TAKERS; i++)
        others[i] = weft_spawn_joinable(takes_turns, NULL);
    for (unsigned i = 0; i < TAKERS; i++)
        weft_join(others[i], NULL, WEFT_FOREVER);
    weft_cancel(pid);
    return 0;
}
static int starving_main(void) { return weft_main(1, (char *[]){"starves", NULL}, starves); }
static int patient_main(void) { return weft_main(0, NULL, starves); }

TEST_WITHIN(a_process_that_is_ready_and_never_runs_is_found, 120) {
    struct seed_result result;
    seeds_find(1, 100, starving_main, "starvation", &result);
    seeds_pass(1, 4, patient_main);
}

/* ---- a livelock --------------------------------------------------------------------------------------------------------------------- */

static volatile bool never;

static void *spins(void *arg) {
    while (!never)
        sched_yield();
    return arg;
}
static int livelock_main(void) {
    weft_sim_thread thread;
    if (weft_sim_thread_start(&thread, spins, NULL)) return 1;
    spins(NULL);
    return 0;
}

TEST_WITHIN(threads_that_wait_in_loops_for_ever_are_found, 120) {
    struct seed_result result;
    seeds_find(1, 1, livelock_main, "livelock", &result);
}

/* ---- limits -------------------------------------------------------------------------------------------------------------------------- */

static void *ends(void *arg) { return arg; }
static int threads_main(void) {
    weft_sim_thread thread;
    for (;;)
        if (weft_sim_thread_start(&thread, ends, NULL) || weft_sim_thread_join(thread)) return 1;
}

TEST_WITHIN(too_many_threads_are_a_verdict_of_their_own, 120) {
    struct seed_result result;
    seed_run(1, threads_main, &result);
    EXPECT(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 86);
    EXPECT(strstr(result.said, "limit: 32768 threads have been started"));
    EXPECT(strstr(result.line, "verdict=limit"));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
