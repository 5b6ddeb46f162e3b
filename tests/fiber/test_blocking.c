/* Blocking calls hold up their own process alone; neither does a process that does not give way. */
#include "victim.h"

#include <weft/blocking.h>
#include <weft/channel.h>

#include <errno.h>

static atom_u64 done;

/* ---- calls ------------------------------------------------------------------------------------------------------------------ */

static int ends[2]; /* a pipe */
static atom_bool is_long;

static void reads(void *arg) {
    char *got = arg;
    ssize_t n = read(ends[0], got, 1);
    if (n == 1) errno = 77; /* comes back with the process, whichever thread it is on then */
}
static void block(void (*fn)(void *), void *arg) {
    if (atom_load_rlx(&is_long)) weft_blocking_long(fn, arg);
    else weft_blocking(fn, arg);
}
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
/* More readers than workers: the one who writes has a turn only if they give up their workers. */
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

static void naps(void *arg) {
    (void)arg;
    usleep(1500);
}
static void napper(void *arg) {
    for (unsigned i = 0; i < 5; i++) {
        block(naps, NULL);
        weft_yield();
        if (arg) EXPECT_EQ(weft_send(*(weft_pid *)arg, i, NULL, 0), 0);
    }
    atom_add_rel(&done, 1);
}
static void counter(void *arg) {
    weft_msg *message;
    for (unsigned i = 0; i < 5 * 40; i++) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
    (void)arg;
    atom_add_rel(&done, 1);
}
static void many(void) {
    weft_pid to = victim_spawn(counter, NULL, 0, "counter");
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 40; i++)
        victim_spawn(napper, &to, 0, "napper");
    rt_wait(&done, 41);
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

/* ---- hogs ------------------------------------------------------------------------------------------------------------------- */

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

/* With weft_poll in its loop it gives way by itself. */
static void polls(void *arg) {
    (void)arg;
    while (!atom_load_acq(&free_them))
        weft_poll();
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
    return worker_here() == where && atom_load_rlx(&where->actor.counters.steps) == step;
}
static void always_has_a_message(void *arg) {
    struct worker *where = worker_here();
    uint64_t step = atom_load_rlx(&where->actor.counters.steps);
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
    uint64_t step = atom_load_rlx(&where->actor.counters.steps);
    weft_chan *chan;
    int element = 0;
    (void)arg;
    EXPECT_EQ(weft_chan_new(&chan, sizeof element, 1), 0);
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
