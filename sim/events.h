/* The core's side of sim_at. */
#ifndef WEFT_SIM_EVENTS_H
#define WEFT_SIM_EVENTS_H

#include <stdint.h>

uint64_t events_next(void); /* the moment of the next; SIM_FOREVER: there is none */
void events_run(uint64_t now);

/* baton.c: something happens at that moment. */
void baton_is_due(uint64_t moment);

#endif
