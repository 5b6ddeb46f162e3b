/* The memory models: which writes a read may see, where a write may go in its cell's order, and which graphs are possible at all.
 *
 *   C11  RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017): coherence through happens-before clocks, release
 *        sequences as in C++20 (a release write and the read-modify-writes that follow it), acyclic order of seq_cst accesses
 *        and fences, and no cycles of program order and reads-from (load buffering is not explored).
 *   TSO  x86: stores wait in a buffer; a seq_cst store is followed by a full fence, a read-modify-write is locked, every
 *        other access is a plain move.
 *   SC   one access at a time.
 *
 * In TSO and SC every access counts as release and acquire for happens-before, hence for data races.
 *
 * All three are used the same way: events are appended where nothing depends on them yet, so only the new event's
 * own edges can close a cycle. */
#ifndef CHECK_MODEL_H
#define CHECK_MODEL_H

#include "chk.h"
#include "graph.h"

extern enum chk_model model;

/* The writes a new read may see, newest first; returns how many. At least one, and the first is always consistent. */
unsigned model_readable(struct graph *g, eid read, eid out[]);
/* Makes the read see `write`; a read-modify-write's read learns whether it goes on to write. */
void model_read(struct graph *g, eid read, eid write);
/* What the read-modify-write that begins with this read writes. */
uint64_t model_rmw_value(const struct event *read);

/* Gives a new write its value and what its readers will acquire. */
void model_write(struct graph *g, eid write, uint64_t value);
/* The writes behind which a new one may go, newest first. At least one, and the first is always consistent. */
unsigned model_places(struct graph *g, eid write, eid out[]);

void model_fence(struct graph *g, eid fence);

/* The newest write of `cell` that an event with this happens-before clock may not go behind in time. */
eid model_floor(struct graph *g, unsigned cell, vclock hb);

/* Is `later` after `earlier` in their cell's mo, or the same? */
bool model_mo_reaches(struct graph *g, eid earlier, eid later);

/* Whether the graph is still possible now that `added` is in it (with rf, and in mo if it is a write). */
bool model_consistent(struct graph *g, eid added);

#endif
