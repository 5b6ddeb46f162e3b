/* The history of a run: one hash of it always, its lines when they are asked for (WEFT_SIM_RECORD). */
#ifndef WEFT_SIM_RECORD_H
#define WEFT_SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

void record_setup(void);
void record_event(uint64_t time, unsigned thread, const char *what, uint64_t detail);
/* The thread gives the baton to another one. */
void record_switch(uint64_t time, unsigned from, unsigned to);
void record_draw(unsigned thread, const char *kind, uint64_t number, uint64_t value);
/* The program ends: one word says how. Told once, to the descriptor that WEFT_SIM_RESULT names. */
void record_result(const char *verdict);

/* In a server, before its children: what they tell can be read here, however they end. False: no memory. */
bool record_share(void);
/* Writes the result line: of this program, or of the child that has ended. */
void record_tell(int to, const char *before);

#endif
