/* Bounded mailboxes: limits, what becomes of a message that does not fit, what counts, urgent messages. */
#include "bounds_helpers.h"

static struct receiver it;

/* ---- limits and counts ------------------------------------------------------------------------------------------------- */

static void counts_body(bool stackful) {
    it = (struct receiver){.want = 3};
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.messages = 0});
    EXPECT_EQ(usage(pid).messages, 0);
    EXPECT_EQ(weft_send(pid, 1, "abc", 3), 0);
    EXPECT_EQ(weft_send(pid, 2, NULL, 0), 0);
    EXPECT_EQ(weft_send(pid, 3, "defgh", 5), 0);
    weft_mailbox_use use = usage(pid);
    EXPECT(use.messages == 3 && use.bytes == 8 && use.dropped == 0 && use.waiting == 0);
    receiver_open(&it);
    receiver_wait(&it, 3);
    EXPECT(it.got[0] == 1 && it.got[1] == 2 && it.got[2] == 3);
}
TEST(bounds_count_messages_and_bytes) { bounds_both(counts_body); }

static void no_more(void *unused) { (void)unused; }
static void without_body(void) {
    weft_mailbox_use use;
    weft_pid pid = run_spawn(sleeper, NULL), ended = run_flags(no_more, NULL, WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(weft_mailbox_usage(pid, &use), WEFT_ENOTSUP);
    EXPECT_EQ(weft_send_urgent(pid, 1, NULL, 0), WEFT_ENOTSUP);
    EXPECT_EQ(weft_send_until(pid, 1, NULL, 0, 0), 0); /* there is always room */
    run_join(ended);
    EXPECT_EQ(weft_mailbox_usage(ended, &use), WEFT_ENOPROC);
    EXPECT_EQ(weft_send_urgent(ended, 1, NULL, 0), WEFT_ENOPROC);
    EXPECT_EQ(weft_send_until(ended, 1, NULL, 0, WEFT_FOREVER), WEFT_ENOPROC);
    EXPECT_EQ(weft_mailbox_usage(pid ^ UINT64_C(0xff) << 56, &use), WEFT_EFOREIGN);
}
TEST(bounds_of_a_process_without_any) { rt_each(without_body); }

static void senseless_body(void) {
    weft_pid pid;
    weft_mailbox wrong = {.when_full = (enum weft_full)5}, reserved = {.reserved = {0, 1}};
    EXPECT_EQ(weft_spawn_with(sleeper, NULL, &(weft_stackful_options){.runtime = rt.runtime, .mailbox = &wrong}, &pid), WEFT_EINVAL);
    EXPECT_EQ(weft_spawn_with(sleeper, NULL, &(weft_stackful_options){.runtime = rt.runtime, .mailbox = &reserved}, &pid), WEFT_EINVAL);
    EXPECT_EQ(rt_stats().processes, 0);
}
TEST(bounds_that_make_no_sense) { rt_each(senseless_body); }

static int refusing_init(void *state, weft_context *context, const char *method, const void *input, size_t size) {
    (void)state, (void)context, (void)method, (void)input, (void)size;
    return -77;
}
static const weft_behavior refusing = {.name = "refusing", .init = refusing_init, .step = receiver_step};
static void unborn_body(void) {
    weft_pid pid;
    weft_spawn_options options = {.runtime = rt.runtime, .mailbox = &(weft_mailbox){.messages = 1}};
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(weft_spawn_step(&refusing, &options, &pid), -77);
}

/* ---- what becomes of one more -------------------------------------------------------------------------------------------- */

static void fail_body(bool stackful) {
    it = (struct receiver){.want = 3};
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.messages = 3, .bytes = 10, .when_full = WEFT_FULL_FAIL});
    EXPECT_EQ(weft_send(pid, 1, "12345678901", 11), WEFT_EMSGSIZE);
    EXPECT_EQ(weft_send(pid, 1, "123456", 6), 0);
    EXPECT_EQ(weft_send(pid, 9, "12345", 5), WEFT_ENOBUFS); /* the bytes */
    EXPECT_EQ(weft_send(pid, 2, "1234", 4), 0);
    EXPECT_EQ(weft_send(pid, 3, NULL, 0), 0);
    EXPECT_EQ(weft_send(pid, 9, NULL, 0), WEFT_ENOBUFS); /* the messages */
    EXPECT_EQ(usage(pid).dropped, 0);
    receiver_open(&it);
    receiver_wait(&it, 3);
    EXPECT(it.got[0] == 1 && it.got[1] == 2 && it.got[2] == 3);
}
TEST(full_fails) { bounds_both(fail_body); }

static atom_u64 released;
static void release(void *buffer, size_t size, void *user) {
    (void)size, (void)user;
    free(buffer);
    atom_add_rlx(&released, 1);
}
static int move(weft_pid pid, uint64_t tag, size_t size) {
    void *buffer = malloc(size);
    int error = weft_send_move(pid, tag, buffer, size, release, NULL);
    if (error) free(buffer);
    return error;
}

static void drop_newest_body(bool stackful) {
    it = (struct receiver){.want = 2};
    atom_store_rlx(&released, 0);
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.messages = 2, .when_full = WEFT_FULL_DROP_NEWEST});
    for (uint64_t i = 1; i <= 4; i++)
        EXPECT_EQ(weft_send(pid, i, NULL, 0), 0);
    EXPECT_EQ(move(pid, 5, 100), 0);
    EXPECT_EQ(atom_load_rlx(&released), 1); /* as soon as it is dropped */
    EXPECT_EQ(usage(pid).dropped, 3);
    EXPECT_EQ(usage(pid).messages, 2);
    receiver_open(&it);
    receiver_wait(&it, 2);
    EXPECT(it.got[0] == 1 && it.got[1] == 2);
}
TEST(full_drops_the_newest) { bounds_both(drop_newest_body); }

static void drop_oldest_body(bool stackful) {
    it = (struct receiver){.want = 3};
    atom_store_rlx(&released, 0);
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.messages = 4, .bytes = 100, .when_full = WEFT_FULL_DROP_OLDEST});
    EXPECT_EQ(move(pid, 1, 30), 0);
    for (uint64_t i = 2; i <= 5; i++)
        EXPECT_EQ(weft_send(pid, i, "0123456789", 10), 0); /* drops 1 */
    EXPECT_EQ(atom_load_rlx(&released), 1);
    EXPECT_EQ(weft_send_urgent(pid, 6, NULL, 0), 0); /* past the bound; never dropped */
    EXPECT_EQ(move(pid, 7, 90), 0);                  /* drops 2 to 4: of the messages two, of the bytes one more */
    weft_mailbox_use use = usage(pid);
    EXPECT(use.dropped == 4 && use.messages == 3 && use.bytes == 100);
    receiver_open(&it);
    receiver_wait(&it, 3);
    EXPECT(it.got[0] == 6 && it.got[1] == 5 && it.got[2] == 7);
    rt_wait(&released, 2);
}
TEST(full_drops_the_oldest) { bounds_both(drop_oldest_body); }

static void end_receiver_body(bool stackful) {
    int reason = 0;
    it = (struct receiver){.want = 0, .flags = WEFT_SPAWN_JOINABLE};
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.messages = 2, .when_full = WEFT_FULL_END_RECEIVER});
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    EXPECT_EQ(weft_send(pid, 2, NULL, 0), 0);
    EXPECT_EQ(weft_send(pid, 3, NULL, 0), WEFT_ENOBUFS);
    int error = weft_send(pid, 4, NULL, 0);
    EXPECT(error == WEFT_ENOBUFS || error == WEFT_ENOPROC);
    receiver_open(&it);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, WEFT_ENOBUFS);
    EXPECT_EQ(weft_send(pid, 5, NULL, 0), WEFT_ENOPROC);
}
TEST(full_ends_the_receiver) { bounds_both(end_receiver_body); }

/* ---- urgent messages, and messages put aside ---------------------------------------------------------------------------------- */

static void urgent_body(bool stackful) {
    it = (struct receiver){.want = 5};
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.messages = 2, .when_full = WEFT_FULL_FAIL});
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    EXPECT_EQ(weft_send_urgent(pid, 11, NULL, 0), 0);
    EXPECT_EQ(weft_send(pid, 2, NULL, 0), WEFT_ENOBUFS); /* urgent ones count */
    EXPECT_EQ(weft_send_urgent(pid, 12, NULL, 0), 0);
    EXPECT_EQ(weft_send_urgent(pid, 13, NULL, 0), 0);
    EXPECT_EQ(usage(pid).messages, 4);
    receiver_open(&it);
    receiver_wait(&it, 4);
    EXPECT(it.got[0] == 11 && it.got[1] == 12 && it.got[2] == 13 && it.got[3] == 1);
    EXPECT_EQ(weft_send_urgent(pid, 14, NULL, 0), 0); /* wakes it */
    receiver_wait(&it, 5);
}
TEST(urgent_messages_come_first) { bounds_both(urgent_body); }

static void selects(void *unused) {
    weft_pid self = weft_self();
    weft_msg *message;
    (void)unused;
    for (uint64_t i = 1; i <= 4; i++)
        EXPECT_EQ(weft_send(self, i, "xy", 2), 0);
    EXPECT_EQ(weft_send(self, 5, NULL, 0), WEFT_EDEADLK); /* it would wait for itself */
    EXPECT_EQ(weft_send_until(self, 5, NULL, 0, weft_in(3600 * WEFT_SECOND)), WEFT_EDEADLK);
    expect_tag(3); /* 1 and 2 are put aside */
    EXPECT(usage(self).messages == 3 && usage(self).bytes == 6);
    EXPECT_EQ(weft_recv_tag(9, &message, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(usage(self).messages, 3);
    EXPECT_EQ(weft_send(self, 5, NULL, 0), 0);
    EXPECT_EQ(weft_send_until(self, 6, NULL, 0, 0), WEFT_EDEADLK);
    EXPECT_EQ(weft_send_urgent(self, 21, NULL, 0), 0);
    EXPECT_EQ(weft_recv_tag(9, &message, 0), WEFT_ETIMEDOUT); /* puts the urgent one aside, in front */
    EXPECT_EQ(weft_send_urgent(self, 22, NULL, 0), 0);
    expect_next(21);
    expect_next(22);
    EXPECT_EQ(weft_send_urgent(self, 4, "urgent", 6), 0);
    EXPECT_EQ(weft_recv_tag(4, &message, 0), 0);
    EXPECT_EQ(weft_msg_len(message), 6); /* before the ordinary one that was put aside */
    weft_msg_free(message);
    expect_tag(4);
    expect_next(1);
    expect_next(2);
    expect_next(5);
    EXPECT(usage(self).messages == 0 && usage(self).bytes == 0);
}
static void selects_body(void) {
    weft_pid pid;
    weft_mailbox mailbox = {.messages = 4};
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .mailbox = &mailbox};
    EXPECT_EQ(weft_spawn_with(selects, NULL, &options, &pid), 0);
    EXPECT_EQ(run_join(pid), 0);
}
TEST(bounds_beside_selective_receive) { rt_each(selects_body); }

/* Only what the receiver has not looked at is dropped. */
static void keeps_aside(void *unused) {
    weft_pid self = weft_self();
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_send(self, 1, NULL, 0), 0);
    EXPECT_EQ(weft_send(self, 2, NULL, 0), 0);
    EXPECT_EQ(weft_recv_tag(9, &message, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_send(self, 3, NULL, 0), 0); /* is dropped */
    EXPECT(usage(self).dropped == 1 && usage(self).messages == 2);
    expect_next(1);
    EXPECT_EQ(weft_send(self, 4, NULL, 0), 0);
    EXPECT_EQ(weft_send(self, 5, NULL, 0), 0); /* drops 4 */
    expect_next(2);
    expect_next(5);
    EXPECT_EQ(usage(self).dropped, 2);
}
static void keeps_body(void) {
    weft_pid pid;
    weft_mailbox mailbox = {.messages = 2, .when_full = WEFT_FULL_DROP_OLDEST};
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .mailbox = &mailbox};
    EXPECT_EQ(weft_spawn_with(keeps_aside, NULL, &options, &pid), 0);
    EXPECT_EQ(run_join(pid), 0);
}
TEST(bounds_drop_nothing_that_was_put_aside) { rt_each(keeps_body); }

/* ---- the dump -------------------------------------------------------------------------------------------------------------------- */

static void dump_body(bool stackful) {
    it = (struct receiver){.want = 0};
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.messages = 8});
    EXPECT_EQ(weft_send(pid, 1, "abcde", 5), 0);
    EXPECT_EQ(weft_send(pid, 2, "fg", 2), 0);
    EXPECT(strstr(rt_dump_text(), ", 2 messages (7 bytes)"));
    receiver_open(&it);
    receiver_wait(&it, 2);
    EXPECT(!strstr(rt_dump_text(), " messages"));
}
TEST(bounds_in_the_dump) { bounds_both(dump_body); }

TEST(bounds_of_a_process_that_is_not_born) { rt_each(unborn_body); }

/* There is no memory for a second one. */
static void refused_body(void) {
    weft_pid pid = WEFT_NOBODY;
    weft_stackful_options options = {.runtime = rt.runtime, .mailbox = &(weft_mailbox){.messages = 1}};
    atom_bool begun = {false};
    EXPECT_EQ(weft_spawn_with(begins_and_sleeps, &begun, &options, &pid), 0); /* so that all else is there */
    while (!atom_load_acq(&begun))
        usleep(100);
    sys_script.alloc_fail_from = 1;
    int error = weft_spawn_with(sleeper, NULL, &options, &pid);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(error, WEFT_ENOMEM);
    EXPECT_EQ(rt_stats().processes, 1);
    EXPECT_EQ(weft_spawn_with(sleeper, NULL, &options, &pid), 0);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
}
TEST(bounds_without_memory) { rt_each(refused_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
