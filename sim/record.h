/* The history of a run: one hash of it always, its lines when they are asked for (WEFT_SIM_RECORD). */
#ifndef WEFT_SIM_RECORD_H
#define WEFT_SIM_RECORD_H

#include <stdbool.h>
#include <stdint.h>

void record_setup(void);
/* Where something happens: UINT_MAX for both outside of any thread. */
struct record_place {
    unsigned thread, machine;
};
void record_event(uint64_t time, struct record_place place, const char *what, uint64_t detail);
/* The thread gives the baton to another one. */
void record_switch(uint64_t time, struct record_place from, unsigned to);
/* A line `draw`, or nothing if lines are not asked for. */
struct record_draw {
    const char *kind;
    unsigned thread, machine;
    uint64_t number, value;
    uint64_t bound; /* 0: the value is no number, but a thread */
    uint64_t time;
};
void record_draw(const struct record_draw *draw);
/* The program ends: one word says how. Told once, to the descriptor that WEFT_SIM_RESULT names. */
void record_result(const char *verdict);

/* In a server, before its children: what they tell can be read here, however they end. False: no memory. */
bool record_share(void);
/* Writes the result line: of this program, or of the child that has ended. */
void record_tell(int to, const char *before);

#endif
