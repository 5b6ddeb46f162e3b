/* What the library calls when it is compiled for the simulation (WEFT_SIM). The functions are in sim/. */
#ifndef WEFT_BASE_SIM_HOOKS_H
#define WEFT_BASE_SIM_HOOKS_H

#include "base/config.h"

#include <stdint.h>

#if WEFT_SIM
/* Atomic operations that the running thread may still make before sim_atom is called: there another thread may be given its turn. */
extern int64_t sim_atoms_left;
void sim_atom(void);
/* The thread waits in a loop for another one; a new loop begins. */
void sim_spin(void);
void sim_spin_begin(void);
/* A blocking function is about to run. */
void sim_blocking(void);
/* The running thread holds one lock of weft more, or one less. When its machine crashes it goes on until it holds none, so that the threads of
 * other machines never wait for a thread that is no more. */
void sim_lock_taken(void);
void sim_lock_dropped(void);
/* A runtime has begun, with this instance (sched/door.h): it belongs to the running thread's machine. */
void sim_runtime_opened(unsigned instance);
/* A runtime's memory stays, because a thread of it has not ended in time. */
void sim_runtime_left(void);
/* A line of the history. `what` is a string that lives on; `detail` no address. */
void sim_note(const char *what, uint64_t detail);
static inline void sim_point(void) {
    if (__builtin_expect(--sim_atoms_left < 0, 0)) sim_atom();
}
#else
static inline void sim_spin_begin(void) {}
static inline void sim_blocking(void) {}
static inline void sim_lock_taken(void) {}
static inline void sim_lock_dropped(void) {}
static inline void sim_runtime_opened(unsigned instance) { (void)instance; }
static inline void sim_runtime_left(void) {}
#define sim_note(what, detail) ((void)0) /* a macro: `detail` costs nothing */
static inline void sim_point(void) {}
#endif

#endif
