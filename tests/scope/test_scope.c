/* Scopes: children are waited for in every case; failures, deadlines and cancellations reach the rest. */
#include "mailbox_helpers.h"

#include <signal.h>
#include <sys/wait.h>

static atom_u64 ended;

static void counts(void *unused) {
    (void)unused;
    atom_add_rel(&ended, 1);
}
static void yields_and_counts(void *times) {
    for (uintptr_t i = 0; i < (uintptr_t)times; i++)
        weft_yield();
    atom_add_rel(&ended, 1);
}
static void sleeps(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_sleep(3600 * WEFT_SECOND), WEFT_ECANCELED);
    atom_add_rel(&ended, 1);
}
static void fails(void *reason) {
    atom_add_rel(&ended, 1);
    weft_exit((int)(intptr_t)reason);
}

/* ---- all goes well ---------------------------------------------------------------------------------------------------- */

static void plain(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 30; round++) {
        weft_scope scope;
        atom_store_rlx(&ended, 0);
        weft_scope_begin(&scope, round % 2 ? WEFT_FOREVER : weft_in(60 * WEFT_SECOND));
        for (uintptr_t i = 0; i < 50; i++)
            EXPECT_EQ(weft_scope_spawn(&scope, i % 2 ? counts : yields_and_counts, (void *)(i % 5)), 0);
        if (round % 3) run_others();
        EXPECT_EQ(weft_scope_end(&scope), 0);
        EXPECT_EQ(atom_load_acq(&ended), 50);
    }
    weft_scope empty;
    weft_scope_begin(&empty, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_end(&empty), 0);
}
static void plain_body(void) { EXPECT_EQ(run(plain, NULL), 0); }
TEST(scope_waits_for_its_children) { rt_each(plain_body); }

static void squares(void *arg) { *(uint64_t *)arg *= *(uint64_t *)arg; }
static void many(void *unused) {
    enum { N = 2000 };
    static uint64_t numbers[N];
    (void)unused;
    for (uint64_t i = 0; i < N; i++)
        numbers[i] = i;
    EXPECT_EQ(weft_spawn_many(N, squares, numbers, sizeof numbers[0]), 0);
    for (uint64_t i = 0; i < N; i++)
        EXPECT_EQ(numbers[i], i * i);
}
static void many_body(void) { EXPECT_EQ(run(many, NULL), 0); }
TEST(spawn_many_runs_one_for_each) { rt_each(many_body); }

/* The newest first: a tree of scopes is walked in depth, and few stacks are in use at a time. */
static struct { atom_u64 living, most, leaves; } tree;
static void node(void *arg) {
    unsigned depth = (unsigned)(uintptr_t)arg;
    uint64_t now = atom_add_rlx(&tree.living, 1) + 1, most = atom_load_rlx(&tree.most);
    while (now > most && !atom_cas_rlx_rlx(&tree.most, &most, now)) {}
    if (depth > 0) {
        weft_scope scope;
        weft_scope_begin(&scope, WEFT_FOREVER);
        for (unsigned i = 0; i < 10; i++)
            EXPECT_EQ(weft_scope_spawn(&scope, node, (void *)(uintptr_t)(depth - 1)), 0);
        EXPECT_EQ(weft_scope_end(&scope), 0);
    } else {
        atom_add_rlx(&tree.leaves, 1);
    }
    atom_sub_rlx(&tree.living, 1);
}
TEST(scope_walks_a_tree_in_depth) {
    unsigned depth = RT_SLOW > 1 ? 3 : 5;
    for (unsigned workers = 1; workers <= 2; workers++) {
        atom_store_rlx(&tree.most, 0);
        atom_store_rlx(&tree.leaves, 0);
        rt_start("ring", workers);
        EXPECT_EQ(run(node, (void *)(uintptr_t)depth), 0);
        rt_stop();
        uint64_t leaves = 1;
        for (unsigned i = 0; i < depth; i++)
            leaves *= 10;
        printf("%u workers: at most %llu at a time\n", workers, (unsigned long long)atom_load_rlx(&tree.most));
        EXPECT_EQ(atom_load_rlx(&tree.leaves), leaves);
        EXPECT(atom_load_rlx(&tree.most) <= leaves / 10 + 200); /* in breadth: all the leaves. Now and then it is others' turn */
    }
}

/* A child spawns siblings. */
static void grows(void *scope) {
    static atom_u64 budget;
    if (atom_add_rlx(&ended, 1) == 0) atom_store_rlx(&budget, 500);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t left = atom_load_rlx(&budget);
        while (left > 0 && !atom_cas_rlx_rlx(&budget, &left, left - 1)) {}
        if (left > 0) EXPECT_EQ(weft_scope_spawn(scope, grows, scope), 0);
    }
}
static void growing(void *unused) {
    weft_scope scope;
    (void)unused;
    atom_store_rlx(&ended, 0);
    weft_scope_begin(&scope, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn(&scope, grows, &scope), 0);
    EXPECT_EQ(weft_scope_end(&scope), 0);
    EXPECT_EQ(atom_load_acq(&ended), 501);
}
static void growing_body(void) { EXPECT_EQ(run(growing, NULL), 0); }
TEST(scope_grows_from_within) { rt_each(growing_body); }

/* Children that have ended before the owner waits are forgotten: their memory is others' by then. */
static void ended_before(void *unused) {
    unsigned char junk[32];
    (void)unused;
    memset(junk, 0x41, sizeof junk);
    for (unsigned round = 0; round < 20; round++) {
        weft_scope scope;
        atom_store_rlx(&ended, 0);
        weft_scope_begin(&scope, WEFT_FOREVER);
        for (unsigned i = 0; i < 20; i++)
            EXPECT_EQ(weft_scope_spawn(&scope, i == 0 ? sleeps : counts, NULL), 0);
        while (atom_load_acq(&ended) < 19)
            EXPECT_EQ(weft_sleep(100 * WEFT_MICROSECOND), 0);
        for (unsigned i = 0; i < 200; i++)
            EXPECT_EQ(weft_send(weft_self(), i, junk, sizeof junk), 0);
        weft_scope_cancel(&scope);
        EXPECT_EQ(weft_scope_end(&scope), WEFT_ECANCELED);
        for (unsigned i = 0; i < 200; i++)
            expect_next(i);
    }
}
static void ended_before_body(void) { EXPECT_EQ(run(ended_before, NULL), 0); }
TEST(scope_forgets_ended_children) { rt_each(ended_before_body); }

/* ---- failures ----------------------------------------------------------------------------------------------------------- */

static void one_fails(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 20; round++) {
        weft_scope scope;
        weft_pid pid;
        atom_store_rlx(&ended, 0);
        weft_scope_begin(&scope, WEFT_FOREVER);
        unsigned spawned = 0;
        for (unsigned i = 0; i < 10; i++)
            spawned += weft_scope_spawn(&scope, sleeps, NULL) == 0;
        EXPECT_EQ(weft_scope_spawn_with(&scope, fails, (void *)(intptr_t)-5, &(weft_stackful_options){.name = "failing"}, &pid), 0);
        for (unsigned i = 0; i < 10; i++) {
            int error = weft_scope_spawn(&scope, sleeps, NULL);
            EXPECT(error == 0 || error == WEFT_ECANCELED); /* it may have failed by now */
            spawned += error == 0;
            if (round % 2) weft_yield();
        }
        EXPECT_EQ(weft_scope_end(&scope), -5);
        EXPECT_EQ(atom_load_acq(&ended), spawned + 1);
        EXPECT(!weft_alive(pid));
    }
}
static void fails_body(void) { EXPECT_EQ(run(one_fails, NULL), 0); }
TEST(scope_cancels_the_rest_when_one_fails) { rt_each(fails_body); }

static void too_late(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 3; round++) {
        weft_scope scope;
        atom_store_rlx(&ended, 0);
        uint64_t begin = weft_now();
        weft_scope_begin(&scope, round == 2 ? weft_now() : weft_in(3 * WEFT_MILLISECOND));
        for (unsigned i = 0; i < 10; i++) {
            int error = weft_scope_spawn(&scope, sleeps, NULL);
            EXPECT((error == 0 && round < 2) || error == WEFT_ECANCELED); /* on a slow machine it may have passed */
            if (error) atom_add_rel(&ended, 1);
        }
        if (round == 1) {
            while (atom_load_acq(&ended) < 10) /* the deadline works while the owner does other things */
                EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
            EXPECT_EQ(weft_scope_spawn(&scope, sleeps, NULL), WEFT_ECANCELED);
        }
        EXPECT_EQ(weft_scope_end(&scope), WEFT_ETIMEDOUT);
        EXPECT_EQ(atom_load_acq(&ended), 10);
        EXPECT(round == 2 || weft_now() - begin >= 3 * WEFT_MILLISECOND);
    }
}
/* However busy the owner is: no other thread need have told it. */
static void late_and_busy(void *unused) {
    weft_scope scope;
    (void)unused;
    weft_scope_begin(&scope, weft_now());
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ETIMEDOUT);
    weft_scope_begin(&scope, weft_in(WEFT_MILLISECOND));
    for (uint64_t until = weft_in(2 * WEFT_MILLISECOND); weft_now() < until;) {}
    EXPECT_EQ(weft_scope_spawn(&scope, sleeps, NULL), WEFT_ECANCELED);
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ETIMEDOUT);
}
static void late_busy_body(void) { EXPECT_EQ(run(late_and_busy, NULL), 0); }
TEST(scope_lets_no_child_in_after_its_deadline) { rt_each(late_busy_body); }

static void late_body(void) { EXPECT_EQ(run(too_late, NULL), 0); }
TEST(scope_keeps_its_deadline) { rt_each(late_body); }

/* ---- the owner is cancelled, or ends ---------------------------------------------------------------------------------------- */

static void slow_to_end(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_sleep(3600 * WEFT_SECOND), WEFT_ECANCELED);
    weft_shield_begin();
    EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    weft_shield_end();
    atom_add_rel(&ended, 1);
}
static atom_bool has_all;
static void owner(void *how) {
    weft_scope outer, inner;
    weft_scope_begin(&outer, WEFT_FOREVER);
    for (unsigned i = 0; i < 5; i++)
        weft_scope_spawn(&outer, slow_to_end, NULL);
    weft_scope_begin(&inner, WEFT_FOREVER);
    for (unsigned i = 0; i < 5; i++)
        weft_scope_spawn(&inner, slow_to_end, NULL);
    atom_store_rel(&has_all, true);
    switch ((uintptr_t)how) {
    case 0: break;
    case 1: EXPECT_EQ(weft_sleep(3600 * WEFT_SECOND), WEFT_ECANCELED); break;
    default: run_others(); weft_exit(-9);
    }
    EXPECT_EQ(weft_scope_end(&inner), WEFT_ECANCELED);
    EXPECT_EQ(atom_load_acq(&ended), 5);
    EXPECT_EQ(weft_scope_end(&outer), WEFT_ECANCELED);
    EXPECT_EQ(atom_load_acq(&ended), 10);
}
static void owners(void *unused) {
    (void)unused;
    for (uintptr_t how = 0; how < 3; how++) {
        atom_store_rlx(&ended, 0);
        atom_store_rlx(&has_all, false);
        weft_pid pid = weft_spawn_joinable(owner, (void *)how);
        while (!atom_load_acq(&has_all))
            weft_yield();
        EXPECT(weft_sleep(2 * WEFT_MILLISECOND) == 0);
        int error = weft_cancel(pid), reason = 0;
        EXPECT(error == 0 || how == 2);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, how == 2 ? -9 : 0);
        EXPECT_EQ(atom_load_acq(&ended), 10);
    }
}
static void owners_body(void) { EXPECT_EQ(run(owners, NULL), 0); }
TEST(scope_of_a_cancelled_owner) { rt_each(owners_body); }

/* Cancelled before it had any: they are cancelled as soon as it waits for them, and it does not make room for one of them first. */
static void cancelled_before(void *unused) {
    weft_scope scope;
    (void)unused;
    while (!weft_cancelled())
        weft_yield();
    weft_shield_begin();
    EXPECT_EQ(weft_sleep(100 * WEFT_MICROSECOND), 0); /* the wake-up that came with the cancellation is used up */
    weft_shield_end();
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(weft_scope_spawn(&scope, sleeps, NULL), 0);
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ECANCELED);
    EXPECT_EQ(atom_load_acq(&ended), 5);
}
static void cancelled_before_body(void) {
    atom_store_rlx(&ended, 0);
    weft_pid pid = run_flags(cancelled_before, NULL, WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(weft_cancel(pid), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(atom_load_acq(&ended), 5);
}
TEST(scope_of_an_owner_that_was_cancelled_before) { rt_each(cancelled_before_body); }

static void by_hand(void *unused) {
    weft_scope scope;
    (void)unused;
    atom_store_rlx(&ended, 0);
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(weft_scope_spawn(&scope, sleeps, NULL), 0);
    weft_scope_cancel(&scope);
    weft_scope_cancel(&scope);
    EXPECT_EQ(weft_scope_spawn(&scope, sleeps, NULL), WEFT_ECANCELED);
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ECANCELED);
    EXPECT_EQ(atom_load_acq(&ended), 5);
}
static void by_hand_body(void) { EXPECT_EQ(run(by_hand, NULL), 0); }
TEST(scope_cancelled_by_hand) { rt_each(by_hand_body); }

/* ---- without stacks or memory -------------------------------------------------------------------------------------------------- */

static void without_stacks(void *unused) {
    weft_scope scope;
    (void)unused;
    weft_scope_begin(&scope, WEFT_FOREVER);
    sys_script.map_fail_from = 1;
    int error = 0;
    unsigned spawned = 0;
    for (; !error && spawned < 20000; spawned++)
        error = weft_scope_spawn(&scope, sleeps, NULL);
    int result = weft_scope_end(&scope);
    sys_script.map_fail_from = 0;
    EXPECT(result == WEFT_ENOSTACK || result == WEFT_ENOMEM);
    atom_store_rel(&ended, UINT64_MAX);
}
TEST(scope_whose_child_gets_no_stack) {
    rt_start_with(&(weft_config){.policy = "ring", .workers = 1, .seed = 1, .stack_size = 1 << 20});
    atom_store_rlx(&ended, 0);
    run_spawn(without_stacks, NULL);
    rt_wait(&ended, UINT64_MAX); /* no other thread maps anything meanwhile */
    rt_stop();
}

/* ---- misuse ------------------------------------------------------------------------------------------------------------------- */

static weft_scope left_open;
static void returns_within(void *unused) {
    (void)unused;
    weft_scope_begin(&left_open, WEFT_FOREVER);
}
static void leaves_open(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_start(&(weft_config){.workers = 1}, &runtime);
    weft_spawn_with(returns_within, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
    for (;;)
        pause();
}
TEST(scope_left_open_aborts_by_name) { EXPECT_ABORT(leaves_open, "weft_scope_end"); }

/* ---- children that fail alone --------------------------------------------------------------------------------------------- */

static void serves(void *unused) {
    (void)unused;
    weft_scope scope;
    atom_store_rlx(&ended, 0);
    weft_scope_begin_with(&scope, WEFT_SCOPE_APART, WEFT_FOREVER);
    for (unsigned i = 0; i < 20; i++) {
        EXPECT_EQ(weft_scope_spawn(&scope, fails, (void *)(intptr_t)(i % 2 ? 5 : WEFT_EACCES)), 0);
        EXPECT_EQ(weft_scope_spawn(&scope, yields_and_counts, (void *)3), 0);
        while (i == 10 && atom_load_acq(&ended) < 22) /* all of them have failed, and more are spawned */
            weft_yield();
    }
    EXPECT_EQ(weft_scope_end(&scope), 0);
    EXPECT_EQ(atom_load_acq(&ended), 40);
    weft_scope_begin_with(&scope, WEFT_SCOPE_APART, weft_in(WEFT_MILLISECOND)); /* its deadline holds all the same */
    for (unsigned i = 0; i < 2; i++) {
        int error = weft_scope_spawn(&scope, i ? sleeps : fails, (void *)5);
        EXPECT(error == 0 || error == WEFT_ECANCELED); /* it may have come already */
    }
    weft_sleep(2 * WEFT_MILLISECOND);
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ETIMEDOUT);
    weft_scope_begin_with(&scope, WEFT_SCOPE_APART, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn(&scope, sleeps, NULL), 0);
    weft_scope_cancel(&scope);
    EXPECT_EQ(weft_scope_end(&scope), WEFT_ECANCELED);
}
static void apart(void) { run(serves, NULL); }
TEST(scope_children_fail_alone) { rt_each(apart); }

/* ---- bundles ---------------------------------------------------------------------------------------------------------------- */

static void any_order(void *unused) {
    weft_bundle *bundles[4];
    weft_scope scope;
    (void)unused;
    atom_store_rlx(&ended, 0);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(weft_bundle_open(i == 3 ? WEFT_SCOPE_APART : 0, &bundles[i], WEFT_FOREVER), 0);
    weft_scope_begin(&scope, WEFT_FOREVER);
    EXPECT_EQ(weft_scope_spawn(weft_bundle_scope(bundles[0]), sleeps, NULL), 0);
    EXPECT_EQ(weft_scope_spawn_many(weft_bundle_scope(bundles[1]), 5, counts, NULL, 0), 0);
    EXPECT_EQ(weft_scope_spawn(weft_bundle_scope(bundles[2]), fails, (void *)5), 0);
    EXPECT_EQ(weft_scope_spawn(weft_bundle_scope(bundles[3]), fails, (void *)5), 0);
    EXPECT_EQ(weft_scope_spawn(&scope, counts, NULL), 0);
    EXPECT_EQ(weft_bundle_close(bundles[1]), 0);
    EXPECT_EQ(weft_scope_end(&scope), 0); /* between two bundles that are open */
    EXPECT_EQ(weft_bundle_close(bundles[3]), 0);
    weft_scope_cancel(weft_bundle_scope(bundles[0]));
    EXPECT_EQ(weft_bundle_close(bundles[0]), WEFT_ECANCELED);
    EXPECT_EQ(weft_bundle_close(bundles[2]), 5);
    EXPECT_EQ(atom_load_acq(&ended), 9);
}
static void leaves_bundles(void *how) {
    weft_bundle *bundle;
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(weft_bundle_open(0, &bundle, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_scope_spawn(weft_bundle_scope(bundle), sleeps, NULL), 0);
    }
    if (how == counts) weft_exit(4);
    if (how != sleeps) return;
    EXPECT_EQ(weft_kill(weft_self()), 0);
    expect_the_end();
}
static void bundles(void) {
    run(any_order, NULL);
    atom_store_rlx(&ended, 0);
    run(leaves_bundles, NULL); /* returns, exits, is killed: all are ended and freed */
    run(leaves_bundles, (void *)counts);
    EXPECT_EQ(atom_load_acq(&ended), 6);
    run(leaves_bundles, (void *)sleeps); /* its children are killed with it */
}
TEST(bundles_are_closed_in_any_order) { rt_each(bundles); }

static void ends_a_bundle(void *unused) {
    weft_bundle *bundle;
    (void)unused;
    weft_bundle_open(0, &bundle, WEFT_FOREVER);
    weft_scope_end(weft_bundle_scope(bundle));
}
static void bundle_ended_as_scope(void) {
    rt_start("ring", 1);
    run(ends_a_bundle, NULL);
}
TEST(bundle_ended_as_a_scope_aborts) { EXPECT_ABORT(bundle_ended_as_scope, "weft_bundle_close"); }

/* The whole reason of the child that has failed first; without one, or unasked for, nothing is left of it. */
static void fails_with_words(void *unused) {
    (void)unused;
    weft_exit_with(-7, "words", 6);
}
static void whole_reason(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 4; i++) {
        weft_scope scope;
        weft_reason reason = {.code = 1};
        weft_scope_begin(&scope, WEFT_FOREVER);
        if (i > 0) EXPECT_EQ(weft_scope_spawn(&scope, fails_with_words, NULL), 0);
        if (i == 3) weft_exit(0);
        EXPECT_EQ(i == 2 ? weft_scope_end(&scope) : weft_scope_end_reason(&scope, &reason), i > 0 ? -7 : 0);
        if (i == 2) continue;
        EXPECT_EQ(reason.code, i > 0 ? -7 : 0);
        EXPECT_EQ(reason.size, i > 0 ? 6 : 0);
        if (i > 0) EXPECT(memcmp(reason.data, "words", 6) == 0);
        weft_reason_free(&reason);
    }
}
static void whole_reason_body(void) { EXPECT_EQ(run(whole_reason, NULL), 0); }
TEST(scope_tells_the_whole_reason) { rt_each(whole_reason_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
