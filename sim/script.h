/* A script: draws that are given instead of coming from the seed (WEFT_SIM_SCRIPT names the file). All others are 0. Two kinds of lines:
 *
 *   draw THREAD KIND NUMBER VALUE ...        the draw with exactly this name (draw.h, D1)
 *   near KIND VALUE BOUND MACHINE TIME       the first draw of this kind and bound that a thread of the machine makes at or after this
 *                                            moment, and which no earlier line has given. Shrinking uses them: when a decision is left
 *                                            out, the names of later ones change, but their times hardly do */
#ifndef WEFT_SIM_SCRIPT_H
#define WEFT_SIM_SCRIPT_H

#include "draw.h"

/* Whether there is one; reads it. A line that makes no sense ends the program. */
bool script_setup(void);
/* The value of a line `near`, or 0. The line is used up. */
uint64_t script_near(enum sim_draw_kind kind, uint64_t bound, unsigned machine, uint64_t time);

#endif
