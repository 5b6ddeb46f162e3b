/* Descriptors: numbers that are used again, handles that are stale, those left open, and those used by threads. */
#include "net_helpers.h"

/* ---- stale handles ------------------------------------------------------------------------------------------------------------- */

/* A number comes again and again; a former handle of it means no descriptor. */
static void reuse(void *arg) {
    (void)arg;
    char byte;
    weft_fd old[2], pair[2];
    EXPECT_EQ(weft_net_pair(old), 0);
    weft_fd first = old[0];
    EXPECT_EQ(weft_fd_close(old[0]), 0);
    EXPECT_EQ(weft_fd_close(old[1]), 0);
    unsigned same = 0;
    for (unsigned i = 0; i < 1000; i++) {
        EXPECT_EQ(weft_net_pair(pair), 0);
        same += (pair[0] & 0xffffff) == (first & 0xffffff);
        EXPECT(pair[0] != first && pair[1] != first);
        EXPECT_EQ(weft_fd_write(pair[1], "x", 1, WEFT_FOREVER), 1); /* an event on its way when it is closed */
        EXPECT_EQ(weft_fd_read(first, &byte, 1, WEFT_FOREVER), WEFT_EBADF);
        EXPECT_EQ(weft_fd_write(first, &byte, 1, WEFT_FOREVER), WEFT_EBADF);
        EXPECT_EQ(weft_fd_close(first), WEFT_EBADF);
        EXPECT_EQ(weft_fd_number(first), WEFT_EBADF);
        EXPECT_EQ(weft_fd_close(pair[0]), 0);
        EXPECT_EQ(weft_fd_close(pair[1]), 0);
    }
    EXPECT(same > 0 || rt.workers > 1);
    EXPECT_EQ(weft_fd_read(0, &byte, 1, WEFT_FOREVER), WEFT_EBADF);
    EXPECT_EQ(weft_fd_read(-5, &byte, 1, WEFT_FOREVER), WEFT_EBADF);
    EXPECT_EQ(weft_fd_read(INT64_MAX, &byte, 1, WEFT_FOREVER), WEFT_EBADF);
    net_is_done();
}
static void reuses(void) { net_run_until(reuse, 1); }
TEST(numbers_are_used_again) { rt_each(reuses); }

/* Open and close as fast as one can beside processes that wait, read and close each other's. */
static atom_u64 shared_fd;
static void stale_user(void *arg) {
    char byte;
    (void)arg;
    for (unsigned i = 0; i < 2000 / RT_SLOW; i++) {
        weft_fd fd = (weft_fd)atom_load_acq(&shared_fd);
        ssize_t n = weft_fd_read(fd, &byte, 1, weft_in(100 * WEFT_MICROSECOND));
        /* 0: it was closed in the middle of the call, and then its peer, before the kernel was asked. */
        EXPECT(n == 0 || n == 1 || n == WEFT_EBADF || n == WEFT_ECLOSED || n == WEFT_ETIMEDOUT);
        if (n == 1) EXPECT_EQ(byte, 'y'); /* nothing of another descriptor's */
        if (i % 3 == 0) weft_yield();
    }
    net_is_done();
}
static void stale_maker(void *arg) {
    (void)arg;
    weft_fd pair[2], other[2];
    char byte;
    while (atom_load_acq(&net_done) < 4) {
        EXPECT_EQ(weft_net_pair(pair), 0);
        atom_store_rel(&shared_fd, (uint64_t)pair[0]);
        EXPECT_EQ(weft_fd_write(pair[1], "y", 1, WEFT_FOREVER), 1);
        weft_yield();
        EXPECT_EQ(weft_fd_close(pair[0]), 0);
        EXPECT_EQ(weft_net_pair(other), 0); /* likely of the same number: must keep its byte */
        EXPECT_EQ(weft_fd_write(other[1], "z", 1, WEFT_FOREVER), 1);
        weft_yield();
        EXPECT_EQ(weft_fd_read(other[0], &byte, 1, WEFT_FOREVER), 1);
        EXPECT_EQ(byte, 'z');
        EXPECT_EQ(weft_fd_close(other[0]), 0);
        EXPECT_EQ(weft_fd_close(other[1]), 0);
        EXPECT_EQ(weft_fd_close(pair[1]), 0);
    }
    net_is_done();
}
static void stales(void) {
    atom_store_rlx(&net_done, 0);
    atom_store_rlx(&shared_fd, 0);
    net_spawn(stale_maker, NULL);
    for (unsigned i = 0; i < 4; i++)
        net_spawn(stale_user, NULL);
    rt_wait(&net_done, 5);
}
TEST(stale_handles_get_nothing) { rt_each(stales); }

/* What a runtime leaves open is closed with it. */
static int number_left;
static void leaver(void *arg) {
    (void)arg;
    weft_fd pair[2];
    EXPECT_EQ(weft_net_pair(pair), 0);
    number_left = weft_fd_number(pair[0]);
    net_is_done();
}
static void leaves(const char *policy, unsigned workers) {
    unsigned before = net_count_open();
    rt_start(policy, workers);
    net_run_until(leaver, 1);
    rt_stop();
    EXPECT_EQ(fcntl(number_left, F_GETFD), -1);
    EXPECT_EQ(net_count_open(), before);
}
TEST(stop_closes_what_is_left) { rt_cases(leaves); }

/* ---- threads that are not workers
 * -------------------------------------------------------------------------------------------------------- */

static weft_fd outside[2];
static void outside_pair(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_net_pair(outside), 0);
    net_is_done();
}
static void outside_answer(void *arg) {
    char byte;
    (void)arg;
    weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_write(outside[1], "o", 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_read(outside[1], &byte, 1, WEFT_FOREVER), 1);
    net_is_done();
}
static void threads(void) {
    char byte;
    EXPECT_EQ(weft_net_listen("127.0.0.1:0", NULL), WEFT_ENOTINSIDE);
    net_run_until(outside_pair, 1);
    uint64_t accepts = net_calls(SYS_NET_ACCEPT), connects = net_calls(SYS_NET_CONNECT);
    EXPECT_EQ(weft_net_accept(outside[0], NULL, WEFT_FOREVER), WEFT_ENOTINSIDE); /* no connection is lost by asking */
    EXPECT_EQ(weft_net_connect("127.0.0.1:1", WEFT_FOREVER), WEFT_ENOTINSIDE);
    EXPECT_EQ(net_calls(SYS_NET_ACCEPT), accepts);
    EXPECT_EQ(net_calls(SYS_NET_CONNECT), connects);
    EXPECT_EQ(weft_fd_read(outside[0], &byte, 1, weft_in(100 * WEFT_MICROSECOND)), WEFT_ETIMEDOUT);
    net_spawn(outside_answer, NULL);
    EXPECT_EQ(weft_fd_read(outside[0], &byte, 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_write(outside[0], &byte, 1, WEFT_FOREVER), 1);
    rt_wait(&net_done, 2);
    EXPECT_EQ(weft_fd_close(outside[0]), 0);
    EXPECT_EQ(weft_fd_close(outside[1]), 0);
}
TEST(threads_use_descriptors) { rt_each(threads); }

int main(int argc, char **argv) { return test_main(argc, argv); }
