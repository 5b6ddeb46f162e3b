/* C++ exceptions in processes.
 *
 * The C++ library keeps for each thread which exceptions are being handled and how many are on their way (__cxa_get_globals). They belong to the
 * process: one that waits in a catch block, or in a destructor while an exception is on its way, may go on in another thread.
 *
 *   E1  A thread's state is empty whenever no process runs there: a process that leaves and has some takes it along (exceptions_take), and puts it
 *       back where it goes on. So a process without, and that is nearly every one, has nothing to do when it goes on.
 *   E2  Which C++ libraries there are is known by their functions: the one that this library was linked with, and those that C++ objects tell of
 *       when they are loaded (weft/cxx.h). Without any nothing is asked but how many there are.
 *   E3  A process that is interrupted (preempt.h) keeps its thread, and with it its state.
 *
 * A function that weft calls for the program may be left by an exception. upcall.h says how weft does its part then; here is how it goes on. */
#ifndef WEFT_FIBER_EXCEPTIONS_H
#define WEFT_FIBER_EXCEPTIONS_H

#include "sched/runtime.h"

#include <weft/cxx.h>

typedef struct exceptions_state *exceptions_of(void);
/* Changes when a C++ library comes or goes; 0: there has never been one. */
extern atom_u32 exceptions_version;

struct exceptions {
    struct exceptions_state states[EXCEPTIONS_MOST];
};

/* Whether the program has any C++. */
static inline bool exceptions_are_known(void) {
    return __builtin_expect(atom_load_rlx(&exceptions_version) != 0, 0); /* rlx: the code that throws was loaded after it was written */
}

/* Where the calling thread's states are: asking the libraries takes some hundred instructions. */
void exceptions_ask(struct loop *own);
/* Whether the process that runs on this thread, the loop's, may have a state to take along. False is certain. */
static inline bool exceptions_any(const struct loop *own) {
    if (!exceptions_are_known()) return false;
    if (own->exceptions_version != atom_load_rlx(&exceptions_version)) return true; /* rlx: as above */
    for (unsigned i = 0; i < own->exceptions_count; i++)
        if (own->exceptions[i]->caught || own->exceptions[i]->uncaught) return true;
    return false;
}
/* The thread's becomes empty; back, in whichever thread that is. Each may be called from a function that switches in between: neither is inlined. */
void exceptions_take(struct exceptions *taken);
void exceptions_put_back(const struct exceptions *taken);
/* The same for good: of a process that has ended in the middle of its calls. */
static inline void exceptions_forget(void) {
    struct exceptions lost;
    if (exceptions_are_known()) exceptions_take(&lost);
}

/* The functions that unwind stacks: those that weft was linked with, or those of a C++ library. False: there are none. */
bool exceptions_unwinder(weft_cxx *unwinder);

/* When a runtime starts. */
void exceptions_begin(void);

#endif
