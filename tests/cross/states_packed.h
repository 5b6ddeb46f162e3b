/* A caller that is packed: before its call, or in it, and then the unit, its deadline, a cancellation, a kill or the runtime's end comes. Calls that may be packed
 * (CALL_PACKS) must be, in a build with small frames, unless they end before; others must not. */
#ifndef WEFT_TESTS_CROSS_STATES_PACKED_H
#define WEFT_TESTS_CROSS_STATES_PACKED_H

#include "states_ended.h"

#include "fiber/packing_helpers.h"

#define TAG_WAKE UINT64_C(0x6000)
/* Where frames are larger, those of a call may be too much to be packed. */
#if WEFT_TEST_SIM || WEFT_DEBUG
#define FRAMES_ARE_SMALL 0
#else
#define FRAMES_ARE_SMALL (RT_SLOW == 1)
#endif
enum { WORDS = 8, ASKED_IN_VAIN = 10 };

static unsigned packed_callers; /* in their calls: in this test so far */

/* Its frame, with a pointer into itself, and errno are the same afterwards. */
static inline void packed_enter(struct trial *trial) {
    volatile uint64_t words[WORDS], *volatile self = words;
    weft_msg *message;
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = i % 3 * trial->begun;
    atom_store_rel(&trial->waits, 1);
    errno = ERRNO_KEPT;
    int error = weft_recv_tag(TAG_WAKE, &message, trial->combination.at[LIMIT] == FOREVER ? WEFT_FOREVER : patient());
    EXPECT_EQ(errno, ERRNO_KEPT);
    EXPECT_EQ(error, 0);
    weft_msg_free(message);
    EXPECT(self == words);
    for (unsigned i = 0; i < WORDS; i++)
        EXPECT_EQ(words[i], i % 3 * trial->begun);
}
static inline void packed_before(struct trial *trial) {
    await(&trial->waits);
    for (; !is_packed(trial->caller); pause_briefly())
        packing_ask(trial->caller);
    EXPECT_EQ(weft_send(trial->caller, TAG_WAKE, NULL, 0), 0);
}

/* It was packed in its call: its stack is as it was left, wherever it is now, as long as it has not come back. */
static inline bool packed_in_call(struct trial *trial) { return is_packed(trial->caller) && !atom_load_acq(&trial->came_back); }
static inline void packed_during(struct trial *trial) {
    bool must = FRAMES_ARE_SMALL && trial->call->is & CALL_PACKS, may = trial->call->is & (CALL_PACKS | CALL_MAY_PACK);
    for (unsigned i = 0; !atom_load_acq(&trial->came_back) && (must || i < ASKED_IN_VAIN); i++) {
        packing_ask(trial->caller);
        if (packed_in_call(trial)) {
            if (!may) test_fail(__FILE__, __LINE__, "it was packed");
            packed_callers++;
            break;
        }
        pause_briefly();
    }
    atom_store_rel(&trial->asked, 1);
}
static inline void packed_during_cancel(struct trial *trial) {
    packed_during(trial);
    cancel_during(trial);
}
static inline void packed_during_kill(struct trial *trial) {
    packed_during(trial);
    kill_during(trial);
}
static inline void packed_during_stop(struct trial *trial) {
    packed_during(trial);
    stop_during(trial);
}

#define STATES_PACKED                                                                                                                      \
    {.name = "packed_before", .flags = WEFT_SPAWN_PACK, .enter = packed_enter, .before = packed_before},                                   \
        {.name = "packed", .flags = WEFT_SPAWN_PACK, .packs = true, .during = packed_during},                                              \
        {.name = "packed_deadline",                                                                                                        \
         .flags = WEFT_SPAWN_PACK,                                                                                                         \
         .packs = true,                                                                                                                    \
         .must_pack = true,                                                                                                                \
         .deadline = deadline_same,                                                                                                        \
         .during = packed_during},                                                                                                         \
        {.name = "packed_cancelled",                                                                                                       \
         .flags = WEFT_SPAWN_PACK,                                                                                                         \
         .packs = true,                                                                                                                    \
         .must_pack = true,                                                                                                                \
         .cancelled = DURING,                                                                                                              \
         .during = packed_during_cancel,                                                                                                   \
         .leave = cancelled_leave},                                                                                                        \
        {.name = "packed_killed",                                                                                                          \
         .flags = WEFT_SPAWN_PACK,                                                                                                         \
         .packs = true,                                                                                                                    \
         .must_pack = true,                                                                                                                \
         .cancelled = DURING,                                                                                                              \
         .ends = true,                                                                                                                     \
         .reason = WEFT_EKILLED,                                                                                                           \
         .during = packed_during_kill,                                                                                                     \
         .around = around_ended},                                                                                                          \
    {                                                                                                                                      \
        .name = "packed_stopping", .flags = WEFT_SPAWN_PACK, .packs = true, .must_pack = true, .cancelled = DURING, .everybody = true,     \
        .stops = true, .during = packed_during_stop, .leave = cancelled_leave                                                              \
    }

#endif
