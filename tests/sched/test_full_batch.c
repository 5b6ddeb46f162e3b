/* A mailbox that holds more than one step is given: nothing may be left behind in it. */
#include "runtime_helpers.h"

#include "sched/runtime.h"

static atom_u64 received;
static uint64_t expected;

static int receiver_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_CANCEL) weft_out_status(out, WEFT_DONE);
        if (events[i].type == WEFT_MESSAGE) atom_add_rel(&received, 1);
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
    weft_out_status(out, sender->turn < 2 ? WEFT_CONTINUE : WEFT_DONE);
    return 0;
}
static const weft_behavior sender = {
    .name = "sender", .state_size = sizeof(struct sender), .init = sender_init, .step = sender_step};

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
    weft_out_status(out, ++sender->turn < 100 ? WEFT_CONTINUE : WEFT_DONE);
    return 0;
}
static const weft_behavior crowd = {
    .name = "crowd", .state_size = sizeof(struct sender), .init = sender_init, .step = crowd_step};

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

int main(int argc, char **argv) { return test_main(argc, argv); }
