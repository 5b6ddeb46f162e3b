/* The end of a process as a case of a select: told once, and not taken from others if another case was chosen. */
#include "mailbox_helpers.h"

static weft_chan *chan;

static void ends_with(void *code) { weft_exit((int)(intptr_t)code); }
static void waits_for_one(void *unused) {
    weft_msg *message;
    (void)unused;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
    weft_exit(4);
}
static weft_pid spawn_joinable(weft_entry entry, intptr_t code) { return run_flags(entry, (void *)code, WEFT_SPAWN_JOINABLE); }

/* ---- kept results ------------------------------------------------------------------------------------------------------------ */

static void ended(void *unused) {
    int reason = 0;
    (void)unused;
    weft_pid pid = spawn_joinable(ends_with, 3);
    while (weft_alive(pid))
        weft_yield();
    weft_case one = weft_case_end(pid, &reason);
    EXPECT_EQ(weft_select(&one, 1, WEFT_FOREVER), 0);
    EXPECT_EQ(one.error, 0);
    EXPECT_EQ(reason, 3);
    EXPECT_EQ(weft_select(&one, 1, 0), 0); /* it was taken */
    EXPECT_EQ(one.error, WEFT_ENOPROC);
    one = weft_case_end(WEFT_NOBODY, &reason);
    EXPECT_EQ(weft_select(&one, 1, 0), WEFT_ETIMEDOUT);
}
static void ended_body(void) { EXPECT_EQ(run(ended, NULL), 0); }
TEST(select_end_of_one_that_has_ended) { rt_each(ended_body); }

/* A case that lost leaves the result for a join, and the next select. */
static void lost(void *unused) {
    int first = 0, second = 0;
    (void)unused;
    for (unsigned round = 0; round < 40; round++) {
        weft_pid one = spawn_joinable(ends_with, 1), two = spawn_joinable(ends_with, 2);
        weft_case cases[] = {weft_case_end(one, &first), weft_case_end(two, &second), weft_case_moment(weft_in(WEFT_SECOND * 20))};
        first = second = 0;
        if (round % 2)
            while (weft_alive(one) || weft_alive(two))
                weft_yield();
        int chosen = weft_select(cases, 3, WEFT_FOREVER);
        EXPECT(chosen == 0 || chosen == 1);
        EXPECT_EQ(cases[chosen].error, 0);
        EXPECT_EQ(first, chosen == 0 ? 1 : 0);
        EXPECT_EQ(second, chosen == 1 ? 2 : 0);
        int reason = 0;
        EXPECT_EQ(weft_join(chosen == 0 ? two : one, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, chosen == 0 ? 2 : 1);
    }
}
static void lost_body(void) { EXPECT_EQ(run(lost, NULL), 0); }
TEST(select_end_that_lost_is_kept) { rt_each(lost_body); }

/* ---- living ones ------------------------------------------------------------------------------------------------------------- */

static void living(void *unused) {
    int reason = 0;
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_chan_new(0, 1, &chan), 0);
    weft_pid pid = spawn_joinable(waits_for_one, 0);
    weft_case cases[] = {weft_case_end(pid, &reason), weft_case_recv(chan, NULL), weft_case_message(&message)};
    EXPECT_EQ(weft_select(cases, 3, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_select(cases, 3, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_chan_send(chan, NULL, 0), 0);
    EXPECT_EQ(weft_select(cases, 3, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
    EXPECT_EQ(weft_select(cases, 3, WEFT_FOREVER), 2);
    weft_msg_free(message);
    weft_process_info info;
    EXPECT_EQ(weft_info(pid, &info), 0);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    EXPECT_EQ(weft_select(cases, 3, WEFT_FOREVER), 0);
    EXPECT_EQ(cases[0].error, 0);
    EXPECT_EQ(reason, 4);
    EXPECT_EQ(weft_select(cases + 1, 2, 0), WEFT_ETIMEDOUT); /* no stray notice */
    weft_chan_free(chan);
}
static void living_body(void) { EXPECT_EQ(run(living, NULL), 0); }
TEST(select_end_of_one_that_lives) { rt_each(living_body); }

/* From a thread of the program's own. */
static void from_a_thread(void) {
    int reason = 0;
    for (unsigned i = 0; i < 20; i++) {
        weft_pid pid = spawn_joinable(ends_with, 6);
        weft_case cases[] = {weft_case_end(pid, &reason), weft_case_moment(WEFT_FOREVER)};
        EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
        EXPECT_EQ(cases[0].error, 0);
        EXPECT_EQ(reason, 6);
    }
    rt_wait_until_none_lives();
}
TEST(select_end_from_a_thread) { rt_each(from_a_thread); }

/* ---- each end is told to one -------------------------------------------------------------------------------------------------- */

enum { CHILDREN = 40 };
static weft_pid children[CHILDREN];
static atom_u64 told, gone, over;

/* Two look for the same ends: of a pair of selects at least one is told, and every result is seen. */
static void collects(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < CHILDREN; i += 2) {
        int reasons[2] = {0, 0};
        weft_case cases[] = {weft_case_end(children[i], &reasons[0]), weft_case_end(children[i + 1], &reasons[1])};
        for (unsigned left = 2; left > 0; left--) {
            int chosen = weft_select(cases, 2, WEFT_FOREVER);
            EXPECT(chosen >= 0);
            EXPECT(cases[chosen].error == 0 || cases[chosen].error == WEFT_ENOPROC);
            EXPECT(cases[chosen].error != 0 || reasons[chosen] == 7);
            atom_add_rlx(cases[chosen].error ? &gone : &told, 1);
            cases[chosen] = weft_case_never();
        }
    }
    atom_add_rel(&over, 1);
}
static void shared(void) {
    atom_store_rlx(&told, 0);
    atom_store_rlx(&gone, 0);
    atom_store_rlx(&over, 0);
    for (unsigned i = 0; i < CHILDREN; i++)
        children[i] = spawn_joinable(ends_with, 7);
    run_spawn(collects, NULL);
    run_spawn(collects, NULL);
    rt_wait(&over, 2);
    EXPECT_EQ(atom_load_rlx(&told) + atom_load_rlx(&gone), 2 * CHILDREN);
    EXPECT(atom_load_rlx(&told) >= CHILDREN);
    rt_wait_until_none_lives();
}
TEST(select_ends_of_many) { rt_each(shared); }

/* ---- misuse ----------------------------------------------------------------------------------------------------------------------- */

static void selects_itself(void *unused) {
    (void)unused;
    weft_case one = weft_case_end(weft_self(), NULL);
    weft_select(&one, 1, WEFT_FOREVER);
}
static void own_end(void) {
    rt_start("ring", 1);
    run(selects_itself, NULL);
}
TEST(select_own_end_aborts) { EXPECT_ABORT(own_end, "weft_select", "its own end"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
