/* Processes that move from thread to thread at weft calls, as often as can be. */
#ifndef WEFT_TESTS_FIBER_MIGRATE_H
#define WEFT_TESTS_FIBER_MIGRATE_H

#include "victim.h"

static atom_u64 migrate_moves, migrate_done;

/* To the next worker, for certain: as a pinned process goes to its own. */
static __attribute__((noinline, unused)) void migrate_force(void) {
    struct worker *worker = worker_here();
    struct proc *proc = worker->current;
    struct runtime *runtime = worker->runtime;
    if (rt.workers < 2) return;
    struct worker *next = atom_load_rlx(&runtime->workers[(worker->index + 1) % rt.workers]);
    atom_add_rlx(&next->pinned_count, 1);
    state_pin(&proc->state, next->index + 1);
    worker = fiber_leave(worker, WEFT_STEP_CONTINUE);
    EXPECT(worker == next && worker == worker_here());
    state_unpin(&proc->state);
    atom_sub_rlx(&next->pinned_count, 1);
}

/* All kinds of calls that may move the process. Always inline: the caller is to be compiled with the calls in it. */
static inline __attribute__((always_inline)) void migrate_hop(unsigned round, weft_pid partner) {
    weft_msg *message;
    switch (round % 8) {
    case 0: weft_sleep(1); break;
    case 1: weft_send(partner, round, NULL, 0); break;
    case 2: weft_handoff(partner, round, NULL, 0); break;
    case 3:
        while (weft_recv(&message, weft_in(1000)) == 0)
            weft_msg_free(message);
        break;
    case 4: weft_yield(); break;
    default: migrate_force(); break;
    }
}

/* Runs the processes until they have moved so often; their argument is their number. */
enum { MIGRATE_PROCESSES = 12 };
static weft_pid migrate_pids[MIGRATE_PROCESSES];
static atom_bool migrate_over, migrate_go;
/* All are known to each other. */
static inline void migrate_begin(void) {
    while (!atom_load_acq(&migrate_go))
        weft_yield();
}
static inline void migrate_run(weft_entry entry) {
    uint64_t wanted = 8000 / RT_SLOW * test_scale();
    atom_store_rlx(&migrate_moves, 0);
    atom_store_rlx(&migrate_done, 0);
    atom_store_rlx(&migrate_over, false);
    atom_store_rlx(&migrate_go, false);
    for (unsigned i = 0; i < MIGRATE_PROCESSES; i++)
        migrate_pids[i] = victim_spawn(entry, (void *)(uintptr_t)i, 0, NULL);
    atom_store_rel(&migrate_go, true);
    if (rt.workers > 1) {
        rt_wait(&migrate_moves, wanted / 10); /* however long that takes; and more, if they come soon */
        for (unsigned waited = 0; waited < 250 * test_scale() && atom_load_acq(&migrate_moves) < wanted; waited++)
            usleep(1000);
    } else {
        usleep(10 * 1000);
    }
    atom_store_rel(&migrate_over, true);
    rt_wait(&migrate_done, MIGRATE_PROCESSES);
    printf("%lu moves\n", (unsigned long)atom_load_rlx(&migrate_moves));
}

#endif
