/* synch2 between two processes, and between a process and a thread: they exclude each other, park, and leave their threads to others. */
#include "crowd.h"
#include "sync/synch2.h"

#include <weft/fork.h>

static weft_synch2 door;
static uint64_t room, rounds; /* room: only inside */
static atom_u64 over, others, canceled, late, fine, go;

static void forget(void) {
    weft_synch2_init(&door);
    atom_u64 *const all[] = {&over, &others, &canceled, &late, &fine, &go};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
    room = 0;
}

static void visits(void *role) {
    struct rng rng;
    bool process = weft_self() != WEFT_NOBODY;
    rng_seed(&rng, crowd_seed, (uintptr_t)role);
    crowd_begin();
    for (uint64_t i = 0; i < rounds; i++) {
        if (rng_below(&rng, 4) == 0) {
            int error = weft_synch2_enter_until(&door, (unsigned)(uintptr_t)role, weft_in(rng_below(&rng, 20000)));
            if (error) {
                EXPECT_EQ(error, WEFT_ETIMEDOUT);
                atom_add_rlx(&late, 1);
                continue;
            }
        } else {
            weft_synch2_enter(&door, (unsigned)(uintptr_t)role);
        }
        uint64_t before = room;
        if (process && rng_below(&rng, 2) == 0) weft_yield(); /* with the other one at the door */
        room = before + 1;
        weft_synch2_leave(&door, (unsigned)(uintptr_t)role);
        atom_add_rlx(&fine, 1);
    }
    atom_add_rel(&over, 1);
}
static void *thread_visits(void *role) {
    visits(role);
    return NULL;
}
static void excludes(void) {
    for (unsigned threads = 0; threads < 2; threads++) {
        pthread_t thread = 0;
        crowd_close(4);
        forget();
        rounds = 1000 * test_scale() / RT_SLOW;
        crowd_spawn(visits, (void *)0);
        if (threads) thread = crowd_thread(thread_visits, (void *)1);
        else crowd_spawn(visits, (void *)1);
        crowd_open();
        rt_wait(&over, 2);
        if (threads) crowd_gather(thread);
        EXPECT_EQ(room, atom_load_rlx(&fine));
        EXPECT_EQ(atom_load_rlx(&fine) + atom_load_rlx(&late), 2 * rounds);
        rt_wait_until_none_lives();
    }
}
TEST_WITHIN(synch2_processes_exclude, 60) { rt_each(excludes); }

/* The one inside waits for what others do: on one worker that can only be if the one at the door has left its thread to them. */
static void stays_inside(void *unused) {
    (void)unused;
    weft_synch2_enter(&door, 0);
    atom_store_rel(&go, 1);
    while (atom_load_acq(&others) < 100)
        weft_yield();
    weft_synch2_leave(&door, 0);
}
static void comes_later(void *unused) {
    (void)unused;
    while (!atom_load_acq(&go))
        weft_yield();
    weft_synch2_enter(&door, 1);
    EXPECT_EQ(atom_load_acq(&others), 100);
    weft_synch2_leave(&door, 1);
    atom_add_rel(&over, 1);
}
static void does_something(void *unused) {
    (void)unused;
    while (!atom_load_acq(&go))
        weft_yield();
    weft_sleep(WEFT_MILLISECOND);
    atom_add_rel(&others, 1);
}
static void parks(void) {
    forget();
    crowd_spawn(stays_inside, NULL);
    crowd_spawn(comes_later, NULL);
    for (unsigned i = 0; i < 100; i++)
        crowd_spawn(does_something, NULL);
    rt_wait(&over, 1);
    rt_wait_until_none_lives();
}
TEST(synch2_processes_park) { rt_each(parks); }

static void may_be_cancelled(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_synch2_enter_until(&door, 1, WEFT_SYNCH2_FOREVER), WEFT_ECANCELED);
    atom_add_rel(&canceled, 1);
    weft_synch2_enter(&door, 1); /* this cannot */
    weft_synch2_leave(&door, 1);
    atom_add_rel(&over, 1);
}
static void cancels(void) {
    forget();
    weft_synch2_enter(&door, 0); /* a thread is inside */
    weft_pid pid = crowd_spawn(may_be_cancelled, NULL);
    usleep(2000);
    weft_cancel(pid);
    rt_wait(&canceled, 1);
    usleep(1000);
    EXPECT_EQ(atom_load_acq(&over), 0);
    weft_synch2_leave(&door, 0);
    rt_wait(&over, 1);
    rt_wait_until_none_lives();
}
TEST(synch2_processes_cancel) { rt_each(cancels); }

/* ---- leaving ------------------------------------------------------------------------------------------------------------ */

/* Step processes and tasks must not wait, but they may try, and then leave: also when the other one has just come and is slow to take
 * notice. That one is played by hand. */
static void tries_and_leaves(void) {
    EXPECT_EQ(weft_synch2_try(&door, 1), 0);
    atom_store_rel(&go, 1);
    rt_wait(&others, 1);
    weft_synch2_leave(&door, 1);
    atom_add_rel(&over, 1);
}
static int leaver_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    tries_and_leaves();
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior leaver = {.name = "leaver", .step = leaver_step};
WEFT_VOID_TASK(leaver_task) { tries_and_leaves(); }
static void leaver_process(void *task) {
    if (task) WEFT_RUN(leaver_task);
    else tries_and_leaves();
}
static void is_left(unsigned kind) {
    struct synch2 *inside = synch2_of(&door);
    atom_u32 *bell = &inside->role[1].bell;
    forget();
    if (kind == 0) rt_spawn(&leaver);
    else crowd_spawn(leaver_process, kind == 1 ? &door : NULL);
    rt_wait(&go, 1);
    atom_store_sc(&inside->role[0].active, 1);
    atom_store_rel(&others, 1);
    while (!atom_load_acq(bell)) /* until it sleeps, or is about to */
        usleep(100);
    atom_store_rel(&inside->waker_change, 0);
    atom_store_rlx(bell, 0);
    synch2_any_waiter.wake(&synch2_any_waiter, 1, bell);
    rt_wait(&over, 1);
    rt_wait_until_none_lives();
}
static void leaves(void) {
    for (unsigned kind = 0; kind < 3; kind++)
        is_left(kind);
}
TEST(synch2_leaves_whatever_called_it) { rt_each(leaves); }

static int enters_in_a_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    weft_synch2_enter(&door, 1);
    return 0;
}
static void step_enters(void) {
    static const weft_behavior enterer = {.name = "enterer", .step = enters_in_a_step};
    rt_start("ring", 2);
    forget();
    weft_synch2_enter(&door, 0);
    rt_spawn(&enterer);
    for (;;)
        pause();
}
WEFT_VOID_TASK(enters) { weft_synch2_enter(&door, 1); }
static void runs_enters(void *unused) {
    (void)unused;
    WEFT_RUN(enters);
}
static void task_enters(void) {
    rt_start("ring", 2);
    forget();
    weft_synch2_enter(&door, 0);
    crowd_run(runs_enters, NULL);
}
TEST(synch2_wait_where_one_must_not_aborts) {
    EXPECT_ABORT(step_enters, "weft_synch2_enter", "stackful");
    EXPECT_ABORT(task_enters, "weft_synch2_enter", "in a task");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
