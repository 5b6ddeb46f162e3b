/* Killing: whatever a process does, shielded or not; what it has deferred runs; the reason is told. */
#include "mailbox_helpers.h"
#include "sanitized.h"

#include <weft/life.h>

static atom_u64 entered, deferred;
static void begin(void) {
    atom_store_rlx(&entered, 0);
    atom_store_rlx(&deferred, 0);
}
static void count_deferred(void *unused) {
    (void)unused;
    weft_sleep(1000); /* waits, although its process was killed */
    atom_add_rel(&deferred, 1);
}
static void enter(void) {
    EXPECT_EQ(weft_defer(count_deferred, NULL), 0);
    atom_add_rel(&entered, 1);
}

/* ---- what it does ---------------------------------------------------------------------------------------------------------- */

static weft_mutex mutex, other_mutex;
static weft_cond cond;
static weft_sem sem;
static weft_chan *channel;
static weft_pid deaf;

static int sleeps(void) { return weft_sleep(WEFT_FOREVER); }
static int receives(void) {
    weft_msg *message;
    return weft_recv(&message, WEFT_FOREVER);
}
static int receives_until(void) {
    weft_msg *message;
    return weft_recv(&message, weft_in(3600 * WEFT_SECOND));
}
static int selects_a_tag(void) {
    weft_msg *message;
    return weft_recv_tag(99, &message, WEFT_FOREVER);
}
static int calls(void) {
    weft_msg *reply;
    return weft_call(deaf, 1, NULL, 0, &reply, WEFT_FOREVER);
}
static int joins_one(void) { return weft_join(deaf, NULL, WEFT_FOREVER); }
static int locks(void) { return weft_mutex_lock(&mutex, WEFT_FOREVER); }
static int waits_sem(void) { return weft_sem_acquire(&sem, 1, WEFT_FOREVER); }
static int waits_cond(void) {
    EXPECT_EQ(weft_mutex_lock(&other_mutex, WEFT_FOREVER), 0);
    int error = weft_cond_wait(&cond, &other_mutex, WEFT_FOREVER);
    weft_mutex_unlock(&other_mutex);
    return error;
}
static int takes_from_channel(void) {
    int value;
    return weft_chan_recv(channel, &value, WEFT_FOREVER);
}
static int yields(void) {
    weft_yield();
    return WEFT_ECANCELED;
}
static int checks(void) {
    weft_checkpoint();
    return WEFT_ECANCELED;
}
static int sends(void) {
    weft_send(deaf, 5, NULL, 0);
    return WEFT_ECANCELED;
}
static int sends_to_itself(void) { /* never has to wait */
    weft_msg *message;
    weft_send(weft_self(), 1, NULL, 0);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    return WEFT_ECANCELED;
}
static int polls(void) {
    weft_msg *message;
    int error = weft_recv(&message, 0);
    EXPECT(error == WEFT_ETIMEDOUT || error == WEFT_ECANCELED);
    return WEFT_ECANCELED;
}
static int (*const doings[])(void) = {sleeps, receives, receives_until, selects_a_tag,   calls, joins_one,          locks,     waits_sem,
                                      yields, checks,   sends,          sends_to_itself, polls, takes_from_channel, waits_cond};
enum { DOINGS = sizeof doings / sizeof doings[0] };

struct doing {
    int (*call)(void);
    bool shielded;
};
static void does(void *arg) {
    struct doing *doing = arg;
    enter();
    if (doing->shielded) weft_shield_begin();
    for (;;)
        EXPECT_EQ(doing->call(), WEFT_ECANCELED);
}

static void kills_each(void *unused) {
    static struct doing all[2 * DOINGS];
    weft_pid pids[2 * DOINGS];
    (void)unused;
    begin();
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
    for (unsigned i = 0; i < 2 * DOINGS; i++) {
        all[i] = (struct doing){doings[i % DOINGS], i >= DOINGS};
        pids[i] = weft_spawn_joinable(does, &all[i]);
    }
    while (atom_load_acq(&entered) < 2 * DOINGS)
        weft_yield();
    run_others();
    for (unsigned i = 0; i < 2 * DOINGS; i++) {
        int reason = 0;
        EXPECT_EQ(weft_kill(pids[i]), 0);
        EXPECT_EQ(weft_join(pids[i], &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, WEFT_EKILLED);
        EXPECT_EQ(weft_kill(pids[i]), WEFT_ENOPROC);
    }
    EXPECT_EQ(atom_load_acq(&deferred), 2 * DOINGS);
    weft_mutex_unlock(&mutex);
}
static void kills_each_body(void) {
    deaf = run_spawn(sleeper, NULL);
    EXPECT_EQ(weft_chan_new(sizeof(int), 1, &channel), 0);
    EXPECT_EQ(run(kills_each, NULL), 0);
    weft_cancel(deaf);
    weft_chan_free(channel);
}
TEST(kill_whatever_it_does) { rt_each(kills_each_body); }

/* ---- when -------------------------------------------------------------------------------------------------------------------- */

static void never(void *ran) { atom_store_rel((atom_u64 *)ran, 1); }
static void kills_newborn(void *unused) {
    static atom_u64 ran;
    (void)unused;
    for (unsigned i = 0; i < 20; i++) {
        int reason;
        weft_stackful_options options = {.flags = WEFT_SPAWN_JOINABLE | (i % 2 ? WEFT_SPAWN_STACK_NOW : 0)};
        weft_pid pid;
        EXPECT_EQ(weft_spawn_with(never, &ran, &options, &pid), 0);
        EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, WEFT_EKILLED);
    }
    EXPECT_EQ(atom_load_acq(&ran), 0);
}
TEST(kill_before_it_has_run) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (unsigned i = 0; i < 3; i++) {
        rt_start(policies[i], 1);
        EXPECT_EQ(run(kills_newborn, NULL), 0);
        rt_stop();
    }
}

/* In its cleanups it is not disturbed. */
static atom_u64 in_cleanup, may_end;
static void long_cleanup(void *unused) {
    (void)unused;
    atom_store_rel(&in_cleanup, 1);
    while (!atom_load_acq(&may_end))
        EXPECT_EQ(weft_sleep(WEFT_MICROSECOND), 0);
    weft_yield();
    EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
}
static void cleans_up(void *code) {
    EXPECT_EQ(weft_defer(count_deferred, NULL), 0);
    EXPECT_EQ(weft_defer(long_cleanup, NULL), 0);
    weft_exit((int)(intptr_t)code);
}
static void cleanup_body(void) {
    for (intptr_t code = 0; code < 2; code++) {
        int reason;
        begin();
        atom_store_rel(&in_cleanup, 0), atom_store_rel(&may_end, 0);
        weft_pid pid = run_flags(cleans_up, (void *)code, WEFT_SPAWN_JOINABLE);
        rt_wait(&in_cleanup, 1);
        EXPECT_EQ(weft_kill(pid), 0);
        atom_store_rel(&may_end, 1);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, code ? code : WEFT_EKILLED); /* its own error, if it had one */
        EXPECT_EQ(atom_load_acq(&deferred), 1);
    }
}
TEST(kill_in_its_cleanups) { rt_each(cleanup_body); }

/* A process that returns normally when its wait is ended was killed all the same. */
static void returns_when_cancelled(void *unused) {
    (void)unused;
    enter();
    EXPECT_EQ(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}
static void exits_when_cancelled(void *code) {
    enter();
    EXPECT_EQ(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
    weft_exit((int)(intptr_t)code);
}
static void returning_body(void) {
    int reason;
    begin();
    weft_pid pid = run_flags(returns_when_cancelled, NULL, WEFT_SPAWN_JOINABLE);
    rt_wait(&entered, 1);
    EXPECT_EQ(weft_kill(pid), 0);
    EXPECT_EQ(weft_kill(pid), weft_alive(pid) ? 0 : WEFT_ENOPROC); /* again */
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, WEFT_EKILLED);
    pid = run_flags(exits_when_cancelled, (void *)9, WEFT_SPAWN_JOINABLE);
    rt_wait(&entered, 2);
    EXPECT_EQ(weft_kill(pid), 0);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, WEFT_EKILLED); /* and not 9 */
    EXPECT_EQ(atom_load_acq(&deferred), 2);
}
TEST(kill_is_the_reason_of_a_process_that_returns) { rt_each(returning_body); }

/* weft/life.h. Also with a sanitizer, whose runtime has brought a C++ library in: this program is in C. */
static void sleeps_again(void *returned) {
    enter();
    for (;; ++*(unsigned *)returned)
        EXPECT_EQ(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}
static void next_call_body(void) {
    unsigned returned = 0;
    begin();
    weft_pid pid = run_flags(sleeps_again, &returned, WEFT_SPAWN_JOINABLE);
    rt_wait(&entered, 1);
    EXPECT_EQ(weft_kill(pid), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    EXPECT(returned <= 1); /* the one in which it was killed */
}
TEST(kill_ends_one_that_waits_at_its_next_call) { rt_each(next_call_body); }

/* Whatever it makes of the WEFT_ECANCELED that its wait was ended with. */
static void exits_with_the_error(void *unused) {
    (void)unused;
    weft_exit(weft_sleep(3600 * WEFT_SECOND));
}
static void exits_with_bytes(void *unused) {
    weft_sem sem = WEFT_SEM_INIT(0);
    (void)unused;
    int error = weft_sem_acquire(&sem, 1, WEFT_FOREVER);
    weft_exit_with(-5, &error, sizeof error);
}
static void exiting_body(void) {
    for (unsigned i = 0; i < 2; i++) {
        int reason = 0;
        weft_pid pid = run_flags(i ? exits_with_bytes : exits_with_the_error, NULL, WEFT_SPAWN_JOINABLE);
        usleep(1000);
        EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, WEFT_EKILLED);
    }
}
TEST(kill_is_the_reason_of_a_process_that_exits) { rt_each(exiting_body); }

/* So it is if what the process has deferred exits. One that was ending by itself before has its own reason. */
static void exits_with_5(void *unused) {
    (void)unused;
    weft_exit(5);
}
static void defers_an_exit(void *waits) {
    EXPECT_EQ(weft_defer(exits_with_5, NULL), 0);
    if (waits) weft_sleep(WEFT_FOREVER);
    weft_exit(6);
}
static void deferring(void *unused) {
    int reason;
    (void)unused;
    for (unsigned i = 0; i < 20; i++) {
        weft_pid pid = weft_spawn_joinable(defers_an_exit, i % 2 ? &reason : NULL);
        weft_process_info info;
        while (i % 2 && weft_info(pid, &info) == 0 && info.state != WEFT_STATE_WAITING)
            weft_yield();
        if (i % 2) EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, i % 2 ? WEFT_EKILLED : 5);
    }
}
static void deferring_body(void) { EXPECT_EQ(run(deferring, NULL), 0); }
TEST(kill_is_the_reason_of_a_process_whose_cleanup_exits) { rt_each(deferring_body); }

/* ---- step processes -------------------------------------------------------------------------------------------------------------- */

static atom_u64 steps, closed;
static int stubborn_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    atom_add_rel(&steps, 1);
    weft_out_status(out, WEFT_STEP_IDLE);
    return 0;
}
static int busy_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    atom_add_rel(&steps, 1);
    weft_out_status(out, WEFT_STEP_CONTINUE);
    return 0;
}
static void count_closed(void *self) {
    (void)self;
    atom_add_rel(&closed, 1);
}
static const weft_behavior stubborn = {.name = "stubborn", .step = stubborn_step, .close = count_closed};
static const weft_behavior busy = {.name = "busy", .step = busy_step, .close = count_closed};
static void kills_steps(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 20; i++) {
        weft_spawn_options options = {.flags = WEFT_SPAWN_JOINABLE};
        uint64_t before = atom_load_acq(&steps), closings = atom_load_acq(&closed);
        weft_pid pid;
        int reason;
        EXPECT_EQ(weft_spawn_step(i % 2 ? &stubborn : &busy, &options, &pid), 0);
        while (i % 4 < 2 && atom_load_acq(&steps) == before)
            weft_yield();
        if (i % 8 < 4) EXPECT_EQ(weft_cancel(pid), 0); /* first, and in vain */
        EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, WEFT_EKILLED);
        EXPECT_EQ(atom_load_acq(&closed), closings + 1);
    }
}
static void kills_steps_body(void) { EXPECT_EQ(run(kills_steps, NULL), 0); }
TEST(kill_of_step_processes) { rt_each(kills_steps_body); }

/* ---- scopes ------------------------------------------------------------------------------------------------------------------------ */

static void deaf_child(void *unused) {
    (void)unused;
    weft_shield_begin();
    enter();
    for (;;)
        EXPECT_EQ(weft_sleep(WEFT_FOREVER), WEFT_ECANCELED);
}
/* `sleeps`: it is killed outside of weft_scope_end. */
static void has_children(void *sleeps) {
    weft_scope scope;
    EXPECT_EQ(weft_defer(count_deferred, NULL), 0);
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(weft_scope_spawn(&scope, deaf_child, NULL), 0);
    atom_add_rel(&entered, 1);
    while (sleeps)
        weft_sleep(WEFT_FOREVER);
    weft_scope_end(&scope);
    expect_the_end();
}
static void scope_body(void) {
    for (uintptr_t i = 0; i < 4; i++) {
        int reason;
        begin();
        weft_pid pid = run_flags(has_children, (void *)(i % 2), WEFT_SPAWN_JOINABLE);
        rt_wait(&entered, 6);
        if (i >= 2) EXPECT_EQ(weft_cancel(pid), 0);
        EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, WEFT_EKILLED);
        EXPECT_EQ(atom_load_acq(&deferred), 6);
    }
}
TEST(kill_of_a_scopes_owner_kills_its_children) { rt_each(scope_body); }

/* ---- calls that block, loops ---------------------------------------------------------------------------------------------------------- */

static atom_bool kill_sent;
static void sleeps_on_its_thread(void *unused) {
    (void)unused;
    while (!atom_load_acq(&kill_sent))
        rt_pause(RT_MS);
}
static void blocks(void *unused) {
    (void)unused;
    enter();
    EXPECT_EQ(weft_blocking(sleeps_on_its_thread, NULL), WEFT_ECANCELED);
    expect_the_end();
}
static void blocks_body(void) {
    int reason;
    begin();
    atom_store_rlx(&kill_sent, false);
    weft_pid pid = run_flags(blocks, NULL, WEFT_SPAWN_JOINABLE);
    rt_wait(&entered, 1);
    EXPECT_EQ(weft_kill(pid), 0);
    atom_store_rel(&kill_sent, true);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, WEFT_EKILLED);
    EXPECT_EQ(atom_load_acq(&deferred), 1);
}
TEST(kill_in_a_blocking_call) { rt_each(blocks_body); }

static void loops(void *unused) {
    (void)unused;
    enter();
    for (volatile unsigned i = 0;; i++)
        ;
}
TEST(kill_in_an_endless_loop) {
    if (ANNOTATE_THREAD) return; /* that sanitizer delays signals, so nothing can be interrupted */
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .seed = 1});
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE | WEFT_SPAWN_PREEMPT};
    begin();
    weft_pid pids[3];
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_spawn_with(loops, NULL, &options, &pids[i]), 0);
    rt_wait(&entered, 3);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_kill(pids[i]), 0);
    for (unsigned i = 0; i < 3; i++) {
        int reason;
        EXPECT_EQ(weft_join(pids[i], &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, WEFT_EKILLED);
    }
    EXPECT_EQ(atom_load_acq(&deferred), 3);
    rt_stop();
}

/* It cannot be ended at first, for longer than others are pressed to end, and loops then. Another that is killed with it ends at once. */
static void sleeps_and_loops(void *unused) {
    (void)unused;
    enter();
    rt_pause(1300 * RT_MS);
    for (volatile unsigned i = 0;; i++)
        ;
}
TEST(kill_in_an_endless_loop_that_begins_late) {
    if (ANNOTATE_THREAD) return; /* as above */
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .seed = 1});
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE | WEFT_SPAWN_PREEMPT};
    begin();
    weft_pid pids[2];
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(weft_spawn_with(i ? loops : sleeps_and_loops, NULL, &options, &pids[i]), 0);
    rt_wait(&entered, 2);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(weft_kill(pids[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(run_join(pids[i]), WEFT_EKILLED);
    rt_stop();
}

/* By a process of the only worker, which then waits: the loop was interrupted for it, and goes on alone. */
static void kills_and_waits(void *loop) {
    int reason = 0;
    EXPECT_EQ(weft_kill(*(weft_pid *)loop), 0);
    EXPECT_EQ(weft_join(*(weft_pid *)loop, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, WEFT_EKILLED);
}
TEST(kill_in_an_endless_loop_of_the_only_worker) {
    if (ANNOTATE_THREAD) return; /* as above */
    for (unsigned round = 0; round < 5; round++) {
        rt_start_with(&(weft_config){.policy = "ring", .workers = 1, .seed = 1, .max_extra = 1});
        weft_pid pid;
        begin();
        EXPECT_EQ(weft_spawn_with(loops, NULL,
                                  &(weft_stackful_options){.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE | WEFT_SPAWN_PREEMPT}, &pid),
                  0);
        rt_wait(&entered, 1);
        EXPECT_EQ(run(kills_and_waits, &pid), 0);
        rt_stop();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
