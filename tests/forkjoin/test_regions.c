/* Regions come and go: recycled, shown to thieves, gone with their runtime; and what happens when there are none. */
#include "forkjoin_helpers.h"

#include "forkjoin/regions.h"

static struct runtime *runtime(void) { return (struct runtime *)rt.runtime; }

WEFT_TASK(uint64_t, fib, unsigned, n) {
    if (n < 2) return n;
    WEFT_FORK(fib, n - 1);
    uint64_t b = WEFT_CALL(fib, n - 2);
    return WEFT_JOIN(fib) + b;
}

/* ---- recycled ---------------------------------------------------------------------------------------------------------- */

static void many_process(void *unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++)
        EXPECT_EQ(WEFT_RUN(fib, 5), 5);
}
static void many_body(void) {
    in_process(many_process);
    struct regions *regions = atom_load_acq(&runtime()->regions);
    EXPECT(regions && atom_load_rlx(&regions->made) <= 4 * rt.workers + 2);
    rt_wait_until_none_lives();
    EXPECT_EQ(atom_load_rlx(&runtime()->fork_regions), 0);
}
TEST(regions_are_recycled) { rt_each(many_body); }

/* A process that does not fork does not pay: there is no table, and thieves look nowhere. */
static void empty_process(void *unused) { (void)unused; }
static void none_body(void) {
    in_process(empty_process);
    EXPECT(!atom_load_rlx(&runtime()->regions));
    EXPECT_EQ(atom_load_rlx(&runtime()->fork_regions), 0);
}
TEST(regions_none) { rt_each(none_body); }

/* ---- more at a time than thieves are shown --------------------------------------------------------------------------------- */

WEFT_TASK(uint64_t, deep, unsigned, level) {
    if (level == 0) return WEFT_RUN(fib, 10);
    return WEFT_RUN(deep, level - 1) + 1;
}
static void deep_process(void *unused) {
    (void)unused;
    EXPECT_EQ(WEFT_RUN(deep, 1100), 55 + 1100);
    EXPECT_EQ(WEFT_RUN(fib, 12), 144);
}
TEST(regions_beyond_what_is_shown) {
    if (RT_SLOW > 1) return; /* 70 GB of address space and deep frames */
    rt_start("ring", 2);
    in_process_with(deep_process, NULL, 1 << 20);
    struct regions *regions = atom_load_acq(&runtime()->regions);
    EXPECT_EQ(atom_load_rlx(&regions->made), REGIONS_SEEN);
    rt_stop();
    EXPECT_EQ(sys_scripted_mapped(), 0);
}

/* ---- address space is short -------------------------------------------------------------------------------------------------- */

static void little_process(void *unused) {
    (void)unused;
    EXPECT_EQ(WEFT_RUN(fib, 15), 610);
}
/* Room for one at a time only: it is asked for one at a time. */
TEST(regions_one_by_one) {
    sys_scripted_install();
    sys_script.map_most = 2 * WEFT_TASKS_BYTES; /* stacks make do with less */
    EXPECT_EQ(weft_start(&(weft_config){.policy = "ring", .workers = 2, .seed = 1}, &rt.runtime), 0);
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    in_process(little_process);
    rt_stop();
    EXPECT_EQ(sys_scripted_mapped(), 0);
}

/* ---- thieves that cannot be had ------------------------------------------------------------------------------------------------ */

/* The number of processes is limited: all runs in place, and no thief spins for ever. */
static void alone_process(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++)
        EXPECT_EQ(WEFT_RUN(fib, 15), 610);
    EXPECT_EQ(rt_stats().spawned, 1); /* when it has ended, there may be a thief */
}
TEST(regions_no_more_processes) {
    rt_start_with(&(weft_config){.policy = "ring", .workers = 2, .seed = 1, .max_processes = 1});
    in_process(alone_process);
    rt_stop();
}

/* A thief has a region of its own. No address space for one: it gives up, and no other is sent before a process forks again. */
WEFT_VOID_TASK(leaf) {}
WEFT_VOID_TASK(waits_for_thieves) {
    sys_script.map_fail_from = atom_load_rlx(&sys_script.counts.vm_map) + 1;
    WEFT_FORK(leaf);
    rt_pause(20 * RT_MS);
    WEFT_JOIN(leaf);
}
static void lonely_process(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++)
        WEFT_RUN(waits_for_thieves);
}
TEST(regions_none_for_thieves) {
    if (ANNOTATE_THREAD) return; /* the script is changed while it is read */
    sys_scripted_install();
    sys_script.map_most = 2 * WEFT_TASKS_BYTES; /* one at a time */
    EXPECT_EQ(weft_start(&(weft_config){.policy = "ring", .workers = 2, .seed = 1}, &rt.runtime), 0);
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    in_process(lonely_process);
    printf("%lu processes\n", (unsigned long)rt_stats().spawned);
    EXPECT(rt_stats().spawned <= 1 + 3 * 2);
    sys_script.map_fail_from = 0;
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
