/* Faults that are contained: the process that caused it ends with WEFT_EFAULTED, and no other is harmed. Those that cannot be contained are in
 * test_contain_not.c. */
#include "contain_helpers.h"

static atom_u64 deferred_calls;

static void with_containment(void) { setenv("WEFT_CONTAIN_FAULTS", "1", 1); }

static void expect_fault(weft_pid pid, int number, const void *address) {
    weft_reason reason;
    EXPECT_EQ(weft_join_reason(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason.code, WEFT_EFAULTED);
    EXPECT_EQ(reason.signal, number);
    if (address) EXPECT(reason.address == address);
    EXPECT(weft_reason_kind(reason.code) == WEFT_REASON_FAULT);
    weft_reason_free(&reason);
}

static void prepare(void) {
    with_containment();
    bus_prepare();
    data_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void each_kind(void) {
    reports_begin();
    for (unsigned i = 0; i < 3 * KINDS; i++) {
        weft_pid pid = victim_joinable(kinds[i % KINDS].entry, NULL, 0, "victim");
        expect_fault(pid, kinds[i % KINDS].number, (void *)kinds[i % KINDS].address);
        EXPECT(!weft_alive(pid));
        char text[64];
        snprintf(text, sizeof text, "process %016lx (victim) has a fault: ", (unsigned long)pid);
        EXPECT_EQ(reports_with(text), 1);
        EXPECT(reports_with(kinds[i % KINDS].said) > 0);
    }
    EXPECT_EQ(reports_with("the process ends with WEFT_EFAULTED"), 3 * KINDS);
    EXPECT(reports_with("  #0 test_contain+0x") > 0 && reports_with("(write_null+0x") > 0 && reports_with("(null_deref+0x") > 0);
    EXPECT(reports_with("weft runtime") == 0); /* no dump */
    reports_end();
}
TEST(contain_each_kind_of_fault) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(each_kind);
}

/* Many at once, on all workers, beside others that go on. */
static void crowd(void) {
    enum { MANY = 60 };
    weft_pid pids[MANY], other = victim_joinable(bystander, NULL, 0, NULL);
    reports_begin();
    for (unsigned i = 0; i < MANY; i++)
        pids[i] = victim_joinable(kinds[i % KINDS].entry, NULL, 16 << 10, "victim");
    for (unsigned i = 0; i < MANY; i++)
        expect_fault(pids[i], kinds[i % KINDS].number, NULL);
    EXPECT_EQ(reports_with("the process ends with WEFT_EFAULTED"), MANY);
    reports_end();
    rt_wait(&bystander_turns, atom_load_rlx(&bystander_turns) + 3);
    atom_store_rel(&bystander_over, true);
    EXPECT_EQ(victim_reason(other), 0);
    atom_store_rel(&bystander_over, false);
}
TEST(contain_many_at_once) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(crowd);
}
TEST(contain_under_preemption) {
    UNLESS_SANITIZED;
    prepare();
    setenv("WEFT_PREEMPT", "1", 1);
    setenv("WEFT_PREEMPT_US", "50", 1);
    rt_each(crowd);
}

/* ---- what was deferred is done -------------------------------------------------------------------------------------------- */

static weft_pid deferred_from;
static void deferred_last(void *arg) {
    (void)arg;
    atom_add_rel(&deferred_calls, 1);
}
static void deferred_waits(void *arg) {
    (void)arg;
    EXPECT(weft_self() == deferred_from);
    EXPECT_EQ(weft_sleep(RT_MS), 0); /* on the spare stack, and perhaps on another worker afterwards */
    EXPECT(weft_self() == deferred_from);
    atom_add_rel(&deferred_calls, 1);
}
static void deferred_faults(void *arg) {
    atom_add_rel(&deferred_calls, 1);
    null_deref(arg);
}
static void deferred_overflows(void *arg) {
    (void)arg;
    atom_add_rel(&deferred_calls, 1);
    dig_calls(0);
}
static void with_deferred(void *arg) {
    deferred_from = weft_self();
    EXPECT_EQ(weft_defer(deferred_last, NULL), 0);
    EXPECT_EQ(weft_defer(deferred_faults, NULL), 0);
    EXPECT_EQ(weft_defer(deferred_overflows, NULL), 0);
    EXPECT_EQ(weft_defer(deferred_waits, NULL), 0);
    null_deref(arg);
}
static void deferred(void) {
    atom_store_rlx(&deferred_calls, 0);
    reports_begin();
    expect_fault(victim_joinable(with_deferred, NULL, 0, NULL), SIGSEGV, (void *)16);
    EXPECT_EQ(reports_with("the process ends with WEFT_EFAULTED"), 2);
    EXPECT_EQ(reports_with("the process ends with WEFT_ESTACK"), 1);
    reports_end();
    EXPECT_EQ(atom_load_acq(&deferred_calls), 4);
}
TEST(contain_runs_what_was_deferred) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(deferred);
}

/* A process that had messages, was pinned, and was in functions of weft's that had called it. */
static void pinned(void *arg) {
    weft_pin_begin();
    weft_send(weft_self(), 1, "lost", 4);
    null_deref(arg);
}
static void after_locks(void *arg) {
    static weft_mutex mutex = WEFT_MUTEX_INIT;
    weft_mutex_lock(&mutex, WEFT_FOREVER);
    weft_mutex_unlock(&mutex);
    null_deref(arg);
}
static void while_cancelled(void *arg) {
    while (weft_sleep(WEFT_SECOND) != WEFT_ECANCELED) {}
    null_deref(arg);
}
static void others(void) {
    reports_begin();
    expect_fault(victim_joinable(pinned, NULL, 0, NULL), SIGSEGV, (void *)16);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0); /* no process is pinned any more */
    expect_fault(victim_joinable(after_locks, NULL, 0, NULL), SIGSEGV, (void *)16);
    expect_fault(victim_joinable(after_locks, NULL, 0, NULL), SIGSEGV, (void *)16);
    (void)victim_spawn(while_cancelled, NULL, 0, NULL); /* weft_stop makes it fault */
    reports_end();
}
TEST(contain_in_other_places) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(others);
}

/* ---- misuse that a call refuses ------------------------------------------------------------------------------------------- */

static void joins_itself(void *arg) {
    (void)arg;
    weft_join(weft_self(), NULL, WEFT_FOREVER);
}
static void unpins(void *arg) {
    (void)arg;
    weft_pin_end();
}
static int blocking_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    weft_blocking_enter();
    return 0;
}
static const weft_behavior blocking = {.name = "blocking", .step = blocking_step};
static void refused(void) {
    weft_pid pid;
    reports_begin();
    expect_fault(victim_joinable(joins_itself, NULL, 0, NULL), SIGABRT, NULL);
    expect_fault(victim_joinable(unpins, NULL, 0, NULL), SIGABRT, NULL);
    expect_fault(victim_joinable(aborts, NULL, 0, NULL), SIGABRT, NULL);
    EXPECT_EQ(weft_spawn_step(&blocking, &(weft_spawn_options){.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid), 0);
    expect_fault(pid, SIGABRT, NULL);
    EXPECT_EQ(reports_with("weft: misuse of weft_join: a process waits for its own end"), 1);
    EXPECT_EQ(reports_with("weft: misuse of weft_pin_end"), 1);
    EXPECT_EQ(reports_with("weft: misuse of weft_blocking_enter"), 1);
    reports_end();
}
TEST(contain_misuse_that_is_refused) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(refused);
}

/* ---- monitors, and a runtime that stops ------------------------------------------------------------------------------------ */

static atom_u64 noticed;
static void watches(void *arg) {
    weft_msg *message;
    uint64_t reference;
    (void)arg;
    EXPECT(weft_spawn_monitor(null_deref, NULL, 5, &reference) != WEFT_NOBODY);
    EXPECT_EQ(weft_recv_tag(5, &message, WEFT_FOREVER), 0);
    const weft_notice *notice = weft_msg_notice(message);
    EXPECT(notice && notice->reference == reference);
    EXPECT_EQ(notice->reason.code, WEFT_EFAULTED);
    EXPECT_EQ(notice->reason.signal, SIGSEGV);
    EXPECT(notice->reason.address == (void *)16);
    weft_msg_free(message);
    atom_add_rel(&noticed, 1);
}
static void monitored(void) {
    atom_store_rlx(&noticed, 0);
    reports_begin();
    (void)victim_spawn(watches, NULL, 0, NULL);
    rt_wait(&noticed, 1);
    reports_end();
}
TEST(contain_is_told_to_monitors) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(monitored);
}

/* ---- steps --------------------------------------------------------------------------------------------------------------- */

static atom_u64 closed;
static __attribute__((noinline)) int deep_fault(int depth) {
    volatile long kept[4] = {depth, depth + 1, depth + 2, depth + 3};
    if (depth == 0) write_null();
    return (victim_always ? deep_fault(depth - 1) : 0) + (int)(kept[0] + kept[3]);
}
static int faulty_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)out;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag == 7) return deep_fault((int)*(const char *)events[i].data);
    return 0;
}
static void count_close(void *self) {
    (void)self;
    atom_add_rel(&closed, 1);
}
static const weft_behavior faulty = {.name = "faulty", .step = faulty_step, .close = count_close};
static int echo_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        else if (events[i].tag == 8) atom_add_rel(&bystander_turns, 1);
    return 0;
}
static const weft_behavior echo = {.name = "echo", .step = echo_step};
static void steps(void) {
    weft_pid beside = rt_spawn(&echo);
    atom_store_rlx(&closed, 0);
    reports_begin();
    for (char depth = 1; depth < 40; depth++) {
        weft_pid pid;
        weft_spawn_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE};
        EXPECT_EQ(weft_spawn_step(&faulty, &options, &pid), 0);
        EXPECT_EQ(weft_send(pid, 1, "before", 6), 0);
        EXPECT_EQ(weft_send(pid, 7, &depth, 1), 0);
        expect_fault(pid, SIGSEGV, (void *)16);
        uint64_t turns = atom_load_rlx(&bystander_turns);
        EXPECT_EQ(weft_send(beside, 8, NULL, 0), 0); /* the workers go on */
        rt_wait(&bystander_turns, turns + 1);
    }
    EXPECT_EQ(reports_with("(faulty) has a fault: SIGSEGV at 0x10; entry test_contain+0x"), 39);
    EXPECT(reports_with("(deep_fault") >= 39);
    reports_end();
    EXPECT_EQ(atom_load_acq(&closed), 39);
}
TEST(contain_abandons_a_step) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(steps);
}

static void unlocked_steps(void) {
    reports_begin();
    for (unsigned i = 0; i < 5; i++)
        expect_fault(step_told(rt.runtime, "1234127"), SIGSEGV, (void *)16);
    reports_end();
}
TEST(contain_a_step_that_has_unlocked) {
    UNLESS_SANITIZED;
    prepare();
    rt_each(unlocked_steps);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
