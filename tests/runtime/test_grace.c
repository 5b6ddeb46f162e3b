/* The end of programs and runtimes whose processes do not end when they are asked to: those that call weft are ended, with their cleanups;
 * those that cannot be ended are named, and the stop does not wait for them. */
#include "victim.h"

#include <weft/blocking.h>
#include <weft/channel.h>
#include <weft/sync.h>

static struct child child;
static int (*app)(int argc, char **argv);
static char *arguments[] = {"program", NULL};
static void main_body(void) {
    setenv("WEFT_GRACE_MS", "100", 1);
    _exit(weft_main(1, arguments, app));
}
static void run(int (*what)(int, char **)) {
    app = what;
    child_run(&child, main_body);
}
/* The same where the end is waited for as long as it takes. */
static void app_process(void *status) { *(int *)status = app(1, arguments); }
static void patient_body(void) {
    int status = -1;
    rt_start_with(&(weft_config){.workers = 2, .grace_ms = 50});
    EXPECT_EQ(victim_reason(victim_joinable(app_process, &status, 0, "main")), 0);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    _exit(status);
}
static void run_patiently(int (*what)(int, char **)) {
    app = what;
    child_run(&child, patient_body);
}

static void says(void *text) { dprintf(STDERR_FILENO, "%s\n", (const char *)text); }
static atom_u64 begun;
static volatile bool for_ever = true;

/* ---- those that call weft and do not look at the answer ----------------------------------------------------------------------- */

static weft_chan *channel;
static void calls_recv(void) {
    weft_msg *message;
    (void)!weft_recv(&message, WEFT_FOREVER);
}
static void calls_recv_tag(void) {
    weft_msg *message;
    (void)!weft_recv_tag(7, &message, WEFT_FOREVER);
}
static weft_mutex mutex = WEFT_MUTEX_INIT;
static weft_sem sem = WEFT_SEM_INIT(0);
static void calls_mutex(void) { (void)!weft_mutex_lock(&mutex, WEFT_FOREVER); }
static void calls_sem(void) { (void)!weft_sem_acquire(&sem, 1, WEFT_FOREVER); }
static void calls_call(void) {
    weft_msg *reply;
    (void)!weft_call(weft_self() + 1, 7, NULL, 0, &reply, WEFT_FOREVER); /* there is no such process */
}
static void calls_sleep(void) { weft_sleep(WEFT_SECOND); }
static void calls_yield(void) { weft_yield(); }
static void calls_poll(void) { weft_checkpoint(); }
static void calls_chan(void) {
    int got;
    (void)!weft_chan_recv(channel, &got, WEFT_FOREVER);
}
static void calls_handoff(void) { weft_handoff(weft_self() + 1, 7, NULL, 0); }
static void nothing(void *arg) { (void)arg; }
static void calls_blocking(void) { (void)!weft_blocking(nothing, NULL); }
static void calls_once_and_sleeps(void);

static void (*const calls[])(void) = {calls_recv,     calls_recv_tag, calls_sleep,           calls_yield, calls_poll, calls_chan,
                                      calls_blocking, calls_handoff,  calls_once_and_sleeps, calls_mutex, calls_sem,  calls_call};

static void calls_for_ever(void *call) {
    weft_defer(says, "cleaned up");
    atom_add_rel(&begun, 1);
    for (;;)
        (*(void (*const *)(void))call)();
}
static weft_once once = WEFT_ONCE_INIT;
static int sleeps_in_there(void *arg) {
    (void)arg;
    while (for_ever)
        weft_sleep(WEFT_SECOND);
    return 0;
}
static void calls_once_and_sleeps(void) { (void)!weft_once_do(&once, sleeps_in_there, NULL, WEFT_FOREVER); }

/* One after the other, so that it can be told which is not heard of. */
static unsigned call_number;
static int leaves_deaf(int argc, char **argv) {
    (void)argc, (void)argv;
    EXPECT_EQ(weft_chan_new(sizeof(int), 0, &channel), 0);
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0); /* and never unlocked */
    for (unsigned i = 0; i < 3; i++)
        EXPECT(weft_spawn(calls_for_ever, (void *)(uintptr_t)&calls[call_number]) != WEFT_NOBODY);
    while (atom_load_acq(&begun) < 3)
        weft_sleep(WEFT_MILLISECOND);
    return 5;
}
static unsigned said_times(const char *text) {
    unsigned times = 0;
    for (const char *at = child.said; (at = strstr(at, text)) != NULL; at++)
        times++;
    return times;
}
TEST_WITHIN(ending_of_those_that_do_not_look, 120) {
    for (call_number = 0; call_number < sizeof calls / sizeof calls[0]; call_number++) {
        printf("call %u\n", call_number);
        run_patiently(leaves_deaf);
        EXPECT_EXIT(&child, 5);
        EXPECT_EQ(said_times("cleaned up"), 3);
    }
}
TEST(ending_of_the_program) {
    call_number = 0;
    run(leaves_deaf);
    EXPECT_EXIT(&child, 5);
}

/* Their cleanups may wait; a scope's children are ended first. */
static void waits_and_says(void *text) {
    EXPECT_EQ(weft_sleep(20 * WEFT_MILLISECOND), 0);
    says(text);
}
static void child_of_scope(void *arg) {
    weft_defer(waits_and_says, "the child");
    calls_for_ever(arg);
}
static void owner_of_scope(void *arg) {
    weft_scope scope;
    weft_defer(waits_and_says, "the owner");
    weft_scope_begin(&scope, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn(&scope, child_of_scope, arg), 0);
    calls_for_ever(arg);
}
static int leaves_a_scope(int argc, char **argv) {
    (void)argc, (void)argv;
    EXPECT(weft_spawn(owner_of_scope, (void *)(uintptr_t)&calls[0]) != WEFT_NOBODY);
    while (atom_load_acq(&begun) < 2)
        weft_sleep(WEFT_MILLISECOND);
    return 6;
}
TEST(ending_runs_cleanups_inside_out) {
    run_patiently(leaves_a_scope);
    EXPECT_EXIT(&child, 6);
    const char *first = strstr(child.said, "the child"), *then = strstr(child.said, "the owner");
    EXPECT(first && then && first < then);
    EXPECT_EQ(said_times("cleaned up"), 2);
}

/* The grace period is theirs: a process that looks in time is not ended. A shield lasts longer. */
static void takes_its_time(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), WEFT_ECANCELED);
    weft_shield_begin();
    weft_sleep(300 * WEFT_MILLISECOND); /* three times the grace period */
    weft_shield_end();
    says("ended by itself");
}
static int leaves_slow(int argc, char **argv) {
    (void)argc, (void)argv;
    EXPECT(weft_spawn(takes_its_time, NULL) != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    return 7;
}
TEST(ending_lets_shielded_ones_finish) {
    run_patiently(leaves_slow);
    EXPECT_EXIT(&child, 7);
    EXPECT_SAID(&child, "ended by itself");
}

/* A thread that waits for such a process hears of its end. */
static void force_body(void) {
    rt_start_with(&(weft_config){.workers = 2, .grace_ms = 50});
    weft_pid pid = victim_joinable(calls_for_ever, (void *)(uintptr_t)&calls[0], 0, "deaf");
    rt_wait(&begun, 1);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
    (void)pid;
}
TEST(ending_by_force_leaves_nothing_behind) {
    child_run(&child, force_body);
    EXPECT_EXIT(&child, 0);
    EXPECT_SAID(&child, "cleaned up");
}
static void past_body(void) {
    rt_start_with(&(weft_config){.workers = 2});
    victim_spawn(calls_for_ever, (void *)(uintptr_t)&calls[0], 0, "deaf");
    rt_wait(&begun, 1);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, 0), 0); /* the deadline is earlier than the grace period would be */
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
}
TEST(ending_at_a_deadline_that_has_passed) {
    child_run(&child, past_body);
    EXPECT_EXIT(&child, 0);
    EXPECT_SAID(&child, "cleaned up");
}

/* ---- those that cannot be ended ---------------------------------------------------------------------------------------------------- */

static int ends[2];
static void reads(void *arg) {
    char got;
    (void)arg;
    atom_add_rel(&begun, 1);
    while (for_ever)
        if (read(ends[0], &got, 1) == 1) return;
}
static void computes(void *arg) {
    (void)arg;
    atom_add_rel(&begun, 1);
    while (for_ever) {}
}
static void blocks(void *arg) { (void)!weft_blocking(reads, arg); }
static int computes_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    computes(NULL);
    return 0;
}
static const weft_behavior computing_step = {.name = "a step that computes", .step = computes_step};
static void pinned_reads(void *arg) {
    weft_pin_begin();
    reads(arg);
}
static weft_entry stuck;
static int leaves_stuck(int argc, char **argv) {
    weft_pid pid;
    (void)argc, (void)argv;
    EXPECT_EQ(pipe(ends), 0);
    if (stuck) EXPECT_EQ(weft_spawn_with(stuck, NULL, &(weft_stackful_options){.name = "stuck one"}, &pid), 0);
    else EXPECT_EQ(weft_spawn_step(&computing_step, NULL, &pid), 0);
    while (atom_load_acq(&begun) < 1)
        weft_sleep(WEFT_MILLISECOND);
    return 8;
}
static void expect_stuck(weft_entry entry, const char *where) {
    stuck = entry;
    run(leaves_stuck);
    EXPECT_EXIT(&child, 8);
    EXPECT_SAID(&child, "weft: 1 process was asked to end ");
    EXPECT_SAID(&child, entry ? "(stuck one, " : "(a step that computes)");
    EXPECT_SAID(&child, where);
    EXPECT_SAID(&child, " s"); /* since when */
}
TEST_WITHIN(ending_names_those_that_cannot_be_ended, 120) {
    expect_stuck(reads, "in system call");
    expect_stuck(computes, "on worker");
    expect_stuck(blocks, "in a blocking call (weft_blocking), for ");
    expect_stuck(pinned_reads, "in system call");
    expect_stuck(NULL, "on worker");
}

/* weft_stop returns; what such a process has stays; when it comes back, its thread ends. */
static atom_u64 came_back;
static void reads_and_goes_on(void *arg) {
    char *mine = malloc(1000), got;
    memset(mine, 0x5a, 1000);
    atom_add_rel(&begun, 1);
    EXPECT_EQ(read(ends[0], &got, 1), 1);
    for (unsigned i = 0; i < 1000; i++)
        EXPECT(mine[i] == 0x5a);
    free(mine);
    EXPECT_EQ(weft_send(*(weft_pid *)arg, 7, "x", 1), WEFT_ENOPROC);
    atom_add_rel(&came_back, 1);
    if (got == 'w') weft_sleep(WEFT_SECOND); /* never returns */
    if (got == 'w') abort();
}
static void comes_back(const char *policy, unsigned workers) {
    static const char how[] = "rw"; /* returns, waits */
    for (unsigned i = 0; i < 2; i++) {
        weft_stop_report report;
        weft_pid waiter;
        atom_store_rlx(&begun, 0);
        atom_store_rlx(&came_back, 0);
        EXPECT_EQ(pipe(ends), 0);
        weft_runtime *runtime;
        EXPECT_EQ(weft_start(&(weft_config){.policy = policy, .workers = workers, .grace_ms = 50}, &runtime), 0);
        rt.runtime = runtime;
        waiter = victim_spawn(calls_for_ever, (void *)(uintptr_t)&calls[0], 0, "waiter");
        weft_pid pid = victim_joinable(reads_and_goes_on, &waiter, 0, "reader");
        rt_wait(&begun, 2);
        EXPECT_EQ(weft_stop(runtime, &report, weft_now() + 200 * RT_MS), WEFT_ETIMEDOUT);
        EXPECT(report.left >= 1 && (report.first[0] == pid || report.first[1] == pid)); /* on a slow machine the other too */
        EXPECT(!weft_alive(waiter));
        EXPECT_EQ(write(ends[1], &how[i], 1), 1);
        rt_wait(&came_back, 1);
        rt_pause(20 * RT_MS);
        close(ends[0]);
        close(ends[1]);
    }
}
static void comes_back_body(void) {
    rt_cases(comes_back);
    _exit(0); /* their memory has stayed */
}
TEST_WITHIN(ending_leaves_what_they_hold, 120) {
    child_run(&child, comes_back_body);
    EXPECT_EXIT(&child, 0);
}

/* Without a deadline they are named, and waited for. */
static void *writes_later(void *unused) {
    rt_pause(1500 * RT_MS);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    return unused;
}
static void no_deadline_body(void) {
    pthread_t thread;
    EXPECT_EQ(pipe(ends), 0);
    rt_start_with(&(weft_config){.workers = 2, .grace_ms = 50});
    victim_spawn(reads, NULL, 0, "reader");
    rt_wait(&begun, 1);
    EXPECT_EQ(pthread_create(&thread, NULL, writes_later, NULL), 0);
    rt_stop();
    pthread_join(thread, NULL);
}
TEST(ending_without_a_deadline) {
    child_run(&child, no_deadline_body);
    EXPECT_EXIT(&child, 0);
    EXPECT_SAID(&child, "weft: 1 process was asked to end ");
    EXPECT_SAID(&child, "(reader, ");
}

TEST(ending_grace_is_looked_at) {
    weft_runtime *runtime;
    setenv("WEFT_GRACE_MS", "soon", 1);
    rt_stderr_begin();
    EXPECT_EQ(weft_start(NULL, &runtime), WEFT_EINVAL);
    EXPECT(strstr(rt_stderr_end(), "WEFT_GRACE_MS is 'soon'; it must be a number from 1 to 86400000"));
}

/* ---- threads that end in the middle -------------------------------------------------------------------------------------------------- */

static void exits_thread(void *arg) {
    (void)arg;
    pthread_exit(NULL);
}
static void exits_in_a_call(void *arg) { (void)!weft_blocking(exits_thread, arg); }
static int exits_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    pthread_exit(NULL);
}
static const weft_behavior exiting_step = {.name = "a step that exits", .step = exits_step};
static void exit_body(void) {
    rt_start("ring", 2);
    victim_reason(victim_joinable(stuck, NULL, 0, "leaver"));
}
static void exit_step_body(void) {
    rt_start("ring", 2);
    rt_spawn(&exiting_step);
    rt_wait_until_none_lives();
}
TEST(ending_of_a_thread_in_a_process) {
    /* The sanitizers end the program in their own way when a thread leaves a stack that is not its own. */
    stuck = exits_thread;
    if (!ANNOTATE_THREAD) EXPECT_ABORT(exit_body, "pthread_exit", "weft_exit");
    stuck = exits_in_a_call;
    if (!SANITIZED) EXPECT_ABORT(exit_body, "pthread_exit", "weft_exit");
    EXPECT_ABORT(exit_step_body, "pthread_exit", "weft_exit");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
