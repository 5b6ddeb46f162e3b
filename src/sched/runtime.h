/* The structures of the scheduler: the worker, and the runtime. */
#ifndef WEFT_SCHED_RUNTIME_H
#define WEFT_SCHED_RUNTIME_H

#include "base/rng.h"
#include "ctx/annotate.h"
#include "ctx/ctx.h"
#include "proc/side.h"
#include "queue/deque.h"
#include "queue/idle.h"
#include "queue/inject.h"
#include "queue/line.h"
#include "queue/parker.h"
#include "queue/posts.h"
#include "queue/ring.h"
#include "queue/slot.h"
#include "sched/local.h"
#include "sched/upper_rooms.h"
#include "time/timers.h"

#include <weft/command.h>

enum policy_name { POLICY_RING, POLICY_DEQUE, POLICY_LINE };

/* What a step writes; empty between steps. */
struct weft_out {
    struct worker *worker;
    struct proc *proc;
    enum weft_status status;
    struct message *yields, **yields_end; /* commands, in order */
    weft_pid handoff_to;                  /* the message is in its mailbox already; it is woken after the step */
};

/* Where the C++ library keeps the exceptions of a thread, as the C++ ABI has it. */
struct exceptions_state {
    void *caught;
    unsigned uncaught;
};
enum { EXCEPTIONS_MOST = 4 }; /* C++ libraries in a program: one, or more with plugins that bring their own */

/* The stack of a thread that drives a worker, and what else that thread has of its own. */
struct loop {
    struct ctx ctx;
    struct annotate annotate;
    int *error_number;                             /* the thread's errno */
    uintptr_t signals;                             /* its stack for signal handlers, or NO_STACK */
    uintptr_t base;                                /* its frames lie below this address */
    uint32_t exceptions_version, exceptions_count; /* fiber/exceptions.h */
    struct exceptions_state *exceptions[EXCEPTIONS_MOST];
};

/* Counters that share a worker's turns out; fair.h tells how they compose. Only the worker's thread writes them, except `turn`: sysmon
 * writes it too. */
struct fair {
    /* Low half, the tick: processes until the worker looks round, that one included. High half, `calls`: calls that the running process may
     * still make before it yields; 0: it should yield now. */
    atom_u64 turn;
    uint32_t slot_runs, handoffs;
    atom_u32 skipped;    /* what slot_runs begins with: 0, or SLOT_RUNS_MAX - SLOT_RUNS_SLOW; sysmon_pace writes it */
    uint32_t mail_turns; /* budgets in a row that the process of step `mail_step` was given for its mail: budget_renew */
    uint64_t mail_step;
    uint32_t rounds, looks, pinned_turns;
    uint32_t newborn_looks; /* newborn.h */
    bool newborn_first;     /* find_stored */
    bool firing;            /* the worker looks round and fires timers: what they make ready goes into `due` */
    bool due, due_turn;     /* there may be some in `due`; it had the last turn, and not the queue */
    bool cut_short;         /* the last look round was: a timer's process ran instead of the rest of it */
    uint8_t chain;          /* processes of the slot that may still run before the worker looks round: find_later */
};

/* In the lowest bits of worker.left: the weft_status that the process has left with, so that 0 means the most common. */
enum { LEFT_HOW = 3, LEFT_NONE = 2 };
#define LEFT_AS(status) ((unsigned)(status) ^ WEFT_STEP_IDLE)
_Static_assert(LEFT_AS(WEFT_STEP_IDLE) == 0 && LEFT_AS(WEFT_STEP_CONTINUE) == 1 && LEFT_AS(WEFT_STEP_BLOCKED) == 3,
               "and none is LEFT_NONE");

struct worker {
    _Alignas(64) struct local local;
    struct runtime *runtime;
    unsigned index;
    enum policy_name policy; /* the runtime's */

    /* Used by the worker's thread only. */
    struct proc *current; /* NULL between steps */
    struct loop *loop;    /* of the thread that drives this worker: worker_driven_by */
    int *error_number;    /* that thread's errno */
    atom_u32 coarse;      /* sysmon writes it: the runtime's */
    /* Stackful processes (fiber/switch.c): the process that has just left its stack and must be moved to its next state, and which (LEFT_AS), or LEFT_NONE; a stack whose process has
     * ended; a process that was claimed but could not be switched to. */
    uintptr_t left;
    struct fiber *left_stack;
    struct proc *claimed;
    struct stack *spare; /* for a process to end on: fiber/fault.h */
    uint32_t unmeasured; /* stacks to take before the next is measured; and how many were measured: fiber/stack_usage.h */
    uint32_t measured;
    struct fair fair;
    bool searching;
    bool was_woken;         /* when it last slept: by another worker, or a thread */
    uint64_t lingered;      /* value of `steps` when it last waited before a sleep: find.c */
    uint8_t netpoll_misses; /* polls in a row that brought nothing: find.c */
    struct rng rng;
    uint64_t coin; /* rng_coin's */
    struct weft_out out;
    weft_event events[EVENT_BATCH];

    /* Timers (timer_event.c): how many fired since the worker last found its queue empty, when it last fired some, how long it rests between. */
    uint32_t rung, rest;
    uint64_t rung_at;
    struct timers timers;    /* other workers and sysmon fire them too */
    struct spinlock ringing; /* held by the thread that fires them: one at a time, so that they fire in order */

    struct ring due; /* beside the run queue, whatever the policy: processes that timers have made ready while the worker was busy */
    /* The run queue: the one of the runtime's policy. Other workers steal from it. */
    struct slot slot; /* policy ring, before its `next` */
    struct ring ring;
    struct inject newborn; /* beside the ring: newborn.h */
    struct deque deque;
    struct line line;

    /* Used by other threads too. */
    _Alignas(64) struct parker parker;
    struct mpsc pinned_ready; /* pinned processes that are ready; this worker's thread alone takes them out */
    atom_u32
        pinned_count; /* processes pinned here (by its own thread), or PINNED_CLOSED (by the thread that changes the number of workers) */
    atom_bool leave;  /* this worker is not wanted any more */
    atom_bool relief; /* a relief worker: it runs only processes that were stopped (stopped.h, A6); written under the runtime's `moving` */
    atom_bool driven; /* a thread has it; written under the runtime's `moving`; rlx: for other threads the value is a hint */
    bool abandoned;   /* its thread is in a process that does not end, and is not joined; under the runtime's `moving` */
    atom_bool brisk;  /* brisk.h */
    atom_bool undriven; /* it should have a thread, but none was to be had: oscall.c */
    atom_u32 call;      /* odd: its thread is in a call. oscall.c */
    atom_u32 lasting;   /* calls in a row that lasted so long that their threads lost the worker; rlx, all: a guess (wait/blocking.c) */
    atom_u64 finished;  /* value of `steps` when it last ran out of work */
    atom_u64 give_way;  /* the step of this number has lasted too long and should yield */
    /* Preemption (stopped.h): the kernel's number of its thread, 0 while that wakes up; the step to be interrupted; the step that cannot
     * be. */
    atom_u32 driver;
    atom_u64 asked, refused;
    atom_u64 again; /* the step of this number belongs to a process that was stopped before */
    /* The alarm of its thread, used in that thread's signal handlers (stopped.h, A8): the step that it is set for, since when that lasts, when it rings. */
    struct {
        uint64_t steps, since, at;
    } alarm;
    struct thread *stopped;  /* its process was stopped here and is not queued yet: the next thread that drives the worker queues it */
    struct parker departure; /* unparked when its thread has left, for the thread that waits for that */

    /* Sysmon's notes. */
    struct {
        uint64_t steps, step_since, call_since, paced, paced_steps, spawned, spawned_at;
        bool spawns_fast;
        uint32_t call;
        bool held;                      /* its call has lasted and processes need the worker, but it stays with its thread (oscall.h, E4) */
        uint64_t cpu, cpu_at, cpu_step; /* stopped.c */
        uint64_t signalled, signalled_step, signalled_cpu;
        uint64_t asleep_at; /* when its thread was last found asleep */
        uint32_t patient;   /* the number of a thread that computes and yields the CPU to threads that wake up beside it; 0: none */
        uint32_t timed;     /* cpu_time.c: the thread whose time was last asked for, and that time */
        uint64_t timed_cpu;
    } seen;
};

/* The right to ask the kernel which descriptors are ready, and what is asked: netpoll.h. */
struct netpoll {
    atom_u32 used;   /* registered descriptors; 0: no thread polls */
    atom_u32 held;   /* 1: a thread polls */
    atom_u64 rounds; /* polls begun; written by the holder */
    int set, wakefd; /* the kernel's; written before `used` is first above 0 */
    bool made;       /* under the runtime's lock */
    struct {         /* sysmon's */
        uint64_t rounds, since;
    } seen;
};

struct weft_runtime; /* the public name of struct runtime */
struct runtime {
    /* Set once. */
    unsigned instance;
    enum policy_name policy;
    uint64_t seed;
    bool deque_local;    /* policy deque: woken processes stay with their waker */
    size_t stack_size;   /* default, bytes */
    uint8_t stack_class; /* of that */
    bool check_mutexes;  /* fiber/mutex_check.c */
    uint64_t most;       /* processes; 0: as many as there are slots */
    unsigned extra_most; /* extra workers; none if `exclusive` */
    bool exclusive;      /* set once: one worker, and no preemption */
    uint64_t grace;      /* ns; weft_stop */
    bool blocking_fails; /* weft_blocking, when there are as many threads as there may be */
    bool prints_on_quit; /* runtime/quit.h */
    bool contains;       /* faults: fiber/contain.h */
    bool measures_cpu;   /* thread/cpu_time.h */

    atom_u32 coarse; /* sysmon's clock, in units of 2^COARSE_SHIFT ns; 0: there is no sysmon. Seldom written */

    atom_u64 living; /* counted only if there is a `most` */
    struct table table;
    struct pool pool;
    struct stacks stacks;
    struct inject inject;
    atom_u32 reserved; /* slots below this have room in inject; under the lock */
    struct lock lock;  /* `reserved`, commands */
    struct idle idle;

    /* Workers: made once, kept until the end; `wanted` of them have threads. */
    struct lock resizing; /* changing the number of workers; held while threads end, so no process takes it */
    struct lock moving;   /* giving a worker a thread, and taking its thread away */
    atom_u32 wanted;
    atom_u32 extra; /* extra workers beside those, while hogs hold workers */
    atom_u32 made;
    ATOM_PTR(struct worker) workers[PLACES_MAX];

    struct lock context_locks[CONTEXT_LOCKS];
    struct lock monitor_locks[MONITOR_LOCKS], ties_locks[MONITOR_LOCKS];
    struct interrupts interrupts;
    struct supers supers;
    struct sides sides;
    struct send_afters send_afters;
    ATOM_PTR(struct command) commands;  /* newest first */
    ATOM_PTR(struct registry) registry; /* registry/: NULL until the first name or group */
    bool bounded;                       /* some process has had a bounded mailbox: bounds_spare.c, under its lock */

    atom_u32 fork_regions; /* fork/join regions that thieves should look at */
    ATOM_PTR(struct regions) regions;

    ATOM_PTR(struct stack_usage) stack_usage; /* fiber/stack_usage.c */

    atom_bool stopping; /* no new processes */
    atom_bool forcing;  /* processes that were asked to end, and have not, are ended at their next call that may wait: fiber_heed */
    atom_u32 births;    /* spawns whose threads have left their doors to run init (life/init.c); raised and lowered behind a door */
    struct parker stopper;
    struct threads threads;
    struct sysmon sysmon;
    struct preempt preempt;
    struct deadlock deadlock;
    struct posts posts; /* what signal handlers have left: post.h */
    atom_u32 expected;  /* signals that are watched: each may wake a process */
    _Alignas(64) struct netpoll netpoll;

    _Alignas(64) struct local doors[DOORS]; /* each behind its door: door.c */
};

/* The worker whose thread this is, or NULL. */
#if WEFT_CHECK
struct worker **chk_worker(void); /* the checker's threads share one thread's storage: kept by check/scenarios/small_runtime.c */
#define my_worker (*chk_worker())
#elif defined(__x86_64__)
/* A process may have changed threads since the last read: the compiler reads this anew, relative to a segment register. */
extern _Thread_local struct worker *my_worker __attribute__((tls_model("initial-exec")));
#else
/* On other processors it would keep the variable's address in a register, across a switch too: so the address is asked for every time. */
struct worker **worker_place(void);
#define my_worker (*worker_place())
#endif

/* The calling thread drives the worker from now on. */
static inline void worker_driven_by(struct worker *own, struct loop *loop) {
    own->loop = loop;
    own->local.closed = loop->signals;
    own->error_number = loop->error_number;
}

/* The PID of the process that runs on the worker; by its own thread. */
static inline weft_pid worker_pid(const struct worker *own) {
    const struct proc *proc = own->current;
    return proc ? proc_pid(proc) : WEFT_NOBODY;
}

/* Whether the process that runs on the worker has used up its time slice. rlx: a request. */
static inline bool worker_shall_give_way(struct worker *own) {
    return atom_load_rlx(&own->give_way) == atom_load_rlx(&own->local.counters.steps);
}

static inline void count(atom_u64 *counter) { atom_count_rlx(counter); /* rlx: one writer; readers want a number, no order */ }
static inline void count_many(atom_u64 *counter, uint64_t n) { atom_store_rlx(counter, atom_load_rlx(counter) + n); }

#endif
