/* Messages to processes that end just then (proc/deliver.h, V3): each is accepted or refused, and what was accepted is released once, read or not.
 *
 * Processes are born and end as fast as they can, each under the eyes of senders that have its PID: other processes, a thread of the program's, and step processes that
 * hand off. */
#include "runtime_helpers.h"

#include <weft/weft.h>

#include "sanitized.h"

enum { SENDERS = 3, MORTALS = 60000 };

static atom_u64 target; /* the PID of the youngest */
static atom_u64 accepted, refused, released, handed, left_over, over;

static uint64_t mortals(void) { return (uint64_t)MORTALS / RT_SLOW / (test_emulated() ? 20 : 1) * test_scale(); }

static void releases(void *buffer, size_t size, void *user) {
    (void)size, (void)user;
    free(buffer);
    atom_add_rlx(&released, 1);
}
static void send_one(void) {
    weft_pid pid = atom_load_acq(&target);
    void *buffer = pid ? malloc(16) : NULL;
    if (!buffer) return;
    int error = weft_send_move(pid, 7, buffer, 16, releases, NULL);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    atom_add_rlx(error ? &refused : &accepted, 1);
    if (error) free(buffer);
}

/* Each sixteenth reads one message, if there is one. */
static void mortal(void *number) {
    weft_msg *message;
    atom_store_rel(&target, weft_self());
    if ((uintptr_t)number % 4 == 0) weft_yield();
    if ((uintptr_t)number % 16 == 0 && weft_recv(&message, 0) == 0) weft_msg_free(message);
}
static void spawner(void *unused) {
    (void)unused;
    for (uintptr_t i = 0; i < mortals(); i++) {
        if (weft_spawn(mortal, (void *)i) == WEFT_NOBODY) break;
        if (i % 3 == 0) weft_yield();
    }
    atom_store_rel(&over, 1);
}
static void sender(void *unused) {
    (void)unused;
    for (unsigned i = 0; !atom_load_acq(&over); i++) {
        send_one();
        if (i % 64 == 0) weft_yield();
    }
    atom_add_rel(&left_over, 1);
}
static void *thread(void *unused) {
    while (!atom_load_acq(&over))
        send_one();
    return unused;
}
static int hands_off(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    if (atom_load_acq(&over)) {
        weft_out_status(out, WEFT_STEP_DONE);
        return 0;
    }
    weft_pid pid = atom_load_acq(&target);
    int error = pid ? weft_out_handoff(out, pid, 8, NULL, 0) : 0;
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    atom_add_rlx(&handed, error == 0);
    weft_out_status(out, WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior handing_off = {.name = "hands off", .step = hands_off};

static void spawn_here(weft_entry entry) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_with(entry, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
}
static void mortals_under_fire(const char *policy) {
    pthread_t outside;
    printf("policy %s\n", policy);
    atom_store_rlx(&target, 0);
    atom_store_rlx(&over, 0);
    atom_store_rlx(&left_over, 0);
    atom_store_rlx(&accepted, 0);
    atom_store_rlx(&released, 0);
    rt_start(policy, 2);
    EXPECT_EQ(pthread_create(&outside, NULL, thread, NULL), 0);
    for (unsigned i = 0; i < SENDERS; i++)
        spawn_here(sender);
    rt_spawn(&handing_off);
    spawn_here(spawner);
    rt_wait(&left_over, SENDERS);
    EXPECT_EQ(pthread_join(outside, NULL), 0);
    rt_wait_until_none_lives();
    EXPECT_EQ(atom_load_acq(&released), atom_load_acq(&accepted)); /* none waits for its block's next process */
    rt_stop();
}
TEST(late_messages_are_released_once_ring) { mortals_under_fire("ring"); }
TEST(late_messages_are_released_once_deque) { mortals_under_fire("deque"); }
TEST(late_messages_are_released_once_line) { mortals_under_fire("line"); }

/* A process that is just being born may have its PID known already: what is sent then is not taken for late. */
static atom_u64 read_by_newborns;
static void newborn(void *unused) {
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_recv(&message, weft_in(20 * WEFT_SECOND)), 0);
    EXPECT_EQ(weft_msg_tag(message), 9);
    weft_msg_free(message);
    atom_add_rel(&read_by_newborns, 1);
}
static void tell(weft_pid pid, void *user) {
    (void)user;
    atom_store_rel(&target, pid);
}
static void *sends_to_each(void *unused) {
    for (weft_pid last = 0, pid; !atom_load_acq(&over);)
        if ((pid = atom_load_acq(&target)) != last) {
            last = pid;
            while (weft_send(pid, 9, NULL, 0) == WEFT_ENOPROC) {} /* it is not found before its mailbox is open */
        }
    return unused;
}
TEST(late_is_no_process_that_is_being_born) {
    pthread_t outside;
    rt_start("ring", 2);
    EXPECT_EQ(pthread_create(&outside, NULL, sends_to_each, NULL), 0);
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_ANNOUNCE, .announcement = {tell, NULL}};
    for (uint64_t i = 1; i <= mortals() / 100; i++) {
        weft_pid pid;
        EXPECT_EQ(weft_spawn_with(newborn, NULL, &options, &pid), 0);
        rt_wait(&read_by_newborns, i);
    }
    atom_store_rel(&over, 1);
    EXPECT_EQ(pthread_join(outside, NULL), 0);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
