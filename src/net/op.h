/* A system call that may have to wait: op_run tries it, waits while it says EAGAIN, tries again. When the deadline has passed (0 has) the
 * kernel is asked once more, whatever is known of the descriptor: data that came while no worker polled is found then. */
#ifndef WEFT_NET_OP_H
#define WEFT_NET_OP_H

#include "net/desc.h"

#include <errno.h>

/* ---- what the kernel does not tell ---------------------------------------------------------------------------------------------- */

/* Waits that begin short and get longer. */
struct op_pause {
    uint64_t now, most; /* ns: the next one, and at most */
    bool was;           /* there has been one */
};
/* The end of the next one, the deadline at the latest. */
static inline uint64_t op_pause_until(struct op_pause *pause, uint64_t deadline) {
    uint64_t until = sys->now() + pause->now;
    pause->now = pause->now * 2 < pause->most ? pause->now * 2 : pause->most;
    pause->was = true;
    return until < deadline ? until : deadline;
}

/* The kernel does not tell a writer that waits at a full UNIX socket that its direction has ended, whether the other side has shut down
 * reading or another program this side's writing. A write says so (EPIPE); so the writer tries again now and then. */
static const struct op_pause op_pause_unix = {.now = 10 * WEFT_MILLISECOND, .most = WEFT_SECOND};

static inline uint64_t op_until(const struct desc *desc, struct op_pause *pause, uint64_t deadline) {
    return __builtin_expect(desc->flags & DESC_UNIX, 0) ? op_pause_until(pause, deadline) : deadline;
}
/* After a wait with the deadline `until`. If it ended without an edge there is one more try, the last one if `until` was the caller's
 * deadline or the process was cancelled. */
static inline int op_waited(int why, uint64_t until, uint64_t *deadline) {
    if (why != WEFT_ETIMEDOUT && why != WEFT_ECANCELED) return why;
    if (why == WEFT_ECANCELED || until == *deadline) *deadline = 0;
    return READINESS_AGAIN;
}

/* ---- a call -------------------------------------------------------------------------------------------------------------------- */

/* As readiness_wait, after an attempt that said EAGAIN. */
static inline int op_wait(struct desc *desc, enum readiness_side side, uint64_t seen, uint64_t *deadline, struct op_pause *pause,
                          const char *call) {
    if (*deadline == 0) return wait_late();
    uint64_t until = side == READINESS_OUT ? op_until(desc, pause, *deadline) : *deadline;
    return op_waited(readiness_wait(&desc->readiness, side, seen, until, call), until, deadline);
}

/* One try: the result, 0 or more, or a negative errno. `seen` is how many edges there were before (readiness.h). */
typedef ssize_t op_try(struct desc *desc, int number, uint64_t seen, void *arg);

static inline __attribute__((always_inline)) ssize_t op_run(weft_fd handle, enum readiness_side side, uint64_t deadline, const char *call,
                                                            op_try *attempt, void *arg) {
    fiber_spend(my_worker, deadline); /* a process that never has to wait would never yield */
    struct desc *desc = desc_use(handle);
    if (__builtin_expect(!desc, 0)) return WEFT_EBADF;
    int number = desc_number(handle), why = READINESS_AGAIN;
    struct op_pause pause = op_pause_unix;
    ssize_t result;
    for (;;) {
        uint64_t seen = readiness_seen(&desc->readiness, side);
        bool drained = side == READINESS_IN && deadline != 0 && readiness_is_drained(&desc->readiness, seen); /* readiness.h, N6 */
        result = drained ? -EAGAIN : attempt(desc, number, seen, arg);
        if (__builtin_expect(result == -EINTR, 0)) continue;
        if (result != -EAGAIN) break;
        why = op_wait(desc, side, seen, &deadline, &pause, call);
        if (why < 0) {
            result = why;
            break;
        }
    }
    if (why == READINESS_MORE) readiness_pass(&desc->readiness, side);
    desc_done(desc, number);
    return result;
}

#endif
