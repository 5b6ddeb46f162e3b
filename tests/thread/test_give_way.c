/* Hogs: processes run beside one that never calls, and one that calls gives way. */
#include "victim.h"

#include <weft/channel.h>

static atom_u64 done;

static atom_bool free_them;
static void hogs(void *arg) {
    (void)arg;
    while (!atom_load_acq(&free_them)) { /* no weft call at all */
    }
    atom_add_rel(&done, 1);
}
static void frees_them(void *arg) {
    (void)arg;
    weft_sleep(5 * WEFT_MILLISECOND);
    atom_store_rel(&free_them, true);
    atom_add_rel(&done, 1);
}
static void beside_hogs(void) {
    struct runtime *runtime = (struct runtime *)rt.runtime;
    atom_store_rlx(&done, 0);
    atom_store_rlx(&free_them, false);
    for (unsigned i = 0; i < 2 * rt.workers && i < 8; i++)
        victim_spawn(hogs, NULL, 0, "hog");
    victim_spawn(frees_them, NULL, 0, "liberator");
    rt_wait(&done, (2 * rt.workers < 8 ? 2 * rt.workers : 8) + 1);
    while (atom_load_rlx(&runtime->extra) > 0) /* in vain, the watchdog ends it */
        usleep(1000);
}
TEST(hogs_are_compensated) { rt_each(beside_hogs); }

/* With weft_checkpoint in its loop it yields by itself. */
static void polls(void *arg) {
    (void)arg;
    while (!atom_load_acq(&free_them))
        weft_checkpoint();
    atom_add_rel(&done, 1);
}
static void beside_polls(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&free_them, false);
    for (unsigned i = 0; i < 2 * rt.workers && i < 8; i++)
        victim_spawn(polls, NULL, 0, "polite hog");
    victim_spawn(frees_them, NULL, 0, "liberator");
    rt_wait(&done, (2 * rt.workers < 8 ? 2 * rt.workers : 8) + 1);
}
TEST(hogs_that_poll_give_way) { rt_each(beside_polls); }

/* So does one that makes calls which might wait, and never have to. It ends when it has seen that it was a step of its own again. */
static bool is_same_step(struct worker *where, uint64_t step) {
    return worker_here() == where && atom_load_rlx(&where->local.counters.steps) == step;
}
static void always_has_a_message(void *arg) {
    struct worker *where = worker_here();
    uint64_t step = atom_load_rlx(&where->local.counters.steps);
    weft_msg *message;
    (void)arg;
    while (is_same_step(where, step)) {
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
    atom_add_rel(&done, 1);
}
static void always_has_room(void *arg) {
    struct worker *where = worker_here();
    uint64_t step = atom_load_rlx(&where->local.counters.steps);
    weft_chan *chan;
    int element = 0;
    (void)arg;
    EXPECT_EQ(weft_chan_new(sizeof element, 1, &chan), 0);
    while (is_same_step(where, step)) {
        EXPECT_EQ(weft_chan_send(chan, &element, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_chan_recv(chan, &element, WEFT_FOREVER), 0);
    }
    weft_chan_free(chan);
    atom_add_rel(&done, 1);
}
static void talkative(void) {
    atom_store_rlx(&done, 0);
    victim_spawn(always_has_a_message, NULL, 0, "talks to itself");
    victim_spawn(always_has_room, NULL, 0, "fills and empties");
    rt_wait(&done, 2);
}
TEST(hogs_that_call_give_way) { rt_each(talkative); }

int main(int argc, char **argv) { return test_main(argc, argv); }
