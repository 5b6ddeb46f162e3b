/* A caller that ends in its call: it is killed, or linked to a process that ends. The rest of the trial is deferred: the unit is there unless the call has taken it,
 * and what the call used serves the next one. */
#ifndef WEFT_TESTS_CROSS_STATES_ENDED_H
#define WEFT_TESTS_CROSS_STATES_ENDED_H

#include "states_cancelled.h"

static inline void ended_rest(void *arg) {
    struct trial *trial = arg;
    if (!atom_load_acq(&trial->came_back) && trial->call->abandon) trial->call->abandon(trial);
    trial->rest(trial);
}
static inline void around_ended(struct trial *trial) {
    EXPECT_EQ(weft_defer(ended_rest, trial), 0);
    trial->body(trial);
    for (;;)
        weft_yield();
}

static inline void kill_during(struct trial *trial) { EXPECT_EQ(weft_kill(trial->caller), 0); }

static inline void linked_enter(struct trial *trial) {
    trial->friend = spawn_beside(sibling_main, trial, 0);
    EXPECT_EQ(weft_link(trial->friend), 0);
}
static inline void linked_during(struct trial *trial) { EXPECT_EQ(weft_send(trial->friend, TAG_END, NULL, 0), 0); }

#define STATES_ENDED                                                                                                                       \
    {.name = "killed_during", .cancelled = DURING, .ends = true, .reason = WEFT_EKILLED, .during = kill_during, .around = around_ended}, { \
        .name = "link_ends", .cancelled = DURING, .ends = true, .links = true, .reason = SCOPE_REASON, .enter = linked_enter,              \
        .during = linked_during, .around = around_ended                                                                                    \
    }

#endif
