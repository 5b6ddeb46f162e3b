/* Durations that are passed as deadlines: every call that takes a deadline says so, when it would wait. Deadlines that have passed are no mistake. */
#include "runtime_helpers.h"

#include <weft/weft.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/uio.h>

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
static weft_barrier barrier;
static weft_limiter limiter;
static weft_chan *chan, *chan_bytes;
static weft_fd pair[2], full[2], listener;
static int full_pipe[2], empty_pipe[2];
static weft_pid sleeper, full_mailbox;
static char byte;
static struct iovec parts[1] = {{&byte, 1}};
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
static void in_select_two(uint64_t deadline) {
    weft_case cases[] = {weft_case_recv(chan, &byte), weft_case_acquire(&none, 1)};
    weft_select_with(cases, 2, WEFT_SELECT_IN_ORDER, deadline);
}
static void in_select_message(uint64_t deadline) {
    weft_case cases[] = {weft_case_message(&message), weft_case_end(sleeper, NULL), weft_case_readable(pair[0])};
    weft_select(cases, 3, deadline);
}
static void in_send_bytes(uint64_t deadline) { weft_chan_send_bytes(chan_bytes, &byte, 1, deadline); }
static void in_recv_bytes(uint64_t deadline) { weft_chan_recv_bytes(chan_bytes, &byte, 1, NULL, deadline); }
static void in_barrier(uint64_t deadline) { weft_barrier_wait(&barrier, deadline); }
static void in_limiter(uint64_t deadline) { weft_limiter_take(&limiter, 1, deadline); }
static void in_send_until(uint64_t deadline) { weft_send_until(full_mailbox, 1, NULL, 0, deadline); }
static void in_call_name(uint64_t deadline) { weft_call_name("sleeper", 1, NULL, 0, &message, deadline); }
static void in_join_reason(uint64_t deadline) {
    weft_reason reason;
    weft_join_reason(sleeper, &reason, deadline);
}
static void in_scope_with(uint64_t deadline) {
    weft_scope scope;
    weft_scope_begin_with(&scope, WEFT_SCOPE_APART, deadline);
    weft_scope_end(&scope);
}
static void in_bundle(uint64_t deadline) {
    weft_bundle *bundle;
    EXPECT_EQ(weft_bundle_open(0, &bundle, deadline), 0);
    weft_bundle_close(bundle);
}

/* ---- supervisors and servers; each call has one of its own, since a call that times out may have stopped it ---- */

static void sleeps(void *arg) { (void)arg, (void)weft_sleep_until(WEFT_FOREVER); }
static int init_sleeps(void *state, void *arg) { return (void)state, (void)arg, weft_sleep_until(WEFT_FOREVER); }
static const weft_server_spec slow_server = {.name = "slow", .init = init_sleeps}, plain_server = {.name = "plain"};
static const weft_child_spec never_ready = {.id = "never", .entry = sleeps, .ready = true, .restart = WEFT_TEMPORARY, .start_ms = 100000},
                             pattern = {.entry = sleeps, .restart = WEFT_TEMPORARY};
static const weft_super_spec slow_super = {.name = "slow", .children = &never_ready, .count = 1},
                             plain_super = {.name = "plain", .pattern = &pattern};

static void in_server_start(uint64_t deadline) {
    weft_pid pid;
    weft_server_start(&slow_server, NULL, NULL, &pid, deadline);
}
static void in_server_stop(uint64_t deadline) {
    weft_pid pid;
    EXPECT_EQ(weft_server_start(&plain_server, NULL, NULL, &pid, WEFT_FOREVER), 0);
    weft_server_stop(pid, deadline);
}
static void in_super_start(uint64_t deadline) {
    weft_pid pid;
    weft_super_start(&slow_super, NULL, &pid, deadline);
}
static weft_pid super_plain(void) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_super_start(&plain_super, NULL, &pid, WEFT_FOREVER), 0);
    return pid;
}
static void in_super_stop(uint64_t deadline) { weft_super_stop(super_plain(), deadline); }
/* A supervisor does one thing at a time: this one starts a child that is never ready. */
static void keeps_busy(void *super) { (void)weft_super_add(*(weft_pid *)super, &never_ready, NULL, WEFT_FOREVER); }
static weft_pid super_busy(void) {
    static weft_pid super;
    if (weft_alive(super)) return super;
    super = super_plain();
    EXPECT(weft_spawn(keeps_busy, &super) != WEFT_NOBODY);
    weft_yield();
    return super;
}
static void in_super_add(uint64_t deadline) {
    weft_super_add(super_busy(), &(weft_child_spec){.id = "x", .entry = sleeps}, NULL, deadline);
}
static void in_super_spawn(uint64_t deadline) { weft_super_spawn(super_busy(), NULL, NULL, deadline); }
static void in_super_stop_child(uint64_t deadline) { weft_super_stop_child(super_busy(), "x", deadline); }
static void in_super_restart(uint64_t deadline) { weft_super_restart_child(super_busy(), "x", NULL, deadline); }
static void in_super_remove(uint64_t deadline) { weft_super_remove(super_busy(), "x", deadline); }
static void in_super_children(uint64_t deadline) { weft_super_children(super_busy(), NULL, 0, deadline); }

/* ---- descriptors ---- */

static void in_fd_read(uint64_t deadline) { weft_fd_read(pair[0], &byte, 1, deadline); }
static void in_fd_readv(uint64_t deadline) { weft_fd_readv(pair[0], parts, 1, deadline); }
static void in_fd_read_all(uint64_t deadline) { weft_fd_read_all(pair[0], &byte, 1, NULL, deadline); }
static void in_fd_write(uint64_t deadline) { weft_fd_write(full[0], &byte, 1, deadline); }
static void in_fd_writev(uint64_t deadline) { weft_fd_writev(full[0], parts, 1, deadline); }
static void in_fd_write_all(uint64_t deadline) { weft_fd_write_all(full[0], &byte, 1, NULL, deadline); }
static void in_fd_writev_all(uint64_t deadline) { weft_fd_writev_all(full[0], parts, 1, NULL, deadline); }
static void in_send_fds(uint64_t deadline) { weft_net_send_fds(full[0], &byte, 1, NULL, 0, deadline); }
static void in_fd_wait_raw(uint64_t deadline) { weft_fd_wait_raw(empty_pipe[0], WEFT_READABLE, deadline); }
static void in_connect_name(uint64_t deadline) { (void)weft_net_connect_name("some.name", "80", deadline); }
static void in_file_readv(uint64_t deadline) { (void)weft_file_readv(empty_pipe[0], parts, 1, deadline); }
static void in_file_read_all(uint64_t deadline) { (void)weft_file_read_all(empty_pipe[0], &byte, 1, NULL, deadline); }
static void in_file_write(uint64_t deadline) { (void)weft_file_write(full_pipe[1], &byte, 1, deadline); }
static void in_file_writev(uint64_t deadline) { (void)weft_file_writev(full_pipe[1], parts, 1, deadline); }
static void in_file_write_all(uint64_t deadline) { (void)weft_file_write_all(full_pipe[1], &byte, 1, NULL, deadline); }
static void in_file_writev_all(uint64_t deadline) { (void)weft_file_writev_all(full_pipe[1], parts, 1, NULL, deadline); }
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
static void out_write(weft_out *out, uint64_t deadline) { weft_out_write_all(out, 1, 1, "", 0, -1, deadline); }
static void out_accept(weft_out *out, uint64_t deadline) { weft_out_net_accept(out, 1, listener, deadline); }
static void out_connect(weft_out *out, uint64_t deadline) { weft_out_net_connect(out, 1, "none", deadline); }
static void out_fd_read(weft_out *out, uint64_t deadline) { weft_out_fd_read(out, 1, pair[0], 1, deadline); }
static void out_fd_write(weft_out *out, uint64_t deadline) { weft_out_fd_write_all(out, 1, pair[0], "", 0, deadline); }
static void out_fd_wait(weft_out *out, uint64_t deadline) { weft_out_fd_wait(out, 1, pair[0], WEFT_READABLE, deadline); }
static void out_sendfile(weft_out *out, uint64_t deadline) { weft_out_fd_sendfile_all(out, 1, pair[0], -1, 0, 1, deadline); }
static void out_recv_from(weft_out *out, uint64_t deadline) { weft_out_net_recv_from(out, 1, pair[0], 1, deadline); }
static void out_send_to(weft_out *out, uint64_t deadline) { weft_out_net_send_to(out, 1, pair[0], "", 0, &(weft_addr){0}, deadline); }
static void out_resolve(weft_out *out, uint64_t deadline) { weft_out_resolve(out, 1, "some.name", "80", deadline); }
static void out_connect_name(weft_out *out, uint64_t deadline) { weft_out_net_connect_name(out, 1, "some.name", "80", deadline); }
static void out_waitpid(weft_out *out, uint64_t deadline) { weft_out_waitpid(out, 1, getpid(), deadline); }
static void out_ask(weft_out *out, uint64_t deadline) { weft_out_ask(out, 1, sleeper, 1, NULL, 0, deadline); }
static void out_join(weft_out *out, uint64_t deadline) { weft_out_join(out, 1, sleeper, deadline); }
static void out_select(weft_out *out, uint64_t deadline) {
    weft_case one = weft_case_recv(chan, &byte);
    weft_out_select(out, 1, &one, 1, 0, deadline);
}

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
    {"weft_synch2_enter_until", in_synch2, NULL},
    {"weft_barrier_wait", in_barrier, NULL},
    {"weft_limiter_take", in_limiter, NULL},
    {"weft_send_until", in_send_until, NULL},
    {"weft_call_name", in_call_name, NULL},
    {"weft_join_reason", in_join_reason, NULL},
    {"weft_scope_begin_with", in_scope_with, NULL},
    {"weft_bundle_open", in_bundle, NULL},
    {"weft_server_start", in_server_start, NULL},
    {"weft_server_stop", in_server_stop, NULL},
    {"weft_super_start", in_super_start, NULL},
    {"weft_super_stop", in_super_stop, NULL},
    {"weft_super_add", in_super_add, NULL},
    {"weft_super_spawn", in_super_spawn, NULL},
    {"weft_super_stop_child", in_super_stop_child, NULL},
    {"weft_super_restart_child", in_super_restart, NULL},
    {"weft_super_remove", in_super_remove, NULL},
    {"weft_super_children", in_super_children, NULL},
    {"weft_chan_send", in_send_bytes, NULL},
    {"weft_chan_recv", in_recv_bytes, NULL},
    {"weft_select", in_select_two, NULL},
    {"weft_select", in_select_message, NULL},
    {"weft_fd_readv", in_fd_readv, NULL},
    {"weft_fd_read_all", in_fd_read_all, NULL},
    {"weft_fd_write", in_fd_write, NULL},
    {"weft_fd_writev", in_fd_writev, NULL},
    {"weft_fd_write_all", in_fd_write_all, NULL},
    {"weft_fd_writev_all", in_fd_writev_all, NULL},
    {"weft_net_send_fds", in_send_fds, NULL},
    {"weft_fd_wait_raw", in_fd_wait_raw, NULL},
    {"weft_net_connect_name", in_connect_name, NULL},
    {"weft_file_readv", in_file_readv, NULL},
    {"weft_file_read", in_file_read_all, NULL},
    {"weft_file_write", in_file_write, NULL},
    {"weft_file_writev", in_file_writev, NULL},
    {"weft_file_write", in_file_write_all, NULL},
    {"weft_file_writev", in_file_writev_all, NULL},
    {"weft_out_ask", NULL, out_ask},
    {"weft_out_join", NULL, out_join},
    {"weft_out_select", NULL, out_select},
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
    {"weft_out_write_all", NULL, out_write},
    {"weft_out_net_accept", NULL, out_accept},
    {"weft_out_net_connect", NULL, out_connect},
    {"weft_out_fd_read", NULL, out_fd_read},
    {"weft_out_fd_write_all", NULL, out_fd_write},
    {"weft_out_fd_wait", NULL, out_fd_wait},
    {"weft_out_fd_sendfile_all", NULL, out_sendfile},
    {"weft_out_net_recv_from", NULL, out_recv_from},
    {"weft_out_net_send_to", NULL, out_send_to},
    {"weft_out_resolve", NULL, out_resolve},
    {"weft_out_net_connect_name", NULL, out_connect_name},
    {"weft_out_waitpid", NULL, out_waitpid},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* A mailbox, a socket and a pipe that take no more. */
static void prepare_full(void) {
    static const char much[1 << 16];
    weft_mailbox one = {.messages = 1};
    EXPECT_EQ(weft_spawn_with(sleeps, NULL, &(weft_stackful_options){.mailbox = &one}, &full_mailbox), 0);
    EXPECT_EQ(weft_send_until(full_mailbox, 1, NULL, 0, 0), 0);
    EXPECT_EQ(weft_net_pair(full), 0);
    while (weft_fd_write(full[0], much, sizeof much, 0) > 0) {}
    EXPECT(pipe(empty_pipe) == 0 && pipe(full_pipe) == 0);
    EXPECT_EQ(fcntl(full_pipe[1], F_SETFL, O_NONBLOCK), 0);
    while (write(full_pipe[1], much, sizeof much) > 0) {}
    EXPECT_EQ(fcntl(full_pipe[1], F_SETFL, 0), 0);
}
static void prepare(void) {
    sleeper = weft_spawn(idle, NULL);
    EXPECT(weft_spawn(runs_once, NULL) != WEFT_NOBODY);
    weft_yield();
    EXPECT_EQ(weft_rwlock_write(&written, WEFT_FOREVER), 0);
    weft_waitgroup_add(&busy, 1);
    EXPECT_EQ(weft_synch2_try(&door, 0), 0);
    EXPECT_EQ(weft_chan_new(1, 0, &chan), 0);
    EXPECT_EQ(weft_chan_new_bytes(8, 0, &chan_bytes), 0);
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(weft_register("sleeper", sleeper), 0);
    weft_barrier_init(&barrier, 2);
    weft_limiter_init(&limiter, 1, 1000 * WEFT_SECOND, 1);
    EXPECT_EQ(weft_limiter_take(&limiter, 1, 0), 0);
    prepare_full();
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
    for (the_call = calls; the_call < calls + CALLS; the_call++) {
        char sentence[100]; /* the call that the program has made, and not one that this is made of */
        snprintf(sentence, sizeof sentence, "misuse of %s:", the_call->name);
        EXPECT_ABORT(one_program, sentence, "the deadline is a duration", "weft_in(nanoseconds)");
    }
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
