/* Messages and replies as cases of a select: what is not chosen stays in the mailbox, in order. */
#include "mailbox_helpers.h"

static weft_chan *chan;
static weft_sem sem;

static void send_self(uint64_t tag) { EXPECT_EQ(weft_send(weft_self(), tag, NULL, 0), 0); }
static uint64_t take_tag(weft_msg *message) {
    uint64_t tag = weft_msg_tag(message);
    weft_msg_free(message);
    return tag;
}
static int poll_one(weft_case one) { return weft_select(&one, 1, 0); }

/* ---- what is there ----------------------------------------------------------------------------------------------------------- */

static void ready(void *unused) {
    weft_msg *message = NULL;
    uint64_t element = 0, seven = 7;
    (void)unused;
    EXPECT_EQ(weft_chan_new(sizeof element, 4, &chan), 0);
    weft_case cases[] = {weft_case_message(&message), weft_case_recv(chan, &element)};
    EXPECT_EQ(weft_select(cases, 2, 0), WEFT_ETIMEDOUT);
    send_self(1);
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    EXPECT_EQ(cases[0].error, 0);
    EXPECT_EQ(take_tag(message), 1);
    EXPECT_EQ(weft_chan_send(chan, &seven, 0), 0);
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 1);
    EXPECT_EQ(element, 7);
    /* Both: one at a time, and nothing is lost. */
    unsigned first = 0;
    for (unsigned i = 0; i < 64; i++) {
        send_self(i);
        EXPECT_EQ(weft_chan_send(chan, &seven, 0), 0);
        int chosen = weft_select(cases, 2, WEFT_FOREVER);
        first += chosen == 0;
        if (chosen == 0) weft_msg_free(message);
        EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 1 - chosen);
        if (chosen == 1) weft_msg_free(message);
        EXPECT_EQ(weft_select(cases, 2, 0), WEFT_ETIMEDOUT);
    }
    EXPECT(first > 8 && first < 56);   /* 32, standard deviation 4 */
    for (unsigned i = 0; i < 8; i++) { /* in order */
        send_self(i);
        EXPECT_EQ(weft_chan_send(chan, &seven, 0), 0);
        EXPECT_EQ(weft_select_with(cases, 2, WEFT_SELECT_IN_ORDER, WEFT_FOREVER), 0);
        EXPECT_EQ(take_tag(message), i);
        EXPECT_EQ(weft_select_with(cases, 2, WEFT_SELECT_IN_ORDER, WEFT_FOREVER), 1);
    }
    EXPECT_EQ(weft_select_with(cases, 2, 6, 0), WEFT_EINVAL);
    weft_chan_free(chan);
}
static void ready_body(void) { EXPECT_EQ(run(ready, NULL), 0); }
TEST(select_takes_what_it_chose) { rt_each(ready_body); }

/* By tag: the others stay, in order; several tags, and any, beside each other. */
static void tags(void *unused) {
    weft_msg *message = NULL;
    (void)unused;
    for (uint64_t i = 1; i <= 5; i++)
        send_self(i);
    weft_case three = weft_case_tag(3, &message), nine = weft_case_tag(9, &message), any = weft_case_message(&message);
    EXPECT_EQ(poll_one(nine), WEFT_ETIMEDOUT);
    EXPECT_EQ(poll_one(three), 0);
    EXPECT_EQ(take_tag(message), 3);
    weft_case both[] = {nine, weft_case_tag(4, &message)};
    EXPECT_EQ(weft_select(both, 2, WEFT_FOREVER), 1);
    EXPECT_EQ(take_tag(message), 4);
    weft_case mixed[] = {nine, any, weft_case_tag(8, &message)};
    for (uint64_t i = 1; i <= 2; i++) {
        EXPECT_EQ(weft_select(mixed, 3, WEFT_FOREVER), 1);
        EXPECT_EQ(take_tag(message), i);
    }
    send_self(6);
    expect_next(5);
    expect_next(6);
    EXPECT_EQ(weft_select(mixed, 3, 0), WEFT_ETIMEDOUT);
}
static void tags_body(void) { EXPECT_EQ(run(tags, NULL), 0); }
TEST(select_by_tag_leaves_the_others) { rt_each(tags_body); }

/* ---- waiting ----------------------------------------------------------------------------------------------------------------- */

/* One of several cases of the mailbox wakes it, whichever message comes. */
static void waits_for_tags(void *parent) {
    weft_msg *message;
    for (unsigned i = 0; i < 60; i++) {
        weft_case cases[] = {weft_case_tag(1, &message), weft_case_message(&message), weft_case_tag(2, &message),
                             weft_case_recv(chan, NULL)};
        size_t count = i % 2 ? 4 : 2;
        int chosen = weft_select(cases, count, WEFT_FOREVER);
        EXPECT(chosen >= 0 && chosen <= 2);
        uint64_t tag = take_tag(message);
        EXPECT(chosen == 1 || tag == (chosen == 0 ? 1 : 2));
        EXPECT_EQ(weft_send(*(weft_pid *)parent, 50, &tag, sizeof tag), 0);
    }
}
static void sends_tags(void *unused) {
    weft_pid self = weft_self(), other;
    (void)unused;
    EXPECT_EQ(weft_chan_new(0, 0, &chan), 0);
    EXPECT_EQ(weft_spawn_with(waits_for_tags, &self, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, &other), 0);
    for (uint64_t i = 0; i < 60; i++) {
        weft_msg *answer;
        if (i % 3 == 0) run_others();
        EXPECT_EQ(weft_send(other, i % 4, NULL, 0), 0);
        EXPECT_EQ(weft_recv(&answer, WEFT_FOREVER), 0);
        EXPECT_EQ(msg_u64(answer), i % 4);
        weft_msg_free(answer);
    }
    EXPECT_EQ(run_join(other), 0);
    weft_chan_free(chan);
}
static void sends_tags_body(void) { EXPECT_EQ(run(sends_tags, NULL), 0); }
TEST(select_any_message_wakes) { rt_each(sends_tags_body); }

/* ---- replies ------------------------------------------------------------------------------------------------------------------- */

static void answers(void *unused) {
    weft_msg *request;
    (void)unused;
    while (weft_recv(&request, WEFT_FOREVER) == 0) {
        uint64_t tag = weft_msg_tag(request);
        EXPECT_EQ(weft_reply(weft_msg_request(request), &tag, sizeof tag), 0);
        weft_msg_free(request);
    }
}
static void dies_of_99(void *unused) {
    weft_msg *request;
    (void)unused;
    EXPECT_EQ(weft_recv(&request, WEFT_FOREVER), 0);
    weft_msg_free(request);
}
static void asks(void *unused) {
    weft_pid server = weft_spawn(answers, NULL), mortal = weft_spawn(dies_of_99, NULL);
    uint64_t first, second;
    weft_msg *reply = NULL, *message = NULL;
    (void)unused;
    EXPECT_EQ(weft_ask(server, 1, NULL, 0, &first), 0);
    EXPECT_EQ(weft_ask(server, 2, NULL, 0, &second), 0);
    send_self(77);
    for (unsigned got = 0, letters = 0; got != 3 || letters < 1;) { /* a set of 1 and 2 */
        weft_case cases[] = {weft_case_reply(first, &reply), weft_case_message(&message), weft_case_reply(second, &reply)};
        if (got & 1) cases[0] = weft_case_never();
        if (got & 2) cases[2] = weft_case_never();
        int chosen = weft_select(cases, 3, WEFT_FOREVER);
        EXPECT(chosen >= 0 && cases[chosen].error == 0);
        if (chosen == 1) {
            EXPECT_EQ(take_tag(message), 77);
            letters++;
            continue;
        }
        EXPECT_EQ(msg_u64(reply), chosen == 0 ? 1 : 2);
        weft_msg_free(reply);
        got |= chosen == 0 ? 1 : 2;
    }
    weft_case gone = weft_case_reply(first, &reply);
    EXPECT_EQ(weft_select(&gone, 1, WEFT_FOREVER), 0);
    EXPECT_EQ(gone.error, WEFT_ENOENT);
    EXPECT_EQ(weft_ask(mortal, 99, NULL, 0, &first), 0);
    gone = weft_case_reply(first, &reply);
    EXPECT_EQ(weft_select(&gone, 1, WEFT_FOREVER), 0);
    EXPECT_EQ(gone.error, WEFT_ENOPROC);
    weft_cancel(server);
}
static void asks_body(void) {
    EXPECT_EQ(run(asks, NULL), 0);
    rt_wait_until_none_lives();
}
TEST(select_takes_replies) { rt_each(asks_body); }

/* ---- a bounded mailbox -------------------------------------------------------------------------------------------------------- */

static void bounded(void *unused) {
    weft_msg *message;
    weft_mailbox_use use;
    (void)unused;
    weft_case cases[] = {weft_case_tag(2, &message), weft_case_acquire(&sem, 1)};
    send_self(1);
    EXPECT_EQ(weft_send_urgent(weft_self(), 2, NULL, 0), 0);
    EXPECT_EQ(weft_send(weft_self(), 3, NULL, 0), WEFT_ENOBUFS);
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    EXPECT_EQ(take_tag(message), 2);
    EXPECT_EQ(weft_mailbox_usage(weft_self(), &use), 0);
    EXPECT_EQ(use.messages, 1);
    cases[0] = weft_case_message(&message);
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    EXPECT_EQ(take_tag(message), 1);
    EXPECT_EQ(weft_mailbox_usage(weft_self(), &use), 0);
    EXPECT_EQ(use.messages, 0);
    EXPECT_EQ(weft_select(cases, 2, 0), WEFT_ETIMEDOUT);
}
static void bounded_body(void) {
    weft_pid pid;
    weft_mailbox two = {.messages = 2, .when_full = WEFT_FULL_FAIL};
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .mailbox = &two};
    weft_sem_init(&sem, 0);
    EXPECT_EQ(weft_spawn_with(bounded, NULL, &options, &pid), 0);
    EXPECT_EQ(run_join(pid), 0);
}
TEST(select_from_a_bounded_mailbox) { rt_each(bounded_body); }

/* ---- cancelled, killed --------------------------------------------------------------------------------------------------------- */

static atom_u64 waits_now;
static void waits_for_all(void *unused) {
    weft_msg *message;
    (void)unused;
    weft_case cases[] = {weft_case_message(&message), weft_case_acquire(&sem, 1), weft_case_recv(chan, NULL),
                         weft_case_moment(WEFT_FOREVER)};
    atom_store_rel(&waits_now, 1);
    EXPECT_EQ(weft_select(cases, 4, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(weft_select(cases, 4, 0), WEFT_ECANCELED);
    weft_shield_begin();
    EXPECT_EQ(weft_select(cases, 4, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_shield_end();
    send_self(1); /* what is there is given to a cancelled process too */
    EXPECT_EQ(weft_select(cases, 4, WEFT_FOREVER), 0);
    weft_msg_free(message);
    cases[3] = weft_case_moment(weft_now());
    EXPECT_EQ(weft_select(cases, 4, WEFT_FOREVER), 3);
}
static void waits_to_be_killed(void *unused) {
    weft_msg *message;
    (void)unused;
    weft_case cases[] = {weft_case_tag(1, &message), weft_case_acquire(&sem, 1), weft_case_recv(chan, NULL)};
    atom_store_rel(&waits_now, 1);
    weft_select(cases, 3, WEFT_FOREVER);
    expect_the_end();
}
/* Until the process has come to wait in the channel's list: a try would give the element to it. */
static weft_pid start_waiting(weft_entry entry) {
    atom_store_rlx(&waits_now, 0);
    weft_pid pid = run_flags(entry, NULL, WEFT_SPAWN_JOINABLE);
    rt_wait(&waits_now, 1);
    for (weft_process_info info; weft_info(pid, &info) == 0 && (info.state != WEFT_STATE_WAITING || strcmp(info.call, "weft_select") != 0);)
        usleep(100);
    return pid;
}
static void ended_body(void) {
    int reason = 0;
    EXPECT_EQ(weft_chan_new(0, 0, &chan), 0);
    weft_sem_init(&sem, 0);
    weft_pid pid = start_waiting(waits_for_all);
    EXPECT_EQ(weft_cancel(pid), 0);
    EXPECT_EQ(run_join(pid), 0);
    pid = start_waiting(waits_to_be_killed);
    EXPECT_EQ(weft_kill(pid), 0);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, WEFT_EKILLED);
    weft_sem_release(&sem, 1);
    EXPECT_EQ(weft_sem_available(&sem), 1);
    EXPECT_EQ(weft_chan_send(chan, NULL, 0), WEFT_ETIMEDOUT);
    weft_chan_free(chan); /* aborts if one is left in its list */
}
TEST(select_ended_leaves_nothing_behind) { rt_each(ended_body); }

/* ---- conservation ---------------------------------------------------------------------------------------------------------------- */

enum { TAKERS = 4 };
static atom_u64 sent[3], taken[3], over, stop_now;
static weft_pid takers[TAKERS];

static void takes(void *unused) {
    weft_msg *message;
    (void)unused;
    for (;;) {
        uint64_t element = 0;
        weft_case cases[] = {weft_case_message(&message), weft_case_recv(chan, &element), weft_case_acquire(&sem, 1)};
        int chosen = weft_select(cases, 3, weft_in(200 * WEFT_MICROSECOND));
        if (chosen == WEFT_ETIMEDOUT && atom_load_acq(&stop_now)) break;
        if (chosen == WEFT_ETIMEDOUT) continue;
        EXPECT(chosen >= 0 && cases[chosen].error == 0);
        EXPECT_EQ(element, chosen == 1 ? 5 : 0);
        if (chosen == 0) weft_msg_free(message);
        atom_add_rlx(&taken[chosen], 1);
    }
    while (weft_recv(&message, 0) == 0) {
        atom_add_rlx(&taken[0], 1);
        weft_msg_free(message);
    }
    atom_add_rel(&over, 1);
}
static void gives(void *number) {
    uint64_t five = 5;
    for (unsigned i = 0; i < 1500 * test_scale() / RT_SLOW; i++) {
        unsigned what = (i + (unsigned)(uintptr_t)number) % 3;
        if (what == 0) EXPECT_EQ(weft_send(takers[i % TAKERS], i, NULL, 0), 0);
        if (what == 1) EXPECT_EQ(weft_chan_send(chan, &five, WEFT_FOREVER), 0);
        if (what == 2) weft_sem_release(&sem, 1);
        atom_add_rlx(&sent[what], 1);
        if (i % 7 == 0) weft_yield();
    }
    atom_add_rel(&over, 1);
}
static void conserves(void) {
    for (unsigned i = 0; i < 3; i++) {
        atom_store_rlx(&sent[i], 0);
        atom_store_rlx(&taken[i], 0);
    }
    atom_store_rlx(&over, 0);
    atom_store_rlx(&stop_now, 0);
    EXPECT_EQ(weft_chan_new(sizeof(uint64_t), 2, &chan), 0);
    weft_sem_init(&sem, 0);
    for (unsigned i = 0; i < TAKERS; i++)
        takers[i] = run_spawn(takes, NULL);
    for (uintptr_t i = 0; i < 3; i++)
        run_spawn(gives, (void *)i);
    rt_wait(&over, 3);
    atom_store_rel(&stop_now, 1);
    rt_wait(&over, 3 + TAKERS);
    uint64_t element;
    while (weft_chan_recv(chan, &element, 0) == 0)
        atom_add_rlx(&taken[1], 1);
    while (weft_sem_acquire(&sem, 1, 0) == 0)
        atom_add_rlx(&taken[2], 1);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(atom_load_rlx(&sent[i]), atom_load_rlx(&taken[i]));
    rt_wait_until_none_lives();
    weft_chan_free(chan);
}
TEST_WITHIN(select_conserves_all_kinds, 120) { rt_each(conserves); }

/* ---- misuse ------------------------------------------------------------------------------------------------------------------------ */

static void selects_in_a_thread(void) {
    weft_msg *message;
    poll_one(weft_case_message(&message));
}
TEST(select_misuse_aborts) { EXPECT_ABORT(selects_in_a_thread, "weft_select"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
