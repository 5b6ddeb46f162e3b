/* Payloads that are moved: the same buffer arrives, and is released once, whatever becomes of the message. */
#include "mailbox_helpers.h"

enum { SIZE = 100000 };

static atom_u64 made, released;

static void *buffer_new(uint64_t value) {
    uint64_t *buffer = malloc(SIZE);
    memset(buffer, 0x5a, SIZE);
    buffer[0] = value;
    atom_add_rlx(&made, 1);
    return buffer;
}
static void buffer_release(void *buffer) {
    free(buffer); /* twice, and ASan tells */
    atom_add_rel(&released, 1);
}
static void all_released(void) { rt_wait(&released, atom_load_rlx(&made)); }

static void receiver(void *arg) {
    weft_msg *message;
    uint64_t **expected = arg;
    for (uint64_t i = 0; weft_recv(&message, WEFT_FOREVER) == 0; i++) {
        EXPECT_EQ(weft_msg_tag(message), i);
        EXPECT_EQ(weft_msg_len(message), SIZE);
        uint64_t *data = weft_msg_data(message);
        EXPECT_EQ(data[0], i);
        if (expected) EXPECT(data == *expected); /* not a copy */
        if (i % 3 == 2) {
            EXPECT(weft_msg_take(message) == data);
            EXPECT(weft_msg_take(message) == NULL);
            EXPECT_EQ(weft_msg_len(message), 0);
            weft_msg_free(message);
            buffer_release(data);
        } else {
            weft_msg_free(message);
        }
    }
}

static void moves(void *unused) {
    (void)unused;
    weft_pid pid = weft_spawn(receiver, NULL);
    for (uint64_t i = 0; i < 100; i++)
        EXPECT_EQ(weft_send_move(pid, i, buffer_new(i), SIZE, buffer_release), 0);
    while (atom_load_acq(&released) < atom_load_rlx(&made))
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    weft_cancel(pid);
    run_join(pid);
}
static void moves_body(void) {
    EXPECT_EQ(run(moves, NULL), 0);
    EXPECT_EQ(atom_load_rlx(&released), atom_load_rlx(&made));
}
TEST(move_from_a_process) { rt_each(moves_body); }

static void outside_body(void) {
    uint64_t *buffer = buffer_new(0);
    weft_pid pid = run_spawn(receiver, &buffer);
    EXPECT_EQ(weft_send_move(pid, 0, buffer, SIZE, buffer_release), 0);
    all_released();
}
TEST(move_from_a_thread) { rt_each(outside_body); }

/* ---- a step process sees the buffer ------------------------------------------------------------------------------------- */

static int mover_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    uint64_t *seen = state;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            continue;
        }
        EXPECT_EQ(events[i].type, WEFT_EVENT_MESSAGE);
        EXPECT_EQ(events[i].size, SIZE);
        EXPECT_EQ(events[i].tag, *seen);
        EXPECT_EQ(*(const uint64_t *)events[i].data, (*seen)++);
    }
    return 0;
}
static const weft_behavior mover = {.name = "mover", .state_size = sizeof(uint64_t), .step = mover_step};
static void step_body(void) {
    weft_pid pid = rt_spawn(&mover);
    for (uint64_t i = 0; i < 200; i++)
        EXPECT_EQ(weft_send_move(pid, i, buffer_new(i), SIZE, buffer_release), 0);
    all_released();
}
TEST(move_to_a_step_process) { rt_each(step_body); }

/* ---- it is not read ----------------------------------------------------------------------------------------------------- */

static void reads_one(void *unused) {
    (void)unused;
    expect_tag(1);
}
static void unread(void *unused) {
    (void)unused;
    weft_pid pid = weft_spawn_joinable(reads_one, NULL); /* its join comes after all that its end does */
    for (uint64_t i = 0; i < 5; i++) { /* of which it saves one and never sees the others; it may have ended before the last */
        void *buffer = buffer_new(i);
        int error = weft_send_move(pid, i, buffer, SIZE, buffer_release);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
        if (error) buffer_release(buffer);
    }
    run_join(pid);
    EXPECT_EQ(atom_load_acq(&released), atom_load_rlx(&made));
    void *mine = buffer_new(9);
    EXPECT_EQ(weft_send_move(pid, 0, mine, SIZE, buffer_release), WEFT_ENOPROC);
    EXPECT_EQ(weft_send_move(weft_self() + (1ull << 56), 0, mine, SIZE, buffer_release), WEFT_EFOREIGN);
    buffer_release(mine);                                         /* still the sender's */
    EXPECT_EQ(weft_send_move(weft_self(), 0, &made, 8, NULL), 0); /* not to be released */
    expect_next(0);
}
static void unread_body(void) { EXPECT_EQ(run(unread, NULL), 0); }
TEST(move_to_one_that_does_not_read) { rt_each(unread_body); }

static void stubborn(void *unused) {
    weft_msg *message;
    (void)unused;
    weft_shield_begin();
    weft_recv_tag(77, &message, WEFT_FOREVER);
}
TEST(move_to_one_that_is_left_behind) {
    for (unsigned i = 0; i < 3; i++) {
        rt_start("ring", i + 1);
        weft_pid pid = run_spawn(stubborn, NULL);
        EXPECT_EQ(weft_send_move(pid, 1, buffer_new(1), SIZE, buffer_release), 0);
        if (i > 0) rt_pause(5 * RT_MS); /* put by, or still in the mailbox */
        EXPECT_EQ(weft_send_move(pid, 2, buffer_new(2), SIZE, buffer_release), 0);
        EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_now() + 20 * RT_MS), WEFT_ETIMEDOUT);
        rt_watch_end();
        all_released();
        EXPECT_EQ(sys_scripted_live(), 0);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
