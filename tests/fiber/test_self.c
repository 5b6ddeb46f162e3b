/* Giving way: calls that need not wait let others have a turn when the process has been at it for too long. */
#include "alone.h"
#include "mailbox_helpers.h"

#include "fiber/fiber.h"

#include <weft/channel.h>

/* As sysmon does with one that has run for some 10 ms. */
static void be_told(void) {
    struct worker *worker = worker_here();
    atom_store_rlx(&worker->give_way, atom_load_rlx(&worker->local.counters.steps));
    budget_end(worker);
}

/* ---- processes -------------------------------------------------------------------------------------------------------- */

static weft_msg *message;
static weft_chan *chan;
static uint64_t element;
static bool wants_all(const weft_msg *any, void *unused) {
    (void)any, (void)unused;
    return true;
}
static int looks(uint64_t unused) {
    (void)unused;
    weft_checkpoint();
    return 0;
}
static int receives(uint64_t deadline) { return weft_recv(&message, deadline); }
static int receives_tag(uint64_t deadline) { return weft_recv_tag(1, &message, deadline); }
static int receives_match(uint64_t deadline) { return weft_recv_match(wants_all, NULL, &message, deadline); }
static int sends(uint64_t deadline) { return weft_chan_send(chan, &element, deadline); }
static int takes(uint64_t deadline) { return weft_chan_recv(chan, &element, deadline); }
static int selects(uint64_t deadline) {
    weft_case one = weft_case_send(chan, &element);
    return weft_select(&one, 1, deadline);
}
static int sleeps(uint64_t unused) {
    (void)unused;
    return weft_sleep(0);
}
static const struct {
    const char *name;
    int (*call)(uint64_t deadline);
    bool message; /* it is given one */
} calls[] = {
    {"weft_checkpoint", looks, false},         {"weft_recv", receives, true},    {"weft_recv_tag", receives_tag, true},
    {"weft_recv_match", receives_match, true}, {"weft_chan_send", sends, false}, {"weft_chan_recv", takes, false},
    {"weft_select", selects, false},           {"weft_sleep", sleeps, false},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* With one worker: what it steps next, if only this process again, is seen in the number of its steps. */
static uint64_t steps(void) { return atom_load_rlx(&worker_here()->local.counters.steps); }
static void gives_way(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_chan_new(sizeof element, 8, &chan), 0);
    for (unsigned i = 0; i < CALLS; i++)
        for (int told = 0; told < 2; told++) {
            if (calls[i].message) EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
            uint64_t before = steps();
            if (told) be_told();
            EXPECT_EQ(calls[i].call(WEFT_FOREVER), 0);
            if (told && steps() == before) test_fail(__FILE__, __LINE__, "%s does not yield", calls[i].name);
            if (calls[i].message) weft_msg_free(message);
        }
    weft_chan_free(chan);
}
static void one_worker(const char *policy, unsigned workers) {
    if (workers != 2) return;
    rt_start(policy, 1);
    alone_begin();
    EXPECT_EQ(run(gives_way, NULL), 0);
    alone_end();
    rt_stop();
}
TEST(calls_that_need_not_wait_give_way) { rt_cases(one_worker); }

/* ---- no other process to run ----------------------------------------------------------------------------------------- */

static atom_u64 polled;
static int polls(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    be_told();
    weft_checkpoint();
    atom_add_rel(&polled, 1);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static void polls_in_close(void *self) {
    (void)self;
    weft_checkpoint();
    atom_add_rel(&polled, 1);
}
static void poll_body(void) {
    static const weft_behavior poller = {.name = "poller", .step = polls, .close = polls_in_close};
    atom_store_rlx(&polled, 0);
    weft_checkpoint(); /* a thread of one's own */
    rt_spawn(&poller);
    rt_wait(&polled, 2);
}
TEST(checkpoint_is_for_all_callers) { rt_each(poll_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
