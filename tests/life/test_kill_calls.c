/* Whatever call of weft a condemned process makes, again and again: it ends, after 64 calls at the latest (weft/life.h). */
#include "mailbox_helpers.h"

#include "sched/sched.h"

#include <weft/life.h>

/* ---- the calls --------------------------------------------------------------------------------------------------------------- */

static weft_pid deaf;
static weft_chan *channel;
static weft_mutex mutex = WEFT_MUTEX_INIT;
static weft_cond cond;
static weft_sem sem;
static weft_rwlock rwlock;
static weft_waitgroup group;
static weft_once once = WEFT_ONCE_INIT;
static weft_key key;

static void nothing(void *unused) { (void)unused; }
static int step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior behavior = {.name = "brief", .step = step};
static bool visit(const weft_process_info *info, void *unused) { return (void)info, (void)unused, false; }
static void visit_name(const char *name, weft_pid pid, void *unused) { (void)name, (void)pid, (void)unused; }
static int do_once(void *unused) { return (void)unused, 0; }

/* A call, in a function of its own. Each can be made for ever without waiting. */
#define CALL(name, ...)                                                                                                                    \
    static void call_##name(void) { __VA_ARGS__; }

CALL(send, weft_send(deaf, 1, NULL, 0))
CALL(send_nobody, weft_send(WEFT_NOBODY, 1, NULL, 0))
CALL(send_until, weft_send_until(deaf, 1, NULL, 0, 0))
CALL(send_urgent, weft_send_urgent(deaf, 1, NULL, 0))
CALL(send_name, weft_send_name("deaf", 1, NULL, 0))
CALL(send_move, static char bytes[8]; weft_send_move(deaf, 1, bytes, 8, NULL, NULL))
CALL(handoff, weft_handoff(deaf, 1, NULL, 0))
CALL(reply, weft_reply((weft_request){.from = deaf}, NULL, 0))
CALL(reply_move, weft_reply_move((weft_request){.from = deaf}, NULL, 0, NULL, NULL))
CALL(ask, uint64_t reference; weft_ask(deaf, 1, NULL, 0, &reference))
CALL(forget, weft_forget(77))
CALL(call, weft_msg *reply; weft_call(deaf, 1, NULL, 0, &reply, 0))
CALL(call_name, weft_msg *reply; weft_call_name("deaf", 1, NULL, 0, &reply, 0))
CALL(recv, weft_msg *message; weft_recv(&message, 0))
CALL(recv_tag, weft_msg *message; weft_recv_tag(9, &message, 0))
CALL(recv_reply, weft_msg *message; weft_recv_reply(77, &message, 0))
CALL(group_send, weft_group_send("deaf ones", 1, NULL, 0))
CALL(group_send_any, weft_group_send_any("deaf ones", 1, NULL, 0))
CALL(group_members, weft_group_members("deaf ones", NULL, 0))
CALL(group_join, weft_group_join("here"); weft_group_leave("here"))
CALL(group_leave, weft_group_leave("nowhere"))
CALL(after, weft_after(WEFT_SECOND, deaf, 1, NULL, 0, NULL))
CALL(every, weft_every(0, deaf, 1, NULL, 0, NULL))
CALL(timer_cancel, weft_timer_cancel((weft_timer){NULL, 0}))
CALL(after_and_cancel, weft_timer timer; weft_after(WEFT_SECOND, deaf, 1, NULL, 0, &timer); weft_timer_cancel(timer))

CALL(spawn, weft_spawn(nothing, NULL))
CALL(spawn_joinable, weft_detach(weft_spawn_joinable(nothing, NULL)))
CALL(spawn_copy, weft_spawn_copy(nothing, "", 1))
CALL(spawn_monitor, weft_spawn_monitor(nothing, NULL, 1, NULL))
CALL(spawn_step, weft_pid pid; weft_spawn_step(&behavior, NULL, &pid))
CALL(monitor, weft_monitor(deaf, 1, NULL))
CALL(demonitor, weft_demonitor(77, true))
CALL(link, weft_link(deaf))
CALL(unlink, weft_unlink(WEFT_NOBODY); weft_unlink(deaf))
CALL(trap_exit, weft_trap_exit(true, 1))
CALL(kill, weft_kill(WEFT_NOBODY))
CALL(cancel, weft_cancel(WEFT_NOBODY))
CALL(alive, weft_alive(deaf))
CALL(join, weft_join(deaf, NULL, 0))
CALL(detach, weft_detach(WEFT_NOBODY))
CALL(info, weft_process_info info; weft_info(deaf, &info))
CALL(each_process, weft_each_process(weft_own_runtime(), visit, NULL))
CALL(mailbox_usage, weft_mailbox_use use; weft_mailbox_usage(deaf, &use))
CALL(names, weft_names(NULL, visit_name, NULL))
CALL(whereis, weft_whereis("deaf"))
CALL(register, weft_register("deaf", weft_self()))
CALL(unregister, weft_unregister(NULL, "nobody's"))

CALL(yield, weft_yield())
CALL(checkpoint, weft_checkpoint())
CALL(sleep, weft_sleep(0))
CALL(cancelled, weft_cancelled())
CALL(shield, weft_shield_begin(); weft_shield_end())
CALL(pin, weft_pin_begin(); weft_pin_end())
CALL(nopreempt, weft_nopreempt_begin(); weft_nopreempt_end())
CALL(defer, weft_defer(nothing, NULL); weft_undefer(false))
CALL(call_big, weft_call_big(nothing, NULL, 64 << 10))
CALL(stack_used, weft_stack_used())
CALL(local_set, weft_local_set(key, NULL))
CALL(blocking, weft_blocking(nothing, NULL))
CALL(blocking_enter, weft_blocking_enter(); weft_blocking_leave())

CALL(context, weft_context *context; if (weft_context_new(NULL, &context, WEFT_FOREVER) == 0) weft_context_drop(context))
CALL(context_with, weft_context *context; if (weft_context_with(NULL, &key, NULL, &context) == 0) weft_context_drop(context))
CALL(context_cancel, weft_context_cancel(NULL, weft_own_runtime()))
CALL(scope, weft_scope scope; weft_scope_begin(&scope, WEFT_FOREVER); weft_scope_cancel(&scope); weft_scope_end(&scope))
CALL(spawn_many, weft_spawn_many(0, nothing, NULL, 0))
CALL(bundle, weft_bundle *bundle; if (weft_bundle_open(0, &bundle, WEFT_FOREVER) == 0) weft_bundle_close(bundle))

CALL(chan_send, int value = 0; weft_chan_send(channel, &value, 0))
CALL(chan_recv, int value; weft_chan_recv(channel, &value, 0))
CALL(chan_close, weft_chan_close(NULL))
CALL(chan_new, weft_chan *made; if (weft_chan_new(1, 1, &made) == 0) weft_chan_free(made))
CALL(mutex, weft_mutex_lock(&mutex, 0); weft_mutex_unlock(&mutex))
CALL(rwlock, weft_rwlock_read(&rwlock, 0); weft_rwlock_read_end(&rwlock))
CALL(sem_acquire, weft_sem_acquire(&sem, 1, 0))
CALL(sem_release, weft_sem_release(&sem, 0))
CALL(cond_signal, weft_cond_signal(&cond))
CALL(cond_broadcast, weft_cond_broadcast(&cond))
CALL(waitgroup_add, weft_waitgroup_add(&group, 0))
CALL(waitgroup_wait, weft_waitgroup_wait(&group, 0))
CALL(once_do, weft_once_do(&once, do_once, NULL, 0))
CALL(select, weft_case none[1] = {weft_case_recv(channel, NULL)}; weft_select(none, 1, 0))
CALL(ticker, weft_ticker *ticker; if (weft_ticker_new(NULL, 0, WEFT_SECOND, &ticker) == 0) weft_ticker_free(ticker))

CALL(fd_close, weft_fd_close(12345678))
CALL(fd_release, weft_fd_release(12345678))
CALL(fd_adopt, weft_fd_adopt(-1))
CALL(fd_read, char byte; weft_fd_read(12345678, &byte, 1, 0))
CALL(pipe, weft_fd pair[2]; if (weft_pipe(pair) == 0) weft_fd_close(pair[0]), weft_fd_close(pair[1]))
CALL(net_listen, weft_net_listen("nonsense", NULL))
CALL(net_shutdown, weft_net_shutdown(12345678, WEFT_SIDE_BOTH))
CALL(resolve, weft_addr list[1]; weft_resolve("127.0.0.1", "80", NULL, list, 1, WEFT_FOREVER))
CALL(file_stat, struct stat info; weft_file_stat("/", &info))
CALL(waitpid, weft_waitpid(-1, NULL, 0))
CALL(child_signal, weft_child_signal(-1, 0))
CALL(signal_unwatch, weft_signal_unwatch(-1))
CALL(complete, weft_complete((weft_completion){.pid = WEFT_NOBODY}, 0, NULL, 0))
CALL(super_stop, weft_super_stop(WEFT_NOBODY, 0))
CALL(super_dump, weft_super_dump(deaf, -1, 0))

static const struct {
    const char *name;
    void (*call)(void);
} calls[] = {
#define DOES(name)                                                                                                                         \
    { #name, call_##name }
    DOES(send),
    DOES(send_nobody),
    DOES(send_until),
    DOES(send_urgent),
    DOES(send_name),
    DOES(send_move),
    DOES(handoff),
    DOES(reply),
    DOES(reply_move),
    DOES(ask),
    DOES(forget),
    DOES(call),
    DOES(call_name),
    DOES(recv),
    DOES(recv_tag),
    DOES(recv_reply),
    DOES(group_send),
    DOES(group_send_any),
    DOES(group_members),
    DOES(group_join),
    DOES(group_leave),
    DOES(after),
    DOES(every),
    DOES(timer_cancel),
    DOES(after_and_cancel),
    DOES(spawn),
    DOES(spawn_joinable),
    DOES(spawn_copy),
    DOES(spawn_monitor),
    DOES(spawn_step),
    DOES(monitor),
    DOES(demonitor),
    DOES(link),
    DOES(unlink),
    DOES(trap_exit),
    DOES(kill),
    DOES(cancel),
    DOES(alive),
    DOES(join),
    DOES(detach),
    DOES(info),
    DOES(each_process),
    DOES(mailbox_usage),
    DOES(names),
    DOES(whereis),
    DOES(register),
    DOES(unregister),
    DOES(yield),
    DOES(checkpoint),
    DOES(sleep),
    DOES(cancelled),
    DOES(shield),
    DOES(pin),
    DOES(nopreempt),
    DOES(defer),
    DOES(call_big),
    DOES(stack_used),
    DOES(local_set),
    DOES(blocking),
    DOES(blocking_enter),
    DOES(context),
    DOES(context_with),
    DOES(context_cancel),
    DOES(scope),
    DOES(spawn_many),
    DOES(bundle),
    DOES(chan_send),
    DOES(chan_recv),
    DOES(chan_close),
    DOES(chan_new),
    DOES(mutex),
    DOES(rwlock),
    DOES(sem_acquire),
    DOES(sem_release),
    DOES(cond_signal),
    DOES(cond_broadcast),
    DOES(waitgroup_add),
    DOES(waitgroup_wait),
    DOES(once_do),
    DOES(select),
    DOES(ticker),
    DOES(fd_close),
    DOES(fd_release),
    DOES(fd_adopt),
    DOES(fd_read),
    DOES(pipe),
    DOES(net_listen),
    DOES(net_shutdown),
    DOES(resolve),
    DOES(file_stat),
    DOES(waitpid),
    DOES(child_signal),
    DOES(signal_unwatch),
    DOES(complete),
    DOES(super_stop),
    DOES(super_dump),
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* ---- condemned ----------------------------------------------------------------------------------------------------------------- */

enum manner { KILLED, KILLED_SHIELDED, LINKED, MANNERS };
struct victim {
    unsigned which;
    enum manner manner;
    unsigned made; /* calls, since it was condemned */
};
/* Also with a sanitizer, whose runtime has brought a C++ library in: this program is in C. */
enum { CALLS_MOST = 64 };

static void ends_with_9(void *unused) {
    (void)unused;
    weft_exit(9);
}
/* Condemns itself. By a link: shielded until its state says so, which may be after the other is gone. */
static void condemn(enum manner manner) {
    if (manner != LINKED) {
        EXPECT_EQ(weft_kill(weft_self()), 0);
        return;
    }
    weft_shield_begin();
    weft_spawn_link(ends_with_9, NULL);
    while (!state_condemned(&worker_here()->current->state))
        weft_yield();
    weft_shield_end();
}
static void counts_its_calls(void *argument) {
    struct victim *victim = argument;
    if (victim->manner == KILLED_SHIELDED) weft_shield_begin();
    condemn(victim->manner);
    for (; victim->made <= CALLS_MOST; victim->made++)
        calls[victim->which].call();
    weft_exit(1);
}

static void check_each(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < CALLS * MANNERS; i++) {
        static struct victim victim;
        int reason = 0;
        victim = (struct victim){.which = i % CALLS, .manner = i / CALLS};
        weft_pid pid = weft_spawn_joinable(counts_its_calls, &victim);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        if (victim.made > CALLS_MOST) fprintf(stderr, "it goes on calling: %s, manner %u\n", calls[victim.which].name, victim.manner);
        EXPECT(victim.made <= CALLS_MOST);
        EXPECT_EQ(reason, victim.manner == LINKED ? 9 : WEFT_EKILLED);
    }
}

static atom_u64 deaf_is_up; /* from then on no link ends it */
static void is_deaf(void *unused) {
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_trap_exit(true, 99), 0); /* one that is spared links itself to it, and ends then */
    EXPECT_EQ(weft_group_join("deaf ones"), 0);
    atom_store_rel(&deaf_is_up, 1);
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}
static void each_body(void) {
    weft_mailbox mailbox = {.messages = 100000, .when_full = WEFT_FULL_DROP_NEWEST};
    weft_stackful_options options = {.runtime = rt.runtime, .register_as = "deaf", .mailbox = &mailbox, .flags = WEFT_SPAWN_JOINABLE};
    atom_store_rlx(&deaf_is_up, 0);
    EXPECT_EQ(weft_spawn_with(is_deaf, NULL, &options, &deaf), 0);
    rt_wait(&deaf_is_up, 1);
    EXPECT_EQ(weft_chan_new(sizeof(int), 1, &channel), 0);
    EXPECT_EQ(run(check_each, NULL), 0);
    EXPECT_EQ(weft_kill(deaf), 0);
    EXPECT_EQ(run_join(deaf), WEFT_EKILLED);
    weft_chan_free(channel);
}
TEST(condemned_process_ends_whatever_it_calls) {
    static const char *const policies[] = {"ring", "deque", "line"};
    if (key == 0) EXPECT_EQ(weft_key_new(&(weft_key_options){.destroy = NULL}, &key), 0);
    for (unsigned i = 0; i < 3; i++) {
        rt_start(policies[i], 1 + i % 2);
        each_body();
        rt_stop();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
