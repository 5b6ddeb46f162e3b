/* The control block of a process. Two cache lines; a million of them is 128 MB.
 *
 * Blocks are type-stable: memory that is a control block stays one until the runtime is taken down. So the block that a stale
 * queue entry points to may always be read. */
#ifndef WEFT_PROC_PROC_H
#define WEFT_PROC_PROC_H

#include "proc/state.h"
#include "queue/line.h"
#include "queue/mpsc.h"

#include <weft/process.h>

enum { PROC_INLINE_STATE = 32 };

/* Features that a stackful process has used, so that a process that has not used them pays nothing for them. */
enum {
    PROC_MAILBOX = 1,   /* some messages were put aside outside its mailbox, or some in it are not for the program: mail/mailbox.h */
    PROC_FAREWELL = 2,  /* something is to be done when it ends: fiber/cleanup.h */
    PROC_TASKS = 4,     /* it is in a fork/join region: forkjoin/tasks.c */
    PROC_PINNED = 8,    /* to its worker: fiber/pin.c */
    PROC_MEASURED = 16, /* how deep it uses its stack is asked at its end: fiber/stack_usage.h */
    PROC_HOLDS = 32,    /* a mutex of the C library: fiber/mutex_check.c */
    PROC_PREEMPT = 64,  /* it may be interrupted anywhere: preempt/preempt.h */
    PROC_BOUNDED = 128, /* its mailbox is bounded, and it receives as one with PROC_MAILBOX: mail/bounds.h */
};
/* How a process runs. True: it has a stack of its own (fiber/). */
enum proc_kind {
    PROC_STEPS,
    PROC_STACKFUL,
    PROC_UPCALL,  /* stackful, and now in a function of the program's that must not wait */
    PROC_STOPPED, /* stackful, interrupted, and keeps its thread: there is no stack to switch to (thread/stopped.h) */
    PROC_PACKED,  /* stackful, and its stack is packed: the loop restores it before it runs (fiber/pack.h) */
    PROC_UNBORN,  /* stackful, has not run yet, and has no stack */
};

/* One line is what senders write, the other what the process itself uses while it runs: what it takes out of its mailbox lies in the second, where no sender comes. With both in one
 * line a message of a hundred senders on two workers took 30 ns instead of 22 (weft bench fanin). */
struct proc {
    /* Any thread. */
    struct state state;
    /* The PID, as one word: a sender compares it as a whole, and a process's own PID is one load. Its slot and instance are set once. Its
     * generation is odd while a process lives in this block, else even. */
    atom_u64 pid;

    /* Policy `line`: see queue/line.h. */
    union {
        struct line_node node;
        struct mpsc_node pinned_node; /* of a pinned process, which is never in a line: in its worker's pinned queue */
        struct {
            struct proc *linked; /* node.next. Of a block that is free or being freed: the next such block */
            /* Of a living process: which has spawned it, and may have ended; WEFT_NOBODY: a thread has. For weft_info. Not in policy `line`,
             * whose node has a link here. */
            weft_pid parent;
        };
    };
    struct member *member; /* of a context: life/context.c. NULL: it has none. Set by the spawner */

    struct mpsc box; /* its head is the end of the first line: any thread; the rest: the thread that runs the process */

    /* Set by the spawner. */
    ATOM_PTR(const struct weft_behavior) behavior; /* rlx everywhere: an atom because dumps read it racily */
    void *self;

    /* The thread that runs the process. */
    uint8_t waits;    /* enum weft_status it waits with; WEFT_STEP_CONTINUE: it is due a step even without events */
    uint8_t stackful; /* enum proc_kind */
    uint8_t stack_class;
    uint8_t extras; /* PROC_MAILBOX, PROC_FAREWELL; none when it is born */
    uint32_t since; /* when it began to wait: the runtime's `coarse`, for dumps */

    _Alignas(8) unsigned char inline_state[PROC_INLINE_STATE];
};
_Static_assert(offsetof(struct proc, box.taken) == 64, "the process's own half of its mailbox begins the second line");
_Static_assert(sizeof(struct proc) <= 128, "a control block has two cache lines");

/* PIDs: slot, generation, instance of the runtime. Slot 0 of instance 0 is never given out, so a PID is never 0. */
enum { PID_SLOT_BITS = 24, PID_SLOTS = 1 << PID_SLOT_BITS };

static inline weft_pid pid_make(unsigned instance, uint32_t generation, uint32_t slot) {
    return (weft_pid)instance << 56 | (weft_pid)generation << PID_SLOT_BITS | slot;
}
/* For the next process in the block: generations of living processes are odd. */
static inline weft_pid pid_next(weft_pid pid) {
    const weft_pid one = UINT64_C(1) << PID_SLOT_BITS;
    return (pid + one) | one;
}
static inline uint32_t pid_slot(weft_pid pid) { return (uint32_t)(pid & (PID_SLOTS - 1)); }
static inline uint32_t pid_generation(weft_pid pid) { return (uint32_t)(pid >> PID_SLOT_BITS); }
static inline unsigned pid_instance(weft_pid pid) { return (unsigned)(pid >> 56); }

/* The block's PID now. rlx, all: by a thread that keeps the process from ending, or for which the value is a hint. */
static inline weft_pid proc_pid(const struct proc *proc) { return atom_load_rlx(&proc->pid); }
static inline uint32_t proc_slot(const struct proc *proc) { return pid_slot(proc_pid(proc)); }
static inline uint32_t proc_generation(const struct proc *proc) { return pid_generation(proc_pid(proc)); }
/* From here on its PID is no process's. By the thread that ends the process. */
static inline void proc_end_pid(struct proc *proc) {
    /* rel: pairs with the acq in proc_named. */
    atom_store_rel(&proc->pid, proc_pid(proc) + (UINT64_C(1) << PID_SLOT_BITS));
}

#endif
