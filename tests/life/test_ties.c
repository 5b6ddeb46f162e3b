/* The details of an end: left by the process, told to those who join it, freed once. */
#include "mailbox_helpers.h"

#include <weft/life.h>

static const char last_words[] = "no more tea";
static void exits_with(void *code) { weft_exit_with((int)(intptr_t)code, last_words, sizeof last_words); }
static void exits_with_nothing(void *code) { weft_exit_with((int)(intptr_t)code, NULL, 0); }

static void expect_words(weft_reason *reason, int code) {
    EXPECT_EQ(reason->code, code);
    EXPECT(reason->size == sizeof last_words && strcmp(reason->data, last_words) == 0);
    EXPECT(reason->signal == 0 && !reason->address);
    weft_reason_free(reason);
}

static void joins_details(void *unused) {
    weft_reason reason;
    int code;
    (void)unused;
    for (intptr_t i = -5; i < 5; i++) { /* joined later, and waited for */
        weft_pid pid = weft_spawn_joinable(exits_with, (void *)i);
        if (i % 2) weft_sleep(WEFT_MILLISECOND);
        EXPECT_EQ(weft_join_reason(pid, &reason, WEFT_FOREVER), 0);
        expect_words(&reason, (int)i);
        EXPECT_EQ(weft_join_reason(pid, &reason, WEFT_FOREVER), WEFT_ENOPROC);
    }
    EXPECT_EQ(weft_join(weft_spawn_joinable(exits_with, (void *)3), &code, WEFT_FOREVER), 0);
    EXPECT_EQ(code, 3);
    EXPECT_EQ(weft_join_reason(weft_spawn_joinable(exits_with_nothing, (void *)4), &reason, WEFT_FOREVER), 0);
    EXPECT(reason.code == 4 && !reason.data && reason.size == 0 && !reason.keeper);
    weft_reason_free(&reason);
    weft_spawn(exits_with, (void *)5);                                     /* nobody asks */
    EXPECT_EQ(weft_detach(weft_spawn_joinable(exits_with, (void *)6)), 0); /* nor here */
    weft_spawn_joinable(exits_with, (void *)7);                            /* its owner ends */
}
static void joins_details_body(void) { EXPECT_EQ(run(joins_details, NULL), 0); }
TEST(details_are_told_to_a_join) { rt_each(joins_details_body); }

static void from_a_thread_body(void) {
    weft_reason reason;
    weft_pid pid = WEFT_NOBODY;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE};
    EXPECT_EQ(weft_spawn_with(exits_with, (void *)9, &options, &pid), 0);
    EXPECT_EQ(weft_join_reason(pid, &reason, WEFT_FOREVER), 0);
    expect_words(&reason, 9);
}
TEST(details_are_told_to_a_thread) { rt_each(from_a_thread_body); }

/* A step process. */
static int last_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    return weft_out_exit_with(out, count ? -9 : 0, last_words, sizeof last_words);
}
static const weft_behavior last_stepper = {.name = "last step", .step = last_step};
static void step_leaves_words(void *unused) {
    (void)unused;
    weft_spawn_options options = {.flags = WEFT_SPAWN_JOINABLE};
    weft_reason reason;
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&last_stepper, &options, &pid), 0);
    weft_send(pid, 1, NULL, 0); /* or it has ended already */
    EXPECT_EQ(weft_join_reason(pid, &reason, WEFT_FOREVER), 0);
    EXPECT(reason.code == -9 || reason.code == 0); /* 0: it had its first step before the message came */
    EXPECT_EQ(reason.size, sizeof last_words);
    EXPECT(memcmp(reason.data, last_words, sizeof last_words) == 0);
    weft_reason_free(&reason);
}
static void step_body(void) { EXPECT_EQ(run(step_leaves_words, NULL), 0); }
TEST(step_exits_with_bytes) { rt_each(step_body); }

/* A cleanup that ends the process otherwise: what was to be said with the first code is not said with the second. */
static void exits_otherwise(void *code) { weft_exit((int)(intptr_t)code); }
static void exits_again_with(void *unused) { (void)unused, weft_exit_with(2, "", 1); }
static void changes_its_mind(void *cleanup) {
    weft_defer(cleanup, (void *)8);
    weft_exit_with(7, last_words, sizeof last_words);
}
static void mind_changed(void *unused) {
    weft_reason reason;
    (void)unused;
    EXPECT_EQ(weft_join_reason(weft_spawn_joinable(changes_its_mind, exits_otherwise), &reason, WEFT_FOREVER), 0);
    EXPECT(reason.code == 8 && !reason.data);
    weft_reason_free(&reason);
    EXPECT_EQ(weft_join_reason(weft_spawn_joinable(changes_its_mind, exits_again_with), &reason, WEFT_FOREVER), 0);
    EXPECT(reason.code == 2 && reason.size == 1);
    weft_reason_free(&reason);
}
static void mind_changed_body(void) { EXPECT_EQ(run(mind_changed, NULL), 0); }
TEST(details_go_with_their_code) { rt_each(mind_changed_body); }

/* The process ends all the same. */
static void without_memory(void *unused) {
    weft_reason reason;
    (void)unused;
    for (unsigned at = 1; at <= 2; at++) { /* the detail's, and that of the ties */
        weft_pid pid = weft_spawn_joinable(exits_with, (void *)4);
        sys_script.alloc_fail_from = at;
        int error = weft_join_reason(pid, &reason, WEFT_FOREVER);
        sys_script.alloc_fail_from = 0;
        EXPECT_EQ(error, 0);
        EXPECT_EQ(reason.code, 4);
        weft_reason_free(&reason);
    }
}
TEST(details_without_memory) {
    rt_start("ring", 1);
    EXPECT_EQ(run(without_memory, NULL), 0);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
