/* The program's clocks in the simulation. */
#ifndef WEFT_SIM_CLOCK_H
#define WEFT_SIM_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The moment of virtual time that an absolute time of one of the clocks means. */
uint64_t clock_moment(const struct timespec *time);

#endif
