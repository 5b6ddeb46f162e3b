/* A process with many messages, or with many elements in its channel, goes on for as long as a step process does (STEPS_MAX), or it would never catch up with many senders;
 * but not for ever while others wait. Played without threads and without sysmon, and counted in calls. */
#include "sched_stage.h"

#include <weft/weft.h>

enum { ROW = STEPS_MAX * (BUDGET_CALLS + 1), MAIL = 2 * ROW + 100 };

static struct {
    unsigned received, seen, longest, rows;
    bool ended;
} mail;

static void set_up(enum policy_name policy) {
    memset(&mail, 0, sizeof mail);
    stage_begin(policy, 1);
    stage_stacks(0);
    stage_play(0);
}

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static int receive_any(weft_msg **message) { return weft_recv(message, WEFT_FOREVER); }
static int receive_tag(weft_msg **message) { return weft_recv_tag(1, message, WEFT_FOREVER); }
static void receive_all(int (*receive)(weft_msg **message)) {
    weft_msg *message;
    for (unsigned i = 0; i < MAIL; i++)
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
    weft_yield();
    for (; mail.received < MAIL; mail.received++) {
        EXPECT_EQ(receive(&message), 0);
        weft_msg_free(message);
    }
    mail.ended = true;
}
static void receives_all(void *unused) {
    (void)unused;
    receive_all(receive_any);
}
static void receives_all_by_tag(void *unused) {
    (void)unused;
    receive_all(receive_tag);
}
static void receives_all_after_a_tag(void *unused) {
    weft_msg *message;
    EXPECT_EQ(weft_recv_tag(2, &message, 0), WEFT_ETIMEDOUT);
    receives_all(unused);
}

/* ---- elements of a channel ------------------------------------------------------------------------------------------ */

static weft_chan *chan;
static void takes_all(void *unused) {
    uint64_t element;
    (void)unused;
    EXPECT_EQ(weft_chan_new(sizeof element, MAIL, &chan), 0);
    for (element = 0; element < MAIL; element++)
        EXPECT_EQ(weft_chan_send(chan, &element, 0), 0);
    weft_yield();
    for (; mail.received < MAIL; mail.received++)
        EXPECT_EQ(weft_chan_recv(chan, &element, WEFT_FOREVER), 0);
    weft_chan_free(chan);
    mail.ended = true;
}

/* ---- beside another process ----------------------------------------------------------------------------------------- */

static void looks_on(void *unused) {
    (void)unused;
    for (; !mail.ended; weft_yield()) {
        unsigned row = mail.received - mail.seen;
        mail.seen = mail.received;
        mail.rows += row > 0;
        if (row > mail.longest) mail.longest = row;
    }
}
static void much_mail(enum policy_name policy, weft_entry receiver, unsigned row) {
    set_up(policy);
    weft_spawn(receiver, NULL);
    weft_spawn(looks_on, NULL);
    stage_run(0);
    EXPECT(mail.ended && mail.longest <= row && mail.rows <= MAIL / row + 1);
    stage_end();
}
TEST(turns_of_a_receiver_with_many_messages) {
    stage_for_each_policy(policy) {
        much_mail(policy, receives_all, ROW);
        much_mail(policy, receives_all_by_tag, ROW);
        much_mail(policy, receives_all_after_a_tag, ROW);
    }
}
TEST(turns_of_a_receiver_with_many_elements) {
    stage_for_each_policy(policy) much_mail(policy, takes_all, ELEMENTS_MAX * (BUDGET_CALLS + 1));
}

/* What each element is for takes long: the others have their turns as often as without elements. */
TEST(turns_of_a_slow_receiver_of_elements) {
    stage_for_each_policy(policy) {
        set_up(policy);
        atom_store_rlx(&my_worker->fair.skipped, SLOT_RUNS_MAX - SLOT_RUNS_SLOW);
        weft_spawn(takes_all, NULL);
        weft_spawn(looks_on, NULL);
        stage_run(0);
        EXPECT(mail.ended && mail.longest <= BUDGET_CALLS + 1);
        stage_end();
    }
}

/* ---- many senders to one channel ------------------------------------------------------------------------------------ */

/* The receiver empties the channel in its turn, and so most elements are sent without a wait. */
enum { SENDERS = 100, ROOM = 1024, EACH = 500 };
static void sends_each(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < EACH; i++)
        EXPECT_EQ(weft_chan_send(chan, &i, WEFT_FOREVER), 0);
}
static void takes_from_many(void *unused) {
    uint64_t element, sum = 0;
    (void)unused;
    EXPECT_EQ(weft_chan_new(sizeof element, ROOM, &chan), 0);
    for (unsigned i = 0; i < SENDERS; i++)
        EXPECT(weft_spawn(sends_each, NULL) != WEFT_NOBODY);
    for (unsigned i = 0; i < SENDERS * EACH; i++) {
        EXPECT_EQ(weft_chan_recv(chan, &element, WEFT_FOREVER), 0);
        sum += element;
    }
    EXPECT_EQ(sum, (uint64_t)SENDERS * EACH * (EACH - 1) / 2);
    weft_chan_free(chan);
    mail.ended = true;
}
TEST(turns_of_a_receiver_with_many_senders) {
    stage_for_each_policy(policy) {
        set_up(policy);
        weft_spawn(takes_from_many, NULL);
        stage_run(0);
        EXPECT(mail.ended);
        uint64_t turns = atom_load_rlx(&my_worker->local.counters.steps);
        printf("note: %lu turns for %d elements\n", turns, SENDERS * EACH);
        EXPECT(turns < SENDERS * EACH / 4);
        stage_end();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
