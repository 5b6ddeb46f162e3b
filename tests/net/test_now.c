/* Calls that must not wait, or have waited long enough: a deadline never hides what the kernel has. */
#include "net_helpers.h"

enum { NOW_ROUNDS = 300 };

/* The kernel has it: asked by a system call of the test's own. */
static void now_arrives(int number) {
    char byte;
    while (recv(number, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
        EXPECT_EQ(weft_sleep(20 * WEFT_MICROSECOND), 0);
}

/* A connection of weft's at [0], which it may hold for drained after a short read; [1] is the test's own. */
static int now_pair(weft_fd *own) {
    char where[WEFT_ADDR_TEXT];
    weft_addr address;
    weft_fd door = net_listen_any(where, NULL);
    EXPECT_EQ(weft_net_name(door, &address), 0);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(other, (struct sockaddr *)&address.place, address.size), 0);
    *own = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT(*own > 0);
    EXPECT_EQ(weft_fd_close(door), 0);
    return other;
}

/* After weft_fd_wait has said so. */
static void now_after_wait(void *arg) {
    (void)arg;
    weft_fd fd;
    char data[8];
    int other = now_pair(&fd);
    for (unsigned i = 0; i < NOW_ROUNDS; i++) {
        EXPECT_EQ(write(other, "x", 1), 1);
        EXPECT_EQ(weft_fd_wait(fd, WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
        EXPECT_EQ(weft_fd_read(fd, data, sizeof data, 0), 1); /* a short read */
        EXPECT_EQ(weft_fd_read(fd, data, sizeof data, 0), WEFT_ETIMEDOUT);
    }
    close(other);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void now_after_waits(void) { net_run_until(now_after_wait, 1); }
TEST(now_what_was_waited_for_is_read) { rt_each(now_after_waits); }

/* Whatever has been polled: the kernel has it, so a read whose deadline has passed (0, or another) gets it, after a short read too. The
 * number is taken from the handle: a socket that was shown (weft_fd_number) is asked every time. */
static void now_unpolled(void *arg) {
    (void)arg;
    weft_fd fd;
    char data[8];
    int other = now_pair(&fd), number = (int)(fd & 0xffffff);
    for (unsigned i = 0; i < NOW_ROUNDS; i++) {
        uint64_t past = i % 2 ? weft_now() : 0;
        struct iovec part = {data, sizeof data};
        EXPECT_EQ(write(other, "x", 1), 1);
        now_arrives(number);
        if (i % 3 == 0) EXPECT_EQ(weft_fd_read_all(fd, data, 1, NULL, past), 0);
        else if (i % 3 == 1) EXPECT_EQ(weft_fd_readv(fd, &part, 1, past), 1);
        else EXPECT_EQ(weft_fd_read(fd, data, sizeof data, past), 1); /* short */
    }
    close(other);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void now_unpolleds(void) { net_run_until(now_unpolled, 1); }
TEST(now_the_kernel_is_asked) { rt_each(now_unpolleds); }

/* The deadline passes while no worker polls: one worker, and a process that computes. What has come by then is found. */
static atom_u64 now_reads;
static uint64_t now_deadline;
static ssize_t now_result;
static void now_reader(void *arg) {
    char data[8];
    atom_store_rel(&now_reads, 1);
    now_result = weft_fd_read(net_unbox(arg), data, sizeof data, now_deadline);
    net_is_done();
}
/* True: the byte was there before the deadline, so it has been read. On a slow machine it may not have been. */
static bool now_late_round(weft_fd fd, int other, uint64_t round) {
    char byte;
    atom_store_rlx(&now_reads, 0);
    now_deadline = weft_in(5 * WEFT_MILLISECOND);
    EXPECT(weft_spawn(now_reader, net_box(fd)) != WEFT_NOBODY);
    while (atom_load_acq(&now_reads) == 0)
        weft_yield();
    weft_yield(); /* it waits */
    EXPECT_EQ(write(other, "x", 1), 1);
    bool in_time = recv((int)(fd & 0xffffff), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && weft_now() < now_deadline;
    while (weft_now() < now_deadline + WEFT_MILLISECOND) {}
    while (atom_load_acq(&net_done) <= round)
        weft_yield();
    if (in_time) EXPECT_EQ(now_result, 1);
    if (now_result != 1) EXPECT_EQ(weft_fd_read(fd, &byte, 1, WEFT_FOREVER), 1);
    return in_time;
}
static void now_late(void *arg) {
    (void)arg;
    weft_fd fd;
    int other = now_pair(&fd);
    unsigned in_time = 0;
    for (unsigned i = 0; i < 20; i++)
        in_time += now_late_round(fd, other, i);
    printf("%u of 20 in time\n", in_time);
    close(other);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
TEST(now_what_came_before_the_deadline_is_read) {
    rt_start("ring", 1);
    net_run_until(now_late, 21);
    rt_stop();
}

/* The pair that step processes use: a wait by command, and the call itself with the deadline 0. */
static weft_fd now_fd;
static int now_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    unsigned *got = self;
    char data[8];
    for (size_t i = 0; i < count; i++) {
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        EXPECT_EQ(events[i].error, 0);
        EXPECT_EQ(weft_fd_read(now_fd, data, sizeof data, 0), 1);
        atom_store_rel(&now_reads, ++*got);
    }
    if (*got < NOW_ROUNDS) EXPECT_EQ(weft_out_fd_wait(out, 0, now_fd, WEFT_READABLE, WEFT_FOREVER), 0);
    weft_out_status(out, *got < NOW_ROUNDS ? WEFT_STEP_BLOCKED : WEFT_STEP_DONE);
    return 0;
}
static void now_feeds(void *arg) {
    static const weft_behavior behavior = {.name = "reads now", .state_size = sizeof(unsigned), .step = now_step};
    (void)arg;
    int other = now_pair(&now_fd);
    atom_store_rlx(&now_reads, 0);
    rt_spawn(&behavior);
    for (unsigned i = 0; i < NOW_ROUNDS; i++) {
        EXPECT_EQ(write(other, "x", 1), 1);
        while (atom_load_acq(&now_reads) <= i)
            EXPECT_EQ(weft_sleep(20 * WEFT_MICROSECOND), 0);
    }
    close(other);
    EXPECT_EQ(weft_fd_close(now_fd), 0);
    net_is_done();
}
static void now_steps(void) { net_run_until(now_feeds, 1); }
TEST(now_step_processes_read_what_they_waited_for) { rt_each(now_steps); }

int main(int argc, char **argv) { return test_main(argc, argv); }
