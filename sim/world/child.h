/* Children of the simulated world: programs are functions of the test, each run as a thread of its own.
 *
 *   C1  A child has its own numbers for its three ends; they are closed when its function returns.
 *   C2  A child that has ended is kept until it is reaped, as a zombie. */
#ifndef WEFT_SIM_WORLD_CHILD_H
#define WEFT_SIM_WORLD_CHILD_H

#include "sim.h"

#include <sys/types.h>

/* The program: its arguments up to NULL, its descriptors 0, 1 and 2 (virtual numbers, blocking; or the real 0, 1 and 2 where the parent gave
 * none). Returns the exit status. It may use sim_child_read and sim_child_write. */
typedef int sim_child_main(const char *const *arguments, const int ends[3]);

/* Programs called `name` run this function from now on. */
void sim_child_register(const char *name, sim_child_main *program);
/* Block. 0: the end. */
ssize_t sim_child_read(int end, void *data, size_t size);
ssize_t sim_child_write(int end, const void *data, size_t size);

/* For the tables: sys_net.start, sys_file.child_open and sys_file.child_reap. Each is a point. */
int sim_child_start(const char *const *arguments, const int ends[3], pid_t *child);
int sim_child_open(int pid);
int sim_child_reap(int pid, int *status);
static inline int sim_child_is_real(int pid) { return pid < 5000000; } /* above what Linux gives out */

#endif
