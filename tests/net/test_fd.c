/* Descriptors: adopting and releasing, reuse of numbers, generic waits, pipes, UDP, UNIX sockets, passing, files, options. */
#include "net_helpers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

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
    while (weft_fd_write_some(either_pair[0], data, sizeof data, 0) > 0) {}
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

/* ---- pipes, vectors, files --------------------------------------------------------------------------------------------------------- */

enum { VECTOR = 200, PART = 3000 };
static weft_fd vector_pipe[2];
static void vector_writer(void *arg) {
    (void)arg;
    static char data[PART];
    struct iovec parts[VECTOR];
    for (unsigned i = 0; i < VECTOR; i++)
        parts[i] = (struct iovec){data, i % 5 ? PART : 0};
    memset(data, 'v', sizeof data);
    EXPECT_EQ(weft_fd_writev(vector_pipe[1], parts, VECTOR, WEFT_FOREVER), VECTOR / 5 * 4 * PART);
    EXPECT_EQ(weft_fd_close(vector_pipe[1]), 0);
    net_is_done();
}
static void vectors(void *arg) {
    (void)arg;
    char left[700], right[5000];
    EXPECT_EQ(weft_pipe(vector_pipe), 0);
    EXPECT(weft_spawn(vector_writer, NULL) != WEFT_NOBODY);
    size_t got = 0;
    ssize_t n;
    struct iovec parts[2] = {{left, sizeof left}, {right, sizeof right}};
    while ((n = weft_fd_readv(vector_pipe[0], parts, 2, WEFT_FOREVER)) > 0) {
        got += (size_t)n;
        EXPECT_EQ(left[0], 'v');
    }
    EXPECT_EQ(n, 0);
    EXPECT_EQ(got, VECTOR / 5 * 4 * PART);
    EXPECT_EQ(weft_fd_close(vector_pipe[0]), 0);
    net_is_done();
}
static void vectors_all(void) { net_run_until(vectors, 2); }
TEST(pipes_and_vectors) { rt_each(vectors_all); }

enum { FILE_SIZE = 1000000 };
static weft_fd file_pair[2];
static void file_sender(void *arg) {
    int file = (int)(intptr_t)arg;
    off_t offset = 1000;
    EXPECT_EQ(weft_fd_sendfile(file_pair[0], file, &offset, 2 * FILE_SIZE, WEFT_FOREVER), FILE_SIZE - 1000);
    EXPECT_EQ(offset, FILE_SIZE);
    EXPECT_EQ(weft_net_shutdown(file_pair[0], WEFT_SIDE_WRITE), 0);
    net_is_done();
}
static void files(void *arg) {
    (void)arg;
    static char data[FILE_SIZE], got[FILE_SIZE];
    FILE *file = tmpfile();
    for (unsigned i = 0; i < FILE_SIZE; i++)
        data[i] = (char)(i * 31);
    EXPECT_EQ(fwrite(data, 1, FILE_SIZE, file), FILE_SIZE);
    fflush(file);
    net_tcp_pair(file_pair);
    EXPECT(weft_spawn(file_sender, (void *)(intptr_t)fileno(file)) != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_read_all(file_pair[1], got, sizeof got, WEFT_FOREVER), FILE_SIZE - 1000);
    EXPECT(memcmp(got, data + 1000, FILE_SIZE - 1000) == 0);
    fclose(file);
    net_is_done();
}
static void files_all(void) { net_run_until(files, 2); }
TEST(sendfile_sends_the_file) { rt_each(files_all); }

/* ---- UDP ---------------------------------------------------------------------------------------------------------------------------- */

static weft_addr udp_server_address;
static void udp_server(void *arg) {
    char data[100];
    weft_addr from;
    for (;;) {
        ssize_t n = weft_net_recv_from(net_unbox(arg), data, sizeof data, &from, WEFT_FOREVER);
        EXPECT(n >= 0);
        if (n == 0) break;
        EXPECT_EQ(weft_net_send_to(net_unbox(arg), data, (size_t)n, &from, WEFT_FOREVER), n);
    }
    EXPECT_EQ(weft_fd_close(net_unbox(arg)), 0);
    net_is_done();
}
static void udp(void *arg) {
    (void)arg;
    char data[100];
    weft_addr from;
    weft_fd server = weft_net_udp("127.0.0.1:0", NULL), client = weft_net_udp("127.0.0.1:0", NULL);
    EXPECT(server > 0 && client > 0);
    EXPECT_EQ(weft_net_name(server, &udp_server_address), 0);
    EXPECT(weft_spawn(udp_server, net_box(server)) != WEFT_NOBODY);
    for (unsigned i = 1; i <= 50; i++) {
        memset(data, (int)i, sizeof data);
        EXPECT_EQ(weft_net_send_to(client, data, i, &udp_server_address, WEFT_FOREVER), i);
        EXPECT_EQ(weft_net_recv_from(client, data, sizeof data, &from, WEFT_FOREVER), i);
        EXPECT_EQ(from.size, udp_server_address.size);
        EXPECT(memcmp(&from.place, &udp_server_address.place, from.size) == 0);
    }
    EXPECT_EQ(weft_net_send_to(client, data, 0, &udp_server_address, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_net_recv_from(client, data, sizeof data, NULL, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_close(client), 0);
    net_is_done();
}
static void udps(void) { net_run_until(udp, 2); }
TEST(datagrams) { rt_each(udps); }

/* ---- datagrams between UNIX sockets
 * ---------------------------------------------------------------------------------------------------- */

enum { LETTERS = 500 / RT_SLOW };
static weft_fd letters_box;
static void letters_reader(void *arg) { /* slower than the writers */
    unsigned number, next[2] = {0, 0};
    weft_addr from;
    (void)arg;
    for (unsigned i = 0; i < 2 * LETTERS; i++) {
        EXPECT_EQ(weft_net_recv_from(letters_box, &number, sizeof number, &from, WEFT_FOREVER), sizeof number);
        EXPECT_EQ(number / 2, next[number % 2]++); /* each writer's in order */
        if (i % 50 == 0) weft_sleep(WEFT_MILLISECOND);
    }
    net_is_done();
}
static weft_addr letters_to;
static void letters_writer(void *arg) {
    weft_fd fd = weft_net_udp("unix:@", NULL);
    EXPECT(fd > 0);
    for (unsigned i = 0; i < LETTERS; i++) {
        unsigned number = 2 * i + (arg != NULL);
        EXPECT_EQ(weft_net_send_to(fd, &number, sizeof number, &letters_to, WEFT_FOREVER), sizeof number);
    }
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void letters_closed(void *arg) {
    EXPECT_EQ(weft_net_send_to(net_unbox(arg), "x", 1, &letters_to, WEFT_FOREVER), WEFT_ECLOSED);
    net_is_done();
}
static void letters(void *arg) {
    (void)arg;
    char data[16], text[WEFT_ADDR_TEXT];
    weft_addr from, own;
    letters_box = weft_net_udp("unix:@", NULL);
    weft_fd client = weft_net_udp("unix:@", NULL);
    EXPECT(letters_box > 0 && client > 0);
    EXPECT_EQ(weft_net_name(letters_box, &letters_to), 0);
    EXPECT_EQ(weft_net_name(client, &own), 0);
    EXPECT(strncmp(weft_addr_text(&own, text, sizeof text), "unix:@", 6) == 0 && text[6]);
    EXPECT_EQ(weft_net_send_to(client, "ask", 3, &letters_to, 0), 3); /* to and fro */
    EXPECT_EQ(weft_net_recv_from(letters_box, data, sizeof data, &from, WEFT_FOREVER), 3);
    EXPECT(from.size == own.size && memcmp(&from.place, &own.place, own.size) == 0);
    EXPECT_EQ(weft_net_send_to(letters_box, "answer", 6, &from, WEFT_FOREVER), 6);
    EXPECT_EQ(weft_net_recv_from(client, data, sizeof data, NULL, WEFT_FOREVER), 6);
    EXPECT(weft_spawn(letters_writer, NULL) != WEFT_NOBODY);
    EXPECT(weft_spawn(letters_writer, &letters_to) != WEFT_NOBODY);
    EXPECT(weft_spawn(letters_reader, NULL) != WEFT_NOBODY);
    while (atom_load_acq(&net_done) < 3)
        weft_sleep(WEFT_MILLISECOND);
    while (weft_net_send_to(client, "x", 1, &letters_to, 0) == 1) { /* until there is no room */
    }
    EXPECT_EQ(weft_net_send_to(client, "x", 1, &letters_to, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_net_send_to(client, "x", 1, &letters_to, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    uint64_t before = net_calls(SYS_NET_SENDMSG);
    EXPECT(weft_spawn(letters_closed, net_box(client)) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_SENDMSG, before + 8); /* it pauses for longer than it tries by now */
    EXPECT_EQ(weft_fd_close(client), 0);
    while (atom_load_acq(&net_done) < 4)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_close(letters_box), 0);
    EXPECT_EQ(weft_net_udp("unix:/nowhere/at/all", NULL), WEFT_ENOENT);
    net_is_done();
}
static void letters_all(void) { net_run_until(letters, 5); }
TEST(datagrams_between_unix_sockets) { rt_each(letters_all); }

/* ---- UNIX sockets -------------------------------------------------------------------------------------------------------------------- */

static void unix_client(void *arg) {
    weft_fd fd = weft_net_connect(arg, WEFT_FOREVER);
    EXPECT(fd > 0);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(weft_net_send_fds(fd, "two", 3, ends, 2, WEFT_FOREVER), 3);
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(weft_net_send_fds(fd, "none", 4, NULL, 0, WEFT_FOREVER), 4);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void unix_server(weft_fd door) {
    char data[8];
    int got[4];
    size_t count = 4;
    weft_fd fd = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_net_recv_fds(fd, data, 3, got, &count, WEFT_FOREVER), 3);
    EXPECT_EQ(count, 2);
    weft_fd in = weft_fd_adopt(got[0]), out = weft_fd_adopt(got[1]);
    EXPECT_EQ(weft_fd_write(out, "through", 7, WEFT_FOREVER), 7);
    EXPECT_EQ(weft_fd_read(in, data, sizeof data, WEFT_FOREVER), 7);
    EXPECT_EQ(weft_fd_close(in), 0);
    EXPECT_EQ(weft_fd_close(out), 0);
    count = 4;
    EXPECT_EQ(weft_net_recv_fds(fd, data, sizeof data, got, &count, WEFT_FOREVER), 4);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(weft_net_recv_fds(fd, data, sizeof data, got, &count, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    EXPECT_EQ(weft_fd_close(door), 0);
}
/* No process accepts: the kernel has no room for more, says so at once, and does not tell when there is some. */
static weft_fd crowded_door;
static void crowded_acceptor(void *arg) {
    (void)arg;
    weft_fd fd = weft_net_accept(crowded_door, NULL, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void crowded(void *arg) {
    weft_addr address;
    weft_fd fds[8], fd;
    unsigned count = 0;
    (void)arg;
    crowded_door = weft_net_listen("unix:@", &(weft_listen_options){.backlog = 1});
    EXPECT(crowded_door > 0);
    EXPECT_EQ(weft_net_name(crowded_door, &address), 0);
    while ((fd = weft_net_connect_to(&address, 0)) > 0 && count < 8)
        fds[count++] = fd;
    EXPECT(count > 0 && fd == WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_net_connect_to(&address, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT(weft_spawn(crowded_acceptor, NULL) != WEFT_NOBODY);
    fd = weft_net_connect_to(&address, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    while (count > 0)
        EXPECT_EQ(weft_fd_close(fds[--count]), 0);
    while (atom_load_acq(&net_done) < 1)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_close(crowded_door), 0);
    net_is_done();
}
static void crowds(void) { net_run_until(crowded, 2); }
TEST(unix_listeners_without_room) { rt_each(crowds); }

static void unix_both(void *arg) {
    (void)arg;
    static char path[64], name[64];
    snprintf(path, sizeof path, "unix:/tmp/weft-test-%d", getpid());
    snprintf(name, sizeof name, "unix:@weft-test-%d", getpid());
    unlink(path + 5);
    char *both[] = {path, name};
    for (unsigned i = 0; i < 2; i++) {
        weft_fd door = weft_net_listen(both[i], NULL);
        EXPECT(door > 0);
        EXPECT(weft_spawn(unix_client, both[i]) != WEFT_NOBODY);
        unix_server(door);
    }
    unlink(path + 5);
    /* More than there is room for: none is left open. */
    weft_fd pair[2];
    int some[3] = {0, 1, 2}, room[1];
    size_t count = 1;
    char byte;
    unsigned before = net_count_open();
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(weft_net_send_fds(pair[0], "x", 1, some, 3, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_net_recv_fds(pair[1], &byte, 1, room, &count, WEFT_FOREVER), WEFT_EMSGSIZE);
    EXPECT_EQ(count, 0);
    /* As many as there is room for, but there are no descriptors left, or one: none is left open either. */
    int three[3];
    struct rlimit before_limit, little;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_limit), 0);
    for (int spare = 0; spare < 2; spare++) {
        EXPECT_EQ(weft_net_send_fds(pair[0], "x", 1, some, 3, WEFT_FOREVER), 1);
        int next = dup(0); /* the lowest that is free */
        close(next);
        little = (struct rlimit){(rlim_t)(next + spare), before_limit.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &little), 0);
        count = 3;
        ssize_t n = weft_net_recv_fds(pair[1], &byte, 1, three, &count, WEFT_FOREVER);
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_limit), 0);
        EXPECT_EQ(n, WEFT_EMFILE);
    }
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    EXPECT_EQ(net_count_open(), before);
    net_is_done();
}
static void unixes(void) { net_run_until(unix_both, 3); }
TEST(unix_sockets_pass_descriptors) { rt_each(unixes); }

/* ---- addresses, options, mistakes
 * ------------------------------------------------------------------------------------------------------ */

TEST(addresses) {
    static const char *const good[] = {"127.0.0.1:80",  "0.0.0.0:0",   "[::1]:65535", "[::]:1",
                                       "[fe80::1%7]:1", "unix:/tmp/x", "unix:@name",  "unix:@"};
    static const char *const bad[] = {"",
                                      "80",
                                      ":80",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:1x",
                                      "::1:80",
                                      "[::1]80",
                                      "[::1",
                                      "[]:1",
                                      "[fe80::1%]:1",
                                      "[fe80::1%no-such-one]:1",
                                      "[::1%lo:1",
                                      "unix:",
                                      "localhost:80",
                                      "1.2.3:4",
                                      "]:4"};
    weft_addr address;
    char text[WEFT_ADDR_TEXT];
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        EXPECT_EQ(weft_addr_parse(good[i], &address), 0);
        EXPECT(strcmp(weft_addr_text(&address, text, sizeof text), good[i]) == 0);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        EXPECT_EQ(weft_addr_parse(bad[i], &address), WEFT_EINVAL);
    EXPECT_EQ(weft_addr_parse(NULL, &address), WEFT_EINVAL);
    EXPECT_EQ(weft_addr_parse("[fe80::1%lo]:1", &address), 0);
    EXPECT(strcmp(weft_addr_text(&address, text, sizeof text), "[fe80::1%1]:1") == 0);
    char longer[200];
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "unix:", 5);
    longer[199] = '\0';
    EXPECT_EQ(weft_addr_parse(longer, &address), WEFT_EINVAL);
    EXPECT_EQ(weft_addr_parse("127.0.0.1:80", &address), 0);
    EXPECT(strcmp(weft_addr_text(&address, text, 5), "127.") == 0);
}

static void shard_reader(void *arg) {
    weft_fd fd = weft_net_accept(net_unbox(arg), NULL, WEFT_FOREVER);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void options(void *arg) {
    (void)arg;
    char where[WEFT_ADDR_TEXT];
    weft_fd door = net_listen_any(where, &(weft_listen_options){.reuse_port = true, .backlog = 5});
    weft_fd second = weft_net_listen(where, &(weft_listen_options){.reuse_port = true});
    EXPECT(second > 0);
    EXPECT_EQ(weft_net_listen(where, NULL), WEFT_EADDRINUSE);
    EXPECT_EQ(weft_net_listen("nonsense", NULL), WEFT_EINVAL);
    EXPECT(weft_spawn(shard_reader, net_box(door)) != WEFT_NOBODY);
    EXPECT(weft_spawn(shard_reader, net_box(second)) != WEFT_NOBODY);
    while (atom_load_acq(&net_done) < 2) { /* the kernel shares them out */
        weft_fd fd = weft_net_connect(where, weft_in(WEFT_SECOND));
        if (fd > 0) EXPECT_EQ(weft_fd_close(fd), 0);
        weft_sleep(100 * WEFT_MICROSECOND);
    }
    EXPECT_EQ(weft_fd_close(door), 0);
    EXPECT_EQ(weft_fd_close(second), 0);
    EXPECT_EQ(weft_net_connect(where, WEFT_FOREVER), WEFT_ECONNREFUSED);
    EXPECT_EQ(weft_net_connect("127.0.0.1", WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_net_connect("unix:/nowhere/at/all", WEFT_FOREVER), WEFT_ENOENT);
    EXPECT_EQ(weft_net_shutdown(door, WEFT_SIDE_BOTH), WEFT_EBADF);
    net_is_done();
}
static void options_all(void) { net_run_until(options, 3); }
TEST(listeners_share_an_address) { rt_each(options_all); }

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
