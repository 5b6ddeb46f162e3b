/* Stopping: every process is asked once, those that end are waited for, those that do not are named, and nothing is left behind. */
#include "runtime_helpers.h"

#include <weft/weft.h>

static atom_u64 inits, closes, cancels, steps, refused;

static void forget(void) {
    atom_store_rlx(&inits, 0);
    atom_store_rlx(&closes, 0);
    atom_store_rlx(&cancels, 0);
    atom_store_rlx(&steps, 0);
    atom_store_rlx(&refused, 0);
}

static int count_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    atom_add_rlx(&inits, 1);
    return 0;
}
static void count_close(void *self) {
    (void)self;
    atom_add_rel(&closes, 1);
}
static bool told_to_end(const weft_event *events, size_t count) {
    bool told = false;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) {
            atom_add_rlx(&cancels, 1);
            told = true;
        }
    return told;
}

/* How the processes wait; each ends when it is cancelled, some a little later. */
struct waiter {
    enum weft_status how;
    uint32_t left; /* steps after the cancellation */
    bool told;
};
static int waiter_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    memcpy(&((struct waiter *)self)->how, input, sizeof(enum weft_status));
    ((struct waiter *)self)->left = 3;
    return count_init(self, context, method, NULL, size);
}
static int waiter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct waiter *waiter = self;
    atom_add_rlx(&steps, 1);
    if (told_to_end(events, count)) {
        EXPECT(!waiter->told);
        waiter->told = true;
    }
    weft_out_status(out, !waiter->told ? waiter->how : waiter->left-- > 0 ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior waiter_behavior = {
    .name = "waiter", .state_size = sizeof(struct waiter), .init = waiter_init, .step = waiter_step, .close = count_close};

static weft_pid wait_how(enum weft_status how) { return rt_spawn_with(&waiter_behavior, &how, sizeof how); }

static void all_are_asked(const char *policy, unsigned workers) {
    enum { EACH = 300 };
    forget();
    rt_start(policy, workers);
    for (unsigned i = 0; i < EACH; i++) {
        wait_how(WEFT_STEP_IDLE);
        wait_how(WEFT_STEP_BLOCKED);
        if (i % 100 == 0) wait_how(WEFT_STEP_CONTINUE);
    }
    rt_wait(&steps, 2 * EACH + 3);
    rt_stop();
    EXPECT_EQ(atom_load_rlx(&cancels), 2 * EACH + 3);
    EXPECT_EQ(atom_load_rlx(&closes), 2 * EACH + 3);
}
TEST(stop_asks_each_process_once) { rt_cases(all_are_asked); }

static void no_process(void) {}
TEST(stop_without_processes) { rt_each(no_process); }

/* Spawned and stopped at once: some have not run yet. */
static void at_once(const char *policy, unsigned workers) {
    for (unsigned round = 0; round < 20; round++) {
        forget();
        rt_start(policy, workers);
        for (unsigned i = 0; i < 200; i++)
            wait_how(i % 2 ? WEFT_STEP_IDLE : WEFT_STEP_CONTINUE);
        rt_stop();
        EXPECT_EQ(atom_load_rlx(&cancels), 200);
        EXPECT_EQ(atom_load_rlx(&closes), 200);
    }
}
TEST(stop_before_they_have_run) { rt_cases(at_once); }

/* ---- those that do not end --------------------------------------------------------------------------------------------- */

static int stubborn_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    told_to_end(events, count);
    atom_add_rlx(&steps, 1);
    weft_out_status(out, *(enum weft_status *)self);
    return 0;
}
static int stubborn_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    memcpy(self, input, sizeof(enum weft_status));
    return count_init(self, context, method, NULL, size);
}
static const weft_behavior stubborn = {
    .name = "stubborn", .state_size = sizeof(enum weft_status), .init = stubborn_init, .step = stubborn_step, .close = count_close};

static void will_not(const char *policy, unsigned workers, enum weft_status how, unsigned count) {
    weft_stop_report report;
    weft_pid pids[20];
    forget();
    rt_start(policy, workers);
    for (unsigned i = 0; i < count; i++)
        pids[i] = rt_spawn_with(&stubborn, &how, sizeof how);
    weft_pid willing = wait_how(WEFT_STEP_IDLE);
    rt_wait(&steps, count + 1);
    uint64_t before = weft_now();
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_now() + 300 * RT_MS), WEFT_ETIMEDOUT);
    EXPECT(weft_now() - before >= 300 * RT_MS);
    rt_watch_end();
    EXPECT_EQ(report.left, count);
    for (unsigned i = 0; i < 16; i++)
        if (i >= count) EXPECT_EQ(report.first[i], WEFT_NOBODY);
        else EXPECT(report.first[i] != WEFT_NOBODY && report.first[i] != willing);
    for (unsigned i = 0; i < count && i < 16; i++) {
        bool named = false;
        for (unsigned k = 0; k < count; k++)
            named = named || report.first[i] == pids[k];
        EXPECT(named);
    }
    EXPECT_EQ(atom_load_rlx(&closes), count + 1); /* they are closed all the same */
    EXPECT_EQ(atom_load_rlx(&cancels), count + 1);
    EXPECT_EQ(sys_scripted_live(), 0);
}
static void will_not_wait(const char *policy, unsigned workers) {
    will_not(policy, workers, WEFT_STEP_IDLE, 3);
    will_not(policy, workers, WEFT_STEP_BLOCKED, 20);
}
static void will_not_cease(const char *policy, unsigned workers) {
    will_not(policy, workers, WEFT_STEP_CONTINUE, 1);
    will_not(policy, workers, WEFT_STEP_CONTINUE, 20);
}
TEST(stop_names_those_that_wait_on) { rt_cases(will_not_wait); }
TEST(stop_names_those_that_run_on) { rt_cases(will_not_cease); }

TEST(stop_with_a_deadline_in_the_past) {
    enum weft_status how = WEFT_STEP_IDLE;
    weft_stop_report report;
    forget();
    rt_start("ring", 2);
    weft_pid pid = rt_spawn_with(&stubborn, &how, sizeof how);
    EXPECT_EQ(weft_stop(rt.runtime, &report, 0), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT(report.left == 1 && report.first[0] == pid);
    EXPECT_EQ(atom_load_rlx(&closes), 1);
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* Its mailbox is full, a command is outstanding, it has a large state and a context: all of it goes. */
static int hoarder_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    if (count == 0) EXPECT_EQ(weft_out_yield(out, 5, 1, "x", 1), 0);
    atom_add_rel(&steps, 1);
    return 0;
}
static int never(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)completion, (void)data, (void)size;
    return 0;
}
TEST(stop_frees_what_the_stubborn_hold) {
    static const weft_behavior hoarder = {.name = "hoarder", .state_size = 10000, .step = hoarder_step};
    weft_context *context;
    weft_pid pid;
    forget();
    rt_start("ring", 1);
    EXPECT_EQ(weft_register_command(rt.runtime, 5, never, NULL), 0);
    EXPECT_EQ(weft_context_new(NULL, &context, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_spawn_step(&hoarder, &(weft_spawn_options){.runtime = rt.runtime, .context = context}, &pid), 0);
    weft_context_drop(context);
    rt_wait(&steps, 1);
    static char large[100000];
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(weft_send(pid, 1, large, sizeof large), 0);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_now()), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* The process has been ended by force, and the thread that ran it is slow to leave: it is waited for, since it is in no process any
 * more. */
static struct sys slow_sys;
static int (*quick_wake)(atom_u32 *word, uint32_t count);
static atom_u64 slow_thread, slow_wakes;
static int slow_wake(atom_u32 *word, uint32_t count) {
    int error = quick_wake(word, count);
    if (atom_load_rlx(&slow_thread) == (uint64_t)gettid()) {
        atom_add_rlx(&slow_wakes, 1);
        rt_pause(500 * RT_MS);
    }
    return error;
}
static void slow_from_now_on(void *unused) {
    (void)unused;
    atom_store_rlx(&slow_thread, (uint64_t)gettid());
}
static void does_not_end(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_defer(slow_from_now_on, NULL), 0);
    for (;;)
        weft_yield();
}
static void slow_start(void) {
    sys_scripted_install();
    slow_sys = *sys;
    quick_wake = slow_sys.futex_wake;
    slow_sys.futex_wake = slow_wake;
    sys = &slow_sys;
    atom_store_rlx(&slow_thread, 0);
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1, .grace_ms = 20}, &rt.runtime), 0);
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
}
/* The last thing that the process's end does is to wake the thread that stops, if that sleeps; mostly it does. */
TEST(stop_waits_for_a_thread_that_is_slow_to_leave) {
    while (atom_load_rlx(&slow_wakes) == 0) { /* in vain, the time limit ends it */
        weft_pid pid;
        slow_start();
        EXPECT_EQ(weft_spawn_with(does_not_end, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
        rt_stop();
    }
}

/* ---- under load ------------------------------------------------------------------------------------------------------ */

/* Everybody spawns and sends; foreign threads too. */
static const weft_behavior breeder;
static int breeder_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool end = told_to_end(events, count);
    (void)self;
    weft_pid child;
    int error = atom_load_rlx(&inits) - atom_load_rlx(&closes) < 500 ? weft_spawn_step(&breeder, NULL, &child) : 1;
    int sent = error == 0 ? weft_send(child, 1, "hello", 6) : 0;
    EXPECT(sent == 0 || sent == WEFT_ENOPROC); /* it may have run and been cancelled already */
    if (error < 0) EXPECT_EQ(error, WEFT_ESTOPPING);
    if (error == WEFT_ESTOPPING) atom_add_rlx(&refused, 1);
    weft_out_status(out, end || (error == 1 && count > 0) ? WEFT_STEP_DONE : WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior breeder = {.name = "breeder", .state_size = 40, .init = count_init, .step = breeder_step, .close = count_close};

static void *spawner(void *unused) {
    weft_pid pid;
    for (int error = 0; error == 0;) {
        error = weft_spawn_step(&breeder, &(weft_spawn_options){.runtime = rt.runtime}, &pid);
        EXPECT(error == 0 || error == WEFT_ESTOPPING);
        if (error) break;
        int sent = weft_send(pid, 1, NULL, 0);
        EXPECT(sent == 0 || sent == WEFT_ENOPROC || sent == WEFT_EFOREIGN);
        if (atom_load_rlx(&inits) - atom_load_rlx(&closes) > 1000) usleep(50);
    }
    return unused;
}

/* Ends when the foreign threads have, so that the runtime is there as long as they use it. */
static atom_bool foreigners_gone;
static int keeper_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, atom_load_acq(&foreigners_gone) ? WEFT_STEP_DONE : WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior keeper = {.name = "keeper", .step = keeper_step};

static void *stopper(void *unused) {
    weft_stop_report report;
    EXPECT_EQ(weft_stop(rt.runtime, &report, WEFT_FOREVER), 0);
    EXPECT_EQ(report.left, 0);
    return unused;
}

static void under_load(const char *policy, unsigned workers) {
    for (unsigned round = 0; round < 10 * test_scale(); round++) {
        pthread_t threads[3], stopping;
        forget();
        atom_store_rlx(&foreigners_gone, false);
        rt_start(policy, workers);
        rt_spawn(&keeper);
        for (unsigned i = 0; i < 3; i++)
            EXPECT_EQ(pthread_create(&threads[i], NULL, spawner, NULL), 0);
        rt_wait(&inits, 300);
        EXPECT_EQ(pthread_create(&stopping, NULL, stopper, NULL), 0);
        for (unsigned i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        atom_store_rel(&foreigners_gone, true);
        pthread_join(stopping, NULL);
        rt_watch_end();
        EXPECT_EQ(atom_load_rlx(&inits), atom_load_rlx(&closes));
        EXPECT_EQ(sys_scripted_live(), 0);
    }
}
TEST_WITHIN(stop_under_load, 120) { rt_cases(under_load); }

int main(int argc, char **argv) { return test_main(argc, argv); }
