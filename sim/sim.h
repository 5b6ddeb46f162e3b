/* The simulation's core: one baton, virtual time, decisions by seed.
 *
 * All threads of the program that take part are real threads, and one of them runs at a time: the one that has the baton. A thread passes
 * the baton on at points: at every outside effect (the table in sim/table.c) and at a sampled part of the runtime's atomic operations
 * (base/atom.h). So thread-local variables work as they always do, and the code of the simulation needs no locks.
 *
 *   B1  Only the thread with the baton runs code of the runtime, of the program or of the simulation.
 *   B2  Every decision is a draw (sim/draw.h). Nothing depends on an address, on the real clock or on the kernel's scheduler.
 *   B3  Time moves when a thread passes a point, by a fixed amount, and when no thread can run: then to the next deadline or event. */
#ifndef WEFT_SIM_SIM_H
#define WEFT_SIM_SIM_H

#include "base/sim_hooks.h"
#include "draw.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_FOREVER UINT64_MAX

enum { SIM_THREADS_MOST = 1 << 15 }; /* that a run may start */
#define SIM_ALL UINT_MAX

enum sim_state { SIM_RUNNABLE, SIM_BLOCKED, SIM_ENDED };

struct sim_thread {
    unsigned index, machine;
    unsigned place; /* among those that are alive: roster.h */
    bool left;      /* it never runs again */
    enum sim_state state;
    uint32_t go; /* futex: it has been given the baton, or is gone */
    bool joined;
    unsigned rounds;  /* of destructors, at its end */
    bool crashed;     /* its machine has crashed: it is gone, once it holds no lock */
    unsigned locks;   /* of weft that it holds */
    bool interrupted; /* it is a child's that a signal has ended: it waits for no descriptor any more */

    /* While it is blocked. */
    const char *why; /* a string that lives on: shown in reports */
    const void *on;
    uint64_t deadline;
    int result;

    uint64_t priority;              /* of the strategy with priorities: the highest runs */
    bool stalled;                   /* it could run, but the kernel does not run it: no thread sees it asleep */
    uint32_t spins;                 /* how often in a row it has only waited in a loop */
    uint64_t atoms;                 /* atomic operations so far */
    uint64_t effects;               /* outside effects so far */
    uint64_t choices;               /* how often it has chosen the thread to run next */
    uint64_t time;                  /* virtual time that it has run */
    uint64_t handle;                /* pthread_t */
    uint32_t draws[SIM_DRAW_KINDS]; /* that it has made */
    void *(*entry)(void *);
    void *arg;
};

/* Threads, in the order of their start: thread 0 is the program's first. */
struct sim_thread *sim_me(void); /* NULL: not a thread of the simulation; or in a function that sim_at calls */
unsigned sim_thread_count(void);
struct sim_thread *sim_thread_at(unsigned index);
int sim_thread_start(struct sim_thread **started, void *(*entry)(void *), void *arg);
/* With a pthread_attr_t. */
int sim_thread_start_with(struct sim_thread **started, const void *attributes, void *(*entry)(void *), void *arg);
/* Until it has ended: then it can be joined without waiting. */
void sim_thread_wait(struct sim_thread *thread);

/* Virtual time: nanoseconds. The clock begins at SIM_EPOCH; histories count from there. */
#define SIM_EPOCH (UINT64_C(1000) * 1000000000)
uint64_t sim_now(void);
/* The same; asking takes no time. */
uint64_t sim_clock(void);
/* The moment that is so far from now; never, if that is further than there are moments. */
uint64_t sim_in(uint64_t ns);

/* An outside effect begins: a point, with a note in the history. `what` is a string constant; `detail` no address. */
void sim_effect(const char *what, uint64_t detail);
/* Blocks the calling thread on an object, until sim_unblock or the deadline. Returns the waker's result, or -ETIMEDOUT. */
int sim_block(const char *why, const void *on, uint64_t deadline);
/* Unblocks up to `count` threads that are blocked on the object, which ones the seed decides. Returns how many. */
unsigned sim_unblock(const void *on, unsigned count, int result);
/* Unblocks this thread, if it is blocked. */
void sim_unblock_thread(struct sim_thread *thread, int result);

/* Calls fn(arg) at a moment of virtual time, between the points of threads: in order of time, then of these calls. It must not block. */
void sim_at(uint64_t moment, void (*fn)(void *arg), void *arg);

/* Ends the program: the simulation has found something. `kind` is one word; the sentence goes to standard error. */
void sim_fail(const char *kind, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Makes the calling thread the first of the simulation. */
void sim_begin(void);
/* In a program that has one thread, in a child made by fork say: the simulation begins anew, with another seed. */
void sim_start_again(uint64_t seed);
void sim_end(void);
/* In a child made by fork of a program with several threads, which has only the one: it is not simulated, and its calls are the C library's. */
void sim_leave_to_kernel(void);

/* Ends the program: no thread can ever run again. */
void sim_deadlock(void) __attribute__((noreturn));

/* Called at every point: weft_sim_always and its like (sim/promises.c). */
void sim_promises(void);

/* Machines: sim/machine.c. A crash: none of its threads runs again, but each goes on until it holds no lock of weft. Then what the machine had
 * not synced is lost, and its connections end. Machine 0 is the program itself, and does not crash. */
void sim_crash_machine(unsigned machine);
/* A machine has crashed: its memory stays. */
bool sim_any_crashed(void);
/* A thread of a crashed machine has dropped its last lock. */
void sim_machine_settle(unsigned machine);
/* The thread is one of a crashed machine, and holds no lock: it never runs again. */
void sim_thread_gone(struct sim_thread *thread);
/* The same for the calling thread, which does not return if it is one. */
void sim_leave_for_ever(void);

#endif
