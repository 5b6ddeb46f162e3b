/* Adopting and releasing descriptors. Among them those that are one open file, as 0, 1 and 2 of a terminal are: none blocks as long as one
 * of them is weft's, and then all are as they were. */
#include "net_helpers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>

static bool adopt_blocks(int number) { return !(fcntl(number, F_GETFL) & O_NONBLOCK); }

/* A terminal's descriptor; *master is its other end. */
static int adopt_terminal(int *master) {
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT(*master >= 0 && grantpt(*master) == 0 && unlockpt(*master) == 0);
    int slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
    EXPECT(slave >= 0);
    return slave;
}
static int adopt_socket(int *other) {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    *other = pair[1];
    return pair[0];
}

/* A read of it does not wait for longer than it is asked to. */
static void adopt_expect_patient(weft_fd fd) {
    char byte;
    EXPECT_EQ(weft_fd_read(fd, &byte, 1, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_read(fd, &byte, 1, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
}

/* Three of one file let go in each order, one of them closed. */
static void adopt_three(int (*make)(int *), const unsigned order[3]) {
    int other, numbers[3] = {make(&other)};
    weft_fd fds[3];
    for (unsigned i = 1; i < 3; i++)
        EXPECT((numbers[i] = dup(numbers[0])) >= 0);
    for (unsigned i = 0; i < 3; i++)
        EXPECT((fds[i] = weft_fd_adopt(numbers[i])) > 0);
    for (unsigned i = 0; i < 3; i++) {
        int number = numbers[order[i]];
        EXPECT(!adopt_blocks(number));
        for (unsigned k = i; k < 3; k++)
            adopt_expect_patient(fds[order[k]]);
        if (i == 1) EXPECT_EQ(weft_fd_close(fds[order[i]]), 0);
        else EXPECT_EQ(weft_fd_release(fds[order[i]]), number);
    }
    EXPECT(adopt_blocks(numbers[order[0]]) && adopt_blocks(numbers[order[2]]));
    EXPECT_EQ(fcntl(numbers[order[0]], F_GETFL) & O_APPEND, 0); /* nothing else has changed */
    close(numbers[order[0]]);
    close(numbers[order[2]]);
    close(other);
}
static void adopt_orders(void *arg) {
    static const unsigned orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    (void)arg;
    for (unsigned i = 0; i < 6; i++) {
        adopt_three(adopt_terminal, orders[i]);
        adopt_three(adopt_socket, orders[i]);
    }
    net_is_done();
}
static void adopts_orders(void) { net_run_until(adopt_orders, 1); }
TEST(adopt_several_of_one_file) { rt_each(adopts_orders); }

/* Two open files of one terminal have a mode each; what did not block before does not afterwards. */
static void adopt_twice_opened(void *arg) {
    (void)arg;
    int master, first = adopt_terminal(&master), second = open(ptsname(master), O_RDWR | O_NOCTTY | O_NONBLOCK), twin = dup(second);
    weft_fd one = weft_fd_adopt(first), two = weft_fd_adopt(second), three = weft_fd_adopt(twin);
    EXPECT(one > 0 && two > 0 && three > 0);
    EXPECT_EQ(weft_fd_release(one), first);
    EXPECT(adopt_blocks(first) && !adopt_blocks(second));
    adopt_expect_patient(two);
    EXPECT_EQ(weft_fd_release(two), second);
    adopt_expect_patient(three);
    EXPECT_EQ(weft_fd_release(three), twin);
    EXPECT(!adopt_blocks(second));
    close(first), close(second), close(twin), close(master);
    net_is_done();
}
static void adopts_twice_opened(void) { net_run_until(adopt_twice_opened, 1); }
TEST(adopt_two_open_files) { rt_each(adopts_twice_opened); }

/* Another program that has the socket too makes it blocking: calls on it do not wait for longer all the same. */
static void adopt_meddled(void *arg) {
    static char data[1 << 16];
    (void)arg;
    int other, number = adopt_socket(&other);
    weft_fd fd = weft_fd_adopt(number);
    EXPECT_EQ(fcntl(number, F_SETFL, 0), 0);
    adopt_expect_patient(fd);
    while (weft_fd_write(fd, data, sizeof data, 0) > 0) {}
    EXPECT_EQ(weft_fd_write_all(fd, data, sizeof data, NULL, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_close(fd), 0);
    close(other);
    net_is_done();
}
static void adopts_meddled(void) { net_run_until(adopt_meddled, 1); }
TEST(adopt_and_be_meddled_with) { rt_each(adopts_meddled); }

/* A step process gives a descriptor back: at once if no other process uses it, else by a command; it never waits. */
static weft_fd adopt_step_fd;
static int adopt_step_number;
static void adopt_step_waiter(void *arg) {
    char byte;
    (void)arg;
    EXPECT_EQ(weft_fd_read(adopt_step_fd, &byte, 1, WEFT_FOREVER), WEFT_ECLOSED);
    net_is_done();
}
static int adopt_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool over = false;
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            EXPECT_EQ(weft_fd_release(adopt_step_fd), WEFT_EBUSY);
            EXPECT_EQ(weft_fd_number(adopt_step_fd), adopt_step_number); /* nothing has happened */
            EXPECT_EQ(weft_out_fd_release(out, 0, adopt_step_fd), 0);
        }
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        EXPECT_EQ(events[i].error, 0);
        EXPECT_EQ(*(const int *)events[i].data, adopt_step_number);
        EXPECT(adopt_blocks(adopt_step_number));
        EXPECT((adopt_step_fd = weft_fd_adopt(adopt_step_number)) > 0);
        EXPECT_EQ(weft_fd_release(adopt_step_fd), adopt_step_number);
        EXPECT(adopt_blocks(adopt_step_number));
        EXPECT_EQ(weft_fd_release(adopt_step_fd), WEFT_EBADF);
        net_is_done();
        over = true;
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static void adopt_for_step(void *arg) {
    static const weft_behavior behavior = {.name = "gives back", .step = adopt_step};
    int other;
    (void)arg;
    adopt_step_number = adopt_socket(&other);
    EXPECT((adopt_step_fd = weft_fd_adopt(adopt_step_number)) > 0);
    uint64_t before = net_calls(SYS_NET_RECV);
    EXPECT(weft_spawn(adopt_step_waiter, NULL) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_RECV, before + 1);
    EXPECT_EQ(weft_send(rt_spawn(&behavior), 0, NULL, 0), 0);
    while (atom_load_acq(&net_done) < 2)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    close(adopt_step_number);
    close(other);
    net_is_done();
}
static void adopts_for_step(void) { net_run_until(adopt_for_step, 3); }
TEST(adopt_in_a_step_process) { rt_each(adopts_for_step); }

/* What is left adopted is as it was when the runtime has stopped. */
static int adopt_left[3];
static void adopt_leave(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 3; i++)
        EXPECT(weft_fd_adopt(adopt_left[i]) > 0);
    net_is_done();
}
static void adopt_leaves(const char *policy, unsigned workers) {
    int master;
    adopt_left[0] = adopt_terminal(&master);
    adopt_left[1] = dup(adopt_left[0]);
    adopt_left[2] = dup(adopt_left[0]);
    rt_start(policy, workers);
    net_run_until(adopt_leave, 1);
    rt_stop();
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(adopt_blocks(adopt_left[i]));
        close(adopt_left[i]);
    }
    close(master);
}
TEST(adopt_and_stop) { rt_cases(adopt_leaves); }

/* Adopted and released by many at once: no process ever has a blocking one. */
static int adopt_shared, adopt_other;
static void adopt_again_and_again(void *arg) {
    (void)arg;
    int number = dup(adopt_shared);
    for (unsigned i = 0; i < 400 / RT_SLOW; i++) {
        weft_fd fd = weft_fd_adopt(number);
        EXPECT(fd > 0);
        EXPECT(!adopt_blocks(number));
        weft_yield();
        EXPECT(!adopt_blocks(number));
        EXPECT_EQ(weft_fd_release(fd), number);
    }
    close(number);
    net_is_done();
}
static void adopts_again(void) {
    adopt_shared = adopt_socket(&adopt_other);
    atom_store_rlx(&net_done, 0);
    for (unsigned i = 0; i < 6; i++)
        net_spawn(adopt_again_and_again, NULL);
    rt_wait(&net_done, 6);
    EXPECT(adopt_blocks(adopt_shared));
    close(adopt_shared);
    close(adopt_other);
}
TEST(adopt_by_many_at_once) { rt_each(adopts_again); }

/* ---- adopting ------------------------------------------------------------------------------------------------------------------- */

static void adopt(void *arg) {
    (void)arg;
    int ends[2];
    char byte;
    EXPECT_EQ(pipe(ends), 0);
    weft_fd in = weft_fd_adopt(ends[0]), out = weft_fd_adopt(ends[1]);
    EXPECT(in > 0 && out > 0);
    EXPECT_EQ(weft_fd_adopt(ends[0]), WEFT_EEXIST);
    EXPECT(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    EXPECT_EQ(weft_fd_number(in), ends[0]);
    EXPECT_EQ(weft_fd_read(in, &byte, 1, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_write(out, "a", 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_read(in, &byte, 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_release(in), ends[0]);
    EXPECT(!(fcntl(ends[0], F_GETFL) & O_NONBLOCK)); /* as it was */
    EXPECT_EQ(weft_fd_read(in, &byte, 1, 0), WEFT_EBADF);
    in = weft_fd_adopt(ends[0]); /* and again */
    EXPECT(in > 0);
    EXPECT_EQ(weft_fd_close(in), 0);
    EXPECT_EQ(fcntl(ends[0], F_GETFD), -1);
    EXPECT_EQ(weft_fd_write(out, "a", 1, WEFT_FOREVER), WEFT_EPIPE); /* and no signal */
    EXPECT_EQ(weft_fd_close(out), 0);

    FILE *file = tmpfile();
    EXPECT_EQ(weft_fd_adopt(fileno(file)), WEFT_EPERM);
    EXPECT(!(fcntl(fileno(file), F_GETFL) & O_NONBLOCK));
    fclose(file);
    EXPECT_EQ(weft_fd_adopt(-1), WEFT_EBADF);
    EXPECT_EQ(weft_fd_adopt(4000), WEFT_EBADF);
    net_is_done();
}
static void adopts(void) { net_run_until(adopt, 1); }
TEST(adopt_and_release) { rt_each(adopts); }

/* A listener that was made outside weft: what is accepted there is as it always is. */
static void adopt_listener(void *arg) {
    (void)arg;
    char where[WEFT_ADDR_TEXT];
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    weft_addr address;
    int number = socket(AF_INET, SOCK_STREAM, 0), on = 0;
    socklen_t size = sizeof on;
    EXPECT_EQ(bind(number, (struct sockaddr *)&place, sizeof place), 0);
    EXPECT_EQ(listen(number, 5), 0);
    weft_fd door = weft_fd_adopt(number);
    EXPECT(door > 0);
    EXPECT_EQ(weft_net_name(door, &address), 0);
    weft_fd client = weft_net_connect(weft_addr_text(&address, where, sizeof where), WEFT_FOREVER);
    weft_fd guest = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT(client > 0 && guest > 0);
    EXPECT_EQ(getsockopt(weft_fd_number(guest), IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
    EXPECT(on);
    EXPECT_EQ(weft_fd_close(client), 0);
    EXPECT_EQ(weft_fd_close(guest), 0);
    EXPECT_EQ(weft_fd_close(door), 0);
    net_is_done();
}
static void adopt_listeners(void) { net_run_until(adopt_listener, 1); }
TEST(listeners_of_others) { rt_each(adopt_listeners); }

/* A process that waits is told when it is given back; and what is adopted when the runtime stops stays open. */
static int left_open[2];
static void release_waiter(void *arg) {
    char byte;
    EXPECT_EQ(weft_fd_read(net_unbox(arg), &byte, 1, WEFT_FOREVER), WEFT_ECLOSED);
    net_is_done();
}
static void release_waited(void *arg) {
    (void)arg;
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    weft_fd in = weft_fd_adopt(ends[0]);
    uint64_t before = net_calls(SYS_NET_READV);
    for (unsigned i = 0; i < 3; i++)
        EXPECT(weft_spawn(release_waiter, net_box(in)) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_READV, before + 3);
    EXPECT_EQ(weft_fd_release(in), ends[0]);
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(pipe(left_open), 0);
    weft_fd adopted = weft_fd_adopt(left_open[0]);
    if (adopted < 0) test_fail(__FILE__, __LINE__, "adopting: %s", weft_errname((int)adopted));
    net_is_done();
}
static void releases(const char *policy, unsigned workers) {
    rt_start(policy, workers);
    net_run_until(release_waited, 4);
    rt_stop();
    EXPECT(fcntl(left_open[0], F_GETFD) >= 0);
    EXPECT(!(fcntl(left_open[0], F_GETFL) & O_NONBLOCK));
    close(left_open[0]);
    close(left_open[1]);
}
TEST(release_tells_waiters) { rt_cases(releases); }

int main(int argc, char **argv) { return test_main(argc, argv); }
