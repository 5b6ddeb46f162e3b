/* The kernel's time slices, which the C library does not know of. */
#ifndef WEFT_TESTS_SLICES_H
#define WEFT_TESTS_SLICES_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sched { /* struct sched_attr */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static inline struct sched sched_of(uint32_t thread) {
    struct sched sched = {.size = 0};
    if (syscall(SYS_sched_getattr, thread, &sched, sizeof sched, 0) != 0) sched.runtime = 0;
    return sched;
}

/* A thread's, by its number (0: the calling one's); 0: it cannot be told. */
static inline uint64_t slice_of(uint32_t thread) { return sched_of(thread).runtime; }

#endif
