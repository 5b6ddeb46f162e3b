/* Blocking calls beside pinned processes, and by them: a thread that has pinned processes is not lost to a call of any other; the function
 * in the call is on a thread like any; deadlines are kept. */
#include "alone.h"
#include "victim.h"

#include <weft/blocking.h>

static atom_u64 done, ready_now, runs_on;
static int ends[2]; /* of a pipe */

static void forget(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&ready_now, 0);
    atom_store_rlx(&runs_on, 0);
    EXPECT_EQ(pipe(ends), 0);
}
static void close_ends(void) {
    close(ends[0]);
    close(ends[1]);
}

static void waits_for(atom_u64 *count, uint64_t least) {
    while (atom_load_acq(count) < least)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
}

/* ---- a call of a neighbour ---------------------------------------------------------------------------------------------- */

static void reads_a_byte(void *arg) {
    char byte = 0;
    EXPECT_EQ(weft_self(), WEFT_NOBODY);
    atom_add_rel(&ready_now, 1);
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    *(char *)arg = byte;
}
/* Only the pinned one can complete the call. */
static void pinned_completes(void *arg) {
    (void)arg;
    weft_pin_begin();
    uintptr_t here = victim_thread();
    atom_store_rel(&runs_on, here);
    waits_for(&ready_now, 1);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    EXPECT(victim_thread() == here);
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void neighbour_calls(void *arg) {
    char byte = 0;
    while (atom_load_acq(&runs_on) == 0)
        weft_yield();
    weft_pid self = weft_self();
    errno = 77;
    EXPECT_EQ(arg ? weft_blocking_long(reads_a_byte, &byte) : weft_blocking(reads_a_byte, &byte), 0);
    EXPECT_EQ(byte, 'x');
    EXPECT_EQ(weft_self(), self);
    EXPECT_EQ(weft_sleep(WEFT_MICROSECOND), 0);
    atom_add_rel(&done, 1);
}
static void neighbour(void) {
    for (uintptr_t is_long = 0; is_long < 2; is_long++) {
        forget();
        victim_spawn(pinned_completes, NULL, 0, "pinned");
        victim_spawn(neighbour_calls, (void *)is_long, 0, "neighbour");
        rt_wait(&done, 2);
        close_ends();
    }
}
TEST(pin_is_not_held_up_by_a_neighbours_call) { rt_each(neighbour); }

/* Between enter and leave, nested; errno is the process's whichever thread it is on. */
static void enters_and_leaves(void *arg) {
    while (atom_load_acq(&runs_on) == 0)
        weft_yield();
    errno = 42;
    weft_blocking_enter();
    EXPECT_EQ(errno, 42);
    EXPECT_EQ(weft_self(), WEFT_NOBODY);
    weft_blocking_enter_long();
    errno = 43;
    weft_blocking_leave();
    reads_a_byte(arg);
    errno = 44;
    weft_blocking_leave();
    EXPECT_EQ(errno, 44);
    EXPECT(weft_self() != WEFT_NOBODY);
    atom_add_rel(&done, 1);
}
static void nested(void) {
    char byte;
    forget();
    victim_spawn(pinned_completes, NULL, 0, "pinned");
    victim_spawn(enters_and_leaves, &byte, 0, "neighbour");
    rt_wait(&done, 2);
    close_ends();
}
TEST(pin_and_a_neighbours_nested_calls) { rt_each(nested); }

/* weft's own calls that block are no others. */
static void neighbour_reads(void *arg) {
    char byte;
    (void)arg;
    while (atom_load_acq(&runs_on) == 0)
        weft_yield();
    atom_add_rel(&ready_now, 1);
    EXPECT_EQ(weft_file_read(ends[0], &byte, 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_cancelled(), false);
    atom_add_rel(&done, 1);
}
static void reads(void) {
    forget();
    victim_spawn(pinned_completes, NULL, 0, "pinned");
    victim_spawn(neighbour_reads, NULL, 0, "neighbour");
    rt_wait(&done, 2);
    close_ends();
}
TEST(pin_is_not_held_up_by_a_neighbours_file) { rt_each(reads); }

/* A neighbour that waits in such a call is cancelled by a pinned process. */
static void neighbour_is_cancelled(void *arg) {
    char byte;
    (void)arg;
    while (atom_load_acq(&runs_on) == 0)
        weft_yield();
    atom_add_rel(&ready_now, 1);
    EXPECT_EQ(weft_file_read(ends[0], &byte, 1, WEFT_FOREVER), WEFT_ECANCELED);
    atom_add_rel(&done, 1);
}
static weft_pid victim;
static void pinned_cancels(void *arg) {
    (void)arg;
    weft_pin_begin();
    atom_store_rel(&runs_on, 1);
    waits_for(&ready_now, 1);
    EXPECT_EQ(weft_sleep(2 * WEFT_MILLISECOND), 0);
    EXPECT_EQ(weft_cancel(victim), 0);
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void cancels(void) {
    forget();
    victim = victim_spawn(neighbour_is_cancelled, NULL, 0, "neighbour");
    victim_spawn(pinned_cancels, NULL, 0, "pinned");
    rt_wait(&done, 2);
    close_ends();
}
TEST(pin_and_a_neighbours_call_that_is_cancelled) { rt_each(cancels); }

/* ---- deadlines ---------------------------------------------------------------------------------------------------------- */

static atom_u64 given_up;
static void abandoned(void *arg) {
    (void)arg;
    atom_add_rel(&given_up, 1);
}
static void until_it_is_written(void *arg) { reads_a_byte(arg); }
static void asks_until(void *arg) {
    static char byte;
    bool pins = arg != NULL;
    if (pins) weft_pin_begin();
    while (atom_load_acq(&runs_on) == 0 && !pins)
        weft_yield();
    atom_store_rel(&runs_on, 1);
    uintptr_t here = victim_thread();
    EXPECT_EQ(weft_blocking_until(until_it_is_written, &byte, abandoned, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(atom_load_acq(&given_up), 0);
    if (pins) EXPECT(victim_thread() == here);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    while (atom_load_acq(&given_up) == 0)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    if (pins) weft_pin_end();
    atom_add_rel(&done, 1);
}
static void pinned_for_a_while(void *arg) {
    (void)arg;
    weft_pin_begin();
    atom_store_rel(&runs_on, 1);
    waits_for(&done, 1);
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void until_deadline(void) {
    for (unsigned pins = 0; pins < 2; pins++) {
        forget();
        atom_store_rlx(&given_up, 0);
        victim_spawn(asks_until, pins ? &done : NULL, 0, "asks");
        victim_spawn(pinned_for_a_while, NULL, 0, "pinned");
        rt_wait(&done, 2);
        close_ends();
    }
}
TEST(pin_and_the_deadline_of_a_blocking_call) { rt_each(until_deadline); }

/* ---- a pinned process's own call ------------------------------------------------------------------------------------------ */

/* It stays on its thread, where the function is as on any: and a process that is not pinned goes on meanwhile. */
static void looks_round(void *arg) {
    EXPECT_EQ(weft_self(), WEFT_NOBODY);
    EXPECT(worker_here() == NULL);
    EXPECT(victim_thread() == (uintptr_t)arg);
    EXPECT_EQ(weft_blocking(reads_a_byte, &(char){0}), 0); /* nested: a plain call */
}
static void pinned_calls(void *arg) {
    (void)arg;
    weft_pin_begin();
    for (unsigned i = 0; i < 2; i++) {
        uintptr_t here = victim_thread();
        weft_pid self = weft_self();
        EXPECT_EQ(i ? weft_blocking_long(looks_round, (void *)here) : weft_blocking(looks_round, (void *)here), 0);
        EXPECT(victim_thread() == here);
        EXPECT_EQ(weft_self(), self);
    }
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void completes_both(void *arg) {
    (void)arg;
    for (unsigned i = 1; i <= 2; i++) {
        waits_for(&ready_now, i);
        EXPECT_EQ(write(ends[1], "x", 1), 1);
    }
    atom_add_rel(&done, 1);
}
static void own_call(void) {
    forget();
    victim_spawn(pinned_calls, NULL, 0, "pinned");
    victim_spawn(completes_both, NULL, 0, "completes");
    rt_wait(&done, 2);
    close_ends();
}
TEST(pin_makes_its_own_call_on_its_thread) { rt_each(own_call); }

/* What waits in a function that blocks is a thread: it does not park the process, and the process's book-keeping is as before. */
static weft_mutex shared = WEFT_MUTEX_INIT;
static void waits_as_a_thread(void *arg) {
    weft_pid to = *(weft_pid *)arg;
    EXPECT_EQ(weft_send(to, 7, NULL, 0), 0);
    EXPECT_EQ(weft_mutex_lock(&shared, WEFT_FOREVER), 0);
    usleep(100);
    weft_mutex_unlock(&shared);
}
static void waits_inside(void *arg) {
    weft_msg *message;
    if (arg) weft_pin_begin();
    while (!arg && atom_load_acq(&runs_on) == 0)
        weft_yield();
    atom_store_rel(&runs_on, 1);
    for (unsigned i = 0; i < 20; i++) {
        weft_pid self = weft_self();
        EXPECT_EQ(weft_blocking(waits_as_a_thread, &self), 0);
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_msg_tag(message), 7);
        weft_msg_free(message);
        weft_yield();
    }
    if (arg) weft_pin_end();
    atom_add_rel(&done, 1);
}
static void inside(void) {
    forget();
    for (unsigned i = 0; i < 6; i++)
        victim_spawn(waits_inside, i % 2 ? &done : NULL, 0, NULL);
    rt_wait(&done, 6);
    close_ends();
}
TEST(pin_and_what_waits_inside_a_call) { rt_each(inside); }

/* ---- many at once ------------------------------------------------------------------------------------------------------- */

static void naps(void *arg) { usleep((useconds_t)(uintptr_t)arg); }
static void mixes(void *arg) {
    unsigned which = (unsigned)(uintptr_t)arg;
    for (unsigned i = 0; i < 60 / RT_SLOW + 5; i++) {
        bool pins = (which + i) % 3 == 0;
        if (pins) weft_pin_begin();
        uintptr_t here = victim_thread();
        EXPECT_EQ(weft_blocking(naps, (void *)(uintptr_t)((which * i) % 5 * 100)), 0);
        weft_yield();
        if (i % 4 == 0) EXPECT_EQ(weft_sleep(10 * WEFT_MICROSECOND), 0);
        if (pins) EXPECT(victim_thread() == here);
        if (pins) weft_pin_end();
    }
    atom_add_rel(&done, 1);
}
static void mixture(void) {
    forget();
    for (uintptr_t i = 0; i < 24; i++)
        victim_spawn(mixes, (void *)i, 0, NULL);
    rt_wait(&done, 24);
    close_ends();
    EXPECT_EQ(atom_load_acq(&((struct runtime *)rt.runtime)->threads.away), 0);
}
TEST(pin_and_calls_in_any_order) { rt_each(mixture); }

/* Processes are interrupted besides, and some compute. */
static void computes_and_mixes(void *arg) {
    for (unsigned i = 0; i < 3; i++) {
        uint64_t end = weft_now() + 2 * RT_MS;
        while (weft_now() < end)
            for (volatile unsigned j = 0; j < 1000; j++) {}
        mixes(arg);
    }
}
static void interrupted(const char *policy, unsigned workers) {
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .seed = 1, .preempt = true, .preempt_us = 500, .max_extra = 2});
    forget();
    for (uintptr_t i = 0; i < 12; i++)
        victim_spawn(computes_and_mixes, (void *)i, 0, NULL);
    rt_wait(&done, 3 * 12);
    close_ends();
    rt_stop();
}
TEST_WITHIN(pin_and_calls_with_preemption, 120) { rt_cases(interrupted); }

/* ---- no thread to be had -------------------------------------------------------------------------------------------------- */

static void at_the_limit(unsigned most) {
    rt_start_with(&(weft_config){.policy = "ring", .workers = 1, .seed = 1, .max_threads = most});
    mixture();
    rt_stop();
}
TEST(pin_and_calls_at_the_limit_of_threads) {
    at_the_limit(1);
    at_the_limit(2);
    at_the_limit(3);
}

/* ---- stopping ------------------------------------------------------------------------------------------------------------- */

static void never_comes_back(void *arg) {
    (void)arg;
    atom_add_rel(&ready_now, 1);
    for (;;)
        pause();
}
static void pinned_for_ever(void *arg) {
    weft_pin_begin();
    atom_add_rel(&runs_on, 1);
    if (arg) weft_blocking(never_comes_back, NULL);
    else weft_sleep(WEFT_FOREVER);
}
static void neighbour_for_ever(void *arg) {
    while (atom_load_acq(&runs_on) == 0)
        weft_yield();
    weft_blocking(never_comes_back, arg);
}
static void stops(bool own) {
    weft_stop_report report;
    rt_start("ring", 1);
    forget();
    victim_spawn(pinned_for_ever, own ? &done : NULL, 0, "pinned");
    if (!own) victim_spawn(neighbour_for_ever, NULL, 0, "neighbour");
    rt_wait(&ready_now, 1);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_now() + 20 * RT_MS), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 1);
    rt_watch_end();
}
static void stops_own(void) { stops(true); }
static void stops_neighbour(void) { stops(false); }
TEST(pin_stop_with_calls_that_never_end) {
    struct child result;
    child_run(&result, stops_own);
    EXPECT_EXIT(&result, 0);
    child_run(&result, stops_neighbour);
    EXPECT_EXIT(&result, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
