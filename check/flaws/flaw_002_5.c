/* 002.5: shutting down: empty queues do not mean that no process is left. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

SHARED atom_u32 queued, live, completed;

/* One process, Blocked; everybody was told to stop, and the process was sent its cancel. */
static void setup(void) { atom_store_rlx(&live, 1); }

static bool step(void) {
    uint32_t one = 1;
    if (!atom_cas_sc_sc(&queued, &one, 0)) return false;
    atom_store_sc(&completed, 1);
    atom_sub_sc(&live, 1);
    return true;
}
/* "Workers exit once no work remains." */
static void worker(void) {
    while (step())
        continue;
}
static void worker_corrected(void) {
    struct spin spin = spin_begin();
    while (!step() && atom_load_sc(&live) != 0)
        spin_wait(&spin);
}
/* The command that the process waits for completes and makes it Ready. */
static void handler(void) { atom_store_sc(&queued, 1); }

static void none_left(void) { chk_assert(atom_load_rlx(&completed) == 1, "when the workers have gone, no process is left"); }

SCENARIO(flaw_002_5_workers_leave_blocked_behind, .about = "a worker leaves because its queue is empty; then a process becomes Ready",
         .setup = setup, .threads = {worker, handler}, .finish = none_left, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_002_5_workers_leave_when_none_live, .about = "workers leave when no process is left (or the deadline has passed)",
         .setup = setup, .threads = {worker_corrected, worker_corrected, handler}, .finish = none_left)
