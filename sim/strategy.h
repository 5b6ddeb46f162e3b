/* How a seed behaves as a whole: how often threads are switched, and to which. Nothing of this is a draw; a script does not use it.
 *
 * Half of the seeds choose among all threads, the others run the one with the highest priority, and lower it now and then (PCT: Burckhardt and
 * others, ASPLOS 2010). In quiet seeds (draw.h) there is no switch at atomic operations before the thread's turn is over (baton.c), and few are
 * elsewhere. */
#ifndef WEFT_SIM_STRATEGY_H
#define WEFT_SIM_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

struct sim_thread;

/* After sim_draw_setup. */
void strategy_setup(void);
/* The thread with the highest priority runs; otherwise all choices are equally likely. */
bool strategy_has_priorities(void);
/* No thread is kept from running for long: there are neither priorities, nor turns that end only when they must. */
bool strategy_is_fair(void);
/* How many atomic operations a thread makes before it reaches a point, unless its turn is over before. `coarser`: doublings. */
int64_t strategy_atoms(unsigned coarser);
/* Whether the thread's effect is one at which another may run. */
bool strategy_switches(unsigned coarser);
/* Which of the `count` threads that can run does, counted as in roster_nth. */
uint64_t strategy_next(const struct sim_thread *me, unsigned count);

#endif
