/* Descriptors as cases of a select: readable, writable, closed, and beside other things. */
#include "net_helpers.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

static weft_fd pair[2];
static weft_chan *chan;

static int poll_one(weft_case one) { return weft_select(&one, 1, 0); }
static void put(weft_fd fd, const char *text) { EXPECT_EQ(weft_fd_write_all(fd, text, strlen(text), NULL, WEFT_FOREVER), 0); }
static char get(weft_fd fd) {
    char byte = 0;
    EXPECT_EQ(weft_fd_read(fd, &byte, 1, 0), 1);
    return byte;
}
static void close_pair(void) {
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
}

/* ---- alone ------------------------------------------------------------------------------------------------------------------- */

static void ready(void *unused) {
    (void)unused;
    for (unsigned tcp = 0; tcp < 2; tcp++) {
        if (tcp) net_tcp_pair(pair);
        else EXPECT_EQ(weft_net_pair(pair), 0);
        EXPECT_EQ(poll_one(weft_case_readable(pair[0])), WEFT_ETIMEDOUT);
        EXPECT_EQ(poll_one(weft_case_writable(pair[0])), 0);
        weft_case both[] = {weft_case_readable(pair[0]), weft_case_writable(pair[0])};
        EXPECT_EQ(weft_select(both, 2, WEFT_FOREVER), 1);
        put(pair[1], "ab");
        EXPECT_EQ(weft_select(both, 1, WEFT_FOREVER), 0);
        EXPECT_EQ(get(pair[0]), 'a'); /* nothing was read by the select */
        EXPECT_EQ(poll_one(weft_case_readable(pair[0])), 0);
        EXPECT_EQ(get(pair[0]), 'b');
        EXPECT_EQ(poll_one(weft_case_readable(pair[0])), WEFT_ETIMEDOUT);
        close_pair();
        weft_case closed = weft_case_readable(pair[0]);
        EXPECT_EQ(weft_select(&closed, 1, WEFT_FOREVER), 0);
        EXPECT_EQ(closed.error, WEFT_EBADF);
    }
    EXPECT_EQ(poll_one(weft_case_readable(0)), WEFT_ETIMEDOUT); /* never ready */
    net_is_done();
}
static void ready_body(void) { net_run_until(ready, 1); }
TEST(select_fd_ready) { rt_each(ready_body); }

/* ---- beside other things ------------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 60 };
static void chatters(void *parent) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (i % 3 == 0) put(pair[1], "x");
        if (i % 3 == 1) EXPECT_EQ(weft_send(*(weft_pid *)parent, i, NULL, 0), 0);
        if (i % 3 == 2) EXPECT_EQ(weft_chan_send(chan, &i, WEFT_FOREVER), 0);
        if (i % 5 == 0) weft_sleep(WEFT_MILLISECOND / 2);
    }
}
static void listens(void *unused) {
    weft_pid self = weft_self();
    unsigned got[4] = {0}, element;
    uint64_t tick = weft_in(WEFT_MILLISECOND);
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(weft_chan_new(sizeof element, 1, &chan), 0);
    weft_pid other = weft_spawn_joinable(chatters, &self);
    while (got[0] + got[1] + got[2] < ROUNDS || got[3] == 0) {
        weft_case cases[] = {weft_case_readable(pair[0]), weft_case_message(&message), weft_case_recv(chan, &element),
                             weft_case_moment(tick)};
        int chosen = weft_select(cases, 4, weft_in(20 * WEFT_SECOND));
        EXPECT(chosen >= 0);
        EXPECT_EQ(cases[chosen].error, 0);
        got[chosen]++;
        if (chosen == 0) EXPECT_EQ(get(pair[0]), 'x');
        if (chosen == 1) weft_msg_free(message);
        if (chosen == 3) tick += WEFT_MILLISECOND;
    }
    EXPECT(got[0] == ROUNDS / 3 && got[1] == ROUNDS / 3 && got[2] == ROUNDS / 3);
    EXPECT_EQ(weft_join(other, NULL, WEFT_FOREVER), 0);
    close_pair();
    weft_chan_free(chan);
    net_is_done();
}
static void listens_body(void) { net_run_until(listens, 1); }
TEST(select_socket_mailbox_channel_clock) { rt_each(listens_body); }

/* ---- the descriptor is closed meanwhile ----------------------------------------------------------------------------------------- */

static void waits_to_be_closed(void *unused) {
    weft_msg *message;
    (void)unused;
    weft_case cases[] = {weft_case_message(&message), weft_case_readable(pair[0])};
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 1);
    EXPECT_EQ(cases[1].error, WEFT_ECLOSED);
    net_is_done();
}
static void closes(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_net_pair(pair), 0);
    uint64_t before = net_calls(SYS_NET_READY);
    weft_pid waiting = weft_spawn_joinable(waits_to_be_closed, NULL);
    net_wait_calls(SYS_NET_READY, before + 1);
    EXPECT_EQ(weft_fd_close(pair[0]), 0); /* the other end stays open: the look, which may not be over, finds no end of the stream */
    EXPECT_EQ(weft_join(waiting, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void closes_body(void) { net_run_until(closes, 2); }
TEST(select_fd_closed) { rt_each(closes_body); }

/* The other side's end makes it readable, and a full one writable again when the other side reads. */
static void reads_all(void *unused) {
    static char room[1 << 16];
    (void)unused;
    while (weft_fd_read(pair[1], room, sizeof room, WEFT_FOREVER) > 0) {}
    net_is_done();
}
static void fills(void *unused) {
    static const char data[4096];
    (void)unused;
    EXPECT_EQ(weft_net_pair(pair), 0);
    while (weft_fd_write(pair[0], data, sizeof data, 0) > 0) {}
    weft_case cases[] = {weft_case_writable(pair[0]), weft_case_moment(weft_in(20 * WEFT_SECOND))};
    EXPECT_EQ(weft_select(cases, 1, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    weft_spawn(reads_all, NULL);
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_net_shutdown(pair[0], WEFT_SIDE_WRITE), 0);
    weft_case end = weft_case_readable(pair[0]);
    while (atom_load_acq(&net_done) < 1)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    EXPECT_EQ(weft_select(&end, 1, WEFT_FOREVER), 0);
    EXPECT_EQ(end.error, 0);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    net_is_done();
}
static void fills_body(void) { net_run_until(fills, 2); }
TEST(select_fd_writable_and_end) { rt_each(fills_body); }

/* ---- several at one descriptor ----------------------------------------------------------------------------------------------------- */

/* Each byte is for one of them: those that find it gone wait again. */
enum { READERS = 6 };
static atom_u64 bytes;
static void reads_by_select(void *unused) {
    weft_msg *message;
    char byte;
    (void)unused;
    for (;;) {
        weft_case cases[] = {weft_case_readable(pair[0]), weft_case_message(&message)};
        int chosen = weft_select(cases, 2, WEFT_FOREVER);
        EXPECT(chosen >= 0);
        if (chosen == 1) break;
        if (weft_fd_read(pair[0], &byte, 1, 0) == 1) atom_add_rel(&bytes, 1);
    }
    weft_msg_free(message);
    net_is_done();
}
static void crowd(void *unused) {
    weft_pid readers[READERS];
    (void)unused;
    atom_store_rlx(&bytes, 0);
    EXPECT_EQ(weft_net_pair(pair), 0);
    for (unsigned i = 0; i < READERS; i++)
        readers[i] = weft_spawn(reads_by_select, NULL);
    for (uint64_t i = 1; i <= 40; i++) {
        put(pair[1], i % 4 ? "x" : "xy");
        while (i % 3 == 0 && atom_load_acq(&bytes) < i + i / 4)
            weft_sleep(WEFT_MILLISECOND / 4);
    }
    while (atom_load_acq(&bytes) < 50)
        weft_sleep(WEFT_MILLISECOND);
    for (unsigned i = 0; i < READERS; i++)
        EXPECT_EQ(weft_send(readers[i], 1, NULL, 0), 0);
    while (atom_load_acq(&net_done) < READERS)
        weft_sleep(WEFT_MILLISECOND);
    close_pair();
    net_is_done();
}
static void crowd_body(void) { net_run_until(crowd, READERS + 1); }
TEST(select_fd_shared) { rt_each(crowd_body); }

/* ---- a loop of selects asks the kernel only after an edge (readiness.h, N6) --------------------------------------------------------------- */

enum { LOOPS = 20 };
static void echoes(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        EXPECT_EQ(weft_send(weft_msg_from(message), 1, NULL, 0), 0);
        weft_msg_free(message);
    }
}
static void expect_messages(weft_fd fd, weft_pid echo, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        weft_msg *message;
        weft_case cases[] = {weft_case_readable(fd), weft_case_message(&message)};
        EXPECT_EQ(weft_send(echo, 1, NULL, 0), 0); /* answered when the select waits: there is one worker */
        EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 1);
        weft_msg_free(message);
    }
}
static void expect_readable(weft_fd fd) {
    weft_msg *message;
    weft_case cases[] = {weft_case_message(&message), weft_case_readable(fd)};
    EXPECT_EQ(weft_select(cases, 2, weft_in(20 * WEFT_SECOND)), 1);
    EXPECT_EQ(cases[1].error, 0);
}
static void expect_remembered(weft_pid echo, bool remembered) {
    for (unsigned round = 0; round < 3; round++) {
        expect_messages(pair[0], echo, 1);
        uint64_t before = net_calls(SYS_NET_READY);
        expect_messages(pair[0], echo, LOOPS);
        EXPECT_EQ(net_calls(SYS_NET_READY) - before, remembered ? 0 : LOOPS);
        put(pair[1], "ab");
        expect_readable(pair[0]);
        expect_readable(pair[0]); /* it stays so */
        EXPECT_EQ(get(pair[0]), 'a');
        expect_readable(pair[0]);
        EXPECT_EQ(get(pair[0]), 'b');
    }
}
static void remembers(void *unused) {
    (void)unused;
    weft_pid echo = weft_spawn(echoes, NULL);
    for (unsigned kind = 0; kind < 4; kind++) {
        if (kind == 0) net_tcp_pair(pair);
        else if (kind == 1) EXPECT_EQ(weft_pipe(pair), 0);
        else EXPECT_EQ(weft_net_pair(pair), 0);
        if (kind == 3) EXPECT(weft_fd_number(pair[0]) >= 0); /* from now on the program may do what makes it readable */
        expect_remembered(echo, kind != 3);
        expect_messages(pair[0], echo, 1);
        EXPECT_EQ(weft_fd_close(pair[1]), 0);
        expect_readable(pair[0]); /* the end */
        expect_readable(pair[0]);
        EXPECT_EQ(weft_fd_close(pair[0]), 0);
    }
    EXPECT_EQ(weft_cancel(echo), 0);
    net_is_done();
}
TEST(select_fd_remembers) {
    rt_start("ring", 1);
    net_run_until(remembers, 1);
    rt_stop();
}

/* What the program made is read behind weft's back, and its options are changed: the kernel is asked each time. */
static void adopted(void *unused) {
    int raw[2], least = 3;
    char bytes[4];
    (void)unused;
    weft_pid echo = weft_spawn(echoes, NULL);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, raw), 0);
    weft_fd fd = weft_fd_adopt(raw[0]);
    EXPECT(fd > 0);
    for (unsigned round = 0; round < 3; round++) {
        expect_messages(fd, echo, 2);
        EXPECT_EQ(write(raw[1], "abc", 3), 3);
        expect_readable(fd);
        EXPECT_EQ(read(raw[0], bytes, sizeof bytes), 3);
        expect_messages(fd, echo, 2);
    }
    close(raw[1]);
    expect_readable(fd);
    EXPECT_EQ(weft_fd_close(fd), 0);

    net_tcp_pair(pair);
    int number = weft_fd_release(pair[0]);
    EXPECT_EQ(setsockopt(number, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least), 0);
    fd = weft_fd_adopt(number);
    EXPECT(fd > 0);
    put(pair[1], "ab");
    expect_messages(fd, echo, 2);
    EXPECT_EQ(setsockopt(number, SOL_SOCKET, SO_RCVLOWAT, &(int){1}, sizeof(int)), 0);
    expect_readable(fd);
    EXPECT_EQ(weft_fd_close(fd), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);

    uint64_t events = 1;
    fd = weft_fd_adopt(number = eventfd(0, EFD_NONBLOCK));
    EXPECT(fd > 0);
    for (unsigned round = 0; round < 3; round++) {
        expect_messages(fd, echo, 2);
        EXPECT_EQ(write(number, &events, sizeof events), 8);
        expect_readable(fd);
        EXPECT_EQ(read(number, &events, sizeof events), 8);
    }
    EXPECT_EQ(weft_fd_close(fd), 0);
    EXPECT_EQ(weft_cancel(echo), 0);
    net_is_done();
}
TEST(select_fd_adopted) {
    rt_start("ring", 1);
    net_run_until(adopted, 1);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
