/* The history of a run: one hash of it always, its lines when they are asked for (WEFT_SIM_RECORD). */
#ifndef WEFT_SIM_RECORD_H
#define WEFT_SIM_RECORD_H

#include <stdint.h>

void record_setup(void);
void record_event(uint64_t time, unsigned thread, const char *what, uint64_t detail);
void record_draw(unsigned thread, const char *kind, uint64_t number, uint64_t value);
/* What the program's runner is told at the end (WEFT_SIM_RESULT); once. */
void record_result(const char *verdict);

#endif
