/* Calls that move all of something tell how many bytes went before an error, whatever the error. */
#include "net_helpers.h"

#include <weft/info.h>

#include <sys/ioctl.h>
#include <sys/mman.h>

/* ---- writing -------------------------------------------------------------------------------------------------------------------------- */

enum { TOTAL = 4 << 20, PARTS = 64, PART = TOTAL / PARTS };
static unsigned char counts_data[TOTAL];
static int counts_file;

static int counts_write(weft_fd fd, size_t *moved, uint64_t deadline) { return weft_fd_write_all(fd, counts_data, TOTAL, moved, deadline); }
static int counts_writev(weft_fd fd, size_t *moved, uint64_t deadline) {
    struct iovec parts[PARTS];
    for (unsigned i = 0; i < PARTS; i++)
        parts[i] = (struct iovec){counts_data + i * PART, PART};
    return weft_fd_writev_all(fd, parts, PARTS, moved, deadline);
}
static int counts_sendfile(weft_fd fd, size_t *moved, uint64_t deadline) {
    off_t offset = 0;
    int error = weft_fd_sendfile_all(fd, counts_file, &offset, TOTAL, moved, deadline);
    EXPECT_EQ(offset, *moved);
    return error;
}

typedef int counts_call(weft_fd fd, size_t *moved, uint64_t deadline);
static counts_call *const counts_calls[] = {counts_write, counts_writev, counts_sendfile};
enum { CALLS = sizeof counts_calls / sizeof counts_calls[0] };

/* Small buffers, so that not all fits. */
static void counts_tcp(weft_fd pair[2]) {
    int size = 1 << 16;
    net_tcp_pair(pair);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(setsockopt(weft_fd_number(pair[i]), SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
        EXPECT_EQ(setsockopt(weft_fd_number(pair[i]), SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    }
}
static void counts_unix(weft_fd pair[2]) { EXPECT_EQ(weft_net_pair(pair), 0); }
static void counts_pipe(weft_fd pair[2]) {
    weft_fd ends[2];
    EXPECT_EQ(weft_pipe(ends), 0);
    pair[0] = ends[1];
    pair[1] = ends[0];
}
typedef void counts_make(weft_fd pair[2]); /* written to at [0], read from at [1] */
static counts_make *const counts_makes[] = {counts_tcp, counts_unix, counts_pipe};
enum { MAKES = sizeof counts_makes / sizeof counts_makes[0] };

/* The one that writes, and what it was told. */
static struct {
    counts_call *call;
    weft_fd pair[2];
    uint64_t deadline;
    weft_pid pid;
    size_t moved;
    int error;
} counts;

static void counts_writer(void *arg) {
    (void)arg;
    counts.moved = SIZE_MAX;
    counts.error = counts.call(counts.pair[0], &counts.moved, counts.deadline);
}
static void counts_begin(counts_call *call, uint64_t deadline) {
    counts.call = call;
    counts.deadline = deadline;
    counts.pid = weft_spawn_joinable(counts_writer, NULL);
    EXPECT(counts.pid != WEFT_NOBODY);
}
static void counts_end(void) { EXPECT_EQ(weft_join(counts.pid, NULL, WEFT_FOREVER), 0); }

/* Something has arrived, so the writer is in the middle. */
static void counts_wait_for_some(void) { EXPECT_EQ(weft_fd_wait(counts.pair[1], WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE); }
static size_t counts_take(size_t most) {
    static unsigned char got[10000];
    size_t taken = 0;
    while (taken < most) {
        ssize_t n = weft_fd_read(counts.pair[1], got, most - taken < sizeof got ? most - taken : sizeof got, WEFT_FOREVER);
        EXPECT(n > 0 && memcmp(got, counts_data + taken, (size_t)n) == 0);
        taken += (size_t)n;
    }
    return taken;
}
/* As many have arrived as the writer was told, and no more. */
static void counts_are_true(int after) {
    unsigned char byte;
    EXPECT(counts.moved > 0 && counts.moved < TOTAL);
    EXPECT_EQ(counts_take(counts.moved), counts.moved);
    EXPECT_EQ(weft_fd_read(counts.pair[1], &byte, 1, weft_in(WEFT_MILLISECOND)), after);
}

/* What may come in the middle. */
static void counts_late(counts_call *call, counts_make *make) {
    (void)make;
    counts_begin(call, weft_in(5 * WEFT_MILLISECOND));
    counts_end();
    EXPECT_EQ(counts.error, WEFT_ETIMEDOUT);
    counts_are_true(WEFT_ETIMEDOUT);
}
static void counts_cancelled(counts_call *call, counts_make *make) {
    (void)make;
    counts_begin(call, WEFT_FOREVER);
    counts_wait_for_some();
    EXPECT_EQ(weft_cancel(counts.pid), 0);
    counts_end();
    EXPECT_EQ(counts.error, WEFT_ECANCELED);
    counts_are_true(WEFT_ETIMEDOUT);
}
static void counts_closed(counts_call *call, counts_make *make) {
    (void)make;
    counts_begin(call, WEFT_FOREVER);
    counts_wait_for_some();
    EXPECT_EQ(weft_fd_close(counts.pair[0]), 0);
    counts_end();
    EXPECT_EQ(counts.error, WEFT_ECLOSED);
    counts_are_true(0);
}
static void counts_shut_down(counts_call *call, counts_make *make) {
    if (make == counts_pipe) return;
    counts_begin(call, WEFT_FOREVER);
    counts_wait_for_some();
    EXPECT_EQ(weft_net_shutdown(counts.pair[0], WEFT_SIDE_WRITE), 0);
    counts_end();
    EXPECT_EQ(counts.error, WEFT_EPIPE);
    counts_are_true(0);
}
/* The other end takes some and goes away: it has not seen all that had been sent to it. */
static void counts_reset(counts_call *call, counts_make *make) {
    struct linger at_once = {.l_onoff = 1};
    if (make == counts_tcp) setsockopt(weft_fd_number(counts.pair[1]), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    counts_begin(call, WEFT_FOREVER);
    size_t taken = counts_take(30000);
    EXPECT_EQ(weft_fd_close(counts.pair[1]), 0);
    counts_end();
    EXPECT(counts.error == WEFT_EPIPE || counts.error == WEFT_ECONNRESET);
    EXPECT(counts.moved >= taken && counts.moved < TOTAL);
}
/* The system says something else, at the fourth call. */
static void counts_full(counts_call *call, counts_make *make) {
    static const enum sys_net_call writes[] = {SYS_NET_SEND, SYS_NET_SENDMSG, SYS_NET_WRITEV, SYS_NET_SENDFILE};
    enum { MOST = 1000 };
    (void)make;
    sys_script.net_most = MOST;
    for (unsigned i = 0; i < 4; i++) {
        sys_script.net[writes[i]].after = net_calls(writes[i]) + 3;
        sys_script.net[writes[i]].error = -ENOSPC;
    }
    counts_begin(call, WEFT_FOREVER);
    counts_end();
    for (unsigned i = 0; i < 4; i++)
        sys_script.net[writes[i]].error = 0;
    sys_script.net_most = 0;
    EXPECT_EQ(counts.error, WEFT_ENOSPC);
    EXPECT_EQ(counts.moved, 3 * MOST);
    counts_are_true(WEFT_ETIMEDOUT);
}

static void (*counts_event)(counts_call *call, counts_make *make);
static void counts_of_each(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < CALLS * MAKES; i++) {
        counts_makes[i / CALLS](counts.pair);
        counts_event(counts_calls[i % CALLS], counts_makes[i / CALLS]);
        weft_fd_close(counts.pair[0]); /* some are closed by now */
        weft_fd_close(counts.pair[1]);
    }
    net_is_done();
}
static void counts_run(void) { net_run_until(counts_of_each, 1); }
static void counts_test(void (*event)(counts_call *call, counts_make *make)) {
    counts_event = event;
    for (unsigned i = 0; i < TOTAL; i++)
        counts_data[i] = (unsigned char)(i * 7 + i / 256);
    counts_file = memfd_create("counts", MFD_CLOEXEC);
    EXPECT_EQ(pwrite(counts_file, counts_data, TOTAL, 0), TOTAL);
    rt_each(counts_run);
    close(counts_file);
}
TEST(counts_when_the_deadline_passes) { counts_test(counts_late); }
TEST(counts_when_the_process_is_cancelled) { counts_test(counts_cancelled); }
TEST(counts_when_the_descriptor_is_closed) { counts_test(counts_closed); }
TEST(counts_when_writing_is_shut_down) { counts_test(counts_shut_down); }
TEST(counts_when_the_other_end_goes_away) { counts_test(counts_reset); }
TEST(counts_when_there_is_no_space) { counts_test(counts_full); }

/* ---- reading -------------------------------------------------------------------------------------------------------------------------- */

/* Of what is wanted only some comes; then something happens. */
enum { WANTED = 5000, SENT = 3000 };
static struct {
    weft_fd pair[2]; /* as above */
    uint64_t deadline;
    weft_pid pid;
    size_t got;
    int error;
    unsigned char data[WANTED];
} wanting;

static void wanting_reader(void *arg) {
    (void)arg;
    wanting.got = SIZE_MAX;
    wanting.error = weft_fd_read_all(wanting.pair[1], wanting.data, WANTED, &wanting.got, wanting.deadline);
}
/* Until so many bytes lie there. None: the reader has them, and wants more. */
static void wanting_wait(int bytes) {
    for (int there = -1; there != bytes; weft_yield())
        EXPECT_EQ(ioctl(weft_fd_number(wanting.pair[1]), FIONREAD, &there), 0);
}
/* Until the reader waits for more: it is in no call of the kernel's. */
static void wanting_parked(void) {
    weft_process_info info;
    do {
        weft_yield();
        EXPECT_EQ(weft_info(wanting.pid, &info), 0);
    } while (info.state != WEFT_STATE_WAITING);
}
static void wanting_begin(counts_make *make, uint64_t deadline) {
    make(wanting.pair);
    wanting.deadline = deadline;
    EXPECT_EQ(weft_fd_write_all(wanting.pair[0], counts_data, SENT, NULL, WEFT_FOREVER), 0);
    wanting_wait(SENT);
    wanting.pid = weft_spawn_joinable(wanting_reader, NULL);
    EXPECT(wanting.pid != WEFT_NOBODY);
}
static void wanting_end(int error) {
    EXPECT_EQ(weft_join(wanting.pid, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(wanting.error, error);
    EXPECT_EQ(wanting.got, SENT);
    EXPECT(memcmp(wanting.data, counts_data, SENT) == 0);
    weft_fd_close(wanting.pair[0]); /* some are closed by now */
    weft_fd_close(wanting.pair[1]);
}
static void wanting_reset(void) {
    struct linger at_once = {.l_onoff = 1};
    wanting_begin(counts_tcp, WEFT_FOREVER);
    wanting_wait(0);
    EXPECT_EQ(setsockopt(weft_fd_number(wanting.pair[0]), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    EXPECT_EQ(weft_fd_close(wanting.pair[0]), 0);
    wanting_end(WEFT_ECONNRESET);
}
/* The first call brings some, the next one fails. */
static void wanting_failed(counts_make *make) {
    static const enum sys_net_call reads[] = {SYS_NET_RECV, SYS_NET_READV};
    wanting_begin(make, WEFT_FOREVER);
    wanting_wait(0);
    wanting_parked();
    for (unsigned i = 0; i < 2; i++)
        sys_script.net[reads[i]].error = -EIO;
    EXPECT_EQ(weft_fd_write(wanting.pair[0], "x", 1, WEFT_FOREVER), 1);
    wanting_end(WEFT_EIO);
    for (unsigned i = 0; i < 2; i++)
        sys_script.net[reads[i]].error = 0;
}
static void wanting_each(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < MAKES; i++) {
        wanting_begin(counts_makes[i], WEFT_FOREVER);
        EXPECT_EQ(weft_fd_close(wanting.pair[0]), 0);
        wanting_end(WEFT_EEOF);
        wanting_begin(counts_makes[i], weft_in(20 * WEFT_MILLISECOND));
        wanting_end(WEFT_ETIMEDOUT);
        wanting_begin(counts_makes[i], WEFT_FOREVER);
        wanting_wait(0);
        EXPECT_EQ(weft_cancel(wanting.pid), 0);
        wanting_end(WEFT_ECANCELED);
        wanting_begin(counts_makes[i], WEFT_FOREVER);
        wanting_wait(0);
        EXPECT_EQ(weft_fd_close(wanting.pair[1]), 0);
        wanting_end(WEFT_ECLOSED);
        wanting_failed(counts_makes[i]);
    }
    wanting_reset();
    net_is_done();
}
static void wanting_run(void) { net_run_until(wanting_each, 1); }
TEST(counts_of_what_was_read) { rt_each(wanting_run); }

/* Nothing is told of what was refused before it began, and of what went well everything. */
static void refused(void *arg) {
    weft_fd pair[2];
    size_t moved = 1;
    off_t offset = 0;
    (void)arg;
    EXPECT_EQ(weft_fd_read_all(12345, counts_data, 1, &moved, WEFT_FOREVER), WEFT_EBADF);
    EXPECT_EQ(moved, 0);
    EXPECT_EQ(weft_pipe(pair), 0);
    for (unsigned i = 0; i < 4; i++) {
        moved = 1;
        EXPECT_EQ(i == 0   ? weft_fd_read_all(pair[0], counts_data, SIZE_MAX, &moved, WEFT_FOREVER)
                  : i == 1 ? weft_fd_write_all(pair[1], counts_data, SIZE_MAX, &moved, WEFT_FOREVER)
                  : i == 2 ? weft_fd_writev_all(pair[1], NULL, -1, &moved, WEFT_FOREVER)
                           : weft_fd_sendfile_all(pair[1], counts_file, &offset, SIZE_MAX, &moved, WEFT_FOREVER),
                  WEFT_EINVAL);
        EXPECT_EQ(moved, 0);
    }
    EXPECT_EQ(weft_fd_write_all(pair[1], "four", 4, &moved, WEFT_FOREVER), 0);
    EXPECT_EQ(moved, 4);
    EXPECT_EQ(weft_fd_read_all(pair[0], counts_data, 4, &moved, WEFT_FOREVER), 0);
    EXPECT_EQ(moved, 4);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void refused_run(void) { net_run_until(refused, 1); }
TEST(counts_of_what_was_refused) { rt_each(refused_run); }

int main(int argc, char **argv) { return test_main(argc, argv); }
