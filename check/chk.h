/* What a scenario file tells the model checker.
 *
 * A scenario is a small program: setup, some threads, finish. The checker runs it once for every behaviour that the memory
 * model allows and looks for a violation in each. Scenario files and the parts they exercise are compiled with race
 * detector instrumentation (-fsanitize=thread), so every plain and atomic access reaches the checker by itself; a
 * scenario only states what must hold.
 *
 *     static struct mpsc box;
 *     static void setup(void)    { mpsc_init(&box); }
 *     static void producer(void) { ... }
 *     static void consumer(void) { ... chk_assert(n == 2, "both arrived"); }
 *     static void finish(void)   { ... }
 *     SCENARIO(mpsc_one_producer, .about = "one producer, one consumer",
 *              .setup = setup, .threads = {producer, consumer}, .finish = finish)
 *
 * Rules. setup and finish run alone. A scenario is deterministic but for chk_choose: no clocks, no addresses in decisions, no
 * libc that keeps state. Its own bookkeeping that threads share is atomic or is kept one array a thread and summed in
 * finish. Static data is put back to its initial bytes before every run. Loops that wait use base/spin.h. Memory comes from sys->alloc and is freed by the end of finish. */
#ifndef WEFT_CHECK_CHK_H
#define WEFT_CHECK_CHK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHK_THREADS = 7 };

/* The memory models, as a set. */
enum chk_model { CHK_SC = 1, CHK_TSO = 2, CHK_C11 = 4, CHK_ALL = 7 };

/* What can go wrong. */
enum chk_flaw {
    CHK_NONE,
    CHK_ASSERT,         /* chk_assert failed, in a thread or in finish */
    CHK_RACE,           /* two plain accesses, one of them a write, unordered */
    CHK_DEADLOCK,       /* threads wait for ever, at least one on a lock or in a loop that only reads */
    CHK_LOST_WAKEUP,    /* threads wait for ever, at least one asleep on a futex */
    CHK_LIVELOCK,       /* threads go round for ever although the schedule is fair */
    CHK_USE_AFTER_FREE, /* an access not ordered before the block's free */
    CHK_DOUBLE_FREE,
    CHK_LEAK,
};

struct chk_scenario {
    const char *name;
    const char *about;
    void (*setup)(void);
    void (*threads[CHK_THREADS])(void);
    void (*finish)(void); /* only after executions in which every thread ended */

    unsigned models;      /* where it is run; 0 means CHK_ALL */
    unsigned flawed_in;   /* models in which a violation is expected: the scenario fails if none is found there */
    enum chk_flaw flaw;   /* which one; CHK_NONE means any */
    unsigned preemptions; /* not 0: search up to this many preemptions only; the reason belongs in `about` */
    unsigned random_runs; /* not 0: that many random executions instead of a search; likewise */
    unsigned deep_in;     /* models in which it is a long form, which `--short` leaves out: a shorter scenario asks the same there */
    const char *group;    /* filled in by SCENARIO: the source file's base name */
};

void chk_register(const struct chk_scenario *scenario);

#define SCENARIO(id, ...)                                                                                                                  \
    static const struct chk_scenario chk_scenario_##id = {.name = #id, .group = __FILE_NAME__, __VA_ARGS__};                               \
    __attribute__((constructor, no_sanitize_thread)) static void chk_register_##id(void) { chk_register(&chk_scenario_##id); }

/* Static data that threads share. The enumerator (check/axioms) knows only this; the checker puts back all static data. */
#define SHARED __attribute__((section("chk_shared"))) static

/* Reports a violation and ends the run when `condition` is false. `what` says what should have held. */
#define chk_assert(condition, what) ((condition) ? (void)0 : chk_fail(what, #condition))
void chk_fail(const char *what, const char *condition) __attribute__((noreturn));

/* Explores every value in 0..n-1. */
unsigned chk_choose(unsigned n);

/* This thread waits here for ever: the behaviours in which it gets this far are of no interest. */
void chk_stop(void) __attribute__((noreturn));
/* Leaves out behaviours in which `condition` does not hold. */
#define chk_assume(condition) ((condition) ? (void)0 : chk_stop())

/* Names a cell in printed traces. */
void chk_name(const volatile void *cell, const char *name);

/* The calling thread's number, 0 for the first in `threads`. */
unsigned chk_self(void);

/* A full fence and the two asymmetric ones, for litmus tests; parts use base/atom.h and sys/sys.h. */
void chk_fence_sc(void);
void chk_fence_acq(void);
void chk_fence_rel(void);
void chk_fence_acqrel(void);
void chk_fence_light(void);
void chk_fence_heavy(void);

/* A mutex known to the checker, for scenarios that model one. Zeroed is unlocked. */
struct chk_mutex {
    uint32_t word;
};
void chk_lock(struct chk_mutex *mutex);
void chk_unlock(struct chk_mutex *mutex);

#endif
