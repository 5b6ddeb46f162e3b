/* Ends of a direction that the kernel does not tell: a writer that waits at a full UNIX socket hears of them all the same. */
#include "net_helpers.h"

#include <poll.h>

/* A way to have a connection; [0] is the writer's end, [1] is the operating system's, of any other program. */
typedef weft_fd shut_make(int *other);
static weft_fd shut_unix(int *other, int type) {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, type, 0, pair), 0);
    *other = pair[1];
    return weft_fd_adopt(pair[0]);
}
static weft_fd shut_adopted(int *other) { return shut_unix(other, SOCK_STREAM); }
static weft_fd shut_packets(int *other) { return shut_unix(other, SOCK_SEQPACKET); }
static weft_fd shut_accepted(int *other) {
    weft_addr address;
    weft_fd door = weft_net_listen("unix:@", NULL);
    EXPECT_EQ(weft_net_name(door, &address), 0);
    *other = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(connect(*other, (struct sockaddr *)&address.place, address.size), 0);
    weft_fd fd = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT_EQ(weft_fd_close(door), 0);
    return fd;
}
static weft_fd shut_paired(int *other) {
    weft_fd pair[2];
    EXPECT_EQ(weft_net_pair(pair), 0);
    *other = weft_fd_release(pair[1]);
    return pair[0];
}
static weft_fd shut_tcp(int *other) {
    weft_fd pair[2];
    net_tcp_pair(pair);
    *other = weft_fd_release(pair[1]);
    return pair[0];
}

/* What waits. Each ends with the error that a write gets, and the wait says that one need not wait any more. */
static char shut_data[1 << 10];
/* Until nothing goes in any more, 60 ms in a row: the receiver's side of a TCP connection takes some more when it has acknowledged what it had, up to 40 ms later. */
static void shut_fill(weft_fd fd) {
    for (unsigned still = 0; still < 60; still++) {
        while (weft_fd_write(fd, shut_data, sizeof shut_data, 0) > 0 || weft_fd_write(fd, shut_data, 1, 0) > 0)
            still = 0;
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    }
}
static void shut_writes(void *arg) {
    EXPECT_EQ(weft_fd_write_all(net_unbox(arg), shut_data, sizeof shut_data, NULL, WEFT_FOREVER), WEFT_EPIPE);
    net_is_done();
}
static void shut_writes_parts(void *arg) {
    struct iovec parts[2] = {{shut_data, 100}, {shut_data, 100}};
    EXPECT_EQ(weft_fd_writev_all(net_unbox(arg), parts, 2, NULL, weft_in(600 * WEFT_SECOND)), WEFT_EPIPE);
    net_is_done();
}
static void shut_waits(void *arg) {
    EXPECT_EQ(weft_fd_wait(net_unbox(arg), WEFT_WRITABLE, WEFT_FOREVER), WEFT_WRITABLE);
    net_is_done();
}
static void shut_waits_either(void *arg) {
    EXPECT(weft_fd_wait(net_unbox(arg), WEFT_WRITABLE | WEFT_READABLE, WEFT_FOREVER) & WEFT_WRITABLE);
    net_is_done();
}

static void shut_one(shut_make *make, bool own, bool streams) {
    static const weft_entry entries[] = {shut_waits_either, shut_waits, shut_writes, shut_writes_parts, shut_writes};
    int other = -1;
    weft_fd fd = make(&other);
    EXPECT(fd > 0);
    shut_fill(fd);
    uint64_t before = atom_load_acq(&net_done), count = 0;
    for (unsigned i = streams ? 0 : 2; i < sizeof entries / sizeof *entries; i++, count++)
        EXPECT(weft_spawn(entries[i], net_box(fd)) != WEFT_NOBODY);
    EXPECT_EQ(weft_sleep(2 * WEFT_MILLISECOND), 0);
    if (own) EXPECT_EQ(weft_net_shutdown(fd, WEFT_SIDE_WRITE), 0);
    else EXPECT_EQ(shutdown(other, SHUT_RD), 0);
    while (atom_load_acq(&net_done) < before + count)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    close(other);
}
static void shut(void *arg) {
    (void)arg;
    static shut_make *const streams[] = {shut_adopted, shut_accepted, shut_paired};
    for (unsigned own = 0; own < 2; own++) {
        for (unsigned i = 0; i < 3; i++)
            shut_one(streams[i], own, true);
        shut_one(shut_packets, own, false); /* poll(2) itself never tells of these */
    }
    shut_one(shut_tcp, true, true); /* a FIN does not tell the other side's that the other side does not read */
    net_is_done();
}
static void shuts(void) {
    atom_store_rlx(&net_done, 0);
    net_spawn(shut, NULL);
    rt_wait(&net_done, 2 * (3 * 5 + 3) + 5 + 1);
}
TEST(a_shutdown_is_told_to_a_waiting_writer) { rt_each(shuts); }

int main(int argc, char **argv) { return test_main(argc, argv); }
