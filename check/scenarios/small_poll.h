/* The kernel's side of the poll, for scenarios: a word that holds what has become ready and whether the bell was rung. A thread that asks
 * takes all of it away, as with edges. */
#ifndef WEFT_CHECK_SCENARIOS_SMALL_POLL_H
#define WEFT_CHECK_SCENARIOS_SMALL_POLL_H

#include "sched/netpoll.h"
#include "small_runtime.h"

/* In setup: the thread that delivers an event calls this. */
void small_poll(void (*deliver)(void));
/* The kernel: a descriptor has become ready. By any thread of the scenario. */
void small_poll_event(void);

#endif
