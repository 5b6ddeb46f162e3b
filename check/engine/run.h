/* One run of a scenario against a graph.
 *
 * First every thread replays the events the graph holds for it, in an order that respects program order and reads-from, so that plain
 * memory has the right contents at every point. Then threads go on beyond the graph, and the strategy decides what new
 * reads see, where new writes go, and which thread runs. */
#ifndef CHECK_RUN_H
#define CHECK_RUN_H

#include "chk.h"
#include "graph.h"

struct strategy {
    /* Decides a new event: sees its rf (model_read), puts it in mo. May end the run (run_discard). */
    void (*read)(struct graph *g, eid read);
    void (*write)(struct graph *g, eid write);
    void (*choose)(struct graph *g, eid choice, unsigned n);
    void (*fence)(struct graph *g, eid fence); /* may be NULL: there is nothing to decide */
    /* Which of these threads (a bit each) goes on beyond the graph; 0 discards the run. */
    unsigned (*pick)(struct graph *g, unsigned threads);
    bool every_event; /* ask `pick` before each event instead of letting a thread run on */
    bool retry;       /* offer `pick` also waiting threads for which there is something new to see */
};

enum run_end {
    RUN_COMPLETE,
    RUN_BLOCKED, /* some thread waits, in a way that a fair schedule would end */
    RUN_CUT,     /* as blocked, but a waiting loop that writes went round too often to be followed further */
    RUN_VIOLATION,
    RUN_DISCARDED, /* the strategy found the graph impossible, or a thread stopped by chk_stop */
    RUN_TOO_LONG,
    RUN_RESTART, /* the search must begin again, on another assumption */
};

/* WAIT_DEADLINE: as WAIT_FUTEX, but time would end it; what follows then is explored where it does. */
enum wait { WAIT_NONE, WAIT_SPIN, WAIT_LOCK, WAIT_FUTEX, WAIT_DEADLINE, WAIT_ROUNDS, WAIT_STOP };

struct run_thread {
    void *sp;
    enum { RUN_READY, RUN_NEEDS_WRITE, RUN_AT_EDGE, RUN_BLOCKED_HERE, RUN_DONE } state;
    uint16_t at; /* events passed in this run */
    enum wait wait;
    uint16_t wait_from; /* the events it waits on: from here to `at` */
};

/* A place in the scenario's code that had a part in a violation. */
struct place {
    const char *what;
    unsigned thread; /* 0: setup or finish */
    uintptr_t pc;
};
enum { RUN_PLACES = 3 };

struct run {
    const struct chk_scenario *scenario;
    struct graph *graph;
    const struct strategy *strategy;
    struct run_thread thread[T_MAX];
    unsigned threads;
    unsigned current;   /* 0: no thread, that is setup or finish */
    unsigned extending; /* the thread that added the last new event */
    enum run_end end;
    bool stop;
    bool active;         /* setup, the threads or finish are running */
    uint64_t operations; /* how many have been passed, in all runs */
    enum chk_flaw flaw;
    unsigned violator; /* the thread that was running; 0: none */
    char what[400];
    uintptr_t pc;                   /* where the scenario's code called the checker for what is being done */
    struct place place[RUN_PLACES]; /* of a violation; unused ones have no `what` */
};
extern struct run run;

enum run_end run_once(const struct chk_scenario *scenario, struct graph *g, const struct strategy *strategy);

/* For strategies, from within a thread. */
void run_discard(void) __attribute__((noreturn));
void run_restart(void) __attribute__((noreturn));

/* A violation in the current thread, in setup or in finish; ends the run. */
void run_violation(enum chk_flaw flaw, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Before run_violation: one of the places that it will be reported with. */
void run_place(const char *what, unsigned thread, uintptr_t pc);

/* Thread operations, all by the current thread. */
uint64_t run_load(unsigned cell, enum order order, uintptr_t pc);
void run_store(unsigned cell, enum order order, uint64_t value, uintptr_t pc);
uint64_t run_rmw(unsigned cell, enum op op, uint64_t operand, uint64_t expected, enum order success, enum order failure, uintptr_t pc);
void run_fence(enum order order, uintptr_t pc);
unsigned run_choose(unsigned n, uintptr_t pc);
/* Waits on the events since `from`. Returns only if the strategy retries: those events are then taken back (unless one of them is a write), and the caller
 * does them again. */
void run_block(enum wait wait, unsigned from);

/* The current thread's happens-before clock, and its number of events so far. */
vclock run_clock(void);
/* Is this on the current thread's stack? There frames come and go, and with them what an address stands for. */
bool run_on_stack(uintptr_t address);
/* Where that stack ends. */
const uint64_t *run_stack_top(void);
/* Whether the graph holds further events of the current thread. */
bool run_has_more(void);
static inline unsigned run_at(void) { return run.thread[run.current].at; }

extern const char *const flaw_name[];

#endif
