/* 002.2: a wake-up flag beside the state instead of in it. */
#include "step_process.h"

SHARED atom_u32 state, events;
SHARED atom_bool flag;

static void setup(void) { atom_store_rlx(&state, RUNNING); }

/* "If a handler calls CompleteYield while the worker still owns the process (Running), it sets the flag." */
static void complete_yield(void) {
    atom_store_sc(&events, 1);
    if (atom_load_sc(&state) == RUNNING) atom_store_sc(&flag, true);
    else make_ready(&state, BLOCKED);
}
/* "The worker checks the flag after dispatching and re-queues if set." */
static void check_then_block(void) {
    if (atom_load_sc(&flag)) return;
    atom_store_sc(&state, BLOCKED);
    sleep_until_ready(&state, BLOCKED);
}
static void block_then_check(void) {
    atom_store_sc(&state, BLOCKED);
    if (atom_load_sc(&flag)) return;
    sleep_until_ready(&state, BLOCKED);
}

SCENARIO(flaw_002_2_flag_checked_before_blocking, .about = "the flag is set between the worker's check and its store of Blocked",
         .setup = setup, .threads = {check_then_block, complete_yield}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(flaw_002_2_flag_checked_after_blocking,
         .about = "the handler saw Running, the worker blocks and finds no flag yet, then the flag is set", .setup = setup,
         .threads = {block_then_check, complete_yield}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void complete_yield_corrected(void) {
    atom_store_sc(&events, 1);
    wake(&state);
}
static void block_corrected(void) {
    park(&state, BLOCKED);
    chk_assert(atom_load_sc(&events) == 1, "what it was woken for is there");
}

SCENARIO(fixed_002_2_flag_in_the_state_word, .about = "park by CAS only if not notified; the waker notes or enqueues", .setup = setup,
         .threads = {block_corrected, complete_yield_corrected})
