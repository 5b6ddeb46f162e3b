/* What the tests of stackful processes share: processes that are run and waited for from the test's own thread. */
#ifndef WEFT_TESTS_MAILBOX_HELPERS_H
#define WEFT_TESTS_MAILBOX_HELPERS_H

#include "runtime_helpers.h"

#include <weft/weft.h>

static inline weft_pid run_flags(weft_entry entry, void *arg, unsigned flags) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = rt.runtime, .flags = flags}, &pid), 0);
    return pid;
}
static inline weft_pid run_spawn(weft_entry entry, void *arg) { return run_flags(entry, arg, 0); }

/* Inside a process, or from the test's thread. It may have ended before. */
static inline int run_join(weft_pid pid) {
    int reason = 0, error = weft_join(pid, &reason, WEFT_FOREVER);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    return reason;
}

/* Runs entry(arg) in a process and waits for its end, which cannot be missed. */
static inline int run(weft_entry entry, void *arg) {
    int reason = 1;
    EXPECT_EQ(weft_join(run_flags(entry, arg, WEFT_SPAWN_JOINABLE), &reason, WEFT_FOREVER), 0);
    return reason;
}

/* Inside a process: so that others come to run, here or elsewhere. */
static inline void run_others(void) {
    for (unsigned i = 0; i < 20; i++)
        weft_yield();
}

/* Inside a process that is killed, or linked to one that has ended: it does not return. What kills it may still be under way on another
 * thread, and in a program with C++, as that with a sanitizer is, a process is spared for its first calls: so it yields for long. */
static inline void expect_the_end(void) {
    for (uint64_t deadline = weft_in(20 * WEFT_SECOND); weft_now() < deadline;)
        weft_yield();
    EXPECT(false);
}

static inline uint64_t msg_u64(weft_msg *message) {
    uint64_t value;
    EXPECT_EQ(weft_msg_len(message), sizeof value);
    memcpy(&value, weft_msg_data(message), sizeof value);
    return value;
}

/* Receives one with this tag as the next, and frees it. */
static inline void expect_next(uint64_t tag) {
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_tag(message), tag);
    weft_msg_free(message);
}
static inline void expect_tag(uint64_t tag) {
    weft_msg *message;
    EXPECT_EQ(weft_recv_tag(tag, &message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_tag(message), tag);
    weft_msg_free(message);
}

/* Ends when it is cancelled. */
static inline void sleeper(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_sleep(3600 * WEFT_SECOND), WEFT_ECANCELED);
}
/* It says when it has begun, an atom_bool: then it has its stack, and needs no more memory. */
static inline void begins_and_sleeps(void *begun) {
    atom_store_rel((atom_bool *)begun, true);
    sleeper(NULL);
}

#endif
