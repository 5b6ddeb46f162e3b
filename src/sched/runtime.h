/* The runtime's own structures: what a worker is made of. */
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
    WORKERS_MAX = 1024,   /* that may be wanted; beside these there is room for EXTRA_MAX and PREEMPT_MOST */
    DOORS = 8,            /* doors for threads that are not workers */
    EVENT_BATCH = 64,     /* most events a step is given at once */
    RESERVE_LEAST = 2048, /* processes for which the global queue has room from the first on */
};
#endif
enum {
    PLACES_MAX = IDLE_MAX, /* workers of all kinds */
    BUDGET_CALLS = 64,     /* so many calls that could have waited and did not, one after the other, and a process yields: at 10 to 60 ns a
                           * call a microsecond or some, of which the switch is a hundredth */
    GLOBAL_TICK = 61,      /* every so many processes, one from the global queue */
    GLOBAL_OFTEN = 16,     /* the same while very many wait there and a worker does not run dry */
    FAIR_SOURCES = 5,      /* queues besides its own that a worker which looks round asks in turn */
    PINNED_TICK = 2,       /* a worker with pinned processes: every so many processes, one of them */
    GLOBAL_PATIENCE = 64,  /* times at GLOBAL_TICK before that: meanwhile a full ring has been worked off */
    NEWEST_RUNS_MAX =
        GLOBAL_PATIENCE * GLOBAL_TICK, /* most newborn in a row from the newest end of a deque: with 61 a tree of processes was
                                                      * walked in breadth, and took a tenth longer; with 16 * 61, 4 in 100 */
    SLOT_RUNS_MAX = 16,                /* most processes in a row from the one-slot LIFO */
    HANDOFFS_MAX = 16,                 /* most hand-offs in a row */
    STEPS_MAX = 128,                   /* most steps in a row of a process that has more messages than a step is given: where a hundred send
                           * to one, 16 let it fall behind for good, at three times the time and five times the memory */
    INSTANCES = 256,
    CONTEXT_LOCKS = 16,
    MONITOR_LOCKS = 64,
    STACK_DEFAULT = 64 << 10,
    EXTRA_MAX = 64, /* workers beside those wanted, for hogs: at most, and by default */
    THREADS_DEFAULT = 1024,
    SIGNAL_STACK = 128 << 10, /* of every worker's thread: for signal handlers */
    COARSE_SHIFT = 26,        /* 67 ms: a process's 24 bits of it last 13 days */
};

#define PINNED_CLOSED 0x80000000u
#define ALL_STACKS UINTPTR_MAX
#define NO_STACK (UINTPTR_MAX / 2) /* no stack is there */

enum policy_name { POLICY_RING, POLICY_DEQUE, POLICY_LINE };

/* Written by one thread, read by whoever asks for statistics. */
struct counters {
    atom_u64 spawned, ended, steps, sent, refused, steals, stolen, injected, handoffs, sleeps, wakeups, late;
    atom_u64 external_wait_begun, external_wait_ended; /* external_wait.h */
};

/* Somebody who spawns, sends and frees: a worker, or a foreign thread holding a door. */
struct local {
    struct runtime *runtime;
    struct section section;
    /* Stacks on which a process must not wait: so many bytes from there on. That is the thread's stack for signal handlers, and all stacks while
     * its thread is at work on what follows, or on its worker's queues (local_enter). */
    uintptr_t closed, closed_size;
    struct message_cache cache;
    struct pool_cache blocks; /* of the runtime's own pool: states of processes, and what is noted about them */
    struct magazine magazine;
    struct stack_cache stacks;
    struct counters counters;
};

/* Between these no function of the program's is called, and nothing waits. So if a thread comes to local_enter and is inside already, a signal handler has
 * interrupted it there (base/handler.h). The handler runs on this very thread: the compiler alone has to be told where its looks and writes are.
 *
 * Inside are: a call that sends, spawns or frees; a process that leaves its worker, until the next has arrived; a worker that looks for work. */
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
    weft_pid handoff_to;                  /* in its mailbox already; to be woken after the step */
};

/* Where the C++ library keeps the exceptions of a thread, as the C++ ABI has it. */
struct exceptions_state {
    void *caught;
    unsigned uncaught;
};
enum { EXCEPTIONS_MOST = 4 }; /* C++ libraries in a program: one, but for plugins that have their own */

/* The stack of a thread that drives a worker, and what else that thread has of its own. */
struct loop {
    struct ctx ctx;
    struct annotate annotate;
    int *error_number;                             /* the thread's errno */
    uintptr_t signals;                             /* its stack for signal handlers, or NO_STACK */
    uint32_t exceptions_version, exceptions_count; /* fiber/exceptions.h */
    struct exceptions_state *exceptions[EXCEPTIONS_MOST];
};

/* How often what has had its turn; fair.h tells how they compose. The worker's thread's, but for `turn`, which sysmon writes too. */
struct fair {
    /* Low half, the tick: processes until the worker looks round, that one included. High half, `calls`: those that the process which runs may still
     * make before it gives way; 0: it should. */
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

    /* The worker's thread. */
    struct proc *current; /* NULL between steps */
    struct loop *loop;    /* of the thread that drives this worker: worker_driven_by */
    int *error_number;    /* that thread's errno */
    /* Stackful processes (fiber/switch.c): who has just left its stack and waits to be moved on, and how; a stack whose process has
     * ended; who was claimed but could not be switched to. */
    struct proc *left;
    enum weft_status left_status;
    struct fiber *left_stack;
    struct proc *claimed;
    struct stack *spare; /* for a process whose own has run over: fiber/overflow.c */
    uint32_t unmeasured; /* so many more stacks are taken before one is measured; and how many were: fiber/stack_usage.h */
    uint32_t measured;
    struct fair fair;
    bool searching;
    uint8_t netpoll_misses; /* so many times in a row asking the kernel brought nothing: find.c */
    struct rng rng;
    struct weft_out out;
    weft_event events[EVENT_BATCH];

    /* Timers (timer_event.c): how many rang since this worker last slept, when it last rang some, how long it rests between. */
    uint32_t rung, rest;
    uint64_t rung_at;
    struct timers timers; /* others run them too */
    struct lock ringing;  /* of whoever does: one at a time, so that they ring in order */

    /* The run queue: the policy's. Others steal. */
    struct ring ring;
    struct inject newborn; /* beside the ring: newborn.h */
    struct deque deque;
    struct line line;

    /* Others. */
    _Alignas(64) struct parker parker;
    struct mpsc pinned_ready; /* pinned processes that are ready; this worker's thread alone takes them out */
    atom_u32
        pinned_count; /* how many processes are pinned here (its own thread), or PINNED_CLOSED (whoever changes the number of workers) */
    atom_bool leave;  /* this worker is not wanted any more */
    atom_bool
        relief; /* it is here for processes that were stopped, and for no others (stopped.h, A6); written under the runtime's `moving` */
    atom_bool driven;   /* some thread has it; written under the runtime's `moving`; rlx: others look at it in passing */
    bool abandoned;     /* its thread is in a process that does not end, and is not waited for; under the runtime's `moving` */
    atom_bool undriven; /* it should have one, but there was none to be had: oscall.c */
    atom_u32 call;      /* odd: its thread is in a call. oscall.c */
    atom_u32 lasting;   /* so many calls in a row have lasted, and lost their threads the worker; rlx, all: a guess (wait/blocking.c) */
    atom_u64 finished;  /* steps when it last ran dry */
    atom_u64 give_way;  /* the step of this number has lasted too long */
    /* Preemption (stopped.h): the number of its thread, 0 while that wakes up; the step that is to be interrupted; the step that cannot be. */
    atom_u32 driver;
    atom_u64 asked, refused;
    atom_u64 again;          /* the step of this number is that of one who was stopped before */
    struct proc *stopped;    /* stopped here and not queued yet: whoever drives the worker next does that */
    struct parker departure; /* its thread has left: for whoever waits for that */

    /* Sysmon. */
    struct {
        uint64_t steps, step_since, call_since, paced, paced_steps;
        uint32_t call;
        bool held;                      /* its call has lasted, and somebody needs the worker, but it stays with its thread */
        uint64_t cpu, cpu_at, cpu_step; /* stopped.c */
        uint64_t signalled, signalled_step, signalled_cpu;
        uint64_t asleep_at; /* when it was last found so */
        uint32_t patient;   /* the number of a hog's thread, which does not mind if others get the CPU sooner; 0: none */
    } seen;
};

/* OS threads: thread.c. */
struct threads {
    struct lock lock;
    struct thread *resting, *ended; /* without a worker; to be joined */
    unsigned most;
    bool over;
    bool left; /* the runtime was taken down, as far as that goes, while some were out in calls */
    atom_u32 living;
    atom_u32 at_rest; /* how many; written under the lock */
    atom_u32 coming;  /* on their way there, having just been started */
    atom_bool told;   /* that there are no more to be had */
    atom_u32 away;    /* out in calls, their workers taken; or stopped by a signal (stopped.h) */
};

/* stopped.c */
struct thread_maker {
    sys_thread thread;
    bool started;
    struct parker parker;
    atom_bool over, refused; /* there was no thread to be had, the last time */
};
struct preempt {
    atom_bool on;  /* somebody may be interrupted */
    bool all;      /* every stackful process may */
    uint32_t most; /* stopped at a time */
    uint64_t slice;
    struct lock lock;
    struct thread *first, *last; /* stopped; the longest first */
    atom_u32 stopped;            /* how many; written under the lock */
    atom_u32 waiting;            /* how many of them could be resumed now; likewise */
    atom_u32 relief;             /* how many relief workers have a thread; likewise */
    atom_u64 taken;              /* how often one that could be resumed was taken; likewise */
    struct {                     /* sysmon's: since when nobody has been taken, and for how many times as long as that may last */
        uint64_t taken, since;
        unsigned times;
    } overdue;
    atom_u64 times;     /* so often in all */
    atom_bool settling; /* the runtime stops: who is interrupted from now on stays so, and should be where it can be left */
    atom_bool anywhere; /* that has taken too long */
    struct thread_maker maker;
};

/* sysmon.c */
struct sysmon {
    struct local local;
    sys_thread thread;
    bool started;
    struct parker parker;
    atom_bool asleep, over;
    atom_bool drowsy; /* it comes back in more than a millisecond only */
    bool full_fences; /* its own: whether it has wished for them, and until when */
    uint64_t full_until;
    uint64_t come_back; /* its own: when a timer of a worker that is stuck is late, or memory waits to be given back */
    bool trims;         /* sysmon_trim.c: there is some; when it last gave some back */
    uint64_t trimmed;
    uint64_t crowded_since, complain_at; /* its own: every worker has a hog */
};

/* deadlock.c */
struct deadlock {
    atom_u32 action; /* enum weft_deadlock; DEADLOCK_UNWATCHED */
    atom_u64 first;  /* the PID of the first process; 0 until weft_main has spawned it */
    atom_bool found; /* and the processes have been asked to end */
    /* Sysmon's. */
    uint64_t until;     /* then the program ends */
    uint64_t steps;     /* how many there had been when it was last reported */
    unsigned strangers; /* set once: threads that cannot wake anybody, the race detector's own */
};
#define DEADLOCK_UNWATCHED 0u

/* Who asks the kernel which descriptors are ready: netpoll.h. */
struct netpoll {
    atom_u32 used;   /* descriptors that are known to it; 0: nobody polls */
    atom_u32 held;   /* 1: somebody does */
    atom_u64 rounds; /* so many times somebody has begun to; written by the holder */
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
    uint64_t first, serial; /* what is not above `first` was a former runtime's of the same instance; the last one given out */
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

    atom_u32 coarse; /* sysmon's clock, in units of 2^COARSE_SHIFT ns; 0: it has none. Seldom written */

    atom_u64 living; /* counted only if there is a `most` */
    struct table table;
    struct pool pool;
    struct stacks stacks;
    struct inject inject;
    atom_u32 reserved; /* slots below have room in inject; under the lock */
    struct lock lock;  /* `reserved`, commands */
    struct idle idle;

    /* Workers: made once, kept until the end; `wanted` of them have threads. */
    struct lock resizing; /* changing their number; held while threads end, so never taken by a process */
    struct lock moving;   /* a worker gets a thread, or its thread leaves */
    atom_u32 wanted;
    atom_u32 extra; /* beside those, while others are held up by hogs */
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
    atom_bool forcing;  /* those who were asked to end, and have not, are ended at their next call that may wait: fiber_heed */
    atom_u32 births;    /* by threads that are out of their doors, in init (spawn.c); raised and lowered behind a door */
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
/* Where a process may have changed threads since the last look: the compiler reads this anew, relative to a segment register. */
extern _Thread_local struct worker *my_worker __attribute__((tls_model("initial-exec")));
#else
/* Elsewhere it would keep the thread's own address in a register, across a switch too: so the place is asked for every time. */
struct worker **worker_place(void);
#define my_worker (*worker_place())
#endif

/* A thread drives the worker from now on; by that thread. */
static inline void worker_driven_by(struct worker *own, struct loop *loop) {
    own->loop = loop;
    own->local.closed = loop->signals;
    own->error_number = loop->error_number;
}

/* Who runs on the worker; by its own thread. */
static inline weft_pid worker_pid(const struct worker *own) {
    const struct proc *proc = own->current;
    /* rlx: it runs, so its generation is its own. */
    return proc ? pid_make(own->runtime->instance, atom_load_rlx(&proc->generation), proc->slot) : WEFT_NOBODY;
}

/* Whether what runs on the worker has been at it for too long. rlx: a request. */
static inline bool worker_shall_give_way(struct worker *own) {
    return atom_load_rlx(&own->give_way) == atom_load_rlx(&own->local.counters.steps);
}

static inline void count(atom_u64 *counter) {
    atom_store_rlx(counter, atom_load_rlx(counter) + 1); /* rlx: one writer; readers want a number, no order */
}
static inline void count_many(atom_u64 *counter, uint64_t n) { atom_store_rlx(counter, atom_load_rlx(counter) + n); }

#endif
