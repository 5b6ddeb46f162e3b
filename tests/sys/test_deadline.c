/* Durations that are passed as deadlines: every call that takes a deadline says so, when it would wait. Deadlines that have passed are no mistake. */
#include "runtime_helpers.h"

#include <weft/weft.h>

#include <pthread.h>

/* A duration on every machine that was started more than 2 microseconds before this program. */
#define DURATION WEFT_MICROSECOND

/* ---- the calls, each so that it cannot be done at once ---- */

static weft_msg *message;
static weft_mutex held, locked;
static weft_cond cond;
static weft_sem none;
static weft_rwlock written;
static weft_waitgroup busy;
static weft_synch2 door;
static weft_chan *chan;
static weft_fd pair[2], listener;
static weft_pid sleeper;
static char byte;
static size_t nothing;

static bool wants(const weft_msg *one, void *arg) { return one == arg; }
/* Holds the mutex until it is cancelled, when all processes end. */
static void idle(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_mutex_lock(&held, WEFT_FOREVER), 0);
    weft_sleep_until(WEFT_FOREVER);
    weft_mutex_unlock(&held);
}
static int runs(void *arg) { return (void)arg, weft_sleep_until(WEFT_FOREVER); }
static weft_once once;
static void runs_once(void *arg) { (void)arg, (void)weft_once_do(&once, runs, NULL, WEFT_FOREVER); }
static void blocks(void *arg) { (void)arg; }

static void in_recv(uint64_t deadline) { weft_recv(&message, deadline); }
static void in_recv_tag(uint64_t deadline) { weft_recv_tag(1, &message, deadline); }
static void in_recv_match(uint64_t deadline) { weft_recv_match(wants, NULL, &message, deadline); }
static void in_recv_into(uint64_t deadline) { weft_recv_into(&byte, 1, NULL, deadline); }
static void in_call(uint64_t deadline) { weft_call(sleeper, 1, NULL, 0, &message, deadline); }
static void in_recv_reply(uint64_t deadline) {
    uint64_t reference = 0;
    EXPECT_EQ(weft_ask(sleeper, 1, NULL, 0, &reference), 0);
    weft_recv_reply(reference, &message, deadline);
}
static void in_sleep_until(uint64_t deadline) { weft_sleep_until(deadline); }
static void in_join(uint64_t deadline) { weft_join(sleeper, NULL, deadline); }
static void in_scope(uint64_t deadline) {
    weft_scope scope;
    weft_scope_begin(&scope, deadline);
    weft_scope_end(&scope);
}
static void in_context(uint64_t deadline) {
    weft_context *context;
    EXPECT_EQ(weft_context_new(NULL, &context, deadline), 0);
    weft_context_drop(context);
}
static void in_blocking(uint64_t deadline) { weft_blocking_until(blocks, NULL, blocks, deadline); }
static void in_mutex(uint64_t deadline) { weft_mutex_lock(&held, deadline); }
static void in_cond(uint64_t deadline) {
    EXPECT_EQ(weft_mutex_lock(&locked, WEFT_FOREVER), 0);
    weft_cond_wait(&cond, &locked, deadline);
    weft_mutex_unlock(&locked);
}
static void in_sem(uint64_t deadline) { weft_sem_acquire(&none, 1, deadline); }
static void in_read(uint64_t deadline) { weft_rwlock_read(&written, deadline); }
static void in_write(uint64_t deadline) { weft_rwlock_write(&written, deadline); }
static void in_once(uint64_t deadline) { weft_once_do(&once, runs, NULL, deadline); }
static void in_group(uint64_t deadline) { weft_waitgroup_wait(&busy, deadline); }
static void in_synch2(uint64_t deadline) { weft_synch2_enter_until(&door, 1, deadline); }
static void in_chan_send(uint64_t deadline) { weft_chan_send(chan, &byte, deadline); }
static void in_chan_recv(uint64_t deadline) { weft_chan_recv(chan, &byte, deadline); }
static void in_select(uint64_t deadline) {
    weft_case one = weft_case_recv(chan, &byte);
    weft_select(&one, 1, deadline);
}
static void in_fd_read(uint64_t deadline) { weft_fd_read(pair[0], &byte, 1, deadline); }
static void in_fd_wait(uint64_t deadline) { weft_fd_wait(pair[0], WEFT_READABLE, deadline); }
static void in_fd_wait_both(uint64_t deadline) { weft_fd_wait(listener, WEFT_READABLE | WEFT_WRITABLE, deadline); }
static void in_recv_from(uint64_t deadline) { weft_net_recv_from(pair[0], &byte, 1, NULL, deadline); }
static void in_recv_fds(uint64_t deadline) { weft_net_recv_fds(pair[0], &byte, 1, NULL, &nothing, deadline); }
static void in_accept(uint64_t deadline) { weft_net_accept(listener, NULL, deadline); }
static void in_resolve(uint64_t deadline) {
    weft_addr address;
    weft_resolve("some.name", "80", NULL, &address, 1, deadline);
}
static void in_file(uint64_t deadline) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    weft_file_read(ends[0], &byte, 1, deadline);
    close(ends[0]);
    close(ends[1]);
}
static void in_waitpid(uint64_t deadline) {
    const char *const arguments[] = {"cat", NULL}; /* ends when its input does, so with this program */
    weft_child child;
    EXPECT_EQ(weft_child_start(arguments, WEFT_CHILD_IN | WEFT_CHILD_OUT | WEFT_CHILD_ERR, &child), 0);
    weft_waitpid(child.pid, NULL, deadline);
    weft_fd_close(child.in), weft_fd_close(child.out), weft_fd_close(child.err);
    EXPECT_EQ(weft_waitpid(child.pid, NULL, WEFT_FOREVER), 0);
}

/* Commands are not waited for: they say it when they are yielded. */
static void (*yields)(weft_out *out, uint64_t deadline);
static uint64_t yielded_deadline;
static int yield_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    if (count == 0) yields(out, yielded_deadline);
    weft_out_status(out, count == 0 ? WEFT_STEP_BLOCKED : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior yielder = {.name = "yielder", .step = yield_step};
static void in_out(void (*yield)(weft_out *, uint64_t), uint64_t deadline) {
    weft_spawn_options joinable = {.flags = WEFT_SPAWN_JOINABLE};
    weft_pid pid;
    yields = yield, yielded_deadline = deadline;
    EXPECT_EQ(weft_spawn_step(&yielder, &joinable, &pid), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
}
static void out_read(weft_out *out, uint64_t deadline) { weft_out_read(out, 1, weft_fd_number(pair[0]), 1, -1, deadline); }
static void out_write(weft_out *out, uint64_t deadline) { weft_out_write(out, 1, 1, "", 0, -1, deadline); }
static void out_accept(weft_out *out, uint64_t deadline) { weft_out_net_accept(out, 1, listener, deadline); }
static void out_connect(weft_out *out, uint64_t deadline) { weft_out_net_connect(out, 1, "none", deadline); }
static void out_fd_read(weft_out *out, uint64_t deadline) { weft_out_fd_read(out, 1, pair[0], 1, deadline); }
static void out_fd_write(weft_out *out, uint64_t deadline) { weft_out_fd_write(out, 1, pair[0], "", 0, deadline); }
static void out_fd_wait(weft_out *out, uint64_t deadline) { weft_out_fd_wait(out, 1, pair[0], WEFT_READABLE, deadline); }
static void out_sendfile(weft_out *out, uint64_t deadline) { weft_out_fd_sendfile(out, 1, pair[0], -1, 0, 1, deadline); }
static void out_recv_from(weft_out *out, uint64_t deadline) { weft_out_net_recv_from(out, 1, pair[0], 1, deadline); }
static void out_send_to(weft_out *out, uint64_t deadline) { weft_out_net_send_to(out, 1, pair[0], "", 0, &(weft_addr){0}, deadline); }
static void out_resolve(weft_out *out, uint64_t deadline) { weft_out_resolve(out, 1, "some.name", "80", deadline); }
static void out_connect_name(weft_out *out, uint64_t deadline) { weft_out_net_connect_name(out, 1, "some.name", "80", deadline); }
static void out_waitpid(weft_out *out, uint64_t deadline) { weft_out_waitpid(out, 1, getpid(), deadline); }

/* ---- what is asked of each ---- */

static const struct call {
    const char *name;
    void (*plain)(uint64_t deadline);
    void (*out)(weft_out *out, uint64_t deadline);
} calls[] = {
    {"weft_recv", in_recv, NULL},
    {"weft_recv_tag", in_recv_tag, NULL},
    {"weft_recv_match", in_recv_match, NULL},
    {"weft_recv", in_recv_into, NULL},
    {"weft_call", in_call, NULL},
    {"weft_recv_reply", in_recv_reply, NULL},
    {"weft_sleep_until", in_sleep_until, NULL},
    {"weft_join", in_join, NULL},
    {"weft_scope_begin", in_scope, NULL},
    {"weft_context_new", in_context, NULL},
    {"weft_blocking_until", in_blocking, NULL},
    {"weft_mutex_lock", in_mutex, NULL},
    {"weft_cond_wait", in_cond, NULL},
    {"weft_sem_acquire", in_sem, NULL},
    {"weft_rwlock_read", in_read, NULL},
    {"weft_rwlock_write", in_write, NULL},
    {"weft_once_do", in_once, NULL},
    {"weft_waitgroup_wait", in_group, NULL},
    {"weft_synch2_enter", in_synch2, NULL},
    {"weft_chan_send", in_chan_send, NULL},
    {"weft_chan_recv", in_chan_recv, NULL},
    {"weft_select", in_select, NULL},
    {"weft_fd_read", in_fd_read, NULL},
    {"weft_fd_wait", in_fd_wait, NULL},
    {"weft_fd_wait", in_fd_wait_both, NULL},
    {"weft_net_recv_from", in_recv_from, NULL},
    {"weft_net_recv_fds", in_recv_fds, NULL},
    {"weft_net_accept", in_accept, NULL},
    {"weft_resolve", in_resolve, NULL},
    {"weft_file_read", in_file, NULL},
    {"weft_waitpid", in_waitpid, NULL},
    {"weft_out_read", NULL, out_read},
    {"weft_out_write", NULL, out_write},
    {"weft_out_net_accept", NULL, out_accept},
    {"weft_out_net_connect", NULL, out_connect},
    {"weft_out_fd_read", NULL, out_fd_read},
    {"weft_out_fd_write", NULL, out_fd_write},
    {"weft_out_fd_wait", NULL, out_fd_wait},
    {"weft_out_fd_sendfile", NULL, out_sendfile},
    {"weft_out_net_recv_from", NULL, out_recv_from},
    {"weft_out_net_send_to", NULL, out_send_to},
    {"weft_out_resolve", NULL, out_resolve},
    {"weft_out_net_connect_name", NULL, out_connect_name},
    {"weft_out_waitpid", NULL, out_waitpid},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void prepare(void) {
    sleeper = weft_spawn(idle, NULL);
    EXPECT(weft_spawn(runs_once, NULL) != WEFT_NOBODY);
    weft_yield();
    EXPECT_EQ(weft_rwlock_write(&written, WEFT_FOREVER), 0);
    weft_waitgroup_add(&busy, 1);
    EXPECT_EQ(weft_synch2_try(&door, 0), 0);
    EXPECT_EQ(weft_chan_new(1, 0, &chan), 0);
    EXPECT_EQ(weft_net_pair(pair), 0);
    listener = weft_net_listen("127.0.0.1:0", NULL);
    EXPECT(listener > 0);
}
static void make(const struct call *call, uint64_t deadline) {
    if (call->out) in_out(call->out, deadline);
    else call->plain(deadline);
}

static const struct call *the_call;
static int one_call(int argc, char **argv) {
    (void)argc, (void)argv;
    prepare();
    make(the_call, DURATION);
    return 0;
}
static void one_program(void) { weft_main(0, NULL, one_call); }

TEST(a_duration_is_refused_by_every_call_with_a_deadline) {
    setenv("WEFT_WORKERS", "1", 1);
    for (the_call = calls; the_call < calls + CALLS; the_call++)
        EXPECT_ABORT(one_program, the_call->name, "the deadline is a duration", "weft_in(nanoseconds)");
}

static void stops(void) {
    weft_runtime *runtime;
    EXPECT_EQ(weft_start(NULL, &runtime), 0);
    weft_stop(runtime, NULL, DURATION);
}
TEST(a_duration_is_refused_by_weft_stop) { EXPECT_ABORT(stops, "weft_stop", "the deadline is a duration"); }

static void *thread_holds(void *arg) {
    EXPECT_EQ(weft_mutex_lock(&held, WEFT_FOREVER), 0);
    return arg;
}
static void thread_locks(void) {
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, thread_holds, NULL), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    weft_mutex_lock(&held, DURATION);
}
TEST(a_duration_is_refused_in_threads_of_the_program) { EXPECT_ABORT(thread_locks, "weft_mutex_lock", "the deadline is a duration"); }

/* 0, this moment, and a moment some hours before this program began (a quarter of the machine's time, at most). */
static int all_calls(int argc, char **argv) {
    (void)argc, (void)argv;
    uint64_t now = weft_now(), deadlines[] = {0, now, now - now / 4};
    prepare();
    for (unsigned i = 0; i < CALLS; i++)
        for (unsigned k = 0; k < 3; k++)
            make(&calls[i], deadlines[k]);
    weft_rwlock_write_end(&written);
    return 0;
}
TEST(deadlines_that_have_passed_are_none) {
    setenv("WEFT_WORKERS", "1", 1);
    EXPECT_EQ(weft_main(0, NULL, all_calls), 0);
}

/* A call that need not wait does not look at its deadline. */
static int at_once(int argc, char **argv) {
    (void)argc, (void)argv;
    EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
    EXPECT_EQ(weft_recv(&message, DURATION), 0);
    weft_msg_free(message);
    EXPECT_EQ(weft_mutex_lock(&locked, DURATION), 0);
    weft_mutex_unlock(&locked);
    return 0;
}
TEST(what_can_be_done_at_once_is_done) { EXPECT_EQ(weft_main(0, NULL, at_once), 0); }

/* A clock that stands at a small number: nothing is known of such a program's start. */
static uint64_t small_now(void) { return 10 * DURATION; }
static void small_clock(void) {
    static struct sys early;
    early = *sys;
    early.now = small_now;
    sys = &early;
    weft_context *context;
    EXPECT_EQ(weft_context_new(NULL, &context, DURATION), 0);
    EXPECT(weft_context_cancelled(context));
    weft_context_drop(context);
}
TEST(a_clock_of_its_own_is_believed) { small_clock(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
