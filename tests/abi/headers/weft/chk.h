/* Scenarios for the model checker: `weft check my_queue.c`. The guide is docs/checking-your-code.md.
 *
 * A scenario is a small program: setup, some threads, finish. The checker runs it once for every behaviour that the memory model allows,
 * and looks for a violation in each. It sees every atomic and every plain access of the files that it compiles: plain C11, <stdatomic.h>, operators on
 * _Atomic objects and the compiler's __atomic and __sync functions. A scenario only states what must hold.
 *
 *     static struct queue q;
 *     static int got;
 *     static void producer(void) { queue_push(&q, 7); }
 *     static void consumer(void) { if (queue_pop(&q, &got)) chk_assert(got == 7, "what was pushed"); }
 *     CHK_SCENARIO(queue_one, .about = "one element", .threads = {producer, consumer})
 *
 * Rules. setup and finish run alone, before and after the threads. Static data has its initial bytes at the beginning of every run. A scenario is
 * deterministic but for chk_choose: no clocks, no random numbers, no addresses in decisions, no files. Memory comes from malloc and
 * its like, and has been freed by the end of finish. */
#ifndef WEFT_CHK_H
#define WEFT_CHK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CHK_THREADS = 7 };

/* The memory models, as a set. */
enum chk_model { CHK_SC = 1, CHK_TSO = 2, CHK_C11 = 4, CHK_ALL = 7 };

/* What can go wrong. */
enum chk_flaw {
    CHK_NONE,
    CHK_ASSERT,         /* chk_assert or assert failed, in a thread or in finish */
    CHK_RACE,           /* two plain accesses, one of them a write, unordered */
    CHK_DEADLOCK,       /* threads wait for ever, at least one on a lock or in a loop that only reads */
    CHK_LOST_WAKEUP,    /* threads wait for ever, at least one asleep on a futex */
    CHK_LIVELOCK,       /* threads go round for ever although the schedule is fair */
    CHK_USE_AFTER_FREE, /* an access not ordered before the block's free */
    CHK_DOUBLE_FREE,
    CHK_LEAK,  /* a block that is not freed by the end of finish */
    CHK_CRASH, /* a null or wild pointer, a division by zero, abort() */
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
    bool marked_loops;    /* its waiting loops are all marked: the checker need not find them */
    const char *group;    /* filled in by CHK_SCENARIO: the source file's base name */
};

void chk_register(const struct chk_scenario *scenario);

#define CHK_SCENARIO(id, ...)                                                                                                              \
    static const struct chk_scenario chk_scenario_##id = {.name = #id, .group = __FILE_NAME__, __VA_ARGS__};                               \
    __attribute__((constructor, no_sanitize_thread)) static void chk_register_##id(void) { chk_register(&chk_scenario_##id); }

/* Reports a violation and ends the run when `condition` is false. `what` says what should have held. */
#define chk_assert(condition, what) ((condition) ? (void)0 : chk_fail(what, #condition))
void chk_fail(const char *what, const char *condition) __attribute__((noreturn));

/* Explores every value in 0..n-1. */
unsigned chk_choose(unsigned n);

/* This thread waits here for ever: the behaviours in which it gets this far are of no interest. */
void chk_stop(void) __attribute__((noreturn));
/* Leaves out behaviours in which `condition` does not hold. */
#define chk_assume(condition) ((condition) ? (void)0 : chk_stop())

/* Names an object in printed traces: CHK_NAME(queue.head). Objects without a name are called after the variable that they are in. */
#define CHK_NAME(object) chk_name(&(object), #object)
void chk_name(const volatile void *object, const char *name);

/* The calling thread's number, 0 for the first in `threads`. */
unsigned chk_self(void);

/* A waiting loop that the checker cannot see to be one, because a round leaves something changed: a counter of attempts, a lock taken and given back.
 *
 *     struct chk_loop loop = chk_loop_begin();
 *     for (unsigned tries = 0; !try_something(tries); tries++)
 *         chk_loop_again(&loop);
 *
 * The next round is explored only once another thread has written something that this one read; a loop that writes is followed for four
 * rounds. (A loop whose rounds change nothing needs no mark.) */
struct chk_loop {
    uint32_t mark;
};
struct chk_loop chk_loop_begin(void);
void chk_loop_again(struct chk_loop *loop);

/* A mutex known to the checker. Zeroed is unlocked. (pthread_mutex_t and mtx_t are known to it as well.) */
struct chk_mutex {
    uint32_t word;
};
void chk_lock(struct chk_mutex *mutex);
void chk_unlock(struct chk_mutex *mutex);

#ifdef __cplusplus
}
#endif

#endif
