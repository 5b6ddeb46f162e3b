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
    seeds_find(1, 8, starving_main, "starvation", &result);
    seeds_pass(1, 4, patient_main);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
