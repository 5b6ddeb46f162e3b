/* The structures of a runtime: the worker, the runtime itself, sysmon's and the thread pool's state, and the limits that bound them. */
#ifndef WEFT_SCHED_RUNTIME_H
#define WEFT_SCHED_RUNTIME_H

#include "base/handler.h"
#include "base/rng.h"
#include "ctx/annotate.h"
#include "ctx/ctx.h"
#include "mem/stack.h"
#include "proc/message.h"
#include "proc/table.h"
#include "queue/deque.h"
#include "queue/idle.h"
#include "queue/inject.h"
#include "queue/line.h"
#include "queue/parker.h"
#include "queue/posts.h"
#include "queue/ring.h"
#include "time/timers.h"

#include <weft/command.h>

#if WEFT_CHECK
enum { DOORS = 2, EVENT_BATCH = 2, RESERVE_LEAST = 4, WORKERS_MAX = IDLE_MAX };
#else
enum {
    WORKERS_MAX = 1024,   /* most that can be wanted; beside these there is room for EXTRA_MAX and PREEMPT_MOST */
    DOORS = 8,            /* doors for threads that are not workers */
    EVENT_BATCH = 64,     /* most events a step is given at once */
    RESERVE_LEAST = 2048, /* the global queue has room for so many processes from the start */
};
#endif
enum {
    PLACES_MAX = IDLE_MAX, /* workers of all kinds */
    BUDGET_CALLS = 64,     /* a process yields after so many calls in a row that could have waited and did not: at 10 to 60 ns a
                           * call about a microsecond, of which the switch is a hundredth */
    GLOBAL_TICK = 61,      /* every 61st process is one from the global queue */
    GLOBAL_OFTEN = 16,     /* every 16th while very many wait there and the worker's own queue does not run empty */
    FAIR_SOURCES = 5,      /* queues besides its own that a worker asks in turn when it looks round */
    PINNED_TICK = 2,       /* on a worker with pinned processes every second process is a pinned one */
    GLOBAL_PATIENCE = 64,  /* looks at GLOBAL_TICK before GLOBAL_OFTEN applies: by then a full ring has been worked off */
    NEWEST_RUNS_MAX =
        GLOBAL_PATIENCE * GLOBAL_TICK, /* most newborn in a row from the newest end of a deque: with 61 a tree of processes was
                                                      * walked in breadth, and took a tenth longer; with 16 * 61, 4 in 100 */
    SLOT_RUNS_MAX = 16,                /* most processes in a row from the one-slot LIFO */
    HANDOFFS_MAX = 16,                 /* most hand-offs in a row */
    STEPS_MAX = 128,                   /* most steps in a row of a process that has more messages than a step is given. With 16 a receiver
                           * with a hundred senders fell behind for good, at three times the time and five times the memory */
    INSTANCES = 256,
    CONTEXT_LOCKS = 16,
    MONITOR_LOCKS = 64,
    STACK_DEFAULT = 64 << 10,
    EXTRA_MAX = 64, /* extra workers, for hogs: the most, and the default */
    THREADS_DEFAULT = 1024,
    SIGNAL_STACK = 128 << 10, /* of every worker's thread: for signal handlers */
    COARSE_SHIFT = 26,        /* 67 ms: a process's 24 bits of it last 13 days */
};

#define PINNED_CLOSED 0x80000000u
#define ALL_STACKS UINTPTR_MAX
#define NO_STACK (UINTPTR_MAX / 2) /* no stack is there */

enum policy_name { POLICY_RING, POLICY_DEQUE, POLICY_LINE };

/* Written by one thread; any thread reads them for statistics. */
struct counters {
    atom_u64 spawned, ended, steps, sent, refused, steals, stolen, injected, handoffs, sleeps, wakeups, late;
    atom_u64 external_wait_begun, external_wait_ended; /* external_wait.h */
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
    uint32_t rounds, looks, pinned_turns;
    uint32_t newborn_looks; /* newborn.h */
    bool newborn_first;     /* find_stored */
};

struct worker {
    _Alignas(64) struct local local;
    struct runtime *runtime;
    unsigned index;
    enum policy_name policy; /* the runtime's */

    /* Used by the worker's thread only. */
    struct proc *current; /* NULL between steps */
    struct loop *loop;    /* of the thread that drives this worker: worker_driven_by */
    int *error_number;    /* that thread's errno */
    /* Stackful processes (fiber/switch.c): the process that has just left its stack and must be moved to its next state, and which; a stack
     * whose process has ended; a process that was claimed but could not be switched to. */
    struct proc *left;
    enum weft_status left_status;
    struct fiber *left_stack;
    struct proc *claimed;
    struct stack *spare; /* for a process whose own stack has overflowed: fiber/overflow.c */
    uint32_t unmeasured; /* stacks to take before the next is measured; and how many were measured: fiber/stack_usage.h */
    uint32_t measured;
    struct fair fair;
    bool searching;
    uint8_t netpoll_misses; /* polls in a row that brought nothing: find.c */
    struct rng rng;
    struct weft_out out;
    weft_event events[EVENT_BATCH];

    /* Timers (timer_event.c): how many fired since this worker last slept, when it last fired some, how long it rests between. */
    uint32_t rung, rest;
    uint64_t rung_at;
    struct timers timers; /* other workers and sysmon fire them too */
    struct lock ringing;  /* held by the thread that fires them: one at a time, so that they fire in order */

    /* The run queue: the one of the runtime's policy. Other workers steal from it. */
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
    atom_bool undriven; /* it should have a thread, but none was to be had: oscall.c */
    atom_u32 call;      /* odd: its thread is in a call. oscall.c */
    atom_u32 lasting;   /* calls in a row that lasted so long that their threads lost the worker; rlx, all: a guess (wait/blocking.c) */
    atom_u64 finished;  /* value of `steps` when it last ran out of work */
    atom_u64 give_way;  /* the step of this number has lasted too long and should yield */
    /* Preemption (stopped.h): the kernel's number of its thread, 0 while that wakes up; the step to be interrupted; the step that cannot
     * be. */
    atom_u32 driver;
    atom_u64 asked, refused;
    atom_u64 again;          /* the step of this number belongs to a process that was stopped before */
    struct thread *stopped;  /* its process was stopped here and is not queued yet: the next thread that drives the worker queues it */
    struct parker departure; /* unparked when its thread has left, for the thread that waits for that */

    /* Sysmon's notes. */
    struct {
        uint64_t steps, step_since, call_since, paced, paced_steps;
        uint32_t call;
        bool held;                      /* its call has lasted and processes need the worker, but it stays with its thread (oscall.h, E4) */
        uint64_t cpu, cpu_at, cpu_step; /* stopped.c */
        uint64_t signalled, signalled_step, signalled_cpu;
        uint64_t asleep_at; /* when its thread was last found asleep */
        uint32_t patient;   /* the number of a hog's thread that yields the CPU to threads that wake up beside it; 0: none */
    } seen;
};

/* The pool of OS threads: thread.c. */
struct threads {
    struct lock lock;
    struct thread *resting, *ended; /* without a worker; ended, to be joined */
    unsigned most;
    bool over;
    bool left; /* the runtime was taken down as far as possible while some threads were out in calls */
    atom_u32 living;
    atom_u32 at_rest; /* length of `resting`; written under the lock */
    atom_u32 coming;  /* just started and on their way to `resting` */
    atom_bool told;   /* the user was told that no more threads are to be had */
    atom_u32 away;    /* out in calls, their workers retaken; or stopped by a signal (stopped.h) */
};

/* stopped.c */
struct thread_maker {
    sys_thread thread;
    bool started;
    struct parker parker;
    atom_bool over, refused; /* refused: the last attempt to make a thread failed */
};
struct preempt {
    atom_bool on;  /* some process may be interrupted */
    bool all;      /* every stackful process may be */
    uint32_t most; /* limit of `stopped` + `relief` */
    uint64_t slice;
    struct lock lock;
    struct thread *first, *last; /* the stopped threads; stopped for longest first */
    atom_u32 stopped;            /* length of that list; written under the lock */
    atom_u32 waiting;            /* how many of them could be resumed now; likewise */
    atom_u32 relief;             /* how many relief workers have a thread; likewise */
    atom_u64 taken;              /* how often a process that could be resumed was taken; likewise */
    struct {                     /* sysmon's: since when no process has been taken, and how many times the bound has passed since */
        uint64_t taken, since;
        unsigned times;
    } overdue;
    atom_u64 times;     /* interruptions in all */
    atom_bool settling; /* the runtime stops: a process interrupted from now on stays stopped, so it must be where it can be left */
    atom_bool anywhere; /* settling has taken too long: stop processes wherever they are */
    struct thread_maker maker;
};

/* sysmon.c */
struct sysmon {
    struct local local;
    sys_thread thread;
    bool started;
    struct parker parker;
    atom_bool asleep, over;
    atom_bool drowsy; /* its next round is more than a millisecond away */
    bool full_fences; /* its own: whether it has asked for full fences, and until when */
    uint64_t full_until;
    uint64_t come_back; /* its own: when a timer of a stuck worker will be late, or memory is to be given back */
    bool trims;         /* sysmon_trim.c: there is memory to give back; when it last gave some back */
    uint64_t trimmed;
    uint64_t crowded_since, complain_at; /* its own: since when every worker has a hog; when it may complain again */
};

/* deadlock.c */
struct deadlock {
    atom_u32 action; /* enum weft_deadlock; DEADLOCK_UNWATCHED */
    atom_u64 first;  /* the PID of the first process; 0 until weft_main has spawned it */
    atom_bool found; /* a deadlock was found, and the processes have been asked to end */
    /* Sysmon's. */
    uint64_t until;     /* the program ends then */
    uint64_t steps;     /* steps counted when the deadlock was last reported */
    unsigned strangers; /* set once: threads that cannot wake any process, the race detector's own */
};
#define DEADLOCK_UNWATCHED 0u

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

struct command {
    uint32_t number;
    weft_handler handler;
    void *user;
    struct command *next;
};

/* Messages to be sent later: send_after.c. */
struct send_afters {
    struct lock lock;
    struct send_after *free;
    struct send_after_chunk *chunks;
    uint64_t first, serial; /* serials up to `first` belong to former runtimes of the same instance; `serial` is the last one given out */
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
    unsigned extra_most; /* extra workers */
    uint64_t grace;      /* ns; weft_stop */
    bool blocking_fails; /* weft_blocking, when there are as many threads as there may be */

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
    struct lock monitor_locks[MONITOR_LOCKS], zombie_locks[MONITOR_LOCKS];
    struct lock interrupts_lock;
    struct interrupt *interrupts;                           /* interrupt.c */
    ATOM_PTR(struct monitor_chunk) monitored[TABLE_CHUNKS]; /* monitor.c */
    ATOM_PTR(struct command) commands;                      /* newest first */
    struct send_afters send_afters;
    ATOM_PTR(struct lane_chunk) lanes[TABLE_CHUNKS]; /* lane.c */

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
    /* rlx: it runs, so its generation is its own. */
    return proc ? pid_make(own->runtime->instance, atom_load_rlx(&proc->generation), proc->slot) : WEFT_NOBODY;
}

/* Whether the process that runs on the worker has used up its time slice. rlx: a request. */
static inline bool worker_shall_give_way(struct worker *own) {
    return atom_load_rlx(&own->give_way) == atom_load_rlx(&own->local.counters.steps);
}

static inline void count(atom_u64 *counter) {
    atom_store_rlx(counter, atom_load_rlx(counter) + 1); /* rlx: one writer; readers want a number, no order */
}
static inline void count_many(atom_u64 *counter, uint64_t n) { atom_store_rlx(counter, atom_load_rlx(counter) + n); }

#endif
