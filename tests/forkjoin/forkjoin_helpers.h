/* What the tests of fork and join share. */
#ifndef WEFT_TESTS_FORKJOIN_FORKJOIN_HELPERS_H
#define WEFT_TESTS_FORKJOIN_FORKJOIN_HELPERS_H

#include "runtime_helpers.h"

#include <weft/fork.h>
#include <weft/message.h>
#include <weft/scope.h>
#include <weft/stackful.h>
#include <weft/time.h>

/* Runs a process and waits until it has ended. */
static inline void in_process_with(weft_entry entry, void *arg, size_t stack_size) {
    weft_pid pid;
    weft_stackful_options options = {.runtime = rt.runtime, .stack_size = stack_size, .flags = WEFT_SPAWN_JOINABLE};
    EXPECT_EQ(weft_spawn_with(entry, arg, &options, &pid), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
}
static inline void in_process(weft_entry entry) { in_process_with(entry, NULL, 0); }

#endif
