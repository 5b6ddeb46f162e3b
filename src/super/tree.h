/* The supervisors of a runtime, for dumps. */
#ifndef WEFT_SUPER_TREE_H
#define WEFT_SUPER_TREE_H

#include "sched/runtime.h"

/* Prints the trees of all supervisors that run, at most so many lines. From any thread; waits for no process. */
void supers_dump(struct runtime *runtime, int descriptor, unsigned most);
/* The same with memory of its own instead of the heap's: after a fault. */
void supers_dump_apart(struct runtime *runtime, int descriptor, unsigned most);

#endif
