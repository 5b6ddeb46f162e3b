/* Pinned processes stay on their thread: woken, handed to, yielding, while others steal and workers come and go. */
#include "alone.h"
#include "victim.h"

static atom_u64 done;

/* ---- with real threads ------------------------------------------------------------------------------------------------- */

static void stays(void *arg) {
    unsigned rounds = (unsigned)(uintptr_t)arg;
    weft_yield();
    weft_pin_begin();
    uintptr_t here = victim_thread();
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 16 == 0) EXPECT_EQ(weft_sleep(10 * WEFT_MICROSECOND), 0);
        else if (i % 3 == 0) weft_yield();
        else {
            weft_pin_begin(); /* nested */
            weft_yield();
            weft_pin_end();
        }
        EXPECT(victim_thread() == here);
    }
    weft_pin_end();
    atom_add_rel(&done, 1);
}

static void roams(void *arg) {
    for (unsigned i = 0; i < (unsigned)(uintptr_t)arg; i++)
        weft_yield();
    atom_add_rel(&done, 1);
}

static void crowd(void) {
    unsigned rounds = 2000 / RT_SLOW;
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 40; i++)
        victim_spawn(i % 2 ? stays : roams, (void *)(uintptr_t)rounds, 0, NULL);
    rt_wait(&done, 40);
}
TEST(pin_keeps_to_the_thread) { rt_each(crowd); }

/* A pinned receiver is woken from everywhere: other workers, and threads that are none. */
static atom_u64 heard;
static void listens(void *arg) {
    uint64_t wanted = (uint64_t)(uintptr_t)arg;
    weft_pin_begin();
    uintptr_t here = victim_thread();
    for (uint64_t i = 0; i < wanted; i++) {
        weft_msg *message;
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
        EXPECT(victim_thread() == here);
        atom_add_rel(&heard, 1);
    }
    /* It ends pinned, which unpins it. */
}
struct tells {
    weft_pid to;
    unsigned count;
    bool handoff;
};
static void tells(void *arg) {
    struct tells tells = *(struct tells *)arg;
    for (unsigned i = 0; i < tells.count; i++) {
        int error = tells.handoff ? weft_handoff(tells.to, i, NULL, 0) : weft_send(tells.to, i, NULL, 0);
        EXPECT_EQ(error, 0);
        if (i % 5 == 0) weft_yield();
        if (i % 64 == 0) weft_sleep(WEFT_MICROSECOND);
    }
    atom_add_rel(&done, 1);
}
static void woken(void) {
    unsigned count = 3000 / RT_SLOW;
    atom_store_rlx(&heard, 0);
    atom_store_rlx(&done, 0);
    weft_pid listener = victim_spawn(listens, (void *)(uintptr_t)(4 * count + count / 10), 0, NULL);
    struct tells by_send = {listener, count, false}, by_handoff = {listener, count, true};
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(tells, i % 2 ? &by_send : &by_handoff, 0, NULL);
    for (unsigned i = 0; i < count / 10; i++) {
        EXPECT_EQ(weft_send(listener, i, NULL, 0), 0);
        if (i % 8 == 0) usleep(50);
    }
    rt_wait(&heard, 4 * count + count / 10);
    rt_wait(&done, 4);
}
TEST(pin_is_woken_from_everywhere) { rt_each(woken); }

/* While its worker has others to do all the time, a pinned process has its turn, and so have they. */
static atom_bool over;
static atom_u64 begun, busy_turns, pinned_turns, busy_meanwhile;
enum { BUSY = 7, PINNED_TURNS = 1000 };
static void busy(void *arg) {
    (void)arg;
    atom_add_rel(&begun, 1);
    while (!atom_load_acq(&over)) {
        weft_yield();
        atom_add_rlx(&busy_turns, 1);
    }
    atom_add_rel(&done, 1);
}
static void pinned_busy(void *arg) {
    (void)arg;
    weft_pin_begin();
    while (atom_load_acq(&begun) < BUSY)
        weft_yield();
    uint64_t before = atom_load_rlx(&busy_turns);
    for (unsigned i = 0; i < PINNED_TURNS; i++)
        weft_yield();
    atom_store_rlx(&busy_meanwhile, atom_load_rlx(&busy_turns) - before);
    atom_store_rel(&pinned_turns, PINNED_TURNS);
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void turns(void) {
    atom_store_rlx(&over, false);
    atom_u64 *const all[] = {&begun, &busy_turns, &pinned_turns, &busy_meanwhile, &done};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        atom_store_rlx(all[i], 0);
    alone_begin();
    victim_spawn(pinned_busy, NULL, 0, NULL);
    for (unsigned i = 0; i < BUSY; i++)
        victim_spawn(busy, NULL, 0, NULL);
    rt_wait(&pinned_turns, PINNED_TURNS);
    rt_wait(&busy_turns, BUSY * PINNED_TURNS);
    atom_store_rel(&over, true);
    rt_wait(&done, BUSY + 1);
    alone_end();
    uint64_t others = atom_load_rlx(&busy_meanwhile);
    printf("%u turns of the pinned one, %lu of seven others meanwhile\n", PINNED_TURNS, (unsigned long)others);
    if (rt.workers == 1) EXPECT(others > PINNED_TURNS / 2 && others < 2 * PINNED_TURNS); /* all on one thread */
}
TEST(pin_and_others_take_turns) { rt_each(turns); }

/* ---- the number of workers changes -------------------------------------------------------------------------------------- */

/* Busy, but not so that a worker has nothing to look for. */
static void restless(void *arg) {
    (void)arg;
    for (unsigned i = 0; !atom_load_acq(&over); i++) {
        weft_yield();
        if (i % 4 == 0) weft_sleep(10 * WEFT_MICROSECOND);
    }
    atom_add_rel(&done, 1);
}

static atom_u64 pinned_on; /* worker's number + 1 */
static atom_bool let_go;
static void camps(void *arg) {
    (void)arg;
    while (worker_here()->index == 0 || worker_here()->index >= rt.workers) /* nor an extra one, of a machine that is busy otherwise */
        weft_sleep(100 * WEFT_MICROSECOND), weft_yield();
    weft_pin_begin();
    struct worker *mine = worker_here();
    uintptr_t here = victim_thread();
    atom_store_rel(&pinned_on, mine->index + 1);
    while (!atom_load_acq(&let_go)) {
        weft_sleep(200 * WEFT_MICROSECOND);
        EXPECT(worker_here() == mine && victim_thread() == here);
    }
    weft_pin_end();
    atom_add_rel(&done, 1);
}
/* The camper's worker cannot go. (On a busy machine a step may last so long that it counts as a hog's; with an extra worker beside the one
 * that is left, the camper has its worker still. Then it is tried again.) */
static void one_worker_is_refused(unsigned needed, unsigned workers) {
    int error;
    while ((error = weft_set_workers(rt.runtime, 1)) == 0) { /* in vain, the watchdog ends it */
        EXPECT_EQ(weft_set_workers(rt.runtime, workers), 0);
        usleep(1000);
    }
    EXPECT_EQ(error, WEFT_EBUSY);
    EXPECT_EQ(weft_workers(rt.runtime), needed); /* those above it have gone */
}
static void resize(void) {
    if (rt.workers < 2 || test_emulated()) return; /* there every step may last so long */
    atom_store_rlx(&pinned_on, 0);
    atom_store_rlx(&let_go, false);
    atom_store_rlx(&done, 0);
    /* Others, so that not only the first worker has something to do, and another runs the camper one day. */
    atom_store_rlx(&over, false);
    for (unsigned i = 0; i < 2 * rt.workers; i++)
        victim_spawn(restless, NULL, 0, NULL);
    victim_spawn(camps, NULL, 0, NULL);
    rt_wait(&pinned_on, 2);
    unsigned needed = (unsigned)atom_load_acq(&pinned_on);
    one_worker_is_refused(needed, rt.workers);
    EXPECT_EQ(weft_set_workers(rt.runtime, rt.workers + 2), 0);
    one_worker_is_refused(needed, rt.workers + 2);
    atom_store_rel(&let_go, true);
    rt_wait(&done, 1);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0);
    EXPECT_EQ(weft_workers(rt.runtime), 1);
    atom_store_rel(&over, true);
    rt_wait(&done, 1 + 2 * rt.workers);
    EXPECT_EQ(weft_set_workers(rt.runtime, rt.workers), 0);
}
TEST(pin_keeps_its_worker_when_their_number_changes) { rt_each(resize); }

/* Pinning over and over while workers come and go: no process is stranded. */
static void pins_often(void *arg) {
    for (unsigned i = 0; i < (unsigned)(uintptr_t)arg; i++) {
        weft_pin_begin();
        uintptr_t here = victim_thread();
        weft_yield();
        EXPECT(victim_thread() == here);
        weft_pin_end();
        if (i % 7 == 0) weft_sleep(WEFT_MICROSECOND);
    }
    atom_add_rel(&done, 1);
}
static void resize_stress(void) {
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 16; i++)
        victim_spawn(pins_often, (void *)(uintptr_t)(1500 / RT_SLOW), 0, NULL);
    unsigned changed = 0, refused = 0;
    for (unsigned i = 0; atom_load_acq(&done) < 16; i++) {
        int error = weft_set_workers(rt.runtime, 1 + i % 4);
        EXPECT(error == 0 || error == WEFT_EBUSY);
        changed += error == 0;
        refused += error != 0;
        usleep(100);
    }
    printf("%u times, and %u refused\n", changed, refused);
}
TEST(pin_while_workers_come_and_go) { rt_each(resize_stress); }

/* A runtime is stopped with pinned processes that would not end. */
static void stubborn(void *arg) {
    (void)arg;
    weft_pin_begin();
    atom_add_rel(&done, 1);
    weft_shield_begin();
    for (;;)
        weft_sleep(WEFT_MILLISECOND);
}
TEST(pin_does_not_keep_a_runtime_from_stopping) {
    weft_stop_report report;
    rt_start("ring", 2);
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(stubborn, NULL, 0, NULL);
    rt_wait(&done, 4);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_in(20 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 4);
    rt_watch_end();
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* ---- misuse ------------------------------------------------------------------------------------------------------------- */

static void unpaired(void *arg) {
    (void)arg;
    weft_pin_end();
}
static void unpaired_body(void) {
    weft_runtime *runtime;
    weft_pid pid;
    if (weft_start(NULL, &runtime)) _exit(99);
    weft_spawn_with(unpaired, NULL, &(weft_stackful_options){.runtime = runtime}, &pid);
    for (;;)
        pause();
}
static void outside_body(void) { weft_pin_begin(); }
TEST(pin_misuse_is_named) {
    struct child child;
    child_run(&child, unpaired_body);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "misuse of weft_pin_end: there was no weft_pin_begin");
    child_run(&child, outside_body);
    EXPECT_DIED(&child, SIGABRT);
    EXPECT_SAID(&child, "misuse of weft_pin_begin: called outside of a stackful process");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
