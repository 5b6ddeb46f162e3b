/* Results that are kept until a process joins: once, for the one that comes first; given up by weft_detach and with their owner. */
#include "life/cancel.h"
#include "life/zombie.h"
#include "mailbox_helpers.h"

static weft_pid kept_with(weft_runtime *runtime, weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid), 0);
    return pid;
}
static void exits(void *reason) { weft_exit((int)(intptr_t)reason); }
/* It may still be about to leave its reason. */
static void until_ended(weft_pid pid) {
    while (weft_alive(pid))
        usleep(50);
}
static void until_ended_inside(weft_pid pid) {
    while (weft_alive(pid))
        weft_sleep(20 * WEFT_MICROSECOND);
}
/* Blocks that were ever made: what is not given back makes them more. So many may lie on a worker's magazine. */
enum { SHELF = MAGAZINE_BATCH * (MAGAZINE_READY + 4) };
static uint32_t blocks(void) { return ((struct runtime *)rt.runtime)->table.fresh; }

/* ---- later than the end ----------------------------------------------------------------------------------------------------- */

static void later(void *unused) {
    enum { N = 300 };
    weft_pid pids[N];
    int reason;
    (void)unused;
    for (intptr_t i = 0; i < N; i++)
        EXPECT((pids[i] = weft_spawn_joinable(exits, (void *)(i - N / 2))) != WEFT_NOBODY);
    for (unsigned i = 0; i < N; i += 2) /* the others may live, or not */
        until_ended_inside(pids[i]);
    for (unsigned i = 0; i < N; i += 2) {
        EXPECT_EQ(weft_send(pids[i], 0, NULL, 0), WEFT_ENOPROC);
        EXPECT_EQ(weft_cancel(pids[i]), WEFT_ENOPROC);
    }
    for (int i = 0; i < N; i++) {
        EXPECT_EQ(weft_join(pids[i], &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, i - N / 2);
        EXPECT_EQ(weft_join(pids[i], &reason, WEFT_FOREVER), WEFT_ENOPROC);
        EXPECT_EQ(weft_detach(pids[i]), WEFT_ENOPROC);
    }
    EXPECT_EQ(weft_detach(WEFT_NOBODY), WEFT_ENOPROC);
    EXPECT_EQ(weft_detach(weft_spawn(exits, NULL)), WEFT_ENOPROC); /* it is not joinable */
}
static void later_body(void) {
    EXPECT_EQ(run(later, NULL), 0);
    int reason = 0;
    weft_pid pid = kept_with(rt.runtime, exits, (void *)7);
    until_ended(pid);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0); /* by a thread */
    EXPECT_EQ(reason, 7);
    EXPECT_EQ(weft_join(pid, &reason, 0), WEFT_ENOPROC);
    pid = kept_with(rt.runtime, sleeper, NULL);
    EXPECT_EQ(weft_join(pid, &reason, weft_now() + RT_MS), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_cancel(pid), 0);
    until_ended(pid);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0); /* giving up has not used it up */
    EXPECT_EQ(reason, 0);
}
TEST(keep_until_joined) { rt_each(later_body); }

static int fails(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return -42;
}
static void step_body(void) {
    static const weft_behavior failing = {.name = "failing", .step = fails};
    int reason = 0;
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&failing, &(weft_spawn_options){.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid), 0);
    until_ended(pid);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, -42);
}
TEST(keep_of_a_step_process) { rt_each(step_body); }

/* ---- given up ------------------------------------------------------------------------------------------------------------------- */

static void detaches(void *unused) {
    (void)unused;
    weft_pid ended = weft_spawn_joinable(exits, (void *)1), lives = weft_spawn_joinable(sleeper, NULL);
    until_ended_inside(ended);
    EXPECT_EQ(weft_detach(ended), 0);
    EXPECT_EQ(weft_join(ended, NULL, 0), WEFT_ENOPROC);
    EXPECT_EQ(weft_detach(lives), 0);
    EXPECT_EQ(weft_detach(lives), WEFT_ENOPROC);
    EXPECT_EQ(weft_join(lives, NULL, 0), WEFT_ETIMEDOUT); /* as any other */
    EXPECT_EQ(weft_cancel(lives), 0);
    until_ended_inside(lives);
    EXPECT_EQ(weft_join(lives, NULL, 0), WEFT_ENOPROC);
}
static void detach_body(void) { EXPECT_EQ(run(detaches, NULL), 0); }
TEST(keep_is_given_up_by_detaching) { rt_each(detach_body); }

/* No process joins. The blocks go round all the same. */
enum { CROWD = 2000 };
static atom_u64 crowds;
static weft_pid example;
static void never_joins(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < CROWD; i++)
        EXPECT((example = weft_spawn_joinable(i % 16 ? exits : sleeper, NULL)) != WEFT_NOBODY);
    run_others();
    weft_pid pid = example = weft_spawn_joinable(exits, (void *)3);
    until_ended_inside(pid);
    atom_add_rel(&crowds, 1);
}
static void owner_body(void) {
    unsigned rounds = 40 / RT_SLOW + 4;
    atom_store_rlx(&crowds, 0);
    for (unsigned i = 0; i < rounds; i++) {
        run(never_joins, NULL);
        rt_wait(&crowds, i + 1);
        cancel_all((struct runtime *)rt.runtime, NULL);
        rt_wait_until_none_lives(); /* the owner's join is told before the owner gives up its results */
        EXPECT_EQ(weft_join(example, NULL, 0), WEFT_ENOPROC);
    }
    EXPECT(blocks() < rt.workers * SHELF + 4 * CROWD);
}
TEST_WITHIN(keep_is_given_up_with_its_owner, 60) { rt_each(owner_body); }

/* All are joined, long after their end: their blocks go round, too. */
static void joins_all_later(void *unused) {
    static weft_pid pids[CROWD];
    (void)unused;
    for (unsigned i = 0; i < CROWD; i++)
        EXPECT((pids[i] = weft_spawn_joinable(exits, NULL)) != WEFT_NOBODY);
    for (unsigned i = 0; i < CROWD; i++)
        until_ended_inside(pids[i]);
    for (unsigned i = 0; i < CROWD; i++)
        EXPECT_EQ(weft_join(pids[i], NULL, WEFT_FOREVER), 0);
}
static void joined_body(void) {
    for (unsigned i = 0; i < 40 / RT_SLOW + 4; i++)
        run(joins_all_later, NULL);
    EXPECT(blocks() < rt.workers * SHELF + 4 * CROWD);
}
TEST_WITHIN(keep_is_given_up_by_joining, 60) { rt_each(joined_body); }

/* Spawned by a thread, and never asked for: until the runtime ends. rt_stop counts memory. */
static void orphan_body(void) {
    for (intptr_t i = 0; i < 100; i++)
        kept_with(rt.runtime, i % 2 ? exits : sleeper, (void *)i);
    for (intptr_t i = 0; i < 80000 / RT_SLOW; i++) {
        weft_pid pid = kept_with(rt.runtime, exits, (void *)i);
        if (i % 256 == 0) until_ended(pid);
        EXPECT_EQ(i % 64 ? weft_detach(pid) : weft_join(pid, NULL, WEFT_FOREVER), 0);
    }
    EXPECT(blocks() < (rt.workers + 1) * SHELF + 4000);
}
TEST_WITHIN(keep_without_an_owner, 60) { rt_each(orphan_body); }

/* ---- all at once ----------------------------------------------------------------------------------------------------------------- */

struct round {
    weft_pid pid;
    int reason;
    bool detached;
    unsigned joined; /* one a joiner */
};
enum { JOINERS = 3, ROUNDS = 4000 };
static struct round rounds[ROUNDS];
static atom_u32 joined[ROUNDS];

static void spins_and_exits(void *arg) {
    struct round *round = arg;
    for (int i = 0; i < round->reason % 64 * 8; i++)
        __asm__ volatile("");
    if (round->reason % 5 == 0) weft_yield();
    weft_exit(round->reason);
}
static void joins_all(void *arg) {
    unsigned n = *(unsigned *)arg;
    for (unsigned i = 0; i < n; i++) {
        int reason = 0, error = weft_join(rounds[i].pid, &reason, i % 7 ? WEFT_FOREVER : weft_in(i % 50 * 1000));
        EXPECT(error == 0 || error == WEFT_ENOPROC || (error == WEFT_ETIMEDOUT && i % 7 == 0));
        if (!error) EXPECT_EQ(reason, rounds[i].reason);
        if (!error) atom_add_rlx(&joined[i], 1);
    }
}
static void *detaches_some(void *arg) {
    unsigned n = *(unsigned *)arg;
    for (unsigned i = 0; i < n; i += 10)
        rounds[i].detached = weft_detach(rounds[i].pid) == 0;
    return NULL;
}
static void race(void *arg) {
    unsigned n = *(unsigned *)arg;
    pthread_t thread;
    weft_pid joiners[JOINERS];
    for (unsigned i = 0; i < n; i++) {
        rounds[i] = (struct round){.reason = (int)i + 1};
        atom_store_rlx(&joined[i], 0);
        EXPECT((rounds[i].pid = weft_spawn_joinable(spins_and_exits, &rounds[i])) != WEFT_NOBODY);
        if (i == n / 2) weft_yield();
    }
    for (unsigned i = 0; i < JOINERS; i++)
        joiners[i] = weft_spawn_joinable(joins_all, arg);
    EXPECT_EQ(pthread_create(&thread, NULL, detaches_some, arg), 0);
    for (unsigned i = 0; i < JOINERS; i++)
        EXPECT_EQ(weft_join(joiners[i], NULL, WEFT_FOREVER), 0);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < n; i++) {
        int last = weft_join(rounds[i].pid, NULL, WEFT_FOREVER);
        bool gave_up = i % 7 == 0; /* all may have, and then it is still to be had */
        EXPECT(last == WEFT_ENOPROC || (gave_up && last == 0));
        EXPECT(rounds[i].detached || last == 0 || atom_load_rlx(&joined[i]) > 0);
    }
}
static void race_body(void) {
    unsigned n = ROUNDS / RT_SLOW;
    EXPECT_EQ(run(race, &n), 0);
}
TEST_WITHIN(keep_while_all_come_at_once, 60) { rt_each(race_body); }

/* ---- no memory --------------------------------------------------------------------------------------------------------------------- */

/* The Nth allocation fails, for every N, in the spawner's list, the child's or the record. */
static void spawns_somehow(void *unused) {
    (void)unused;
    weft_pid pid = WEFT_NOBODY;
    int reason = 0, error = weft_spawn_with(exits, (void *)9, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, &pid);
    if (error) EXPECT_EQ(error, WEFT_ENOMEM);
    if (error) EXPECT((pid = weft_spawn_joinable(exits, (void *)9)) != WEFT_NOBODY);
    EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, 9);
}
/* True: the Nth request came. */
static bool failing_at(uint64_t n) {
    weft_pid pid;
    sys_scripted_install();
    sys_script.alloc_fail_at = n;
    int error = weft_start(&(weft_config){.policy = "ring", .workers = 1, .seed = 1}, &rt.runtime);
    if (!error) {
        error = weft_spawn_with(spawns_somehow, NULL, &(weft_stackful_options){.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid);
        if (!error) EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    }
    EXPECT(error == 0 || error == WEFT_ENOMEM);
    bool came = atom_load_rlx(&sys_script.counts.alloc_failed) > 0;
    EXPECT_EQ(sys_scripted_live(), 0);
    sys_scripted_reset();
    return came;
}
TEST(keep_without_memory) {
    uint64_t n = 1;
    while (failing_at(n) && n < 100)
        n++;
    EXPECT(n > 5 && n < 100);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
