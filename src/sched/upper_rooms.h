/* What rooms above the scheduler keep in each runtime: the pool of threads, preemption, sysmon, deadlocks, later messages, supervisors, records beside the
 * processes. They are embedded in
 * struct runtime, so that reaching them costs nothing; each is used by the files that are named beside it. */
#ifndef WEFT_SCHED_UPPER_ROOMS_H
#define WEFT_SCHED_UPPER_ROOMS_H

#include "proc/side.h"
#include "queue/lock.h"
#include "queue/parker.h"
#include "sched/local.h"

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
    atom_bool on;         /* some process may be interrupted */
    bool all;             /* every stackful process may be */
    bool alarms_anywhere; /* weft_config.preempt_alarms */
    atom_u32 alarms;      /* enum sys_alarm_kind, of its threads; the thread maker's to write */
    uint32_t most;        /* limit of `stopped` + `relief` */
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
    atom_u64 condemned; /* until this moment whatever runs is interrupted, because it may have been condemned, and ends then; 0: none is
                         * known. Then sysmon looks whether one still lives (stopped.c). rlx: a request */
    atom_bool settling; /* the runtime stops: a process interrupted from now on stays stopped, so it must be where it can be left */
    atom_bool anywhere; /* settling has taken too long: stop processes wherever they are */
    struct thread_maker maker;
};

/* sysmon.c */
/* Whether workers that steal are a help: thread/sysmon_help.c. */
enum help_state {
    HELP_WATCHED, /* they steal, and are watched */
    HELP_SETTLED, /* short queues are left alone; thieves finish what they have */
    HELP_TRIED,   /* it is measured how fast that is */
    HELP_REFUSED, /* it was faster, and short queues are left alone for a while */
};
struct help_counts {
    uint64_t steps, steals, stolen;
};
struct help {
    enum help_state state;
    uint64_t since, until;     /* when this window began; until when the last verdict holds */
    struct help_counts counts; /* when the window began */
    uint64_t rate, pause;      /* steps in a millisecond with thieves; for how long the last verdict holds */
    bool refused;              /* the last verdict */
};

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
    struct help help;
    uint32_t packs_from;                 /* sysmon_pack.c: the next chunk of processes to look at, + 1; 0: none */
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

/* Messages to be sent later: send_after.c. What is free is here, or in the caches of threads (local.h). */
struct send_afters {
    struct lock lock;
    struct send_after *free;
    struct send_after_chunk *chunks;
    uint64_t first,
        serial; /* serials up to `first` belong to former runtimes of the same instance; `serial` is the last one given to a cache */
};

/* The supervisors that run, for dumps: super/tree.c. */
struct supers {
    struct lock lock;
    struct super *first;
    atom_bool known; /* there has been one */
};

/* Threads in calls that can be given up: life/interrupt.c. */
struct interrupts {
    struct lock lock;
    struct interrupt *first;
};

/* What only some processes have: a record for each slot of the process table, made when the first process needs one. */
struct sides {
    struct side monitored;            /* the lists of life/monitor.c */
    struct side ties;                 /* life/ties.h */
    struct side names;                /* struct fiber_name: fiber/fiber.h */
    struct side packings, pack_rooms; /* struct packing, struct pack_room: fiber/pack.h */
    struct side step_locks;           /* fiber/held_locks.c */
    struct side cpu_times;            /* thread/cpu_time.c */
    struct side lanes;                /* mail/lane.c */
    atom_bool packs;                  /* some process may be packed; rlx: never false again */
    atom_bool step_locks_lost;        /* there was no memory for some of them */
};

#endif
