/* A system call that may have to wait: tries, waits while it says EAGAIN, tries again. */
#ifndef WEFT_NET_OP_H
#define WEFT_NET_OP_H

#include "net/desc.h"

#include <errno.h>

/* One try: the result, 0 or more, or a negative errno. `seen` is how many edges there were before (gate.h). */
typedef ssize_t op_try(struct desc *desc, int number, uint64_t seen, void *arg);

static inline __attribute__((always_inline)) ssize_t op_run(weft_fd handle, enum gate_side side, uint64_t deadline, const char *call,
                                                            op_try *attempt, void *arg) {
    fiber_take_turns(my_worker); /* one that never has to wait would never give way */
    struct desc *desc = desc_use(handle);
    if (__builtin_expect(!desc, 0)) return WEFT_EBADF;
    int number = desc_number(handle), why = GATE_AGAIN;
    ssize_t result;
    for (;;) {
        uint64_t seen = gate_seen(&desc->gate, side);
        result = attempt(desc, number, seen, arg);
        if (__builtin_expect(result == -EINTR, 0)) continue;
        if (result != -EAGAIN) break;
        why = deadline == 0 ? WEFT_ETIMEDOUT : gate_wait(&desc->gate, side, seen, deadline, call);
        if (why < 0) {
            result = why;
            break;
        }
    }
    if (why == GATE_MORE) gate_pass(&desc->gate, side);
    desc_done(desc, number);
    return result;
}

#endif
