/* The core's side of starvation.c: called at every outside effect, while the thread cannot lose the baton. */
#ifndef WEFT_SIM_STARVATION_H
#define WEFT_SIM_STARVATION_H

void starvation_look(void);

#endif
