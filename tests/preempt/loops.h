/* What the tests of preemption share: loops that never give way, tickers beside them, and how many have ended. */
#ifndef WEFT_TESTS_PREEMPT_LOOPS_H
#define WEFT_TESTS_PREEMPT_LOOPS_H

#include "preempt/preempt_helpers.h"

#include "thread/stopped.h"
#include "thread/thread.h"

#include <sys/syscall.h>

enum { HOGS_MOST = 32 };

static atom_u64 done, rounds[HOGS_MOST];
static atom_u32 numbers[HOGS_MOST]; /* of their threads */
static atom_bool over;

static inline uint32_t thread_number(void) { return (uint32_t)syscall(SYS_gettid); }

static inline void forget(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&over, false);
    for (unsigned i = 0; i < HOGS_MOST; i++) {
        atom_store_rlx(&rounds[i], 0);
        atom_store_rlx(&numbers[i], 0);
    }
}

/* Without a single call, once it has begun. */
static __attribute__((noinline, unused)) void loops_until_over(atom_u64 *mine) {
    uint64_t count = 0;
    while (!atom_load_rlx(&over))
        atom_store_rlx(mine, ++count);
}
static inline void loops(void *arg) {
    uintptr_t which = (uintptr_t)arg;
    uint32_t before = thread_number();
    atom_store_rlx(&numbers[which], before);
    errno = (int)which + 1000;
    loops_until_over(&rounds[which]);
    EXPECT_EQ(errno, (int)which + 1000);
    EXPECT_EQ(thread_number(), before); /* interrupted or not, it has stayed there */
    atom_add_rel(&done, 1);
}
static inline weft_pid spawn_marked(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_PREEMPT, .name = "marked"};
    EXPECT_EQ(weft_spawn_with(entry, arg, &options, &pid), 0);
    return pid;
}

static inline void ticks(void *arg) {
    unsigned times = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < times; i++)
        EXPECT_EQ(weft_sleep(2 * WEFT_MILLISECOND), 0);
    atom_store_rlx(&over, true);
    atom_add_rel(&done, 1);
}

static inline void ticks_on(void *arg) {
    (void)arg;
    while (!atom_load_rlx(&over))
        EXPECT_EQ(weft_sleep(2 * WEFT_MILLISECOND), 0);
    atom_add_rel(&done, 1);
}

static inline struct runtime *runtime_now(void) { return (struct runtime *)rt.runtime; }

#endif
