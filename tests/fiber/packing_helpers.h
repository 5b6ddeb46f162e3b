/* Packing by a test, as sysmon does it but at once: its time is not waited for. */
#ifndef WEFT_TESTS_FIBER_PACKING_HELPERS_H
#define WEFT_TESTS_FIBER_PACKING_HELPERS_H

#include "runtime_helpers.h"

#include "fiber/pack.h"
#include "runtime/stop.h"

static inline struct runtime *packing_runtime(void) { return (struct runtime *)rt.runtime; }
static inline struct proc *packing_proc(weft_pid pid) { return table_at(&packing_runtime()->table, pid_slot(pid)); }
/* Of a process that may be packed, or whose slot has been such a process's. */
static inline struct packing *packing_of_pid(weft_pid pid) {
    return side_of(&packing_runtime()->sides.packings, pid_slot(pid), sizeof(struct packing), false);
}
/* Packed and parked: the word says so when all is written. */
static inline bool is_packed(weft_pid pid) {
    enum state_name state = state_of(atom_load_acq(&packing_proc(pid)->state.word));
    return (state == STATE_IDLE || state == STATE_BLOCKED) && atom_load_rlx(&packing_of_pid(pid)->packed) == pid_generation(pid);
}
static inline void packing_ask(weft_pid pid) {
    atom_store_rlx(&packing_of_pid(pid)->asked, pid_generation(pid));
    proc_wake(packing_runtime(), NULL, packing_proc(pid));
}

#endif
