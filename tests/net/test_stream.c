/* Streams: echoes, half-close, close and cancel while waiting, deadlines, several readers, slow ones. */
#include "net_helpers.h"

/* ---- many connections -------------------------------------------------------------------------------------------------------- */

enum { ECHO_ROUNDS = 20, ECHO_SIZE = 1000 };
static char where[WEFT_ADDR_TEXT];
static unsigned connections;

static void echo_server(void *arg) {
    weft_fd fd = net_unbox(arg);
    char data[4096];
    ssize_t n;
    while ((n = weft_fd_read(fd, data, sizeof data, WEFT_FOREVER)) > 0)
        EXPECT_EQ(weft_fd_write_all(fd, data, (size_t)n, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(n, 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void echo_acceptor(void *arg) {
    weft_fd door = net_unbox(arg);
    for (unsigned i = 0; i < connections; i++) {
        weft_fd fd = weft_net_accept(door, NULL, WEFT_FOREVER);
        EXPECT(fd > 0);
        EXPECT(weft_spawn(echo_server, net_box(fd)) != WEFT_NOBODY);
    }
    EXPECT_EQ(weft_fd_close(door), 0);
    net_is_done();
}
static void echo_client(void *arg) {
    unsigned seed = (unsigned)(uintptr_t)arg;
    unsigned char out[ECHO_SIZE], in[ECHO_SIZE];
    weft_fd fd = weft_net_connect(where, WEFT_FOREVER);
    EXPECT(fd > 0);
    for (unsigned round = 0; round < ECHO_ROUNDS; round++) {
        size_t size = 1 + (seed * 7919u + round * 104729u) % ECHO_SIZE;
        for (size_t i = 0; i < size; i++)
            out[i] = (unsigned char)(seed + round * 31 + i);
        EXPECT_EQ(weft_fd_write_all(fd, out, size, NULL, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_fd_read_all(fd, in, size, NULL, WEFT_FOREVER), 0);
        EXPECT(memcmp(in, out, size) == 0);
    }
    EXPECT_EQ(weft_net_shutdown(fd, WEFT_SIDE_WRITE), 0);
    EXPECT_EQ(weft_fd_read(fd, in, sizeof in, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void echo_begin(void *arg) {
    (void)arg;
    weft_fd door = net_listen_any(where, NULL);
    EXPECT(weft_spawn(echo_acceptor, net_box(door)) != WEFT_NOBODY);
    for (unsigned i = 0; i < connections; i++)
        EXPECT(weft_spawn(echo_client, (void *)(uintptr_t)i) != WEFT_NOBODY);
    net_is_done();
}
static void echo_many(void) {
    unsigned before = net_count_open();
    connections = 100 / RT_SLOW;
    net_run_until(echo_begin, 2 + 2 * connections);
    EXPECT(net_count_open() <= before + 2); /* the poll's own two */
}
TEST(echo_on_many_connections) { rt_each(echo_many); }

/* Thousands of sockets at once, all open together; only some speak. */
static atom_u64 held;
static atom_bool let_go;
static void holder(void *arg) {
    char byte = 1;
    (void)arg;
    weft_fd fd = weft_net_connect(where, WEFT_FOREVER);
    EXPECT(fd > 0);
    atom_add_rel(&held, 1);
    while (!atom_load_acq(&let_go))
        EXPECT_EQ(weft_sleep(5 * WEFT_MILLISECOND), 0);
    EXPECT_EQ(weft_fd_write(fd, &byte, 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_read(fd, &byte, 1, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_fd_close(fd), 0);
    net_is_done();
}
static void holders_begin(void *arg) {
    (void)arg;
    weft_fd door = net_listen_any(where, NULL);
    EXPECT(weft_spawn(echo_acceptor, net_box(door)) != WEFT_NOBODY);
    for (unsigned i = 0; i < connections; i++) {
        EXPECT(weft_spawn(holder, NULL) != WEFT_NOBODY);
        while (i >= atom_load_acq(&held) + 100) /* fewer than the listener's queue holds */
            weft_sleep(WEFT_MILLISECOND);
    }
    while (atom_load_acq(&held) < connections)
        weft_sleep(WEFT_MILLISECOND);
    atom_store_rel(&let_go, true);
    net_is_done();
}
/* Two for each connection. How many there were: fewer, if there are not so many descriptors to be had. */
static unsigned hold_sockets(unsigned sockets) {
    rlim_t limit = net_raise_limit();
    connections = (limit < sockets + 100 ? (unsigned)limit - 100 : sockets) / 2;
    atom_store_rlx(&held, 0);
    atom_store_rlx(&let_go, false);
    net_run_until(holders_begin, 2 + 2 * connections);
    return 2 * connections;
}
static void many_sockets(void) { hold_sockets(test_scale() > 1 ? 15000 : 2000 / RT_SLOW); }
TEST_WITHIN(many_sockets_at_once, 120) { rt_each(many_sockets); }
TEST_WITHIN(fifteen_thousand_sockets, 120) {
    unsigned wanted = test_emulated() ? 1000 : 15000 / RT_SLOW / 2 * 2;
    rt_start("ring", 2);
    unsigned were = hold_sockets(wanted);
    rt_stop();
    printf("note: %u sockets at once%s\n", were, were < wanted ? ": the system allows no more descriptors (ulimit -Hn)" : "");
}

/* ---- half-close ---------------------------------------------------------------------------------------------------------------- */

/* The end comes together with the last bytes: both are seen, however the reads are cut. */
static void half_close(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 50; i++) {
        weft_fd pair[2];
        char data[64];
        net_tcp_pair(pair);
        EXPECT_EQ(weft_fd_write_all(pair[0], "first", 5, NULL, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_fd_read(pair[1], data, sizeof data, WEFT_FOREVER), 5);
        EXPECT_EQ(weft_fd_write_all(pair[0], "last", 4, NULL, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_net_shutdown(pair[0], WEFT_SIDE_WRITE), 0);
        if (i % 2) weft_sleep(100 * WEFT_MICROSECOND);
        EXPECT_EQ(weft_fd_read(pair[1], data, sizeof data, WEFT_FOREVER), 4);
        EXPECT_EQ(weft_fd_read(pair[1], data, sizeof data, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_fd_read(pair[1], data, sizeof data, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_fd_write_all(pair[1], "answer", 6, NULL, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_fd_read(pair[0], data, sizeof data, WEFT_FOREVER), 6);
        EXPECT_EQ(weft_fd_close(pair[1]), 0);
        EXPECT_EQ(weft_fd_read(pair[0], data, sizeof data, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_fd_close(pair[0]), 0);
    }
    net_is_done();
}
static void half_closes(void) { net_run_until(half_close, 1); }
TEST(half_close_is_seen) { rt_each(half_closes); }

/* A process that waits to read, or to write, is woken by a half-close of its own side too; several are. */
static void shut_reader(void *arg) {
    char byte;
    EXPECT_EQ(weft_fd_read(net_unbox(arg), &byte, 1, WEFT_FOREVER), 0);
    net_is_done();
}
static void shut_writer(void *arg) {
    static char data[1 << 16];
    ssize_t n;
    while ((n = weft_fd_write(net_unbox(arg), data, sizeof data, WEFT_FOREVER)) > 0) {}
    EXPECT_EQ(n, WEFT_EPIPE);
    net_is_done();
}
static void shut(void *arg) {
    (void)arg;
    weft_fd pair[2];
    net_tcp_pair(pair);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(weft_spawn(shut_reader, net_box(pair[0])) != WEFT_NOBODY);
        EXPECT(weft_spawn(shut_writer, net_box(pair[0])) != WEFT_NOBODY);
    }
    weft_sleep(5 * WEFT_MILLISECOND);
    EXPECT_EQ(weft_net_shutdown(pair[0], WEFT_SIDE_READ), 0);
    EXPECT_EQ(weft_net_shutdown(pair[0], WEFT_SIDE_WRITE), 0);
    net_is_done();
}
static void shuts(void) { net_run_until(shut, 7); }
TEST(own_half_close_wakes) { rt_each(shuts); }

/* ---- resets --------------------------------------------------------------------------------------------------------------------- */

static void reset_reader(void *arg) {
    char byte;
    EXPECT_EQ(weft_fd_read(net_unbox(arg), &byte, 1, WEFT_FOREVER), WEFT_ECONNRESET);
    net_is_done();
}
static void reset_writer(void *arg) {
    static char data[1 << 16];
    ssize_t n;
    while ((n = weft_fd_write(net_unbox(arg), data, sizeof data, WEFT_FOREVER)) > 0) {}
    EXPECT(n == WEFT_ECONNRESET || n == WEFT_EPIPE);
    net_is_done();
}
static void reset_one(weft_entry victim) {
    weft_fd pair[2];
    net_tcp_pair(pair);
    struct linger at_once = {1, 0};
    EXPECT_EQ(setsockopt(weft_fd_number(pair[1]), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    EXPECT(weft_spawn(victim, net_box(pair[0])) != WEFT_NOBODY);
    weft_sleep(2 * WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
}
static void reset(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 10; i++) {
        reset_one(reset_reader);
        reset_one(reset_writer);
    }
    net_is_done();
}
static void resets(void) { net_run_until(reset, 21); }
TEST(resets_reach_waiters) { rt_each(resets); }

/* ---- close, deadline, cancel ----------------------------------------------------------------------------------------------------- */

static int expected;
static uint64_t patience;
static void waiter(void *arg) {
    char byte;
    uint64_t deadline = patience ? weft_in(patience) : WEFT_FOREVER;
    EXPECT_EQ(weft_fd_read(net_unbox(arg), &byte, 1, deadline), expected);
    if (patience) EXPECT(weft_now() >= deadline);
    net_is_done();
}
static void close_while_waiting(void *arg) {
    (void)arg;
    weft_fd pair[2];
    net_tcp_pair(pair);
    uint64_t before = net_calls(SYS_NET_RECV);
    for (unsigned i = 0; i < 5; i++)
        EXPECT(weft_spawn(waiter, net_box(pair[0])) != WEFT_NOBODY);
    net_wait_calls(SYS_NET_RECV, before + 5);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[0]), WEFT_EBADF);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void closes_while_waiting(void) {
    expected = WEFT_ECLOSED;
    patience = 0;
    net_run_until(close_while_waiting, 6);
}
TEST(close_wakes_waiters) { rt_each(closes_while_waiting); }

static void deadline_passes(void *arg) {
    (void)arg;
    weft_fd pair[2];
    char byte;
    net_tcp_pair(pair);
    EXPECT_EQ(weft_fd_read(pair[0], &byte, 1, 0), WEFT_ETIMEDOUT);
    for (unsigned i = 0; i < 5; i++)
        EXPECT(weft_spawn(waiter, net_box(pair[0])) != WEFT_NOBODY);
    uint64_t before = weft_now();
    EXPECT_EQ(weft_fd_read(pair[0], &byte, 1, before + 3 * WEFT_MILLISECOND), WEFT_ETIMEDOUT);
    EXPECT(weft_now() - before >= 3 * WEFT_MILLISECOND);
    while (atom_load_acq(&net_done) < 5)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_write(pair[1], "x", 1, 0), 1); /* it can be used as before */
    EXPECT_EQ(weft_fd_read(pair[0], &byte, 1, WEFT_FOREVER), 1);
    net_is_done();
}
static void deadlines_pass(void) {
    expected = WEFT_ETIMEDOUT;
    patience = 5 * WEFT_MILLISECOND;
    net_run_until(deadline_passes, 6);
}
TEST(deadlines_pass) { rt_each(deadlines_pass); }

static void cancel(void *arg) {
    (void)arg;
    weft_fd pair[2];
    weft_pid pids[5];
    net_tcp_pair(pair);
    uint64_t before = net_calls(SYS_NET_RECV);
    for (unsigned i = 0; i < 5; i++)
        pids[i] = weft_spawn(waiter, net_box(pair[0]));
    net_wait_calls(SYS_NET_RECV, before + 5);
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(weft_cancel(pids[i]), 0);
    net_is_done();
}
static void cancels(void) {
    expected = WEFT_ECANCELED;
    patience = 0;
    net_run_until(cancel, 6);
}
TEST(cancelled_while_waiting) { rt_each(cancels); }

/* ---- several readers and writers -------------------------------------------------------------------------------------------------- */

enum { CROWD = 8, CROWD_WORDS = 4000 };
static atom_u64 crowd_sum, crowd_count;

static void crowd_reader(void *arg) {
    uint64_t word;
    ssize_t n;
    /* Eight bytes at a time: a reader takes whole words, since only such are written. */
    while ((n = weft_fd_read(net_unbox(arg), &word, sizeof word, WEFT_FOREVER)) == sizeof word) {
        atom_add_rlx(&crowd_sum, word);
        atom_add_rlx(&crowd_count, 1);
    }
    EXPECT_EQ(n, 0);
    net_is_done();
}
static void crowd_writer(void *arg) {
    for (uint64_t i = 1; i <= CROWD_WORDS / RT_SLOW; i++)
        EXPECT_EQ(weft_fd_write_all(net_unbox(arg), &i, sizeof i, NULL, WEFT_FOREVER), 0);
    net_is_done();
}
static void crowd(void *arg) {
    (void)arg;
    weft_fd pair[2];
    EXPECT_EQ(weft_net_pair(pair), 0);
    for (unsigned i = 0; i < CROWD; i++) {
        EXPECT(weft_spawn(crowd_reader, net_box(pair[0])) != WEFT_NOBODY);
        EXPECT(weft_spawn(crowd_writer, net_box(pair[1])) != WEFT_NOBODY);
    }
    while (atom_load_acq(&net_done) < CROWD)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_net_shutdown(pair[1], WEFT_SIDE_WRITE), 0);
    while (atom_load_acq(&net_done) < 2 * CROWD)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void crowds(void) {
    uint64_t words = CROWD_WORDS / RT_SLOW;
    atom_store_rlx(&crowd_sum, 0);
    atom_store_rlx(&crowd_count, 0);
    net_run_until(crowd, 2 * CROWD + 1);
    EXPECT_EQ(atom_load_rlx(&crowd_count), CROWD * words);
    EXPECT_EQ(atom_load_rlx(&crowd_sum), CROWD * words * (words + 1) / 2);
}
TEST(several_readers_and_writers) { rt_each(crowds); }

/* ---- a slow reader ------------------------------------------------------------------------------------------------------------------ */

enum { FLOOD = 8 << 20 };
static void flood_writer(void *arg) {
    static char data[1 << 16];
    for (size_t sent = 0; sent < FLOOD; sent += sizeof data)
        EXPECT_EQ(weft_fd_write_all(net_unbox(arg), data, sizeof data, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_net_shutdown(net_unbox(arg), WEFT_SIDE_WRITE), 0);
    net_is_done();
}
static void flood(void *arg) {
    (void)arg;
    weft_fd pair[2];
    char data[50000];
    net_tcp_pair(pair);
    EXPECT(weft_spawn(flood_writer, net_box(pair[0])) != WEFT_NOBODY);
    weft_sleep(10 * WEFT_MILLISECOND);
    uint64_t blocks = sys_scripted_live();
    size_t got = 0;
    for (ssize_t n; (n = weft_fd_read(pair[1], data, sizeof data, WEFT_FOREVER)) > 0; got += (size_t)n)
        if (got % 7 == 0) weft_sleep(10 * WEFT_MICROSECOND);
    EXPECT_EQ(got, FLOOD);
    EXPECT(sys_scripted_live() <= blocks + 8); /* what is not read yet waits in the writer, not in memory */
    net_is_done();
}
static void floods(void) { net_run_until(flood, 2); }
TEST(slow_readers_hold_the_writer_up) { rt_each(floods); }

int main(int argc, char **argv) { return test_main(argc, argv); }
