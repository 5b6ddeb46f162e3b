/* What the tests of channels and locks share: stackful processes from the test's thread, threads that are not workers, misuse that aborts
 * by name. */
#ifndef WEFT_TESTS_CROWD_H
#define WEFT_TESTS_CROWD_H

#include "runtime_helpers.h"
#include "wait/waiters.h"

#include <weft/stackful.h>
#include <weft/time.h>

#include <signal.h>
#include <sys/wait.h>

static inline weft_pid crowd_spawn(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    return pid;
}

/* Runs one process and waits for its end. */
static inline void crowd_run(weft_entry entry, void *arg) {
    weft_pid pid;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE};
    EXPECT_EQ(weft_spawn_with(entry, arg, &options, &pid), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
}

static inline pthread_t crowd_thread(void *(*entry)(void *), void *arg) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, entry, arg), 0);
    return thread;
}

static inline void crowd_gather(pthread_t thread) { EXPECT_EQ(pthread_join(thread, NULL), 0); }

/* So that processes that are spawned one after the other begin together: from crowd_close to crowd_open they wait in crowd_begin. */
static atom_u64 crowd_gate;
static uint64_t crowd_seed; /* for processes that begin */
static inline void crowd_close(uint64_t seed) {
    crowd_seed = test_seed(seed);
    atom_store_rlx(&crowd_gate, 0);
}
static inline void crowd_open(void) { atom_store_rel(&crowd_gate, 1); }
static inline void crowd_begin(void) {
    while (!atom_load_acq(&crowd_gate))
        if (weft_self() != WEFT_NOBODY) weft_yield();
        else sched_yield();
}

/* Until so many stand in the list. */
static inline void crowd_queue(struct lock *lock, const struct waiters *list, size_t count) {
    for (size_t found;; usleep(100)) {
        lock_take(lock);
        found = 0;
        for (const struct waiter *waiter = list->first; waiter; waiter = waiter->next)
            found++;
        lock_drop(lock);
        if (found == count) return;
    }
}

#endif
