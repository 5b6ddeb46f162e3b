/* fork in a process: in the child weft calls abort by name, exec and _exit work; the parent goes on. */
#include "victim.h"

#include <weft/blocking.h>

static atom_u64 done;
static weft_pid other;
static void (*in_the_child)(void);
static struct child child;

/* ---- what children do --------------------------------------------------------------------------------------------------------- */

static void does_exec(void) {
    execl("/bin/sh", "sh", "-c", "echo from the shell >&2; exit 7", (char *)NULL);
    _exit(99);
}
static void does_exit(void) { _exit(8); }
static void sends(void) { weft_send(other, 1, NULL, 0); }
static void spawns(void) { weft_spawn((weft_entry)does_exit, NULL); }
static void receives(void) {
    weft_msg *message;
    weft_recv(&message, WEFT_FOREVER);
}
static void sleeps(void) { weft_sleep(WEFT_MILLISECOND); }
static void yields(void) { weft_yield(); }
static void cancels(void) { weft_cancel(other); }
static void joins(void) { weft_join(other, NULL, WEFT_FOREVER); }
static void exits(void) { weft_exit(0); }
static void starts(void) {
    weft_runtime *runtime;
    weft_start(NULL, &runtime);
}
static void returns(void) {}
static weft_mutex held = WEFT_MUTEX_INIT;
static void waits_for_a_mutex(void) { weft_mutex_lock(&held, WEFT_FOREVER); }
/* What needs no other thread works as in any program. */
static void harmless(void) {
    weft_checkpoint();
    if (weft_self() != WEFT_NOBODY || weft_now() == 0) _exit(1);
    _exit(9);
}

/* ---- forking ------------------------------------------------------------------------------------------------------------------ */

static void forks_here(void) { in_the_child(); }
static void lives_on(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}
/* child_run, but a child that returns goes on in its process's function. */
static bool fork_and_watch(void) {
    if (!child_fork(&child)) return true;
    alarm(20);
    forks_here();
    return false;
}
static void forker(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_mutex_lock(&held, WEFT_FOREVER), 0);
    bool parent = fork_and_watch();
    if (!parent) return;
    weft_mutex_unlock(&held);
    weft_yield(); /* here all is as before */
    EXPECT_EQ(weft_send(other, 2, NULL, 0), 0);
    EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    atom_add_rel(&done, 1);
}
static void fork_with(void (*what)(void)) {
    in_the_child = what;
    uint64_t before = atom_load_acq(&done);
    victim_spawn(forker, NULL, 0, "forker");
    rt_wait(&done, before + 1);
}
static void refused(void (*what)(void), const char *call) {
    fork_with(what);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, call);
    EXPECT_SAID(&child, "fork");
    EXPECT_SAID(&child, "exec or _exit");
}

static void all_of_them(void) {
    atom_store_rlx(&done, 0);
    other = victim_spawn(lives_on, NULL, 0, "other");
    fork_with(does_exec);
    EXPECT_EXIT(&child, 7);
    EXPECT_SAID(&child, "from the shell");
    fork_with(does_exit);
    EXPECT_EXIT(&child, 8);
    fork_with(harmless);
    EXPECT_EXIT(&child, 9);
    refused(sends, "weft_send");
    refused(spawns, "weft_spawn");
    refused(receives, "weft_recv");
    refused(sleeps, "weft_sleep");
    refused(yields, "weft_yield");
    refused(cancels, "weft_cancel");
    refused(joins, "weft_join");
    refused(exits, "weft_exit");
    refused(starts, "weft_start");
    refused(waits_for_a_mutex, "weft_mutex_lock");
    refused(returns, "a process's function that returns");
}
static void one_case(const char *policy) {
    printf("policy %s\n", policy);
    rt_start(policy, 2);
    all_of_them();
    rt_stop();
}
TEST(forked_child_refuses_by_name) {
    one_case("ring");
    one_case("deque");
    one_case("line");
}

/* From a thread of the program's own, and inside of a blocking call. */
static void forks_in_a_call(void *arg) { *(bool *)arg = fork_and_watch(); }
static void call_forker(void *arg) {
    bool parent = false;
    (void)arg;
    weft_blocking(forks_in_a_call, &parent);
    if (!parent) weft_yield();
    atom_add_rel(&done, 1);
}
TEST(forked_elsewhere) {
    rt_start("ring", 2);
    atom_store_rlx(&done, 0);
    other = victim_spawn(lives_on, NULL, 0, "other");
    in_the_child = sends;
    EXPECT(fork_and_watch());
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "weft_send");
    in_the_child = returns;
    victim_spawn(call_forker, NULL, 0, "forker");
    rt_wait(&done, 1);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "weft_yield");
    in_the_child = does_exec;
    EXPECT(fork_and_watch());
    EXPECT_EXIT(&child, 7);
    rt_stop();
}

/* Before and after there was one, a program may fork as it likes. */
static void whole_life(void) {
    rt_start("ring", 2);
    atom_store_rlx(&done, 0);
    other = victim_spawn(lives_on, NULL, 0, "other");
    EXPECT_EQ(weft_send(other, 1, NULL, 0), 0);
    rt_stop();
    _exit(6);
}
TEST(forked_without_a_runtime) {
    in_the_child = whole_life;
    EXPECT(fork_and_watch());
    EXPECT_EXIT(&child, 6);
    rt_start("ring", 2);
    rt_stop();
    EXPECT(fork_and_watch());
    EXPECT_EXIT(&child, 6);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
