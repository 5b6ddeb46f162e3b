/* Children of the simulated world. What their programs do the program says by weft_sim_child; each child is a thread of its own.
 *
 *   C1  A child has its own numbers for its three ends; they are closed when its program has ended.
 *   C2  A child that has ended is kept until it is reaped, as a zombie.
 *   C3  A signal that ends a child wakes its thread where that waits for descriptors or time. From then on its reads and writes are
 *       interrupted, so the thread returns soon; only then has the child ended. */
#ifndef WEFT_SIM_WORLD_CHILD_H
#define WEFT_SIM_WORLD_CHILD_H

#include "sim.h"

#include "sys/sys_net.h"

#include <sys/types.h>

/* For the tables: sys_net.start, sys_file.child_open, sys_file.child_peek and sys_file.child_reap. Each is a point. */
int sim_child_start(const struct sys_start *start, pid_t *child);
int sim_child_open(int pid);
int sim_child_peek(int pid);
int sim_child_reap(int pid, int *status);
/* For the C library's kill(2). */
int sim_child_kill(int pid, int signal);
static inline int sim_child_is_real(int pid) { return pid < 5000000; } /* above what Linux gives out */

#endif
