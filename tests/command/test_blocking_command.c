/* COMMAND_CALL: functions that block, called for step processes. */
#include "runtime_helpers.h"

#include <weft/weft.h>

static atom_u64 called, dropped, completed, done;

struct sum {
    uint64_t left, right, result;
    uint64_t naps; /* microseconds */
};
static int adds(void *data, size_t size) {
    struct sum *sum = data;
    EXPECT_EQ(size, sizeof *sum);
    if (sum->naps) usleep((useconds_t)sum->naps);
    sum->result = sum->left + sum->right;
    atom_add_rel(&called, 1);
    return sum->result == 13 ? -1313 : 0;
}
static void drops(void *data, size_t size) {
    (void)data;
    EXPECT_EQ(size, sizeof(struct sum));
    atom_add_rel(&dropped, 1);
}

/* Yields so many at once, and ends when all are back; or at once. */
struct adder {
    unsigned wanted, naps, outstanding;
    bool is_long, ends, begun;
};
static int adder_init(void *state, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(state, input, size);
    return 0;
}
static int adder_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct adder *self = state;
    weft_out_status(out, WEFT_STEP_BLOCKED);
    if (!self->begun)
        for (uint64_t i = 0; i < self->wanted; i++, self->outstanding++) {
            struct sum sum = {i, 3, 0, self->naps};
            weft_command_call call = {adds, drops, self->is_long};
            EXPECT_EQ(weft_out_call(out, i, &call, &sum, sizeof sum), 0);
        }
    self->begun = true;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        const struct sum *sum = events[i].data;
        EXPECT_EQ(events[i].size, sizeof *sum);
        EXPECT_EQ(sum->result, events[i].tag + 3);
        EXPECT_EQ(events[i].error, sum->result == 13 ? -1313 : 0);
        atom_add_rel(&completed, 1);
        self->outstanding--;
    }
    if (self->outstanding > 0 && !self->ends) return 0;
    weft_out_status(out, WEFT_STEP_DONE);
    atom_add_rel(&done, 1);
    return 0;
}
static const weft_behavior adder = {.name = "adder", .state_size = sizeof(struct adder), .init = adder_init, .step = adder_step};

static void begin(void) {
    atom_u64 *const cells[] = {&called, &dropped, &completed, &done};
    for (unsigned i = 0; i < 4; i++)
        atom_store_rlx(cells[i], 0);
}

static void calls(void) {
    begin();
    rt_spawn_with(&adder, &(struct adder){.wanted = 20}, sizeof(struct adder));
    rt_wait(&done, 1);
    rt_spawn_with(&adder, &(struct adder){.wanted = 40, .naps = 2000}, sizeof(struct adder));
    rt_spawn_with(&adder, &(struct adder){.wanted = 40, .naps = 2000, .is_long = true}, sizeof(struct adder));
    rt_wait(&done, 3);
    EXPECT_EQ(atom_load_rlx(&completed), 100);
    EXPECT_EQ(atom_load_rlx(&called), 100);
    EXPECT_EQ(atom_load_rlx(&dropped), 0);
}
TEST(command_calls) { rt_each(calls); }

/* All are called although the process has gone, and what comes of it is dropped, once each. */
static void calls_for_no_process(void) {
    begin();
    rt_spawn_with(&adder, &(struct adder){.wanted = 20, .naps = 1000, .ends = true}, sizeof(struct adder));
    rt_wait(&done, 1);
    rt_wait(&dropped, 20);
    EXPECT_EQ(atom_load_rlx(&called), 20);
    EXPECT_EQ(atom_load_rlx(&dropped), 20);
    EXPECT_EQ(atom_load_rlx(&completed), 0);
    EXPECT(rt_stats().late_completions <= 20); /* the others came between its last step and its end */
}
TEST(command_calls_for_no_process) { rt_each(calls_for_no_process); }

/* Cancelled while some have come and some have not: each result is seen or dropped. */
static void some_seen(void) {
    begin();
    for (unsigned i = 0; i < 20; i++) {
        weft_pid pid = rt_spawn_with(&adder, &(struct adder){.wanted = 10, .naps = i * 20}, sizeof(struct adder));
        rt_pause(i * 10000);
        weft_cancel(pid); /* it may have ended */
    }
    rt_wait(&called, 200); /* each had its first step */
    while (atom_load_rlx(&completed) + atom_load_rlx(&dropped) < 200)
        usleep(100);
    EXPECT_EQ(atom_load_rlx(&called), 200);
    EXPECT_EQ(atom_load_rlx(&completed) + atom_load_rlx(&dropped), 200);
}
TEST(command_calls_seen_or_dropped) { rt_each(some_seen); }

/* When the runtime stops meanwhile, likewise: rt_stop finds nothing left over. */
static void stopped(const char *policy, unsigned workers) {
    begin();
    rt_start(policy, workers);
    rt_spawn_with(&adder, &(struct adder){.wanted = 30, .naps = 3000}, sizeof(struct adder));
    rt_wait(&called, 1);
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&called), 30);
    EXPECT_EQ(atom_load_rlx(&completed) + atom_load_rlx(&dropped), 30);
}
TEST(command_calls_while_the_runtime_stops) { rt_cases(stopped); }

/* No memory: not called, dropped, and the completion says why. No function at all: an error, and nothing to drop. */
static atom_u64 errors[3];
static int scarce_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct sum sum = {0};
    (void)state;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_COMPLETION) atom_store_rel(&errors[events[i].tag], (uint64_t)-events[i].error);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        weft_command_call call = {events[i].tag == 1 ? adds : NULL, drops, false};
        EXPECT_EQ(weft_out_call(out, events[i].tag, &call, &sum, sizeof sum), 0);
    }
    return 0;
}
static const weft_behavior scarce = {.name = "scarce", .step = scarce_step};
static void without_memory(void) {
    begin();
    atom_store_rlx(&errors[1], 0);
    atom_store_rlx(&errors[2], 0);
    weft_pid pid = rt_spawn(&scarce);
    EXPECT_EQ(weft_send(pid, 2, NULL, 0), 0);
    rt_wait(&errors[2], 1);
    EXPECT_EQ(atom_load_rlx(&errors[2]), -WEFT_EINVAL);
    EXPECT_EQ(atom_load_rlx(&dropped), 0);
    sys_script.alloc_fail_from = 1;
    sys_scripted_recount();
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    rt_wait(&errors[1], 1);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(atom_load_rlx(&errors[1]), -WEFT_ENOMEM);
    EXPECT_EQ(atom_load_rlx(&dropped), 1);
    EXPECT_EQ(atom_load_rlx(&called), 0);
}
TEST(command_calls_without_memory) { rt_each(without_memory); }

int main(int argc, char **argv) { return test_main(argc, argv); }
