/* The roster: all threads of the simulation in the order of their start, and those of them that may still run. The others, that have ended or were on a
 * machine that has crashed, cost nothing where the next thread is chosen.
 *
 *   R1  The living are in the order of their start. `place` is a thread's place among them; of one that has left it is the place before it, so the thread
 *       behind it is found in the same way. */
#ifndef WEFT_SIM_ROSTER_H
#define WEFT_SIM_ROSTER_H

#include "sim.h"

extern struct roster {
    struct sim_thread **all, **living;
    unsigned count, alive, room;
} roster;

/* A thread with the next index. Ends the program when there are SIM_THREADS_MOST. */
struct sim_thread *roster_add(void);
/* It never runs again. */
void roster_leave(struct sim_thread *thread);
void roster_clear(void);

/* The living thread that is `n` places behind this one; n = roster.alive is the thread itself, if it is alive. */
static inline struct sim_thread *roster_behind(const struct sim_thread *thread, unsigned n) {
    return roster.living[(thread->place + n) % roster.alive];
}

static inline bool roster_can_run(const struct sim_thread *thread) { return thread->state == SIM_RUNNABLE && !thread->left; }
/* The n-th thread that can run, counted from the one behind `me`, which itself comes last. *count: how many there are. */
struct sim_thread *roster_nth(const struct sim_thread *me, uint64_t n, unsigned *count);

#endif
