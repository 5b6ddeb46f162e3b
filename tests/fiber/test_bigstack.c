/* Calls on a bigger stack. */
#include "victim.h"

static atom_u64 done;
static __attribute__((noinline)) uint64_t fill(size_t bytes) {
    volatile unsigned char *room = alloca(bytes);
    uint64_t sum = 0;
    for (size_t i = bytes; i-- > 0;)
        room[i] = (unsigned char)i;
    weft_yield(); /* may go on elsewhere, on this stack */
    for (size_t i = 0; i < bytes; i++)
        sum += room[i];
    return sum;
}

struct big {
    size_t bytes;
    uint64_t sum;
    unsigned nested;
};
static void big_work(void *arg) {
    struct big *big = arg;
    big->sum += fill(big->bytes);
    weft_sleep(10 * WEFT_MICROSECOND);
    if (big->nested-- > 0) {
        EXPECT_EQ(weft_call_big(big_work, big, 2 * big->bytes), 0);
    }
}
static void caller(void *arg) {
    (void)arg;
    volatile uint64_t mine[16];
    for (unsigned i = 0; i < 16; i++)
        mine[i] = i * 7;
    struct big big = {.bytes = 200000, .nested = 2};
    EXPECT_EQ(weft_call_big(big_work, &big, 256 << 10), 0);
    EXPECT(fiber_of(victim_self())->altstack == NULL);
    uint64_t once = 0;
    for (size_t i = 0; i < big.bytes; i++)
        once += (unsigned char)i;
    EXPECT_EQ(big.sum, 3 * once);
    for (unsigned i = 0; i < 16; i++)
        EXPECT_EQ(mine[i], i * 7);
    EXPECT_EQ(weft_call_big(big_work, &big, (8 << 20) + 1), WEFT_EINVAL);
    EXPECT_EQ(weft_call_big(big_work, &big, SIZE_MAX), WEFT_EINVAL);
    atom_add_rel(&done, 1);
}
static void calls(void) {
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 8; i++)
        victim_spawn(caller, NULL, 32 << 10, NULL);
    rt_wait(&done, 8);
}
TEST(bigstack_calls_nest_and_wait) { rt_each(calls); }

/* Ends there: both stacks come back. */
static void exits(void *arg) {
    if (arg) weft_call_big(exits, NULL, 1 << 20);
    weft_exit(5);
}
static void leaver(void *arg) {
    (void)arg;
    weft_call_big(exits, &done, 512 << 10);
}
static void ends_there(void) {
    for (unsigned i = 0; i < 100 / RT_SLOW; i++)
        EXPECT_EQ(victim_reason(victim_joinable(leaver, NULL, 16 << 10, NULL)), 5);
}
TEST(bigstack_process_may_end_there) { rt_each(ends_there); }

/* Parked on a bigger stack when the runtime is taken down. */
static void parks(void *arg) {
    atom_add_rel((atom_u64 *)arg, 1);
    weft_shield_begin();
    weft_sleep_until(WEFT_FOREVER);
}
static void parker_entry(void *arg) { weft_call_big(parks, arg, 512 << 10); }
TEST(bigstack_of_a_process_that_is_left_behind) {
    rt_start("ring", 2);
    atom_store_rlx(&done, 0);
    victim_spawn(parker_entry, &done, 0, NULL);
    rt_wait(&done, 1);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_in(10 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
}

static void never(void *arg) {
    (void)arg;
    test_fail(__FILE__, __LINE__, "called without a stack");
}
static void refused(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_call_big(never, NULL, 4 << 20), WEFT_ENOSTACK);
    atom_add_rel(&done, 1);
}
TEST(bigstack_refused) {
    rt_start("ring", 1);
    atom_store_rlx(&done, 0);
    victim_spawn(caller, NULL, 32 << 10, NULL);
    rt_wait(&done, 1);
    sys_script.map_most = 1 << 20; /* not even one */
    victim_spawn(refused, NULL, 32 << 10, NULL);
    rt_wait(&done, 2);
    sys_script.map_most = 0;
    rt_stop();
}

/* A process is looked at by a dump; when it has ended, its stack is a call's. Relaxed, so that nothing else orders the two. */
static atom_bool dumped;
static void shown(void *arg) {
    (void)arg;
    atom_add_rlx(&done, 1);
    while (!atom_load_rlx(&dumped))
        weft_sleep(100 * WEFT_MICROSECOND);
}
static void fill_small(void *arg) {
    (void)arg;
    fill(4000);
}
static void successor(void *arg) {
    weft_pid pid;
    weft_stackful_options options = {.stack_size = 256 << 10, .flags = WEFT_SPAWN_JOINABLE};
    (void)arg;
    EXPECT_EQ(weft_spawn_with(shown, NULL, &options, &pid), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_call_big(fill_small, NULL, 256 << 10), 0);
    atom_add_rel(&done, 1);
}
static void dump_beside(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&dumped, false);
    victim_spawn(successor, NULL, 0, NULL);
    while (atom_load_rlx(&done) < 1)
        usleep(100);
    rt_dump_text();
    atom_store_rlx(&dumped, true);
    rt_wait(&done, 2);
}
TEST(bigstack_of_a_process_that_was_looked_at) { rt_each(dump_beside); }

static void outside(void) { weft_call_big(never, NULL, 1 << 20); }
TEST(bigstack_is_for_processes) {
    struct child child;
    child_run(&child, outside);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "misuse of weft_call_big: called outside of a stackful process");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
