/* The simulation's side of weft/sim.h. Threads are those of the table of outside effects: src/runtime/sim.c. */
#include "sim.h"

#include <weft/sim.h>

bool weft_sim_on(void) { return true; }
uint64_t weft_sim_seed(void) { return sim_seed(); }
uint64_t weft_sim_random(uint64_t bound) { return sim_draw(SIM_USER, bound); }
