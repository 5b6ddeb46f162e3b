/* What a task may do and what not: waiting, cancellation, and misuse that aborts by name. */
#include "forkjoin_helpers.h"

#include "alone.h"

#include <signal.h>
#include <sys/wait.h>

/* ---- waiting, allowed ------------------------------------------------------------------------------------------------ */

static atom_u64 ran, waits;
static atom_u64 waiter_pid;

WEFT_VOID_TASK(count_one) { atom_add_rel(&ran, 1); /* rel: pairs with rt_wait */ }

/* Forks three, waits for a message, and joins them. Meanwhile others have run them, if there are others. */
WEFT_TASK(uint64_t, wait_inside, int, unused) {
    (void)unused;
    weft_msg *message;
    WEFT_FORK(count_one);
    WEFT_FORK(count_one);
    WEFT_FORK(count_one);
    WEFT_TASK_WAIT_BEGIN();
    atom_store_rlx(&waiter_pid, weft_self());
    atom_store_rel(&waits, 1); /* rel: pairs with rt_wait */
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    uint64_t tag = weft_msg_tag(message);
    weft_msg_free(message);
    EXPECT_EQ(weft_sleep(RT_MS), 0);
    WEFT_TASK_WAIT_END();
    WEFT_JOIN(count_one);
    WEFT_JOIN(count_one);
    WEFT_JOIN(count_one);
    return tag;
}
/* The same in a task that may have been stolen. */
WEFT_TASK(uint64_t, wait_below, int, unused) {
    WEFT_FORK(wait_inside, unused);
    return WEFT_JOIN(wait_inside);
}
static void waits_process(void *below) {
    uint64_t tag = below ? WEFT_RUN(wait_below, 0) : WEFT_RUN(wait_inside, 0);
    EXPECT_EQ(tag, 77);
    atom_add_rel(&waits, 1); /* rel: as above */
}
static void waits_once(void *below) {
    weft_pid pid;
    atom_store_rlx(&ran, 0);
    atom_store_rlx(&waits, 0);
    EXPECT_EQ(weft_spawn_with(waits_process, below, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    rt_wait(&waits, 1);
    rt_wait(&ran, 3); /* its process is parked, and still others take its tasks: this worker too, once it has parked */
    EXPECT_EQ(weft_send(atom_load_rlx(&waiter_pid), 77, NULL, 0), 0);
    rt_wait(&waits, 2);
    EXPECT_EQ(atom_load_rlx(&ran), 3);
}
static void waits_body(void) {
    for (int i = 0; i < 20 / RT_SLOW + 1; i++) {
        waits_once(NULL);
        waits_once(&ran);
    }
}
TEST(tasks_wait_when_allowed) { rt_each(waits_body); }

/* What does not have to wait is no waiting. */
WEFT_VOID_TASK(only_looks) {
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_recv_tag(7, &message, weft_now()), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_sleep(0), 0);
    EXPECT_EQ(weft_send(weft_self(), 7, NULL, 0), 0);
    EXPECT_EQ(weft_recv_tag(7, &message, WEFT_FOREVER), 0);
    weft_msg_free(message);
}
static void looks_process(void *unused) {
    (void)unused;
    WEFT_RUN(only_looks);
}
static void looks_body(void) { in_process(looks_process); }
TEST(tasks_may_look) { rt_each(looks_body); }

/* ---- cancelled --------------------------------------------------------------------------------------------------------- */

static atom_u64 looks;
WEFT_TASK(int, until_cancelled, int, depth) {
    if (depth == 0) {
        atom_add_rel(&looks, 1); /* rel: pairs with rt_wait */
        while (!weft_fork_cancelled())
            weft_yield();
        return 1;
    }
    WEFT_FORK(until_cancelled, depth - 1);
    int b = WEFT_CALL(until_cancelled, depth - 1);
    return WEFT_JOIN(until_cancelled) + b;
}
static atom_u64 cancelled_result;
static void cancelled_process(void *unused) {
    (void)unused;
    int leaves = WEFT_RUN(until_cancelled, 4);
    EXPECT(weft_fork_cancelled() && weft_cancelled());
    atom_store_rel(&cancelled_result, (uint64_t)leaves); /* rel: as above */
}
static void cancelled_body(void) {
    weft_pid pid;
    atom_store_rlx(&looks, 0);
    atom_store_rlx(&cancelled_result, 0);
    EXPECT_EQ(weft_spawn_with(cancelled_process, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    rt_wait(&looks, 1);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_wait(&cancelled_result, 1);
    EXPECT_EQ(atom_load_rlx(&cancelled_result), 16); /* all have run to their end */
}
TEST(tasks_hear_of_cancellation) { rt_each(cancelled_body); }

/* A runtime that stops lets what has been forked run to its end, without new processes for it. */
WEFT_TASK(uint64_t, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_FORK(fib, n - 1);
    uint64_t b = WEFT_CALL(fib, n - 2);
    return WEFT_JOIN(fib) + b;
}
static void stopped_process(void *unused) {
    (void)unused;
    atom_add_rel(&looks, 1); /* rel: pairs with rt_wait */
    while (!weft_cancelled())
        EXPECT_EQ(WEFT_RUN(fib, 15), 610);
    EXPECT_EQ(WEFT_RUN(fib, 18), 2584);
    atom_add_rel(&cancelled_result, 1); /* rel: likewise */
}
static void stopped_body(const char *policy, unsigned workers) {
    rt_start(policy, workers);
    weft_pid pid;
    atom_store_rlx(&looks, 0);
    atom_store_rlx(&cancelled_result, 0);
    EXPECT_EQ(weft_spawn_with(stopped_process, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    rt_wait(&looks, 1);
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&cancelled_result), 1);
}
TEST(tasks_while_stopping) { rt_cases(stopped_body); }

/* ---- misuse aborts by name ---------------------------------------------------------------------------------------------- */

/* A process of a fresh runtime, in a child; and no thief that would steal its tasks: what has been stolen is not looked at. */
static weft_entry misuser;
static void misuse(void) {
    rt_start("ring", 1);
    alone_begin();
    in_process(misuser);
}
#define EXPECT_MISUSE(entry, ...)                                                                                                          \
    do {                                                                                                                                   \
        misuser = entry;                                                                                                                   \
        EXPECT_ABORT(misuse, __VA_ARGS__);                                                                                                 \
    } while (0)

WEFT_VOID_TASK(nothing) {}

WEFT_VOID_TASK(waits_for_message) {
    weft_msg *message;
    weft_recv(&message, WEFT_FOREVER);
}
WEFT_VOID_TASK(sleeps) { weft_sleep(3600 * WEFT_SECOND); }
static void never_answers(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}
WEFT_VOID_TASK(calls) {
    weft_msg *reply;
    weft_call(weft_spawn(never_answers, NULL), 1, NULL, 0, &reply, WEFT_FOREVER);
}
WEFT_VOID_TASK(waits_for_reply) {
    weft_msg *reply;
    uint64_t reference;
    weft_ask(weft_spawn(never_answers, NULL), 1, NULL, 0, &reference);
    weft_recv_reply(reference, &reply, WEFT_FOREVER);
}
static void stays(void *unused) {
    (void)unused;
    weft_sleep(3600 * WEFT_SECOND);
}
WEFT_VOID_TASK(ends_scope) {
    weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_scope_spawn(&scope, stays, NULL);
    weft_scope_end(&scope); /* one that has not begun: it would make room for it */
}
WEFT_VOID_TASK(exits) { weft_exit(3); }
WEFT_VOID_TASK(forgets) { WEFT_FORK(nothing); }
WEFT_VOID_TASK(forgets_below) {
    WEFT_CALL(forgets);
    WEFT_FORK(nothing);
    WEFT_JOIN(nothing);
}
WEFT_VOID_TASK(joins_another) {
    WEFT_FORK(nothing);
    WEFT_JOIN(exits);
}
WEFT_VOID_TASK(joins_another_private) {
    WEFT_FORK(nothing);
    WEFT_FORK(nothing);
    WEFT_JOIN(exits);
}
WEFT_VOID_TASK(joins_none) {
    weft_at++;
    WEFT_JOIN(nothing);
}
WEFT_VOID_TASK(forks_for_ever) {
    for (;;)
        WEFT_FORK(nothing);
}
WEFT_VOID_TASK(ends_blocking) { WEFT_TASK_WAIT_END(); }
#define PROCESS(task)                                                                                                                      \
    static void task##_process(void *unused) {                                                                                             \
        (void)unused;                                                                                                                      \
        WEFT_RUN(task);                                                                                                                    \
    }
PROCESS(waits_for_message)
PROCESS(sleeps)
PROCESS(calls)
PROCESS(waits_for_reply)
PROCESS(ends_scope)
PROCESS(exits)
PROCESS(forgets)
PROCESS(forgets_below)
PROCESS(joins_another)
PROCESS(joins_another_private)
PROCESS(joins_none)
PROCESS(forks_for_ever)
PROCESS(ends_blocking)

TEST(tasks_misused) {
    EXPECT_MISUSE(waits_for_message_process, "weft_recv", "in a task", "WEFT_TASK_WAIT_BEGIN");
    EXPECT_MISUSE(sleeps_process, "weft_sleep", "in a task", "WEFT_TASK_WAIT_BEGIN");
    EXPECT_MISUSE(calls_process, "weft_call", "in a task", "WEFT_TASK_WAIT_BEGIN");
    EXPECT_MISUSE(waits_for_reply_process, "weft_recv_reply", "in a task", "WEFT_TASK_WAIT_BEGIN");
    EXPECT_MISUSE(ends_scope_process, "weft_scope_end", "in a task", "WEFT_TASK_WAIT_BEGIN");
    EXPECT_MISUSE(exits_process, "weft_exit", "in a task");
    EXPECT_MISUSE(forgets_process, "forgets", "not joined");
    EXPECT_MISUSE(forgets_below_process, "forgets_below", "not joined");
    EXPECT_MISUSE(joins_another_process, "joins_another", "forked last");
    EXPECT_MISUSE(joins_another_private_process, "joins_another", "forked last");
    EXPECT_MISUSE(joins_none_process, "joins_none", "forked last");
    EXPECT_MISUSE(forks_for_ever_process, "WEFT_FORK", "1,048,570");
    EXPECT_MISUSE(ends_blocking_process, "WEFT_TASK_WAIT_END", "pair them");
}

static void outside(void *unused) {
    (void)unused;
    WEFT_RUN(nothing);
}
static int step_runs(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    outside(NULL);
    return 0;
}
static const weft_behavior stepper = {.name = "stepper", .step = step_runs};
static void runs_in_step(void *unused) {
    (void)unused;
    rt_spawn(&stepper);
    weft_sleep(RT_SECOND);
}
TEST(tasks_need_a_stackful_process) { EXPECT_MISUSE(runs_in_step, "WEFT_RUN", "outside of a stackful process"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
