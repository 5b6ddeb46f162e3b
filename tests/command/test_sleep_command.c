/* COMMAND_SLEEP: a step process that waits for a moment. */
#include "command/built_in.h"
#include "runtime_helpers.h"

enum { NAPS = 5 };

static atom_u64 done, wrong;

struct napper {
    uint64_t naps, until;
};

static int napper_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct napper *self = state;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            return 0;
        }
        bool right =
            events[i].type == WEFT_EVENT_COMPLETION && events[i].error == 0 && events[i].tag == self->naps && weft_now() >= self->until;
        if (!right) atom_add_rlx(&wrong, 1);
    }
    if (self->naps == NAPS) {
        atom_add_rel(&done, 1);
        weft_out_status(out, WEFT_STEP_DONE);
        return 0;
    }
    uint64_t nanoseconds = self->naps * 300000;
    self->until = weft_now() + nanoseconds;
    self->naps++;
    EXPECT_EQ(weft_out_yield(out, COMMAND_SLEEP, self->naps, &nanoseconds, sizeof nanoseconds), 0);
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior napper = {.name = "napper", .state_size = sizeof(struct napper), .step = napper_step};

static void naps_body(void) {
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 300; i++)
        rt_spawn(&napper);
    rt_wait(&done, 300);
    EXPECT_EQ(atom_load_rlx(&wrong), 0);
}
TEST(sleep_command_is_completed_in_time) { rt_each(naps_body); }

/* Ends, or is cancelled, while it sleeps: the completion is dropped. */
static int restless_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    static const uint64_t soon = 1000000, late = UINT64_MAX;
    (void)state;
    if (count > 0 && events[0].type == WEFT_EVENT_CANCEL) {
        weft_out_status(out, WEFT_STEP_DONE);
        return 0;
    }
    EXPECT_EQ(weft_out_yield(out, COMMAND_SLEEP, 1, &soon, sizeof soon), 0);
    EXPECT_EQ(weft_out_yield(out, COMMAND_SLEEP, 2, &late, sizeof late), 0);
    atom_add_rel(&done, 1);
    weft_out_status(out, atom_load_rlx(&done) % 2 ? WEFT_STEP_DONE : WEFT_STEP_IDLE);
    return 0;
}
static const weft_behavior restless = {.name = "restless", .step = restless_step};
static void restless_body(void) {
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 50; i++)
        rt_spawn(&restless);
    rt_wait(&done, 50);
    while (rt_stats().late_completions < 1)
        rt_pause(RT_MS);
}
TEST(sleep_command_of_one_that_has_ended) { rt_each(restless_body); }

/* Refused: too little data, no memory. And no other command can have its number. */
static atom_u64 errors[2];
static int wrong_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    (void)state;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_COMPLETION) atom_store_rel(&errors[events[i].tag], (uint64_t)-events[i].error);
        else if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    if (count == 0) EXPECT_EQ(weft_out_yield(out, COMMAND_SLEEP, 1, "x", 1), 0);
    return 0;
}
static const weft_behavior wrong_one = {.name = "wrong", .step = wrong_step};
static int never(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)completion, (void)data, (void)size;
    return 0;
}
TEST(sleep_command_refused) {
    rt_start("ring", 2);
    EXPECT_EQ(weft_register_command(rt.runtime, COMMAND_SLEEP, never, NULL), WEFT_EEXIST);
    rt_spawn(&wrong_one);
    rt_wait(&errors[1], 1);
    EXPECT_EQ(atom_load_rlx(&errors[1]), -WEFT_EINVAL);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
