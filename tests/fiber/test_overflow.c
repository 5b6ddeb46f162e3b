/* Stacks that overflow: the right verdict each time, and no other process is harmed. */
#include "victim.h"

/* ---- within one program ----------------------------------------------------------------------------------------------- */

static void by_calls(void *arg) {
    (void)arg;
    dig_calls(0);
}
static void by_alloca(void *arg) {
    (void)arg;
    dig_alloca();
}
static void by_array(void *arg) {
    (void)arg;
    dig_array();
}

static atom_u64 bystander_turns;
static atom_bool bystander_over;
static void bystander(void *arg) {
    volatile uint64_t mine[64];
    (void)arg;
    for (uint64_t i = 0; !atom_load_acq(&bystander_over); i++) {
        for (unsigned k = 0; k < 64; k++)
            mine[k] = i + k;
        weft_yield();
        for (unsigned k = 0; k < 64; k++)
            EXPECT_EQ(mine[k], i + k);
        atom_add_rlx(&bystander_turns, 1);
        if (i % 8 == 0) weft_sleep(50 * WEFT_MICROSECOND); /* so that the machine is not busy with them alone */
    }
}

static void (*const ways[])(void *) = {by_calls, by_alloca, by_array};
/* What an array of a megabyte touches first is the sanitizer's choice; and with alloca it may be its own code that runs over. */
enum { WAYS = ANNOTATE_ADDRESS ? 1 : SANITIZED ? 2 : 3 };

static void many_overflow(void) {
    static const size_t sizes[] = {16 << 10, 64 << 10, 256 << 10};
    unsigned count = 180 / RT_SLOW;
    atom_store_rlx(&bystander_over, false);
    weft_pid near[4];
    for (unsigned i = 0; i < 4; i++)
        near[i] = victim_spawn(bystander, NULL, 16 << 10, "bystander");
    reports_begin();
    for (unsigned i = 0; i < count; i++) {
        weft_pid pid = victim_joinable(ways[i % WAYS], NULL, sizes[i / WAYS % 3], "victim");
        EXPECT_EQ(victim_reason(pid), WEFT_ESTACK);
        EXPECT(!weft_alive(pid));
        char text[32];
        snprintf(text, sizeof text, "process %016lx", (unsigned long)pid);
        EXPECT_EQ(reports_with(text), 1);
    }
    EXPECT_EQ(reports_with("(victim) has overflowed"), count);
    EXPECT_EQ(reports_with("the process ends with WEFT_ESTACK"), count);
    EXPECT(reports_with("size 16384") > 0 && reports_with("try stack_size 65536") > 0);
    EXPECT(reports_with("try stack_size 1048576") > 0);
    if (WAYS == 3) EXPECT(reports_with("try stack_size 4194304") > 0); /* an array of a megabyte, whatever the stack's size was */
    EXPECT(reports_with("entry test_overflow+0x") > 0);
    reports_end();
    uint64_t turns = atom_load_rlx(&bystander_turns);
    rt_wait(&bystander_turns, turns + 4); /* they go on */
    atom_store_rel(&bystander_over, true);
    for (unsigned i = 0; i < 4; i++)
        weft_join(near[i], NULL, WEFT_FOREVER);
}
/* 180 on each of six cases: over a thousand. */
TEST_WITHIN(overflow_ends_that_process_alone, 120) { rt_each(many_overflow); }

/* Many at the same time, on all workers. */
static void crowd(void) {
    enum { MANY = 40 };
    weft_pid pids[MANY];
    unsigned count = MANY / RT_SLOW;
    reports_begin();
    for (unsigned i = 0; i < count; i++)
        pids[i] = victim_joinable(ways[i % WAYS], NULL, 32 << 10, "victim");
    for (unsigned i = 0; i < count; i++)
        EXPECT_EQ(victim_reason(pids[i]), WEFT_ESTACK);
    EXPECT_EQ(reports_with("the process ends with WEFT_ESTACK"), count);
    reports_end();
}
TEST(overflow_of_many_at_once) { rt_each(crowd); }

/* ---- what was deferred is done ---------------------------------------------------------------------------------------- */

static atom_u64 deferred_count;
static weft_pid deferred_from;
static void deferred_last(void *arg) {
    (void)arg;
    atom_add_rel(&deferred_count, 1);
}
static void deferred_waits(void *arg) {
    (void)arg;
    EXPECT(weft_self() == deferred_from);
    EXPECT_EQ(weft_sleep(RT_MS), 0); /* on the spare stack, and perhaps on another worker afterwards */
    EXPECT(weft_self() == deferred_from);
    atom_add_rel(&deferred_count, 1);
}
static void deferred_overflows(void *arg) {
    (void)arg;
    atom_add_rel(&deferred_count, 1);
    dig_calls(0);
}
static void with_deferred(void *arg) {
    (void)arg;
    deferred_from = weft_self();
    EXPECT_EQ(weft_defer(deferred_last, NULL), 0);
    EXPECT_EQ(weft_defer(deferred_overflows, NULL), 0);
    EXPECT_EQ(weft_defer(deferred_waits, NULL), 0);
    dig_calls(0);
}
static void deferred(void) {
    atom_store_rlx(&deferred_count, 0);
    reports_begin();
    EXPECT_EQ(victim_reason(victim_joinable(with_deferred, NULL, 16 << 10, "deferred")), WEFT_ESTACK);
    EXPECT_EQ(reports_with("the process ends with WEFT_ESTACK"), 2); /* the second on the spare stack */
    reports_end();
    EXPECT_EQ(atom_load_acq(&deferred_count), 3);
}
TEST(overflow_runs_what_was_deferred) { rt_each(deferred); }

/* ---- on a bigger stack, pinned, measured ------------------------------------------------------------------------------ */

static void dig_big(void *arg) {
    (void)arg;
    dig_calls(0);
}
static void on_a_bigger(void *arg) {
    (void)arg;
    weft_pin_begin();
    weft_call_big(dig_big, NULL, 512 << 10);
}
static void bigger(void) {
    reports_begin();
    EXPECT_EQ(victim_reason(victim_joinable(on_a_bigger, NULL, 16 << 10, "big")), WEFT_ESTACK);
    EXPECT_EQ(reports_with("size 524288"), 1);
    reports_end();
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0); /* no process is pinned any more */
    weft_stack_mark marks[64];
    size_t count = weft_stack_marks(rt.runtime, marks, 64), found = 0;
    for (size_t i = 0; i < count; i++)
        if (marks[i].entry == on_a_bigger && marks[i].stack_size == 512 << 10) {
            found++;
            EXPECT_EQ(marks[i].overflows, 1);
            EXPECT_EQ(marks[i].high_water, 512 << 10);
            EXPECT(strcmp(marks[i].name, "big") == 0);
        }
    EXPECT_EQ(found, 1);
}
TEST(overflow_on_a_bigger_stack) { rt_each(bigger); }

/* ---- children: the program aborts, or dies as it would have without weft ----------------------------------------------- */

static weft_entry child_entry;
static void child_body(void) {
    weft_runtime *runtime;
    weft_pid pid, other;
    if (weft_start(&(weft_config){.workers = 2}, &runtime)) _exit(99);
    weft_spawn_with(bystander, NULL, &(weft_stackful_options){.runtime = runtime, .name = "another"}, &other);
    weft_spawn_with(child_entry, NULL, &(weft_stackful_options){.runtime = runtime, .stack_size = 16 << 10, .name = "child"}, &pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    while (weft_alive(pid))
        usleep(100);
    _exit(3);
}
static void child_of(struct child *child, weft_entry entry) {
    child_entry = entry;
    child_run(child, child_body);
}
static unsigned child_times(void) { return SANITIZED ? 2 : 20 * test_scale(); }

static void in_libc_call(void) {
    char text[64];
    snprintf(text, sizeof text, "%s %.10f", "a", 1.0 / 3 + atom_load_rlx(&victim_sink));
    atom_store_rlx(&victim_sink, text[3]);
}
static void in_libc(void *arg) {
    (void)arg;
    in_libc_call(); /* resolved */
    dig_until(400, in_libc_call);
}
TEST(overflow_inside_of_libc_aborts) {
    struct child child;
    if (SANITIZED) return;
    for (unsigned i = 0; i < child_times(); i++) {
        child_of(&child, in_libc);
        EXPECT_DIED(&child, SIGABRT);
        EXPECT_SAID(&child, "(child) has overflowed");
        EXPECT_SAID(&child, "the program aborts, because it was in other code than its own, at ");
        EXPECT_SAID(&child, "libc.so");
        EXPECT_SAID(&child, "weft runtime"); /* the dump */
        EXPECT_SAID(&child, "process 0");
    }
}

/* Something that needs much of the stack by itself. */
static int nowhere;
static void in_weft_call(void) { weft_dump(weft_own_runtime(), nowhere); }
static void in_weft(void *arg) {
    (void)arg;
    nowhere = open("/dev/null", O_WRONLY);
    in_weft_call();
    dig_until(300, in_weft_call);
}
TEST(overflow_inside_of_weft_aborts) {
    struct child child;
    if (SANITIZED) return;
    for (unsigned i = 0; i < child_times(); i++) {
        child_of(&child, in_weft);
        EXPECT_DIED(&child, SIGABRT);
        EXPECT_SAID(&child, "the program aborts, because it was inside of weft");
        EXPECT_SAID(&child, "try stack_size 65536");
        EXPECT_SAID(&child, "weft runtime");
    }
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static void with_mutex(void *arg) {
    (void)arg;
    weft_debug_mutex_lock(&held);
    dig_calls(0);
}
TEST(overflow_with_a_mutex_aborts) {
    struct child child;
    for (unsigned i = 0; i < child_times(); i++) {
        child_of(&child, with_mutex);
        EXPECT_DIED(&child, SIGABRT);
        EXPECT_SAID(&child, "the program aborts, because it holds a mutex");
    }
}

/* Locks of weft's own: others would wait for them for ever. */
static weft_mutex own_mutex = WEFT_MUTEX_INIT, other_mutex = WEFT_MUTEX_INIT;
static weft_rwlock own_rwlock = WEFT_RWLOCK_INIT;
static weft_once own_once = WEFT_ONCE_INIT;
static weft_cond own_cond = WEFT_COND_INIT;
static void with_weft_mutex(void *arg) {
    (void)arg;
    weft_mutex_lock(&own_mutex, WEFT_FOREVER);
    weft_mutex_lock(&other_mutex, 0);
    weft_mutex_unlock(&other_mutex);
    dig_calls(0);
}
/* Not by the short way: it was waited for, or handed over. */
static void holds_it_a_while(void *arg) {
    (void)arg;
    weft_mutex_lock(&own_mutex, WEFT_FOREVER);
    weft_sleep(5 * WEFT_MILLISECOND);
    weft_mutex_unlock(&own_mutex);
}
static void with_handed_over_mutex(void *arg) {
    weft_spawn(holds_it_a_while, arg);
    weft_sleep(WEFT_MILLISECOND);
    weft_mutex_lock(&own_mutex, WEFT_FOREVER);
    dig_calls(0);
}
static void with_mutex_of_condition(void *arg) {
    (void)arg;
    weft_mutex_lock(&own_mutex, WEFT_FOREVER);
    weft_cond_wait(&own_cond, &own_mutex, weft_in(WEFT_MILLISECOND));
    dig_calls(0);
}
static void with_reader(void *arg) {
    (void)arg;
    weft_rwlock_read(&own_rwlock, WEFT_FOREVER);
    dig_calls(0);
}
static void with_writer(void *arg) {
    (void)arg;
    weft_rwlock_write(&own_rwlock, WEFT_FOREVER);
    dig_calls(0);
}
static int digs_once(void *arg) {
    (void)arg;
    return dig_calls(0);
}
static void in_once(void *arg) { weft_once_do(&own_once, digs_once, arg, WEFT_FOREVER); }
TEST(overflow_with_a_lock_of_weft_aborts) {
    static const struct {
        weft_entry entry;
        const void *lock;
    } cases[] = {{with_weft_mutex, &own_mutex}, {with_handed_over_mutex, &own_mutex}, {with_mutex_of_condition, &own_mutex},
                 {with_reader, &own_rwlock},    {with_writer, &own_rwlock},           {in_once, &own_once}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct child child;
        char name[128];
        child_of(&child, cases[i].entry);
        EXPECT_DIED(&child, SIGABRT);
        /* The last one taken may have been given back since. */
        snprintf(name, sizeof name, "because it holds 1 of weft's locks, the one it took last is %p",
                 cases[i].entry == with_weft_mutex ? (const void *)&other_mutex : cases[i].lock);
        EXPECT_SAID(&child, name);
        EXPECT_SAID(&child, "weft runtime");               /* the dump */
        EXPECT_SAID(&child, " another, test_overflow+0x"); /* by its name and its entry function */
    }
}

/* Given back, they are not looked at. */
static void after_all_of_them(void *arg) {
    (void)arg;
    weft_mutex_lock(&own_mutex, WEFT_FOREVER);
    weft_cond_wait(&own_cond, &own_mutex, weft_in(WEFT_MILLISECOND));
    weft_mutex_unlock(&own_mutex);
    weft_rwlock_read(&own_rwlock, WEFT_FOREVER);
    weft_rwlock_read_end(&own_rwlock);
    weft_rwlock_write(&own_rwlock, WEFT_FOREVER);
    weft_rwlock_write_end(&own_rwlock);
    EXPECT_EQ(weft_mutex_lock(&other_mutex, 0), WEFT_ETIMEDOUT); /* the test has it */
    dig_calls(0);
}
static void given_back(void) {
    EXPECT_EQ(weft_mutex_lock(&other_mutex, 0), 0);
    EXPECT_EQ(victim_reason(victim_joinable(after_all_of_them, NULL, 0, NULL)), WEFT_ESTACK);
    weft_mutex_unlock(&other_mutex);
}
TEST(overflow_after_locks_were_given_back) { rt_each(given_back); }

/* Down into the next stack's guard, over the own one and that one's usable part. */
static __attribute__((noinline)) void jump(void) {
    unsigned char here;
    size_t stride = (16 << 10) + STACK_GUARD, much = (size_t)(&here - victim_low()) + stride + 100;
    volatile char *room = alloca(much);
    room[0] = 1;
    atom_store_rlx(&victim_sink, room[0]);
}
static atom_u32 waiting;
static void jumps(void *arg) {
    (void)arg;
    jump();
    atom_add_rlx(&waiting, 1); /* there is none yet below: that memory belongs to none */
    weft_sleep_until(WEFT_FOREVER);
}
/* As many stacks as lie below: so that there is one, with its guard. */
static void waits_for_ever(void *arg) {
    (void)arg;
    atom_add_rlx(&waiting, 1);
    weft_sleep_until(WEFT_FOREVER);
}
static void jumps_among_others(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 40; i++) {
        weft_pid pid;
        weft_spawn_with(waits_for_ever, NULL, &(weft_stackful_options){.stack_size = 16 << 10}, &pid);
    }
    while (atom_load_rlx(&waiting) < 40) /* each has its stack */
        weft_yield();
    for (unsigned i = 41; i < 80; i++) {
        weft_pid pid;
        weft_spawn_with(jumps, NULL, &(weft_stackful_options){.stack_size = 16 << 10, .name = "jumper"}, &pid);
        while (atom_load_rlx(&waiting) < i)
            weft_yield();
    }
}
TEST(overflow_beyond_the_guard_aborts) {
    struct child child;
    if (SANITIZED) return;
    child_of(&child, jumps_among_others);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "(jumper) has overflowed");
    EXPECT_SAID(&child, "the stacks of others may be damaged");
}

/* ---- faults that are no overflow -------------------------------------------------------------------------------------- */

static int *volatile wild_pointer = (int *)8;
static void wild_null(void *arg) {
    (void)arg;
    *(volatile int *)wild_pointer = 1;
}
/* Into the own guard, but the stack is nearly empty: not by growing. */
static void wild_guard(void *arg) {
    (void)arg;
    *(volatile char *)(victim_low() - 100) = 1;
}
static void sent(void *arg) {
    (void)arg;
    raise(SIGSEGV);
    for (;;)
        usleep(1000);
}
TEST(overflow_other_faults_end_the_program) {
    struct child child;
    static const weft_entry faults[] = {wild_null, wild_guard, sent};
    if (SANITIZED) return; /* its handler is before ours, and ends the program in its own way */
    for (unsigned i = 0; i < 3; i++) {
        child_of(&child, faults[i]);
        EXPECT_DIED(&child, SIGSEGV);
        EXPECT_SAID(&child, "weft: a fault (SIGSEGV) ends the program: process ");
        EXPECT_SAID(&child, " (child), entry test_overflow+0x");
        EXPECT(strchr(child.said, '\n') == child.said + strlen(child.said) - 1); /* one line, and no more */
    }
}

static void own_handler(int number, siginfo_t *info, void *context) {
    (void)context;
    _exit(number == SIGSEGV && info->si_addr == (void *)8 ? 42 : 43);
}
static void old_handler(int number) { _exit(number == SIGSEGV ? 44 : 43); }
static void child_with_handler(void) {
    sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO}, NULL);
    child_body();
}
static void child_with_old_handler(void) {
    signal(SIGSEGV, old_handler);
    child_body();
}
static void child_ignores(void) {
    signal(SIGSEGV, SIG_IGN);
    child_body();
}
TEST(overflow_other_faults_go_to_the_programs_handler) {
    struct child child;
    child_entry = wild_null;
    child_run(&child, child_with_handler);
    EXPECT_EXIT(&child, 42);
    child_run(&child, child_with_old_handler);
    EXPECT_EXIT(&child, 44);
    child_run(&child, child_ignores);
    EXPECT_DIED(&child, SIGSEGV);
    child_entry = by_calls; /* an overflow does not */
    child_run(&child, child_with_handler);
    EXPECT_EXIT(&child, 3);
    EXPECT_SAID(&child, "the process ends with WEFT_ESTACK");
}

static void *foreign_fault(void *arg) {
    wild_null(arg);
    return NULL;
}
static void foreign_body(void) {
    weft_runtime *runtime;
    pthread_t thread;
    sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO}, NULL);
    if (weft_start(NULL, &runtime)) _exit(99);
    pthread_create(&thread, NULL, foreign_fault, NULL);
    pthread_join(thread, NULL);
}
TEST(overflow_leaves_other_threads_alone) {
    struct child child;
    child_run(&child, foreign_body);
    EXPECT_EXIT(&child, 42);
}

static void *handler_of(int number) {
    struct sigaction action;
    EXPECT_EQ(sigaction(number, NULL, &action), 0);
    return action.sa_flags & SA_SIGINFO ? (void *)(uintptr_t)action.sa_sigaction : (void *)(uintptr_t)action.sa_handler;
}
TEST(overflow_handlers_go_with_the_last_runtime) {
    weft_runtime *one, *two;
    void *segv = handler_of(SIGSEGV), *bus = handler_of(SIGBUS);
    EXPECT_EQ(weft_start(NULL, &one), 0);
    EXPECT(handler_of(SIGSEGV) != segv && handler_of(SIGBUS) != bus);
    EXPECT_EQ(weft_start(NULL, &two), 0);
    EXPECT_EQ(weft_stop(one, NULL, WEFT_FOREVER), 0);
    EXPECT(handler_of(SIGSEGV) != segv);
    EXPECT_EQ(weft_stop(two, NULL, WEFT_FOREVER), 0);
    EXPECT(handler_of(SIGSEGV) == segv && handler_of(SIGBUS) == bus);
    EXPECT_EQ(weft_start(NULL, &one), 0);
    signal(SIGSEGV, old_handler); /* the program changes its mind meanwhile */
    EXPECT_EQ(weft_stop(one, NULL, WEFT_FOREVER), 0);
    EXPECT(handler_of(SIGSEGV) == (void *)(uintptr_t)old_handler);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
