/* Setting a runtime up, stopping its processes, and taking it down. */
#ifndef WEFT_RUNTIME_STOP_H
#define WEFT_RUNTIME_STOP_H

#include "sched/sched.h"

/* Everything but the configuration, which is there already, and the workers. */
int runtime_init(struct runtime *runtime, uint64_t processes);
void runtime_destroy(struct runtime *runtime);
/* Refuses new processes, cancels all there are and waits until none is left, or until the deadline. */
void stop_wait(struct runtime *runtime, uint64_t deadline);
/* A process that was asked to end is ended at its next call that may wait. To be repeated: it only concerns processes that run now. */
void stop_press(struct runtime *runtime);

#endif
