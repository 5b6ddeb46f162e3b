/* C++ exceptions in processes: moves the C++ library's per-thread exception state along with the process.
 *
 * The C++ library keeps per thread which exceptions are being handled and how many are in flight (__cxa_get_globals). That state belongs to
 * the process: a process that waits in a catch block, or in a destructor while an exception is in flight, may go on in another thread.
 *
 *   E1  A thread's state is empty whenever no process runs there. A process with a non-empty state takes it along when it leaves
 *       (exceptions_take) and puts it back where it goes on. A process without, nearly every one, does nothing when it goes on.
 *   E2  C++ libraries are known by their functions: the one that weft was linked with, if the program uses it (fiber/cxx_users.h), and
 *       those that C++ objects register when they are loaded (weft/cxx.h). Without any, only the version is checked.
 *   E3  A process that is stopped (preempt.h) keeps its thread, and so its state.
 *
 * An exception may leave a function of the program that weft has called: upcall.h. */
#ifndef WEFT_FIBER_EXCEPTIONS_H
#define WEFT_FIBER_EXCEPTIONS_H

#include "sched/runtime.h"

#include <weft/cxx.h>

typedef struct exceptions_state *exceptions_of(void);
/* Changes when a C++ library is added or removed; 0: there has never been one. */
extern atom_u32 exceptions_version;

struct exceptions {
    struct exceptions_state states[EXCEPTIONS_MOST];
};

/* Whether the program has any C++. */
static inline bool exceptions_are_known(void) {
    return __builtin_expect(!atom_is_rlx(&exceptions_version, 0), 0); /* rlx: the code that throws was loaded after it was written */
}

/* Finds the calling thread's states and keeps them in `own`: asking the libraries takes some hundred instructions. */
void exceptions_ask(struct loop *own);
/* Whether the process that runs on this loop's thread may have a state to take along. False is certain. */
static inline bool exceptions_any(const struct loop *own) {
    if (!exceptions_are_known()) return false;
    if (own->exceptions_version != atom_load_rlx(&exceptions_version)) return true; /* rlx: as above */
    for (unsigned i = 0; i < own->exceptions_count; i++)
        if (own->exceptions[i]->caught || own->exceptions[i]->uncaught) return true;
    return false;
}
/* Moves the calling thread's state to `taken`, and back into the thread that calls the second. A caller may switch threads in between, so
 * neither is inlined. */
void exceptions_take(struct exceptions *taken);
void exceptions_put_back(const struct exceptions *taken);
/* Drops the state of a process that has ended in the middle of its calls. */
static inline void exceptions_forget(void) {
    struct exceptions lost;
    if (exceptions_are_known()) exceptions_take(&lost);
}

/* The functions that unwind stacks: those that weft was linked with, or those of a C++ library. False: there are none. */
bool exceptions_unwinder(weft_cxx *unwinder);

/* When a runtime starts. */
void exceptions_begin(void);

#endif
