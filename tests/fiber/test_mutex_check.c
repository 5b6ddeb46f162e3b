/* A process that waits with a mutex of the C library is stopped by name. */
#include "victim.h"

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static atom_u64 done;

static void locks(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 200; i++) {
        EXPECT_EQ(weft_debug_mutex_lock(&one), 0);
        EXPECT_EQ(weft_debug_mutex_lock(&two), 0);
        EXPECT_EQ(weft_debug_mutex_trylock(&one), EBUSY);
        EXPECT_EQ(fiber_of(victim_self())->holds, 2);
        EXPECT_EQ(weft_debug_mutex_unlock(&two), 0);
        EXPECT_EQ(weft_debug_mutex_unlock(&one), 0);
        EXPECT_EQ(fiber_of(victim_self())->holds, 0);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
static void properly(void) {
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .check_mutexes = true});
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 8; i++)
        victim_spawn(locks, NULL, 0, NULL);
    EXPECT_EQ(weft_debug_mutex_lock(&one), 0); /* a thread of one's own */
    EXPECT_EQ(weft_debug_mutex_unlock(&one), 0);
    rt_wait(&done, 8);
    rt_stop();
}
TEST(hold_properly) { properly(); }

/* ---- what must not be --------------------------------------------------------------------------------------------------- */

static weft_entry wrong;
static weft_pid other;
static bool checked = true;

static void yields(void *arg) {
    (void)arg;
    weft_debug_mutex_lock(&one);
    weft_yield();
}
static void sleeps(void *arg) {
    (void)arg;
    weft_debug_mutex_trylock(&one);
    weft_sleep(1000);
}
static void receives(void *arg) {
    weft_msg *message;
    (void)arg;
    weft_yield();
    weft_debug_mutex_lock(&one);
    weft_recv(&message, WEFT_FOREVER);
}
static void hands_over(void *arg) {
    (void)arg;
    weft_debug_mutex_lock(&one);
    weft_handoff(other, 0, NULL, 0);
}
static void ends(void *arg) {
    (void)arg;
    weft_debug_mutex_lock(&one);
}
static void exits(void *arg) {
    (void)arg;
    weft_debug_mutex_lock(&one);
    weft_exit(0);
}
static void drains(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}
static void busy(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 100000; i++)
        weft_yield();
}

static void body(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_config config = {.workers = 1, .check_mutexes = checked};
    if (weft_start(&config, &runtime)) _exit(99);
    weft_stackful_options options = {.runtime = runtime, .name = "sinner"};
    weft_spawn_with(drains, NULL, &options, &other);
    weft_spawn_with(busy, NULL, &options, &pid); /* so that there is a process to switch to */
    options.flags = WEFT_SPAWN_JOINABLE;
    weft_spawn_with(wrong, NULL, &options, &pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    _exit(7);
}

TEST(hold_and_leave_aborts_by_name) {
    static const weft_entry all[] = {yields, sleeps, receives, hands_over, ends, exits};
    struct child child;
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        printf("case %u\n", i);
        wrong = all[i];
        child_run(&child, body);
        EXPECT_DIED(&child, SIGABRT);
        EXPECT_SAID(&child, "misuse of weft_debug_mutex_lock: process ");
        EXPECT_SAID(&child, "(sinner) waits, yields or ends and holds 1 mutexes");
        EXPECT_SAID(&child, "locked at test_mutex_check+0x");
    }
}

/* Where it is not asked for, it is not looked at. */
TEST(hold_is_not_looked_at_in_release) {
    struct child child;
    if (WEFT_DEBUG) return;
    checked = false;
    wrong = yields;
    child_run(&child, body);
    EXPECT_EXIT(&child, 7);
}

TEST(hold_by_setting) {
    struct child child;
    checked = false;
    wrong = sleeps;
    setenv("WEFT_CHECK_MUTEXES", "1", 1);
    child_run(&child, body);
    EXPECT_DIED(&child, SIGABRT);
    setenv("WEFT_CHECK_MUTEXES", "yes", 1);
    child_run(&child, body);
    if (!WEFT_DEBUG) EXPECT_EXIT(&child, 99);
}

static void unpaired(void *arg) {
    (void)arg;
    pthread_mutex_lock(&one);
    weft_debug_mutex_unlock(&one);
}
TEST(hold_unlock_is_paired) {
    struct child child;
    wrong = unpaired;
    child_run(&child, body);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "misuse of weft_debug_mutex_unlock");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
