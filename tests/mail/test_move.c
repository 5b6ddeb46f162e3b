/* Payloads that are moved: the same buffer arrives, and is released once, whatever becomes of the message. */
#include "mailbox_helpers.h"

#include <weft/router.h>

#include <sys/mman.h>

enum { SIZE = 100000 };

static atom_u64 made, released;

static void *buffer_new(uint64_t value) {
    uint64_t *buffer = malloc(SIZE);
    memset(buffer, 0x5a, SIZE);
    buffer[0] = value;
    atom_add_rlx(&made, 1);
    return buffer;
}
static void buffer_release(void *buffer, size_t size, void *user) {
    EXPECT(size == SIZE && user == &released);
    free(buffer); /* twice, and ASan tells */
    atom_add_rel(&released, 1);
}
static void buffer_free(void *buffer) { buffer_release(buffer, SIZE, &released); }
static int buffer_send(weft_pid to, uint64_t tag, void *buffer) { return weft_send_move(to, tag, buffer, SIZE, buffer_release, &released); }
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
            buffer_free(data);
        } else {
            weft_msg_free(message);
        }
    }
}

static void moves(void *unused) {
    (void)unused;
    weft_pid pid = weft_spawn(receiver, NULL);
    for (uint64_t i = 0; i < 100; i++)
        EXPECT_EQ(buffer_send(pid, i, buffer_new(i)), 0);
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
    EXPECT_EQ(buffer_send(pid, 0, buffer), 0);
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
        EXPECT_EQ(buffer_send(pid, i, buffer_new(i)), 0);
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
        int error = buffer_send(pid, i, buffer);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
        if (error) buffer_free(buffer);
    }
    run_join(pid);
    EXPECT_EQ(atom_load_acq(&released), atom_load_rlx(&made));
    void *mine = buffer_new(9);
    EXPECT_EQ(buffer_send(pid, 0, mine), WEFT_ENOPROC);
    EXPECT_EQ(buffer_send(weft_self() + (1ull << 56), 0, mine), WEFT_EFOREIGN);
    buffer_free(mine);                                                  /* still the sender's */
    EXPECT_EQ(weft_send_move(weft_self(), 0, &made, 8, NULL, NULL), 0); /* not to be released */
    expect_next(0);
}
static void unread_body(void) { EXPECT_EQ(run(unread, NULL), 0); }
TEST(move_to_one_that_does_not_read) { rt_each(unread_body); }

/* Memory of malloc, and memory whose size has to be known. */
static void unmap(void *buffer, size_t size, void *user) {
    EXPECT_EQ(munmap(buffer, size), 0);
    *(size_t *)user += size;
}
static void sources(void *unused) {
    size_t unmapped = 0;
    (void)unused;
    EXPECT_EQ(weft_send_move(weft_self(), 0, memset(malloc(SIZE), 1, SIZE), SIZE, weft_release_free, NULL), 0);
    expect_next(0);
    void *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(mapped != MAP_FAILED);
    EXPECT_EQ(weft_send_move(weft_self(), 1, mapped, SIZE, unmap, &unmapped), 0);
    expect_next(1);
    EXPECT_EQ(unmapped, SIZE);
}
static void sources_body(void) { EXPECT_EQ(run(sources, NULL), 0); }
TEST(move_from_malloc_and_mmap) { rt_each(sources_body); }

/* A router sends a copy: the buffer is released if it takes it, and stays the sender's if it does not. */
static int routes(void *user, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    (void)from, (void)to;
    EXPECT_EQ(size, SIZE);
    EXPECT_EQ(*(const uint64_t *)data, tag);
    return *(int *)user;
}
static void routed(void *unused) {
    int answer = 0;
    weft_pid elsewhere = weft_self() + (1ull << 56);
    void *mine = buffer_new(2);
    (void)unused;
    EXPECT_EQ(weft_set_router(routes, &answer), 0);
    EXPECT_EQ(buffer_send(elsewhere, 1, buffer_new(1)), 0);
    EXPECT_EQ(atom_load_acq(&released) + 1, atom_load_rlx(&made));
    answer = WEFT_ENOBUFS;
    EXPECT_EQ(buffer_send(elsewhere, 2, mine), WEFT_ENOBUFS);
    buffer_free(mine);
    EXPECT_EQ(weft_set_router(NULL, NULL), 0);
}
static void routed_body(void) { EXPECT_EQ(run(routed, NULL), 0); }
TEST(move_by_a_router) { rt_each(routed_body); }

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
        EXPECT_EQ(buffer_send(pid, 1, buffer_new(1)), 0);
        if (i > 0) rt_pause(5 * RT_MS); /* put by, or still in the mailbox */
        EXPECT_EQ(buffer_send(pid, 2, buffer_new(2)), 0);
        EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_now() + 20 * RT_MS), WEFT_ETIMEDOUT);
        rt_watch_end();
        all_released();
        EXPECT_EQ(sys_scripted_live(), 0);
    }
}

/* ---- replies --------------------------------------------------------------------------------------------------------------- */

enum { NOW = 1, TWICE_OVER };
static void answers(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_request request = weft_msg_request(message);
        uint64_t tag = weft_msg_tag(message);
        for (unsigned i = 0; i < (tag == TWICE_OVER ? 2 : 1); i++) {
            void *buffer = buffer_new(tag);
            EXPECT_EQ(weft_reply_move(request, buffer, SIZE, buffer_release, &released),
                      0); /* also if the asker has given up, or has ended */
        }
        weft_msg_free(message);
    }
}
static void asks(void *arg) {
    weft_pid to = *(weft_pid *)arg;
    weft_msg *reply, *other;
    uint64_t reference;
    for (unsigned i = 0; i < 30; i++) {
        EXPECT_EQ(weft_call(to, i % 2 ? TWICE_OVER : NOW, NULL, 0, &reply, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_msg_len(reply), SIZE);
        EXPECT_EQ(weft_msg_tag(reply), i % 2 ? TWICE_OVER : NOW);
        EXPECT_EQ(weft_msg_from(reply), to);
        EXPECT_EQ(*(uint64_t *)weft_msg_data(reply), weft_msg_tag(reply));
        void *buffer = i % 3 ? NULL : weft_msg_take(reply);
        weft_msg_free(reply);
        if (i % 3 == 0) buffer_free(buffer);
    }
    EXPECT_EQ(weft_ask(to, NOW, NULL, 0, &reference), 0);
    EXPECT_EQ(weft_recv_reply(reference, &reply, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_len(reply), SIZE);
    weft_msg_free(reply);
    EXPECT_EQ(weft_ask(to, NOW, NULL, 0, &reference), 0);
    weft_forget(reference); /* its answer is dropped, whenever it comes */
    EXPECT_EQ(weft_recv(&other, weft_in(RT_MS)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_reply_move((weft_request){.from = to}, NULL, 0, NULL, NULL), WEFT_EINVAL);
}
static void asks_and_ends(void *to) {
    uint64_t reference;
    EXPECT_EQ(weft_ask(*(weft_pid *)to, NOW, NULL, 0, &reference), 0);
}
static void reply_too_late(void *unused) {
    weft_pid self = weft_self(), asker;
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_spawn_with(asks_and_ends, &self, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, &asker), 0);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_join(asker, NULL, WEFT_FOREVER), 0);
    weft_request request = weft_msg_request(message);
    EXPECT_EQ(weft_reply(request, "x", 1), 0);
    EXPECT_EQ(weft_reply_move(request, buffer_new(NOW), SIZE, buffer_release, &released), 0);
    all_released();             /* before anything else: the reply has dropped it */
    request.from += 1ull << 56; /* one of a runtime that has stopped */
    EXPECT_EQ(weft_reply(request, "x", 1), 0);
    EXPECT_EQ(weft_reply_move(request, buffer_new(NOW), SIZE, buffer_release, &released), 0);
    all_released();
    weft_msg_free(message);
}
static void reply_too_late_body(void) { EXPECT_EQ(run(reply_too_late, NULL), 0); }
TEST(reply_to_one_that_has_ended_is_dropped) { rt_each(reply_too_late_body); }

static void replies_move(void) {
    weft_pid server = run_spawn(answers, NULL), clients[4];
    for (unsigned i = 0; i < 4; i++)
        clients[i] = run_flags(asks, &server, WEFT_SPAWN_JOINABLE);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(weft_join(clients[i], NULL, WEFT_FOREVER), 0);
    weft_cancel(server);
    all_released();
}
TEST(move_in_a_reply) { rt_each(replies_move); }

int main(int argc, char **argv) { return test_main(argc, argv); }
