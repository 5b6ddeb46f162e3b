/* The state of a process of the work-stealing scheduler (002), for the scenarios that show how it can be deaf.
 *
 * The worker that runs the process stands for the process itself: once it is parked it sleeps on the state word until
 * another thread makes it Ready. A wake-up that is lost is then a thread that sleeps for ever. */
#ifndef WEFT_CHECK_FLAWS_STEP_PROCESS_H
#define WEFT_CHECK_FLAWS_STEP_PROCESS_H

#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"
#include "sys/sys.h"

enum { READY, RUNNING, BLOCKED, IDLE, NOTIFIED = 8 };

static inline void sleep_until_ready(atom_u32 *state, uint32_t parked) {
    while (atom_load_sc(state) == parked)
        sys->futex_wait(state, parked, SYS_FOREVER);
}

static inline bool make_ready(atom_u32 *state, uint32_t parked) {
    uint32_t s = parked;
    if (!atom_cas_sc_sc(state, &s, READY)) return false;
    sys->futex_wake(state, 1);
    return true;
}

/* Corrected: the flag lives in the word. Park: Running becomes `parked` only if not notified, else Ready. */
static inline void park(atom_u32 *state, uint32_t parked) {
    uint32_t s = RUNNING;
    if (atom_cas_sc_sc(state, &s, parked)) sleep_until_ready(state, parked);
    else atom_store_sc(state, READY);
}

/* Corrected: notes the wake-up if Running, and enqueues only when it is the one that ends the wait. */
static inline void wake(atom_u32 *state) {
    uint32_t s = atom_load_sc(state);
    for (;;) {
        bool waiting = s == BLOCKED || s == IDLE;
        if (s == READY) return;
        if (!atom_cas_sc_sc(state, &s, waiting ? (uint32_t)READY : s | NOTIFIED)) continue;
        if (waiting) sys->futex_wake(state, 1);
        return;
    }
}

#endif
