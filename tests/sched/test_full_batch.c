/* What a step is given: everything, even when there is more than one step takes; and never nothing, but at first and after
 * WEFT_STEP_CONTINUE. */
#include "runtime_helpers.h"

#include "sched/sched.h"

static atom_u64 received;
static uint64_t expected;

static int receiver_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE) atom_add_rel(&received, 1);
    }
    return 0;
}
static const weft_behavior receiver = {.name = "receiver", .step = receiver_step};

/* Sends as many messages as fill so many steps of the receiver, lets it run, and sends one more while the receiver is still
 * ready to run and has taken what came first: that one does not find it waiting, and finds its box empty. */
struct sender {
    weft_pid to;
    unsigned turn;
};
static int sender_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(&((struct sender *)self)->to, input, size);
    return 0;
}
static int sender_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct sender *sender = self;
    (void)events, (void)count;
    unsigned messages = sender->turn++ == 0 ? 2 * EVENT_BATCH : 1;
    for (unsigned i = 0; i < messages; i++)
        EXPECT_EQ(weft_send(sender->to, i, NULL, 0), 0);
    weft_out_status(out, sender->turn < 2 ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior sender = {.name = "sender", .state_size = sizeof(struct sender), .init = sender_init, .step = sender_step};

static void one_more(void) {
    atom_store_rlx(&received, 0);
    weft_pid to = rt_spawn(&receiver);
    rt_spawn_with(&sender, &to, sizeof to);
    rt_wait(&received, 2 * EVENT_BATCH + 1);
}
TEST(full_batch_one_more) { rt_each(one_more); }

/* Many senders, one receiver, whatever multiples come up. */
static int crowd_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct sender *sender = self;
    (void)events, (void)count;
    for (unsigned i = 0; i < EVENT_BATCH / 4; i++)
        EXPECT_EQ(weft_send(sender->to, i, NULL, 0), 0);
    weft_out_status(out, ++sender->turn < 100 ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior crowd = {.name = "crowd", .state_size = sizeof(struct sender), .init = sender_init, .step = crowd_step};

static void many_senders(void) {
    enum { SENDERS = 50 };
    atom_store_rlx(&received, 0);
    expected = SENDERS * 100 * (EVENT_BATCH / 4);
    weft_pid to = rt_spawn(&receiver);
    for (unsigned i = 0; i < SENDERS; i++)
        rt_spawn_with(&crowd, &to, sizeof to);
    rt_wait(&received, expected);
}
TEST(full_batch_many_senders) { rt_each(many_senders); }

/* ---- steps without events ---------------------------------------------------------------------------------------- */

/* Messages go round at random, several to one process at the same time: a waker that comes late must not make a step of
 * its own. */
enum { CROWD = 4, TOKENS = 16, HOPS = 40000 / RT_SLOW };
static weft_pid crowd_pids[CROWD];
static atom_u64 ended_tokens, empty_steps;

struct passer {
    bool begun, goes_on;
    uint32_t at;
};
static int passer_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct passer *passer = self;
    if (count == 0 && passer->begun && !passer->goes_on) atom_add_rlx(&empty_steps, 1);
    passer->begun = true;
    passer->goes_on = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        passer->at = passer->at * 1664525 + 1013904223;
        if (events[i].tag == 0) atom_add_rel(&ended_tokens, 1);
        else EXPECT_EQ(weft_send(crowd_pids[passer->at >> 16 & (CROWD - 1)], events[i].tag - 1, NULL, 0), 0);
    }
    /* Some go on for once, some say that they wait for a command: all the same. */
    if (count > 0 && events[0].type == WEFT_EVENT_MESSAGE && passer->at % 16 < 2) {
        passer->goes_on = passer->at % 16 == 1;
        weft_out_status(out, passer->goes_on ? WEFT_STEP_CONTINUE : WEFT_STEP_BLOCKED);
    }
    return 0;
}
static const weft_behavior passer = {.name = "passer", .state_size = sizeof(struct passer), .step = passer_step};

static void no_empty_steps(void) {
    atom_store_rlx(&ended_tokens, 0);
    atom_store_rlx(&empty_steps, 0);
    for (unsigned i = 0; i < CROWD; i++)
        crowd_pids[i] = rt_spawn(&passer);
    for (unsigned i = 0; i < TOKENS; i++)
        EXPECT_EQ(weft_send(crowd_pids[i % CROWD], HOPS, NULL, 0), 0);
    rt_wait(&ended_tokens, TOKENS);
    EXPECT_EQ(atom_load_rlx(&empty_steps), 0);
}
TEST(step_never_without_events) { rt_each(no_empty_steps); }

/* The same on purpose: a wake-up for which there is nothing any more. */
static void late_waker(void) {
    struct runtime *runtime = (struct runtime *)rt.runtime;
    atom_store_rlx(&ended_tokens, 0);
    atom_store_rlx(&empty_steps, 0);
    weft_pid pid = rt_spawn(&passer);
    for (uint64_t i = 1; i <= 100; i++) {
        EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
        rt_wait(&ended_tokens, i);
        struct proc *proc = table_at(&runtime->table, pid_slot(pid));
        struct state_next next = state_wake(&proc->state);
        if (next.verdict == STATE_ENQUEUE) ready(runtime, NULL, proc, next.ticket, READY_WOKEN);
    }
    EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
    rt_wait(&ended_tokens, 101);
    EXPECT_EQ(atom_load_rlx(&empty_steps), 0);
}
TEST(step_never_for_a_late_waker) { rt_each(late_waker); }

int main(int argc, char **argv) { return test_main(argc, argv); }
