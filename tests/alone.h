/* Without extra workers: a busy machine, on which a step may last so long that it counts as a hog's, brings them about, and they take others away
 * from the worker that a test is about. From alone_begin to alone_end the number of workers stays as it is. */
#ifndef WEFT_TESTS_ALONE_H
#define WEFT_TESTS_ALONE_H

#include "runtime_helpers.h"

#include "sched/runtime.h"

static inline void alone_begin(void) {
    struct runtime *runtime = (struct runtime *)rt.runtime;
    for (;; usleep(1000)) {
        lock_take(&runtime->resizing);
        if (atom_load_rlx(&runtime->extra) == 0) return;
        lock_drop(&runtime->resizing);
    }
}
static inline void alone_end(void) { lock_drop(&((struct runtime *)rt.runtime)->resizing); }

#endif
