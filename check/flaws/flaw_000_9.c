/* 000.9: ChangeState(Running, ...) is a blind store. */
#include "thread_queue.h"

enum { NOTIFIED = 4, KILLED = 8 };

SHARED atom_u32 state;
SHARED atom_bool kill;

static void setup(void) { atom_store_rlx(&state, RUNNING); }

/* The process, parked, is a thread that sleeps until another thread makes it Queued. */
static void sleep_until_queued(void) {
    while (atom_load_sc(&state) == SLEEPING)
        sys->futex_wait(&state, SLEEPING, SYS_FOREVER);
}
static void park(void) {
    if ((atom_load_sc(&state) & NOTIFIED) != 0) return;
    atom_store_sc(&state, SLEEPING); /* INVARIANT(State = Running), State <- To */
    sleep_until_queued();
}
static void park_corrected(void) {
    uint32_t s = RUNNING;
    if (!atom_cas_sc_sc(&state, &s, SLEEPING)) return;
    sleep_until_queued();
}
static void waker(void) {
    for (uint32_t s = atom_load_sc(&state);;) {
        uint32_t to = s == SLEEPING ? (uint32_t)QUEUED : s | NOTIFIED;
        if (!atom_cas_sc_sc(&state, &s, to)) continue;
        if (to == QUEUED) sys->futex_wake(&state, 1);
        return;
    }
}

SCENARIO(flaw_000_9_blind_store_erases_wakeup, .about = "a wake-up noted while Running is overwritten by State <- Sleeping", .setup = setup,
         .threads = {park, waker}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(fixed_000_9_park_by_cas, .about = "Running becomes Sleeping by CAS, only if nothing was noted meanwhile", .setup = setup,
         .threads = {park_corrected, waker})

static void yield_process(void) { atom_store_sc(&state, QUEUED); }
static void killer(void) { atom_or_sc(&state, KILLED); }
static void killer_corrected(void) { atom_store_sc(&kill, true); }
static void still_killed(void) { chk_assert((atom_load_rlx(&state) & KILLED) != 0, "a kill is never forgotten"); }
static void still_killed_corrected(void) { chk_assert(atom_load_rlx(&kill), "a kill is never forgotten"); }

SCENARIO(flaw_000_9_blind_store_erases_kill, .about = "a kill flag set while Running is overwritten by State <- Queued", .setup = setup,
         .threads = {yield_process, killer}, .finish = still_killed, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_000_9_kill_in_its_own_word, .about = "no state change can erase a kill that lives in another word", .setup = setup,
         .threads = {yield_process, killer_corrected}, .finish = still_killed_corrected)
