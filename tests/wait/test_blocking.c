/* Blocking calls hold up their own process alone; those that are cancelled, late or abandoned. */
#include "blocking_helpers.h"

#include "thread/oscall.h"

/* ---- calls ------------------------------------------------------------------------------------------------------------------ */

static void reader(void *arg) {
    weft_pid self = weft_self();
    char got = 0;
    (void)arg;
    block(reads, &got);
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(got, 'x');
    EXPECT(weft_self() == self);
    weft_yield();
    atom_add_rel(&done, 1);
}
static void writer(void *arg) {
    (void)arg;
    weft_sleep(2 * WEFT_MILLISECOND);
    for (unsigned i = 0; i < 20; i++) {
        weft_yield();
        EXPECT_EQ(write(ends[1], "x", 1), 1);
    }
    atom_add_rel(&done, 1);
}
/* More readers than workers: the writer has a turn only if they give up their workers. */
static void readers_and_a_writer(void) {
    atom_store_rlx(&done, 0);
    EXPECT_EQ(pipe(ends), 0);
    for (unsigned i = 0; i < 20; i++)
        victim_spawn(reader, NULL, 0, "reader");
    victim_spawn(writer, NULL, 0, "writer");
    rt_wait(&done, 21);
    close(ends[0]);
    close(ends[1]);
}
TEST(blocking_lets_others_run) {
    atom_store_rlx(&is_long, false);
    rt_each(readers_and_a_writer);
}
TEST(blocking_long_lets_others_run) {
    atom_store_rlx(&is_long, true);
    rt_each(readers_and_a_writer);
}

TEST(blocking_many_at_once) {
    atom_store_rlx(&is_long, false);
    rt_each(many);
    atom_store_rlx(&is_long, true);
    rt_each(many);
}

/* Code of one's own between enter and leave, nested; and what any thread may do works inside. */
static void nests(void *arg) {
    weft_blocking_enter();
    weft_blocking_enter_long();
    usleep(300);
    EXPECT(weft_self() == WEFT_NOBODY);
    EXPECT_EQ(weft_send(*(weft_pid *)arg, 7, NULL, 0), 0);
    weft_blocking_leave();
    usleep(300);
    weft_blocking_leave();
    EXPECT(weft_self() != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    atom_add_rel(&done, 1);
}
static void gets_seven(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_tag(message), 7);
    weft_msg_free(message);
    atom_add_rel(&done, 1);
}
static void nested(void) {
    atom_store_rlx(&done, 0);
    weft_pid to = victim_spawn(gets_seven, NULL, 0, NULL);
    victim_spawn(nests, &to, 0, NULL);
    rt_wait(&done, 2);
}
TEST(blocking_nests) { rt_each(nested); }

static void enters_and_returns(void *arg) {
    (void)arg;
    weft_blocking_enter();
}
static void leaves_unentered(void *arg) {
    (void)arg;
    weft_blocking_leave();
}
static void never_leaves(void) {
    rt_start("ring", 1);
    victim_spawn(enters_and_returns, NULL, 0, NULL);
    pause();
}
static void never_enters(void) {
    rt_start("ring", 1);
    victim_spawn(leaves_unentered, NULL, 0, NULL);
    pause();
}
TEST(blocking_must_be_paired) {
    EXPECT_ABORT(never_leaves, "weft_blocking_enter", "there was no weft_blocking_leave", "pair them");
    EXPECT_ABORT(never_enters, "weft_blocking_leave", "there was no weft_blocking_enter", "pair them");
}

TEST(blocking_outside_of_a_process) {
    atom_store_rlx(&is_long, false);
    block(naps, NULL);
    weft_blocking_enter();
    weft_blocking_leave();
}

/* Pinned: the thread stays, and so does its worker. */
static void pinned_naps(void *arg) {
    (void)arg;
    weft_pin_begin();
    uintptr_t thread = victim_thread();
    for (unsigned i = 0; i < 5; i++) {
        weft_blocking(naps, NULL);
        EXPECT(victim_thread() == thread);
        weft_yield();
        EXPECT(victim_thread() == thread);
    }
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void pinned(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&is_long, false);
    victim_spawn(pinned_naps, NULL, 0, NULL);
    for (unsigned i = 0; i < 8; i++)
        victim_spawn(napper, NULL, 0, NULL);
    rt_wait(&done, 9);
}
TEST(blocking_pinned_keeps_its_thread) { rt_each(pinned); }

/* One call after the other, each of which may be shorter than sysmon's round: the step as a whole is long. */
static atom_bool enough;
static atom_u64 calls_made;
static void calls_in_a_row(void *arg) {
    (void)arg;
    while (!atom_load_acq(&enough)) {
        weft_blocking(naps, NULL);
        atom_add_rlx(&calls_made, 1);
    }
    atom_add_rel(&done, 1);
}
enum { TICKS = 40 };
static void ticks_beside_calls(void *arg) {
    uint64_t *calls = arg;
    for (unsigned i = 0; i < TICKS; i++) {
        uint64_t before = atom_load_rlx(&calls_made);
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
        *calls += atom_load_rlx(&calls_made) - before;
    }
    atom_store_rel(&enough, true);
    atom_add_rel(&done, 1);
}
/* How late it is, is told by how many calls of 1.5 ms the others have made meanwhile: on a busy machine these take longer, too. */
static void in_a_row(void) {
    static uint64_t calls;
    unsigned callers = rt.workers + 3;
    EXPECT(callers > 3);
    calls = 0;
    atom_store_rlx(&done, 0);
    atom_store_rlx(&calls_made, 0);
    atom_store_rlx(&enough, false);
    for (unsigned i = 0; i < callers; i++)
        victim_spawn(calls_in_a_row, NULL, 0, "caller");
    victim_spawn(ticks_beside_calls, &calls, 0, "ticker");
    rt_wait(&done, callers + 1);
    printf("%lu calls of each for a tick of 1 ms\n", (unsigned long)(calls / TICKS / callers));
    EXPECT(calls / TICKS / callers < 100); /* where calls in a row count as many short ones, it is thousands */
}
TEST(blocking_calls_in_a_row_let_others_run) { rt_each(in_a_row); }

/* Two workers: one computes, a process is woken there and waits; the thread of the other is in a call, and nothing waits at it. That one is
 * free to run the process that waits, long before either counts as a hog. Again and again until it was so; in vain, the watchdog ends
 * it. */
enum { COMPUTED = 8 * RT_MS, SEEN_TO = 3 };
static atom_u64 ran, turn, in_call; /* in_call: of which turn */
static void is_woken(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rel(&ran, 1);
    }
}
static void stays_in_call(void *arg) {
    uint64_t mine = atom_load_acq(&turn);
    (void)arg;
    atom_store_rel(&in_call, mine);
    while (atom_load_acq(&turn) == mine)
        usleep(100);
}
static void calls_in_rounds(void *arg) {
    (void)arg;
    while (!atom_load_acq(&enough)) {
        weft_blocking(stays_in_call, NULL);
        weft_sleep(100 * WEFT_MICROSECOND); /* the next is in another step: each call begins anew */
    }
    atom_add_rel(&done, 1);
}
/* No worker idles, and the others' threads are in calls. */
static bool all_others_call(void) {
    struct runtime *runtime = worker_here()->runtime;
    bool all = idle_sleepers(&runtime->idle) == 0 && idle_searchers(&runtime->idle) == 0;
    for (unsigned i = 0; i < 2; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]);
        all = all && (worker == worker_here() || oscall_seen(worker) != 0);
    }
    return all && atom_load_rlx(&runtime->extra) == 0;
}
static void computes_in_rounds(void *arg) {
    unsigned seen_to = 0;
    while (seen_to < SEEN_TO) {
        do /* once at least: so that this step has just begun */
            weft_sleep(100 * WEFT_MICROSECOND);
        while (atom_load_acq(&in_call) != atom_load_rlx(&turn));
        uint64_t before = atom_load_rlx(&ran), began = weft_now();
        EXPECT_EQ(weft_send(*(weft_pid *)arg, 1, NULL, 0), 0);
        bool counts = all_others_call();
        while (weft_now() - began < COMPUTED && atom_load_acq(&ran) == before) { /* no weft call that yields */
        }
        if (counts && atom_load_acq(&ran) != before) seen_to++;
        while (atom_load_acq(&ran) == before)
            weft_yield();
        if (seen_to == SEEN_TO) atom_store_rel(&enough, true);
        atom_add_rel(&turn, 1);
    }
    atom_add_rel(&done, 1);
}
static void process_waits_elsewhere(const char *policy) {
    printf("policy %s\n", policy);
    atom_store_rlx(&done, 0);
    atom_store_rlx(&ran, 0);
    atom_store_rlx(&turn, 1);
    atom_store_rlx(&in_call, 0);
    atom_store_rlx(&enough, false);
    rt_start(policy, 2);
    static weft_pid to;
    to = victim_spawn(is_woken, NULL, 0, "woken");
    victim_spawn(calls_in_rounds, NULL, 0, "caller");
    victim_spawn(computes_in_rounds, &to, 0, "computer");
    rt_wait(&done, 2);
    rt_stop();
}
TEST(blocking_makes_room_for_a_process_that_waits_elsewhere) {
    process_waits_elsewhere("ring");
    process_waits_elsewhere("deque");
    process_waits_elsewhere("line");
}

/* ---- cancelled, late, abandoned ---------------------------------------------------------------------------------------------- */

/* It is told when the call returns, and the call has been made all the same. */
static void is_cancelled_in_a_call(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking(reads_one, NULL), WEFT_ECANCELED);
    EXPECT_EQ(weft_blocking(naps, NULL), WEFT_ECANCELED); /* now and again */
    weft_shield_begin();
    EXPECT_EQ(weft_blocking_long(naps, NULL), 0);
    weft_shield_end();
    atom_add_rel(&done, 1);
}
/* At once. */
static void is_cancelled_and_abandons(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, WEFT_FOREVER), WEFT_ECANCELED); /* not begun at all */
    atom_add_rel(&done, 1);
}
static void is_late_and_abandons(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, weft_in(100 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, 0), WEFT_ETIMEDOUT); /* not begun at all */
    EXPECT_EQ(weft_blocking_until(naps, NULL, forgets, WEFT_FOREVER), 0);
    atom_add_rel(&done, 1);
}
static void cancelled(void) {
    begin_calls();
    weft_pid pid = victim_spawn(is_cancelled_in_a_call, NULL, 0, NULL);
    rt_wait(&called, 1);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_pause(5 * RT_MS);
    EXPECT_EQ(atom_load_acq(&done), 0); /* there is nothing that could stop a read */
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    rt_wait(&done, 1);
    close(ends[0]);
    close(ends[1]);
}
TEST(blocking_tells_of_a_cancellation_afterwards) { rt_each(cancelled); }

static void abandons(void) {
    begin_calls();
    weft_pid pid = victim_spawn(is_cancelled_and_abandons, NULL, 0, NULL);
    rt_wait(&called, 1);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_wait(&done, 1); /* while nothing has been written */
    EXPECT_EQ(atom_load_acq(&abandoned), 1);
    victim_spawn(is_late_and_abandons, NULL, 0, NULL);
    rt_wait(&done, 2);
    rt_wait(&called, 2); /* begun it is, but perhaps its thread is late */
    EXPECT_EQ(atom_load_acq(&abandoned), 2);
    EXPECT_EQ(write(ends[1], "xx", 2), 2);
    rt_wait(&abandoned, 4);
    close(ends[0]);
    close(ends[1]);
}
TEST(blocking_until_is_abandoned) { rt_each(abandons); }

/* Its deadline and its end come at the same time: one of the two is told, and the memory is freed by one. */
static void races_with_its_end(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 20; i++) {
        int error = weft_blocking_until(naps, NULL, forgets, weft_in((1400 + i * 10) * WEFT_MICROSECOND));
        EXPECT(error == 0 || error == WEFT_ETIMEDOUT);
        atom_add_rel(&called, error == 0);
    }
    atom_add_rel(&done, 1);
}
static void races(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&called, 0);
    atom_store_rlx(&abandoned, 0);
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(races_with_its_end, NULL, 0, NULL);
    rt_wait(&done, 4);
    rt_wait(&abandoned, 80 - atom_load_acq(&called));
    EXPECT_EQ(atom_load_acq(&called) + atom_load_acq(&abandoned), 80);
}
TEST(blocking_until_or_its_end) { rt_each(races); }

int main(int argc, char **argv) { return test_main(argc, argv); }
