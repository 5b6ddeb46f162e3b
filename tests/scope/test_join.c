/* Waiting for the end of a process: its reason, deadlines, cancellation; and what is deferred until then. */
#include "mailbox_helpers.h"

static void exits(void *reason) { weft_exit((int)(intptr_t)reason); }
static void returns(void *unused) { (void)unused; }

static void joins(void *unused) {
    int reason = 1;
    (void)unused;
    for (intptr_t i = -20; i < 20; i++) {
        weft_pid pid = i % 2 ? weft_spawn(exits, (void *)i) : weft_spawn_joinable(exits, (void *)i);
        int error = weft_join(pid, &reason, WEFT_FOREVER);
        EXPECT(error == 0 || (i % 2 && error == WEFT_ENOPROC)); /* it may have ended before */
        if (!error) EXPECT_EQ(reason, i);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), WEFT_ENOPROC);
    }
    weft_pid pid = weft_spawn(sleeper, NULL);
    EXPECT_EQ(weft_join(pid, NULL, 0), WEFT_ETIMEDOUT);
    uint64_t begin = weft_now();
    EXPECT_EQ(weft_join(pid, NULL, weft_in(2 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT(weft_now() - begin >= 2 * WEFT_MILLISECOND);
    EXPECT_EQ(weft_cancel(pid), 0);
    int error = weft_join(pid, &reason, weft_in(60 * WEFT_SECOND));
    EXPECT(error == WEFT_ENOPROC || (error == 0 && reason == 0));
    EXPECT_EQ(weft_join(WEFT_NOBODY, NULL, WEFT_FOREVER), WEFT_ENOPROC);
}
static void joins_body(void) { EXPECT_EQ(run(joins, NULL), 0); }
TEST(join_from_a_process) { rt_each(joins_body); }

static void outside_body(void) {
    int reason = 0;
    weft_pid pid = run_spawn(sleeper, NULL);
    EXPECT_EQ(weft_join(pid, &reason, weft_now() + RT_MS), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_join(pid, &reason, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_cancel(pid), 0);
    int error = weft_join(pid, &reason, WEFT_FOREVER);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
}
TEST(join_from_a_thread) { rt_each(outside_body); }

/* ---- many wait for one ------------------------------------------------------------------------------------------------ */

struct crowd {
    weft_pid joined;
    uint64_t patience; /* ns; 0: for ever */
};
static void one_of_many(void *arg) {
    struct crowd crowd = *(struct crowd *)arg;
    int reason = 0, error = weft_join(crowd.joined, &reason, crowd.patience ? weft_in(crowd.patience) : WEFT_FOREVER);
    EXPECT(error == 0 || error == WEFT_ENOPROC || (error == WEFT_ETIMEDOUT && crowd.patience) || error == WEFT_ECANCELED);
    if (!error) EXPECT_EQ(reason, 3);
}
static void ends_soon(void *unused) {
    (void)unused;
    weft_sleep(300 * WEFT_MICROSECOND);
    weft_exit(3);
}
static void crowds(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 20 / RT_SLOW + 1; round++) {
        enum { N = 40 };
        struct crowd crowd[N];
        weft_pid monitors[N], pid = weft_spawn(ends_soon, NULL);
        for (unsigned i = 0; i < N; i++) {
            crowd[i] = (struct crowd){pid, i % 2 ? 0 : (200 + i * 5) * WEFT_MICROSECOND};
            monitors[i] = weft_spawn(one_of_many, &crowd[i]);
        }
        for (unsigned i = 0; i < N; i += 7)
            weft_cancel(monitors[i]);
        for (unsigned i = 0; i < N; i++)
            run_join(monitors[i]);
        run_join(pid);
    }
}
static void crowds_body(void) { EXPECT_EQ(run(crowds, NULL), 0); }
TEST(join_by_many_at_the_moment_of_the_end) { rt_each(crowds_body); }

/* From threads while processes end all the time. */
static void *joiner(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 300 / RT_SLOW; i++) {
        int reason = 0;
        weft_pid pid = run_spawn(i % 2 ? returns : exits, (void *)(intptr_t)5);
        int error = weft_join(pid, &reason, i % 3 ? WEFT_FOREVER : weft_now() + i * 1000);
        EXPECT(error == 0 || error == WEFT_ENOPROC || error == WEFT_ETIMEDOUT);
        if (!error) EXPECT_EQ(reason, i % 2 ? 0 : 5);
    }
    return NULL;
}
static void threads_body(void) {
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, joiner, NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}
TEST(join_from_threads_while_processes_end) { rt_each(threads_body); }

static void is_cancelled(void *joined) { EXPECT_EQ(weft_join(*(weft_pid *)joined, NULL, WEFT_FOREVER), WEFT_ECANCELED); }
static void cancels(void *unused) {
    (void)unused;
    weft_pid joined = weft_spawn(sleeper, NULL), pid = weft_spawn(is_cancelled, &joined);
    run_others();
    EXPECT_EQ(weft_cancel(pid), 0);
    run_join(pid);
    EXPECT_EQ(weft_cancel(joined), 0);
}
static void cancels_body(void) { EXPECT_EQ(run(cancels, NULL), 0); }
TEST(join_is_cancelled) { rt_each(cancels_body); }

/* ---- weft_end ------------------------------------------------------------------------------------------------------------ */

static struct {
    atom_bool begun, over;
    atom_u32 seen; /* how many owners have seen the end */
} ended;
static void ends_slowly(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    atom_store_rel(&ended.over, true);
}
/* `shielded`: only a kill ends it. Either way it takes a while. */
static void owned(void *shielded) {
    EXPECT_EQ(weft_defer(ends_slowly, NULL), 0);
    if (shielded) weft_shield_begin();
    atom_store_rel(&ended.begun, true);
    (void)weft_sleep(3600 * WEFT_SECOND);
    weft_exit(4);
}
static weft_pid owned_spawn(void *shielded) {
    atom_store_rel(&ended.begun, false);
    atom_store_rel(&ended.over, false);
    weft_pid pid = run_flags(owned, shielded, WEFT_SPAWN_JOINABLE);
    while (!atom_load_acq(&ended.begun))
        run_others();
    return pid;
}
static void sees_its_end(void *unused) {
    (void)unused;
    if (atom_load_acq(&ended.over)) atom_add_rel(&ended.seen, 1);
}
/* It is cancelled, or killed, before it ends its child, or while it waits for that. */
static void owner(void *pid) {
    int reason = 0;
    EXPECT_EQ(weft_defer(sees_its_end, NULL), 0);
    EXPECT_EQ(weft_end(*(weft_pid *)pid, &reason), 0);
    EXPECT(reason == 4 || reason == WEFT_EKILLED);
    EXPECT_EQ(weft_end(*(weft_pid *)pid, &reason), WEFT_ENOPROC);
}
static void ends_in_a_deferred(void *pid) { EXPECT_EQ(weft_end(*(weft_pid *)pid, NULL), 0); }
static void owner_that_exits(void *pid) {
    EXPECT_EQ(weft_defer(sees_its_end, NULL), 0);
    EXPECT_EQ(weft_defer(ends_in_a_deferred, pid), 0);
    (void)weft_sleep(3600 * WEFT_SECOND);
}
static void owners(void *unused) {
    weft_entry const all[] = {owner, owner_that_exits};
    (void)unused;
    atom_store_rel(&ended.seen, 0);
    for (unsigned i = 0; i < 12; i++) {
        bool kill = i % 2;
        weft_pid child = owned_spawn(kill ? &ended : NULL), pid = weft_spawn_joinable(all[i / 2 % 2], &child);
        for (unsigned k = 0; k < 3; k++)
            run_others();
        int error = kill ? weft_kill(pid) : weft_cancel(pid), reason = run_join(pid);
        EXPECT(error == 0 || error == WEFT_ENOPROC); /* the latter: it has ended its child, and itself, by now */
        EXPECT(reason == 0 || reason == WEFT_EKILLED);
        if (weft_alive(child)) weft_kill(child); /* the owner was killed before it began */
        else EXPECT(atom_load_acq(&ended.over));
        weft_detach(child);
    }
    EXPECT(atom_load_acq(&ended.seen) >= 6); /* those that were cancelled at the least */
}
static void end_body(void) {
    int reason = 0;
    EXPECT_EQ(run(owners, NULL), 0);
    weft_pid pid = run_flags(owned, NULL, WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(weft_end(pid, &reason), 0); /* from a thread */
    EXPECT(reason == 4 || reason == WEFT_ECANCELED);
    EXPECT_EQ(weft_end(pid, &reason), WEFT_ENOPROC);
}
TEST(join_ends_what_uses_its_memory) { rt_each(end_body); }

/* ---- weft_defer --------------------------------------------------------------------------------------------------------- */

static struct {
    unsigned count;
    uintptr_t order[16];
} deferred;
static void notes(void *number) { deferred.order[deferred.count++] = (uintptr_t)number; }
static void waits_and_notes(void *number) {
    EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0); /* although the process was cancelled */
    notes(number);
}
static void exits_in_it(void *number) {
    notes(number);
    weft_exit(11);
}

static void defers(void *how) {
    EXPECT_EQ(weft_defer(notes, (void *)1), 0);
    EXPECT_EQ(weft_defer(waits_and_notes, (void *)2), 0);
    EXPECT_EQ(weft_defer(notes, (void *)99), 0);
    weft_undefer(false);
    EXPECT_EQ(weft_defer(notes, (void *)3), 0);
    weft_undefer(true);
    if (how == (void *)3) EXPECT_EQ(weft_defer(exits_in_it, (void *)4), 0);
    if (how == (void *)2) EXPECT_EQ(weft_sleep(3600 * WEFT_SECOND), WEFT_ECANCELED);
    if (how == (void *)1) weft_exit(10);
}
static void deferring(void *unused) {
    static const int reasons[] = {0, 10, 0, 11};
    (void)unused;
    for (uintptr_t how = 0; how < 4; how++) {
        deferred.count = 0;
        weft_pid pid = weft_spawn_joinable(defers, (void *)how);
        if (how == 2) {
            run_others();
            EXPECT_EQ(weft_cancel(pid), 0);
        }
        int reason = 1;
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, reasons[how]);
        uintptr_t *at = deferred.order;
        EXPECT_EQ(deferred.count, how == 3 ? 4 : 3);
        EXPECT_EQ(*at++, 3);
        if (how == 3) EXPECT_EQ(*at++, 4);
        EXPECT_EQ(*at++, 2);
        EXPECT_EQ(*at++, 1);
    }
}
static void defer_body(void) { EXPECT_EQ(run(deferring, NULL), 0); }
TEST(defer_runs_when_the_process_ends) { rt_each(defer_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
