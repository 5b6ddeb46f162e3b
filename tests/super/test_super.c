/* Supervisors: order of starts and stops, strategies, kinds of restart, intensity, trees. */
#include "super_helpers.h"

#include "life/spawn.h"
#include "mail/mailbox.h"

static const weft_child_spec three[] = {CHILD("A"), CHILD("B"), CHILD("C")};

/* ---- starting and stopping ------------------------------------------------------------------------------------------------ */

static void in_order(void *unused) {
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&SPEC(three));
    diary_is("ABC");
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    diary_is("ABCcba");
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), WEFT_ENOPROC);
}
static void in_order_body(void) { EXPECT_EQ(run(in_order, NULL), 0); }
TEST(super_starts_in_order_and_stops_in_reverse) { rt_each(in_order_body); }

static void by_a_thread_body(void) {
    diary_clear();
    weft_pid super = super_started(&SPEC(three));
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    diary_is("ABCcba");
}
TEST(super_by_a_thread) { rt_each(by_a_thread_body); }

/* The runtime stops with a supervisor in it: its children end too. */
static void left_alone_body(void) {
    diary_clear();
    super_started(&SPEC(three));
}
TEST(super_is_stopped_with_the_runtime) { rt_each(left_alone_body); }

static void without_children(void *unused) {
    (void)unused;
    weft_pid super = super_started(&(weft_super_spec){.name = "nothing"});
    EXPECT_EQ(weft_super_children(super, NULL, 0, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
static void without_children_body(void) { EXPECT_EQ(run(without_children, NULL), 0); }
TEST(super_without_children) { rt_each(without_children_body); }

/* ---- a child cannot be started ------------------------------------------------------------------------------------------------ */

static void fails_at_once(void *unused) {
    (void)unused;
    weft_exit(-77);
}
static void says_no(void *unused) {
    (void)unused;
    weft_ready(-78);
    weft_sleep(3600 * WEFT_SECOND);
}
static void never_ready(void *unused) {
    (void)unused;
    weft_sleep(3600 * WEFT_SECOND);
}
static void not_started(const weft_child_spec *last, int error) {
    weft_child_spec children[] = {CHILD("A"), CHILD("B"), *last, CHILD("C")};
    weft_pid super = WEFT_NOBODY;
    diary_clear();
    EXPECT_EQ(weft_super_start(&SPEC(children), NULL, &super, WEFT_FOREVER), error);
    diary_is("ABba");
}
static void failing_starts(void *unused) {
    (void)unused;
    not_started(&(weft_child_spec){.id = "x", .entry = fails_at_once, .ready = true}, -77);
    not_started(&(weft_child_spec){.id = "x", .entry = says_no, .ready = true}, -78);
    not_started(&(weft_child_spec){.id = "x", .entry = never_ready, .ready = true, .start_ms = 20}, WEFT_ETIMEDOUT);
}
static void failing_starts_body(void) { EXPECT_EQ(run(failing_starts, NULL), 0); }
TEST(super_start_fails_and_leaves_nothing) { rt_each(failing_starts_body); }

static void late(void *unused) {
    weft_child_spec children[] = {CHILD("A"), {.id = "x", .entry = never_ready, .ready = true, .start_ms = 3600000}};
    weft_pid super = WEFT_NOBODY;
    (void)unused;
    diary_clear();
    EXPECT_EQ(weft_super_start(&SPEC(children), NULL, &super, weft_in(20 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    while (weft_alive(super))
        weft_sleep(WEFT_MILLISECOND);
    diary_is(diary.length > 0 ? "Aa" : ""); /* the latter: on a slow machine it was stopped before its first child */
}
static void late_body(void) { EXPECT_EQ(run(late, NULL), 0); }
TEST(super_start_with_a_deadline) { rt_each(late_body); }

static void nonsense(void *unused) {
    weft_pid super;
    static weft_super_spec circle = {.name = "circle", .count = 1};
    const weft_child_spec itself[] = {{.id = "below", .super = &circle}}, starred[] = {{.id = "*1", .entry = noted_child}};
    circle.children = itself;
    EXPECT_EQ(weft_super_start(&circle, NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_super_start(&SPEC(starred), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    const weft_child_spec twice[] = {CHILD("A"), CHILD("A")}, nothing[] = {{.id = "A"}}, nameless[] = {{.entry = noted_child}};
    (void)unused;
    EXPECT_EQ(weft_super_start(&SPEC(twice), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_super_start(&SPEC(nothing), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_super_start(&SPEC(nameless), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_super_start(&SPEC(three, .strategy = (enum weft_strategy)9), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    const weft_child_spec newer[] = {CHILD("A", .reserved = {&circle})}, monitored[] = {CHILD("A", .flags = WEFT_SPAWN_MONITOR)};
    EXPECT_EQ(weft_super_start(&SPEC(newer), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_super_start(&SPEC(monitored), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_super_start(&SPEC(three, .reserved = {&circle}), NULL, &super, WEFT_FOREVER), WEFT_EINVAL);
}
static void nonsense_body(void) { EXPECT_EQ(run(nonsense, NULL), 0); }
TEST(super_specification_that_makes_no_sense) { rt_each(nonsense_body); }

/* ---- strategies ------------------------------------------------------------------------------------------------------------------ */

static void strategy(enum weft_strategy strategy, const char *story) {
    diary_clear();
    weft_pid super = super_started(&SPEC(three, .strategy = strategy));
    child_order(child_pid(super, "B"), -5);
    diary_until(strlen(story));
    diary_is(story);
    EXPECT(weft_alive(child_pid(super, "A")) && weft_alive(child_pid(super, "B")) && weft_alive(child_pid(super, "C")));
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
static void strategies(void *unused) {
    (void)unused;
    strategy(WEFT_ONE_FOR_ONE, "ABCbB");
    strategy(WEFT_ONE_FOR_ALL, "ABCbcaABC");
    strategy(WEFT_REST_FOR_ONE, "ABCbcBC");
}
static void strategies_body(void) { EXPECT_EQ(run(strategies, NULL), 0); }
TEST(super_strategies) { rt_each(strategies_body); }

/* ---- kinds of restart ---------------------------------------------------------------------------------------------------------- */

static void restarts(enum weft_restart kind, int code, bool again) {
    const weft_child_spec children[] = {CHILD("A"), CHILD("B", .restart = kind)};
    diary_clear();
    weft_pid super = super_started(&SPEC(children));
    child_order(child_pid(super, "B"), code);
    diary_until(again ? 4 : 3);
    weft_child_info infos[2];
    ssize_t count = weft_super_children(super, infos, 2, WEFT_FOREVER);
    while (!again && count == 2 && infos[1].pid != WEFT_NOBODY) { /* the note is made before the end, and the supervisor is told after it */
        weft_sleep(WEFT_MILLISECOND);
        count = weft_super_children(super, infos, 2, WEFT_FOREVER);
    }
    EXPECT_EQ(count, kind == WEFT_TEMPORARY ? 1 : 2);
    if (count == 2) EXPECT_EQ(infos[1].pid != WEFT_NOBODY, again);
    if (count == 2) EXPECT_EQ(infos[1].last, code);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    diary_is(again ? "ABbBba" : "ABba");
}
static void kinds(void *unused) {
    (void)unused;
    restarts(WEFT_PERMANENT, 0, true);
    restarts(WEFT_PERMANENT, -5, true);
    restarts(WEFT_TRANSIENT, 0, false);
    restarts(WEFT_TRANSIENT, WEFT_ECANCELED, false);
    restarts(WEFT_TRANSIENT, -5, true);
    restarts(WEFT_TEMPORARY, 0, false);
    restarts(WEFT_TEMPORARY, -5, false);
}
static void kinds_body(void) { EXPECT_EQ(run(kinds, NULL), 0); }
TEST(super_kinds_of_restart) { rt_each(kinds_body); }

/* ---- too often -------------------------------------------------------------------------------------------------------------------- */

static void gives_up(void *unused) {
    int reason;
    (void)unused;
    for (unsigned intensity = 0; intensity < 4; intensity++) {
        diary_clear();
        weft_pid super = WEFT_NOBODY;
        EXPECT_EQ(weft_super_start(&SPEC(three, .intensity = intensity, .period_ms = 3600000),
                                   &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, &super, WEFT_FOREVER),
                  0);
        for (unsigned i = 0; i <= intensity; i++) {
            child_order(child_pid(super, "A"), -5);
            diary_until(3 + 2 * i + (i < intensity ? 2 : 1));
        }
        EXPECT_EQ(weft_join(super, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, WEFT_ERESTARTS);
        EXPECT_EQ(diary.length, 3 + 2 * intensity + 3);
        EXPECT(strcmp(diary.text + diary.length - 3, "acb") == 0);
    }
}
static void gives_up_body(void) { EXPECT_EQ(run(gives_up, NULL), 0); }
TEST(super_gives_up) { rt_each(gives_up_body); }

/* Restarts that are far apart are not too many. */
static void slow_failures(void *unused) {
    (void)unused;
    diary_clear();
    const weft_child_spec one[] = {CHILD("A")};
    weft_pid super = super_started(&SPEC(one, .intensity = 1, .period_ms = 5));
    for (unsigned i = 0; i < 5; i++) {
        weft_sleep(20 * WEFT_MILLISECOND);
        child_order(child_pid(super, "A"), -5);
        diary_until(3 + 2 * i);
    }
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
static void slow_failures_body(void) { EXPECT_EQ(run(slow_failures, NULL), 0); }
TEST(super_old_restarts_are_forgotten) { rt_each(slow_failures_body); }

static void pauses(void *unused) {
    enum { PAUSE = 8, TIMES = 4 };
    const weft_child_spec one[] = {CHILD("A")};
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&SPEC(one, .intensity = 100, .period_ms = 3600000, .backoff_ms = PAUSE, .backoff_most_ms = 4 * PAUSE));
    uint64_t begin = weft_now(), least = 0;
    for (unsigned i = 0; i < TIMES; i++) {
        least += i == 0 ? 0 : (PAUSE * WEFT_MILLISECOND << (i < 3 ? i - 1 : 2)) * 3 / 4;
        child_order(child_pid(super, "A"), -5);
        diary_until(3 + 2 * i);
    }
    EXPECT(weft_now() - begin >= least);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
static void pauses_body(void) { EXPECT_EQ(run(pauses, NULL), 0); }
TEST(super_pauses_between_restarts) { rt_each(pauses_body); }

/* ---- children that do not end ---------------------------------------------------------------------------------------------------- */

static void stubborn(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_defer(child_leaves, (void *)(uintptr_t)'s'), 0);
    weft_shield_begin();
    diary_note('S');
    weft_ready(0);
    for (;;)
        weft_sleep(3600 * WEFT_SECOND);
}
static void stubborn_child(unsigned stop_ms) {
    const weft_child_spec children[] = {CHILD("A"), {.id = "s", .entry = stubborn, .ready = true, .stop_ms = stop_ms}};
    diary_clear();
    weft_pid super = super_started(&SPEC(children));
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    diary_is("ASsa");
}
static void stubborns(void *unused) {
    (void)unused;
    stubborn_child(5);
    stubborn_child(WEFT_STOP_AT_ONCE);
}
static void stubborns_body(void) { EXPECT_EQ(run(stubborns, NULL), 0); }
TEST(super_kills_children_that_do_not_end) { rt_each(stubborns_body); }

/* Those after a pattern are asked at once: together they take the time of one. */
static void stubborn_crowd(void *unused) {
    static const weft_child_spec pattern = {.entry = stubborn, .ready = true, .stop_ms = 300};
    weft_pid pid;
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&(weft_super_spec){.name = "crowd", .pattern = &pattern});
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(weft_super_spawn(super, NULL, &pid, WEFT_FOREVER), 0);
    uint64_t begin = weft_now();
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
    EXPECT(weft_now() - begin < 25 * WEFT_SECOND); /* one by one it would be 30 s */
}
TEST(super_stops_children_after_a_pattern_together) {
    rt_start("ring", 2);
    EXPECT_EQ(run(stubborn_crowd, NULL), 0);
    rt_stop();
}

/* While it stops its children it keeps no notices of those that have ended: looking for the next end among them would take the longer, the more there are. Never two processes at a
 * time, so that the supervisor waits while the child that is stopped last looks into its mailbox. */
enum { MANY = 40 };
static struct {
    weft_pid super;
    uint64_t left;
} many;
static void many_look(void *unused) {
    (void)unused;
    struct proc *proc = proc_find((struct runtime *)rt.runtime, many.super);
    EXPECT(proc != NULL);
    many.left = mailbox_count(proc).messages;
}
static void many_child(void *first) {
    weft_msg *message;
    if (first) EXPECT_EQ(weft_defer(many_look, NULL), 0);
    weft_ready(0);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), WEFT_ECANCELED);
    weft_exit(WEFT_ECANCELED);
}
static void many_stopped(void *unused) {
    static char ids[MANY][8];
    weft_child_spec children[MANY];
    (void)unused;
    for (uintptr_t i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof ids[i], "%lu", (unsigned long)i);
        children[i] = (weft_child_spec){.id = ids[i], .entry = many_child, .arg = (void *)(uintptr_t)(i == 0), .ready = true};
    }
    many.super = super_started(&SPEC(children));
    many.left = MANY;
    EXPECT_EQ(weft_super_stop(many.super, WEFT_FOREVER), 0);
    EXPECT(many.left <= 1);
}
TEST(super_keeps_no_notices_of_children_that_it_stops) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (unsigned i = 0; i < 3; i++) {
        rt_start_with(&(weft_config){.policy = policies[i], .workers = 1, .exclusive = true});
        EXPECT_EQ(run(many_stopped, NULL), 0);
        rt_stop();
    }
}

/* However the supervisor ends, its children do. */
static void killed(void *unused) {
    (void)unused;
    diary_clear();
    weft_pid super = super_started(&SPEC(three));
    EXPECT_EQ(weft_kill(super), 0);
    diary_until(6);
    EXPECT(strspn(diary.text + 3, "abc") == 3);
}
static void killed_body(void) { EXPECT_EQ(run(killed, NULL), 0); }
TEST(super_killed_takes_its_children_along) { rt_each(killed_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
