/* Waiting in a loop for another thread.
 *
 * Every such loop is written
 *
 *     struct spin spin = spin_begin();
 *     while (!condition)
 *         spin_wait(&spin);
 *
 * so that one place decides how to wait, and so that the model checker knows a loop from straight code: an iteration
 * that only read blocks there until one of the cells it read changes, instead of being explored for ever.
 *
 * A loop that retries a compare-and-swap is the same to the checker, but here another thread has just made progress: the
 * loop ends with spin_retry, which retries at once. Only if a failed round leaves nothing that other threads could see. */
#ifndef WEFT_BASE_SPIN_H
#define WEFT_BASE_SPIN_H

#include "base/sim_hooks.h"

#include <stdint.h>

struct spin {
    uint32_t rounds;
    uint64_t since; /* spin_ticks at the first look for how long it has lasted; 0: none yet */
};

#if WEFT_CHECK
uint32_t chk_spin_begin(void);
uint32_t chk_spin_wait(uint32_t mark);
static inline struct spin spin_begin(void) { return (struct spin){chk_spin_begin(), 0}; }
static inline void spin_wait(struct spin *spin) { spin->rounds = chk_spin_wait(spin->rounds); }
static inline void spin_retry(struct spin *spin) { spin_wait(spin); }
static inline void spin_pause(void) {}
static inline void spin_pause_long(void) {}
#else
#include "base/handler.h"

#include <sched.h>

/* Tells the core that this is a busy loop; for loops that try a fixed number of times and then do something else. */
static inline void spin_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* A counter that runs at a constant rate, read without a call of the kernel, and about half a second of it. */
#if defined(__x86_64__)
static inline uint64_t spin_ticks(void) { return __builtin_ia32_rdtsc(); }
static inline uint64_t spin_ticks_long(void) { return UINT64_C(1) << 30; }
#else
static inline uint64_t spin_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
static inline uint64_t spin_ticks_long(void) {
    uint64_t per_second;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(per_second));
    return per_second / 2;
}
#endif

/* 0.3 to 0.5 us: long beside the time that a cache line takes from one core to another. (A pause instruction takes 10 ns on some machines and 50 on others.) */
static inline void spin_pause_long(void) {
#if defined(__x86_64__)
    for (uint64_t since = spin_ticks(); spin_ticks() - since < 1000;)
        spin_pause();
#else
    for (unsigned i = 0; i < 32; i++)
        spin_pause();
#endif
}

/* Gives the core to another thread. */
static inline void spin_yield(void) {
#if WEFT_SIM
    sim_spin();
#else
    sched_yield();
#endif
}

enum { SPIN_PAUSE_ROUNDS = WEFT_SIM ? 1 : 64, SPIN_LOOK_ROUNDS = 64 };

static inline struct spin spin_begin(void) {
    sim_spin_begin();
    return (struct spin){0, 0};
}

/* After half a second the thread waited for may be this very thread, interrupted by the signal handler that spins here. By time and not by rounds: on a busy
 * machine the kernel may take 20 ms for each yield. */
static inline void spin_lasts(struct spin *spin) {
    uint64_t now = spin_ticks();
    if (spin->since && now - spin->since < spin_ticks_long()) return;
    if (spin->since) handler_refuse("a weft call");
    spin->since = now;
}

/* Pauses the core for the first rounds and yields the thread from then on, so that a waiter never starves the thread it
 * waits for when there are more threads than cores. */
static inline void spin_wait(struct spin *spin) {
    if (spin->rounds < SPIN_PAUSE_ROUNDS) {
        spin->rounds++;
        spin_pause();
    } else {
        spin_yield();
        if (__builtin_expect(++spin->rounds % SPIN_LOOK_ROUNDS == 0, 0)) spin_lasts(spin);
    }
}

static inline void spin_retry(struct spin *spin) { (void)spin; }
#endif

#endif
