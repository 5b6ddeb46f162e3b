/* What a thread has of a runtime: its caches, its counters, and the mark that it works on them. */
#ifndef WEFT_SCHED_LOCAL_H
#define WEFT_SCHED_LOCAL_H

#include "base/handler.h"
#include "mem/stack.h"
#include "proc/message.h"
#include "proc/table.h"
#include "sched/limits.h"

/* Written by one thread; any thread reads them for statistics. */
struct counters {
    atom_u64 spawned, ended, steps, sent, refused, steals, stolen, injected, handoffs, sleeps, wakeups, late;
    atom_u64 external_wait_begun, external_wait_ended; /* external_wait.h */
};

/* Messages to be sent later (mail/send_after.c): free memory for some, and serial numbers, from `serial` + 1 up to `last`. All 0 at first. */
struct send_after;
struct send_after_cache {
    struct send_after *free;
    uint32_t count;
    uint64_t serial, last;
};

/* What a thread needs to spawn, send and free: each worker has one, each door (for threads that drive no worker), and sysmon. */
struct local {
    struct runtime *runtime;
    struct section section;
    /* The stack on which a process must not wait: `closed_size` bytes from `closed` on. That is the thread's stack for signal handlers; or
     * every stack (ALL_STACKS), while its thread works on the fields below or on its worker's queues (local_enter). */
    uintptr_t closed, closed_size;
    struct message_cache cache;
    struct pool_cache blocks; /* of the runtime's own pool: states of processes, and what is noted about them */
    struct magazine magazine;
    struct stack_cache stacks;
    struct send_after_cache send_afters;
    struct ahead_trail pushed; /* messages, into mailboxes */
    struct counters counters;
};

/* Between local_enter and local_leave no function of the program is called, and nothing waits. So if a thread that is inside calls
 * local_enter again, it does so in a signal handler that interrupted it (base/handler.h). The handler runs on this very thread: signal
 * fences, which only order the compiler's loads and stores, are enough.
 *
 * Inside are: a call that sends, spawns or frees; a process that leaves its worker, until the next has arrived; a worker that looks for
 * work. */
static inline void local_check(const struct local *local, const char *call) {
    if (__builtin_expect(local->closed_size == ALL_STACKS, 0)) handler_refuse(call);
}
static inline void local_begin(struct local *local) {
    local->closed_size = ALL_STACKS;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
static inline void local_enter(struct local *local, const char *call) {
    local_check(local, call);
    local_begin(local);
}
static inline void local_leave(struct local *local) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    local->closed_size = SIGNAL_STACK;
}

#endif
