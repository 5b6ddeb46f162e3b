/* 002.3: a message wakes a process that waits for messages, but not one that waits for a command. */
#include "step_process.h"

SHARED atom_u32 state;
SHARED atom_bool message;

static void setup(void) { atom_store_rlx(&state, RUNNING); }

/* Yielded a command whose completion never comes (say, a timer of an hour), and would take a cancel meanwhile. */
static void yielder(void) {
    park(&state, BLOCKED);
    chk_assert(atom_load_sc(&message), "it was woken by the message");
}
/* "Pushes the message as an event to the process queue, and wakes the process if idle." */
static void send(void) {
    atom_store_sc(&message, true);
    for (uint32_t s = atom_load_sc(&state);;) {
        if (s == IDLE) make_ready(&state, IDLE);
        if (s != RUNNING || atom_cas_sc_sc(&state, &s, RUNNING | NOTIFIED)) return;
    }
}
static void send_corrected(void) {
    atom_store_sc(&message, true);
    wake(&state);
}

SCENARIO(flaw_002_3_blocked_process_is_deaf, .about = "Send wakes an Idle process only: one with a pending yield never hears it",
         .setup = setup, .threads = {yielder, send}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(fixed_002_3_send_wakes_blocked_too, .about = "a message wakes its receiver, whatever it waits for", .setup = setup,
         .threads = {yielder, send_corrected})
