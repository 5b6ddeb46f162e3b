/* Programs that children of the simulated world run: what the program has said of each by weft_sim_child. */
#ifndef WEFT_SIM_WORLD_CHILD_PROGRAM_H
#define WEFT_SIM_WORLD_CHILD_PROGRAM_H

#include <weft/sim.h>

/* What the program called `name` does; NULL: there is none of that name. It lives on. */
const weft_sim_program *child_program_find(const char *name);

/* Does it, in the child's thread. `killed` becomes true when a signal has ended the child: then it returns soon, and the result does not count. Returns the exit status. */
int child_program_run(const weft_sim_program *program, const char *const *arguments, const int ends[3], const bool *killed);

#endif
