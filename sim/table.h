/* The table of outside effects in the simulation. */
#ifndef WEFT_SIM_TABLE_H
#define WEFT_SIM_TABLE_H

#include <stdint.h>

struct sys;
extern const struct sys sim_sys;

/* Allocations of the runtime's that have not been freed. */
int64_t table_leaks(void);

#endif
