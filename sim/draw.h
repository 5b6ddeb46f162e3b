/* Decisions: every one is a draw. By default a draw comes from the seed. A script (WEFT_SIM_SCRIPT) gives the draws instead: each line names
 * one draw and its value, and all others are 0, which always means the harmless choice: no switch, no fault, no delay. So a run is a set
 * of draws that are not 0, and shrinking a failure means leaving draws out.
 *
 *   D1  A draw is named by its thread, its kind, and how many draws of that kind the thread has made before. So leaving one out disturbs
 *       the names of the others as little as possible.
 *   D2  Every draw that is not 0 is recorded when WEFT_SIM_RECORD asks for it, in the form in which a script gives it.
 *
 * Every fourth seed is *quiet*, and with WEFT_SIM_QUIET each: most of its draws are 0. It decides for each kind of draw whether there are none, some or all, and
 * has no switches at atomic operations but those at the end of a turn. Failures of quiet seeds are small from the start, and some are found
 * sooner: swarm testing (Groce and others, ISSTA 2012). */
#ifndef WEFT_SIM_DRAW_H
#define WEFT_SIM_DRAW_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds, with their names in scripts and histories. One list: a part of the world adds its own here. */
#define SIM_DRAWS(X)                                                                                                                       \
    X(SWITCH, "switch")         /* at an effect: 0 go on, else the thread to run, plus 1 */                                                \
    X(ATOM, "atom")             /* at an atomic operation: the thread to run, plus 1. Named by the number of the operation */              \
    X(NEXT, "next")             /* the thread cannot go on: which of those that can runs */                                                \
    X(WAKE, "wake")             /* which of those that are blocked on an object is woken */                                                \
    X(STALL, "stall")           /* a thread that could run does not for so long. Named by the number of its outside effect, */             \
    X(STALL_ATOM, "stall-atom") /* or of its atomic operation */                                                                           \
    X(SPURIOUS, "spurious")     /* a sleep ends for no reason */                                                                           \
    X(CPUS, "cpus")             /* how many processors there are, less one */                                                              \
    X(RANDOM, "random")         /* bytes of the kernel's random source */                                                                  \
    X(MEMORY, "memory")         /* an allocation is refused */                                                                             \
    X(THREAD, "thread")         /* a thread is refused */                                                                                  \
    X(BLOCKING, "blocking")     /* how long a blocking function takes */                                                                   \
    X(POINT, "point")           /* what happens at a named point of the program */                                                         \
    X(CRASH, "crash")           /* the machine crashes there */                                                                            \
    X(LATENCY, "latency")       /* how long something takes on the network */                                                              \
    X(NET, "net")               /* a fault of the network */                                                                               \
    X(SHORT, "short")           /* a read or write that moves less than was asked for */                                                   \
    X(DISK, "disk")             /* how long a file operation takes */                                                                      \
    X(FILE, "file")             /* a fault of a file */                                                                                    \
    X(TORN, "torn")             /* what is left of writes that were not synced when a machine crashed */                                   \
    X(CHILD, "child")           /* what a child program does */                                                                            \
    X(USER, "user")             /* weft_sim_random */

enum sim_draw_kind {
#define X(name, text) SIM_##name,
    SIM_DRAWS(X)
#undef X
        SIM_DRAW_KINDS
};

/* Kinds of faults that are on: WEFT_SIM_FAULTS names them, separated by commas. A seed then decides how often each happens. */
enum sim_fault {
    SIM_FAULT_WAKE,   /* spurious wake-ups */
    SIM_FAULT_SHORT,  /* short reads and writes */
    SIM_FAULT_NET,    /* resets, loss, refused connections, partitions */
    SIM_FAULT_FILE,   /* EIO, ENOSPC */
    SIM_FAULT_MEMORY, /* memory refused */
    SIM_FAULT_THREAD, /* threads refused */
    SIM_FAULT_FD,     /* descriptors refused */
    SIM_FAULT_CRASH,  /* machines crash at named points */
    SIM_FAULT_POINT,  /* named points fail */
    SIM_FAULT_STALL,  /* threads that the kernel does not run for a while, up to seconds, though they could */
    SIM_FAULTS
};

/* One of 0 ... bound-1. */
uint64_t sim_draw(enum sim_draw_kind kind, uint64_t bound);
/* The same, but 0 far more often: each of the others is one case of `of`. */
uint64_t sim_draw_rare(enum sim_draw_kind kind, uint64_t bound, uint64_t of);
/* True with the seed's rate of that fault, or never when the fault is off. Draws of `kind`. */
bool sim_fault(enum sim_fault fault, enum sim_draw_kind kind);
/* A fault that can be of several kinds, 1 ... bound-1; 0: it does not happen. Named by `number` instead of a count. */
uint64_t sim_fault_numbered(enum sim_fault fault, enum sim_draw_kind kind, uint64_t number, uint64_t bound);
/* The same at a named place of the program. In a quiet seed each place has a rate of its own, so there are seeds with faults at two places
 * alone, and often there. */
bool sim_fault_at(enum sim_fault fault, enum sim_draw_kind kind, const char *place);
bool sim_fault_is_on(enum sim_fault fault);

/* Draws of the core with a name of their own (D1): `number` instead of a count. */
void sim_draw_record(enum sim_draw_kind kind, unsigned thread, uint64_t number, uint64_t value);
/* In a script: the next draw of that kind and thread with a number above `after`. False: there is none. */
bool sim_draw_scripted(enum sim_draw_kind kind, unsigned thread, uint64_t after, uint64_t *number, uint64_t *value);
bool sim_is_scripted(void);

/* The same as a draw, but recorded by the caller, with sim_draw_record, if anything comes of it. */
uint64_t sim_pick(uint64_t bound);

/* A quiet seed, in which this draw is 0: not in scripts. */
enum { SIM_QUIET_EVERY = 4 };
bool sim_is_quiet(void);
bool sim_is_left_out(enum sim_draw_kind kind);
/* By its name in scripts and histories; SIM_DRAW_KINDS: there is none. */
enum sim_draw_kind sim_draw_kind(const char *name);

/* Random numbers of the seed that are no draws: how the seed behaves as a whole. Only before the first thread runs. */
uint64_t sim_seed_random(uint64_t bound);
uint64_t sim_seed(void);
void sim_draw_setup(uint64_t seed);
/* Whether the variables of the environment that it reads make sense, and the script: otherwise the program ends. */
void sim_draw_check(void);

#endif
