/* Descriptors of others that are waited for: shared by the processes that wait, and never weft's to close. */
#include "net_helpers.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

static int await_bell;
static void await_for_ever(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_fd_wait_raw(await_bell, WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    net_is_done();
}
static void await_a_while(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_fd_wait_raw(await_bell, WEFT_READABLE, weft_in(20 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    net_is_done();
}

/* The first of many leaves: the others wait on, undisturbed, and all are told when there is something. */
static void await_many(void *arg) {
    enum { MANY = 40 };
    (void)arg;
    await_bell = eventfd(0, EFD_CLOEXEC);
    uint64_t before = net_calls(SYS_NET_READY);
    EXPECT(weft_spawn(await_a_while, NULL) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_READY, before + 1);
    for (unsigned i = 0; i < MANY; i++)
        EXPECT(weft_spawn(await_for_ever, NULL) != WEFT_NOBODY);
    while (atom_load_acq(&net_done) < 1)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    net_wait_calls(SYS_NET_READY, before + 2 + MANY); /* each has looked, and the first once more at its end */
    EXPECT_EQ(weft_sleep(20 * WEFT_MILLISECOND), 0);
    EXPECT_EQ(net_calls(SYS_NET_READY), before + 2 + MANY);
    EXPECT_EQ(eventfd_write(await_bell, 1), 0);
    while (atom_load_acq(&net_done) < 1 + MANY)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    close(await_bell);
    net_is_done();
}
static void awaits_many(void) { net_run_until(await_many, 42); }
TEST(await_the_first_may_leave) { rt_each(awaits_many); }

/* A process is ended by force while it waits: the descriptor is the program's. */
static void await_stubbornly(void *arg) {
    (void)arg;
    weft_shield_begin();
    weft_fd_wait_raw(await_bell, WEFT_READABLE, WEFT_FOREVER);
    weft_shield_end();
}
static void await_force(const char *policy, unsigned workers) {
    weft_stop_report report;
    await_bell = eventfd(0, EFD_CLOEXEC);
    rt_start(policy, workers);
    uint64_t before = net_calls(SYS_NET_READY);
    net_spawn(await_stubbornly, NULL);
    while (net_calls(SYS_NET_READY) == before)
        usleep(100);
    usleep(2000);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(report.left, 1);
    rt_watch_end();
    EXPECT_EQ(eventfd_write(await_bell, 1), 0); /* it is still there */
    close(await_bell);
}
TEST(await_force_closes_nothing) { rt_cases(await_force); }

/* ---- waiting for anything --------------------------------------------------------------------------------------------------------- */

static int raw_bell;
static void raw_waiter(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_fd_wait_raw(raw_bell, WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    net_is_done();
}
static void waits(void *arg) {
    (void)arg;
    uint64_t value;
    int bell = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_READABLE, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_WRITABLE, WEFT_FOREVER), WEFT_WRITABLE);
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_READABLE | WEFT_WRITABLE, WEFT_FOREVER), WEFT_WRITABLE);
    EXPECT(!(fcntl(bell, F_GETFL) & O_NONBLOCK));
    EXPECT_EQ(eventfd_write(bell, 1), 0);
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_READABLE, 0), WEFT_READABLE); /* it still is */
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_READABLE | WEFT_WRITABLE, 0), WEFT_READABLE | WEFT_WRITABLE);
    EXPECT_EQ(eventfd_read(bell, &value), 0);
    EXPECT_EQ(weft_fd_wait_raw(bell, WEFT_READABLE, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_wait_raw(-1, WEFT_READABLE, 0), WEFT_EBADF);
    EXPECT_EQ(weft_fd_wait_raw(4000, WEFT_READABLE, 0), WEFT_EBADF);

    struct itimerspec soon = {.it_value.tv_nsec = 2000000};
    weft_fd fd = weft_fd_adopt(timer);
    EXPECT_EQ(weft_fd_wait(fd, WEFT_READABLE, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(timerfd_settime(timer, 0, &soon, NULL), 0);
    EXPECT_EQ(weft_fd_wait(fd, WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    EXPECT_EQ(weft_fd_wait(fd, WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    EXPECT_EQ(weft_fd_read(fd, &value, sizeof value, WEFT_FOREVER), sizeof value);
    EXPECT_EQ(weft_fd_wait(fd, WEFT_READABLE, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_wait(fd, 0, 0), WEFT_EINVAL);
    EXPECT_EQ(weft_fd_wait(fd, 4 | WEFT_READABLE, 0), WEFT_EINVAL);
    EXPECT_EQ(weft_fd_close(fd), 0);

    raw_bell = bell; /* several at once */
    for (unsigned i = 0; i < 5; i++)
        EXPECT(weft_spawn(raw_waiter, NULL) != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(eventfd_write(bell, 1), 0);
    while (atom_load_acq(&net_done) < 5)
        weft_sleep(WEFT_MILLISECOND);
    close(bell);
    net_is_done();
}
static void waits_all(void) { net_run_until(waits, 6); }
TEST(wait_for_any_descriptor) { rt_each(waits_all); }

/* Both directions at once. The socket can be neither read from nor written to until the other end says something, reads, or ends. */
static weft_fd either_pair[2];
static void either_fill(void) {
    static char data[1 << 16];
    while (weft_fd_write(either_pair[0], data, sizeof data, 0) > 0) {}
    EXPECT_EQ(weft_fd_wait(either_pair[0], WEFT_READABLE | WEFT_WRITABLE, 0), WEFT_ETIMEDOUT);
}
static void either_empty(void) {
    static char data[1 << 16];
    while (weft_fd_read(either_pair[1], data, sizeof data, 0) > 0) {}
}
static int either_expected;
static void either_waiter(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_fd_wait(either_pair[0], WEFT_READABLE | WEFT_WRITABLE, WEFT_FOREVER), either_expected);
    net_is_done();
}
/* So many wait for either, and so many in each direction; those are told of theirs only. */
static void either_wait(unsigned count, int expected) {
    uint64_t before = net_calls(SYS_NET_READY), done = atom_load_acq(&net_done);
    either_expected = expected;
    for (unsigned i = 0; i < count; i++)
        EXPECT(weft_spawn(either_waiter, NULL) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_READY, before + count);
    if (expected == WEFT_READABLE) EXPECT_EQ(weft_fd_write(either_pair[1], "x", 1, WEFT_FOREVER), 1);
    else if (expected == WEFT_WRITABLE) either_empty();
    else if (expected == WEFT_ECLOSED) EXPECT_EQ(weft_fd_close(either_pair[0]), 0);
    else EXPECT_EQ(weft_fd_close(either_pair[1]), 0);
    while (atom_load_acq(&net_done) < done + count)
        weft_sleep(WEFT_MILLISECOND);
}
static void either(void *arg) {
    char byte;
    (void)arg;
    for (unsigned count = 1; count <= 4; count += 3)
        for (unsigned end = 0; end < 2; end++) {
            EXPECT_EQ(weft_net_pair(either_pair), 0);
            EXPECT_EQ(weft_fd_wait(either_pair[0], WEFT_READABLE | WEFT_WRITABLE, WEFT_FOREVER), WEFT_WRITABLE);
            either_fill();
            EXPECT_EQ(weft_fd_wait(either_pair[0], WEFT_READABLE | WEFT_WRITABLE, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
            either_wait(count, WEFT_READABLE);
            EXPECT_EQ(weft_fd_read(either_pair[0], &byte, 1, WEFT_FOREVER), 1);
            either_wait(count, WEFT_WRITABLE);
            either_fill();
            either_wait(count, end ? WEFT_ECLOSED : WEFT_READABLE | WEFT_WRITABLE);
            EXPECT_EQ(weft_fd_close(either_pair[end]), 0); /* the other is closed */
        }
    net_is_done();
}
static void eithers(void) { net_run_until(either, 2 * 3 * (1 + 4) + 1); }
TEST(wait_for_either_direction) { rt_each(eithers); }

int main(int argc, char **argv) { return test_main(argc, argv); }
