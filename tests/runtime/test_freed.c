/* Whatever becomes of a message, a request, a record: its block comes back. (Twice, and the address sanitizer tells: mem/pool.h.) Each way
 * is gone many times, and after the first hundred no more memory is needed. */
#include "alone.h"
#include "mailbox_helpers.h"

#include <weft/weft.h>

enum { ANSWER, ANSWER_TWICE, SILENCE, LATER, STOP };
static const char text[1500]; /* of blocks for that, some thirty make a piece of memory */

static void server(void *unused) {
    weft_msg *message;
    weft_request later = {0};
    (void)unused;
    for (bool stop = false; !stop && weft_recv(&message, WEFT_FOREVER) == 0; weft_msg_free(message))
        switch (weft_msg_tag(message)) {
        case ANSWER: weft_reply(weft_msg_request(message), text, sizeof text); break;
        case ANSWER_TWICE:
            weft_reply(weft_msg_request(message), text, sizeof text);
            weft_reply(weft_msg_request(message), text, sizeof text);
            break;
        case LATER:
            if (later.reference) weft_reply(later, text, sizeof text);
            later = weft_msg_request(message);
            break;
        case STOP: stop = true; break;
        }
}
static weft_pid servant;

static bool is_wanted(const weft_msg *message, void *unused) {
    (void)unused;
    return weft_msg_tag(message) == 3;
}
static void receives(void *unused) {
    weft_msg *message;
    uint64_t value = 1;
    (void)unused;
    for (uint64_t tag = 0; tag < 4; tag++)
        EXPECT_EQ(weft_send(weft_self(), tag, &value, sizeof value), 0);
    expect_tag(2);
    expect_next(0);
    EXPECT_EQ(weft_recv_into(&value, sizeof value, NULL, 0), 0);
    EXPECT_EQ(weft_recv_match(is_wanted, NULL, &message, 0), 0);
    weft_msg_free(message);
}
/* One put by, one in the mailbox. */
static void leaves_unread(void *unused) {
    weft_msg *message;
    (void)unused;
    for (uint64_t tag = 0; tag < 2; tag++) {
        EXPECT_EQ(weft_send(weft_self(), tag, text, sizeof text), 0);
        EXPECT_EQ(weft_recv_tag(9, &message, 0), WEFT_ETIMEDOUT);
    }
    EXPECT_EQ(weft_send(weft_self(), 2, text, sizeof text), 0);
}
static void calls(void *unused) {
    weft_msg *reply;
    (void)unused;
    for (uint64_t tag = ANSWER; tag <= ANSWER_TWICE; tag++) {
        EXPECT_EQ(weft_call(servant, tag, text, sizeof text, &reply, WEFT_FOREVER), 0);
        weft_msg_free(reply);
    }
    EXPECT_EQ(weft_call(servant, SILENCE, text, sizeof text, &reply, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_call(servant, LATER, text, sizeof text, &reply, weft_now()), WEFT_ETIMEDOUT);
}
/* Three: one is taken, one given up, one left when the process ends. */
static void asks(void *unused) {
    weft_msg *reply;
    uint64_t references[3];
    (void)unused;
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_ask(servant, i ? ANSWER_TWICE : ANSWER, text, sizeof text, &references[i]), 0);
    EXPECT_EQ(weft_recv_reply(references[0], &reply, WEFT_FOREVER), 0);
    weft_msg_free(reply);
    weft_forget(references[1]);
}
static void asks_one_that_ends(void *unused) {
    weft_msg *reply;
    (void)unused;
    weft_pid pid = weft_spawn(server, NULL);
    EXPECT_EQ(weft_call(pid, STOP, text, sizeof text, &reply, WEFT_FOREVER), WEFT_ENOPROC);
    EXPECT_EQ(weft_call(pid, STOP, text, sizeof text, &reply, WEFT_FOREVER), WEFT_ENOPROC);
    EXPECT_EQ(weft_send(pid, 0, text, sizeof text), WEFT_ENOPROC);
    EXPECT_EQ(weft_handoff(pid, 0, text, sizeof text), WEFT_ENOPROC);
}
static void moves(void *unused) {
    static uint64_t buffer;
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_send_move(weft_self(), 0, &buffer, sizeof buffer, NULL, NULL), 0);
    EXPECT_EQ(weft_recv(&message, 0), 0);
    EXPECT(weft_msg_take(message) == &buffer);
    weft_msg_free(message);
    EXPECT_EQ(weft_send_move(weft_self(), 0, &buffer, sizeof buffer, NULL, NULL), 0); /* unread */
}
static void sends_later(void *unused) {
    weft_timer timer;
    (void)unused;
    EXPECT_EQ(weft_after(0, weft_self(), 1, text, sizeof text, &timer), 0);
    expect_next(1);
    EXPECT_EQ(weft_after(3600 * WEFT_SECOND, weft_self(), 2, text, sizeof text, &timer), 0);
    EXPECT_EQ(weft_timer_cancel(timer), 0);
    EXPECT_EQ(weft_every(WEFT_MICROSECOND, weft_self(), 3, text, sizeof text, &timer), 0);
    expect_next(3);
    EXPECT_EQ(weft_timer_cancel(timer), 0);
    EXPECT_EQ(weft_after(0, weft_self(), 4, text, sizeof text, NULL), 0); /* to one that has ended, or will not read it */
}
static void nothing(void *unused) { (void)unused; }
static void defers(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(weft_defer(nothing, NULL), 0);
    weft_undefer(true);
    weft_undefer(false);
    weft_exit(0);
}
static void keeps(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_join(weft_spawn_joinable(nothing, NULL), NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_detach(weft_spawn_joinable(nothing, NULL)), 0);
    weft_spawn_joinable(nothing, NULL); /* given up when this one ends */
}
static void scopes(void *unused) {
    weft_scope scope;
    (void)unused;
    weft_scope_begin(&scope, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn(&scope, nothing, NULL), 0);
    EXPECT_EQ(weft_scope_spawn(&scope, sleeper, NULL), 0);
    weft_yield();
    weft_scope_cancel(&scope);
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ECANCELED);
}

static const struct {
    const char *name;
    weft_entry way;
    unsigned times; /* of the smallest blocks a thousand make a piece */
} ways[] = {
    {"received", receives, 3000},
    {"left unread", leaves_unread, 3000},
    {"called", calls, 3000},
    {"asked", asks, 3000},
    {"asked of one that ends", asks_one_that_ends, 3000},
    {"moved", moves, 3000},
    {"sent later", sends_later, 200},
    {"deferred", defers, 3000},
    {"kept", keeps, 3000},
    {"in a scope", scopes, 3000},
};

/* One after the other, so that what is in use at a time does not depend on which is faster. */
static void goes(weft_entry way, unsigned times) {
    for (unsigned i = 0; i < times; i++)
        EXPECT_EQ(weft_join(weft_spawn_joinable(way, NULL), NULL, WEFT_FOREVER), 0);
}
static void each_way(void *unused) {
    (void)unused;
    servant = weft_spawn(server, NULL);
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        goes(ways[i].way, 100);
        uint64_t before = atom_load_rlx(&sys_script.counts.alloc);
        goes(ways[i].way, ways[i].times);
        uint64_t more = atom_load_rlx(&sys_script.counts.alloc) - before;
        if (more > 1) test_fail(__FILE__, __LINE__, "%s: %lu more pieces of memory", ways[i].name, (unsigned long)more);
    }
    EXPECT_EQ(weft_send(servant, STOP, NULL, 0), 0);
}
static void each_way_on(const char *policy, unsigned workers) {
    if (workers != 2) return;
    rt_start(policy, 1);
    alone_begin(); /* an extra worker has memory of its own */
    EXPECT_EQ(run(each_way, NULL), 0);
    alone_end();
    rt_stop();
}
TEST_WITHIN(freed_whatever_becomes_of_it, 120) { rt_cases(each_way_on); }

/* ---- nothing ---------------------------------------------------------------------------------------------------------------- */

static void frees_nothing(void *unused) {
    (void)unused;
    weft_msg_free(NULL);
    weft_chan_free(NULL);
    EXPECT_EQ(weft_chan_close(NULL), 0);
    weft_context_drop(NULL);
    EXPECT(weft_context_hold(NULL) == NULL);
    weft_context_cancel(NULL, weft_own_runtime());
    weft_scope_cancel(NULL);
    weft_file_free(NULL, 0);
    EXPECT_EQ(weft_dir_close(NULL), 0);
    EXPECT_EQ(weft_stop(NULL, NULL, 0), 0);
}
static void nothing_by_a_process(void) { EXPECT_EQ(run(frees_nothing, NULL), 0); }
TEST(freed_nothing_without_a_runtime) { frees_nothing(NULL); }
TEST(freed_nothing_by_a_process) { rt_each(nothing_by_a_process); }

int main(int argc, char **argv) { return test_main(argc, argv); }
