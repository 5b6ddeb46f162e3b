/* synch2 between two processes, and between a process and a thread: they exclude each other, park, and leave their threads to others. */
#include "crowd.h"

#include <weft/synch2.h>

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
        if (threads)
            thread = crowd_thread(thread_visits, (void *)1);
        else
            crowd_spawn(visits, (void *)1);
        crowd_open();
        rt_wait(&over, 2);
        if (threads) crowd_gather(thread);
        EXPECT_EQ(room, atom_load_rlx(&fine));
        EXPECT_EQ(atom_load_rlx(&fine) + atom_load_rlx(&late), 2 * rounds);
        rt_wait_for_nobody();
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
    rt_wait_for_nobody();
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
    rt_wait_for_nobody();
}
TEST(synch2_processes_cancel) { rt_each(cancels); }

int main(int argc, char **argv) { return test_main(argc, argv); }
