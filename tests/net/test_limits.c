/* Calls at their limits: many parts of one datagram, many descriptors with credentials beside them, the longest names, nothing at all to read. */
#include "net_helpers.h"

#include <limits.h>
#include <sys/eventfd.h>
#include <sys/un.h>

/* ---- parts -------------------------------------------------------------------------------------------------------------------------- */

enum { LIMITS_PARTS = 200 };
static char limits_out[4096], limits_in[4096];

/* So many parts of two bytes. */
static int limits_parts(struct iovec *parts, int count) {
    for (int i = 0; i < count; i++)
        parts[i] = (struct iovec){limits_out + 2 * (i % 2000), 2};
    return count;
}
static void limits_fill(void) {
    for (unsigned i = 0; i < sizeof limits_out; i++)
        limits_out[i] = (char)(i * 7 + i / 256);
}

/* One datagram, whatever it was put together from. */
static void limits_datagram(weft_fd from, weft_fd to) {
    static struct iovec parts[IOV_MAX + 1];
    size_t written;
    limits_fill();
    EXPECT_EQ(weft_fd_writev_all(from, parts, limits_parts(parts, LIMITS_PARTS), &written, WEFT_FOREVER), 0);
    EXPECT_EQ(written, 2 * LIMITS_PARTS);
    EXPECT_EQ(weft_fd_read(to, limits_in, sizeof limits_in, WEFT_FOREVER), 2 * LIMITS_PARTS);
    EXPECT_EQ(memcmp(limits_in, limits_out, 2 * LIMITS_PARTS), 0);
    EXPECT_EQ(weft_fd_read(to, limits_in, sizeof limits_in, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_writev(from, parts, limits_parts(parts, IOV_MAX), WEFT_FOREVER), 2 * IOV_MAX);
    EXPECT_EQ(weft_fd_read(to, limits_in, sizeof limits_in, WEFT_FOREVER), 2 * IOV_MAX);
    EXPECT_EQ(weft_fd_writev(from, parts, limits_parts(parts, IOV_MAX + 1), WEFT_FOREVER), WEFT_EINVAL);
    EXPECT_EQ(weft_fd_writev_all(from, parts, limits_parts(parts, IOV_MAX + 1), &written, WEFT_FOREVER), WEFT_EMSGSIZE);
    EXPECT_EQ(written, 0);
    EXPECT_EQ(weft_fd_read(to, limits_in, sizeof limits_in, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_fd_close(from), 0);
    EXPECT_EQ(weft_fd_close(to), 0);
}
static void limits_datagrams(void *arg) {
    static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET};
    int pair[2];
    weft_addr there;
    (void)arg;
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(socketpair(AF_UNIX, types[i], 0, pair), 0);
        limits_datagram(weft_fd_adopt(pair[0]), weft_fd_adopt(pair[1]));
    }
    weft_fd to = weft_net_udp("127.0.0.1:0", NULL), from = weft_net_udp("127.0.0.1:0", NULL);
    EXPECT_EQ(weft_net_name(to, &there), 0);
    EXPECT_EQ(connect(weft_fd_number(from), (struct sockaddr *)&there.place, there.size), 0);
    limits_datagram(from, to);
    net_is_done();
}
static void limits_all_datagrams(void) { net_run_until(limits_datagrams, 1); }
TEST(limits_a_datagram_of_many_parts) { rt_each(limits_all_datagrams); }

/* A stream takes any number, also where a write ends within a part. */
static atom_u64 limits_sum;
static void limits_reads(void *arg) {
    char some[333];
    ssize_t n;
    uint64_t sum = 0, at = 0;
    while ((n = weft_fd_read(net_unbox(arg), some, sizeof some, WEFT_FOREVER)) > 0)
        for (ssize_t i = 0; i < n; i++)
            sum += (unsigned char)some[i] * (++at % 1000);
    atom_store_rel(&limits_sum, sum);
    net_is_done();
}
static void limits_stream(void *arg) {
    enum { COUNT = 3000, SIZE = 500 };
    static struct iovec parts[COUNT];
    weft_fd pair[2];
    uint64_t sum = 0, at = 0;
    size_t written;
    (void)arg;
    limits_fill();
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT(weft_spawn(limits_reads, net_box(pair[1])) != WEFT_NOBODY);
    for (int i = 0; i < COUNT; i++) {
        parts[i] = (struct iovec){limits_out + i, i % 5 ? SIZE : 0};
        for (size_t k = 0; k < parts[i].iov_len; k++)
            sum += (unsigned char)limits_out[i + (int)k] * (++at % 1000);
    }
    EXPECT_EQ(weft_fd_writev_all(pair[0], parts, COUNT, &written, WEFT_FOREVER), 0);
    EXPECT_EQ(written, at);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    while (atom_load_acq(&net_done) < 1)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
    EXPECT_EQ(atom_load_acq(&limits_sum), sum);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void limits_streams(void) { net_run_until(limits_stream, 2); }
TEST(limits_a_stream_of_many_parts) { rt_each(limits_streams); }

/* ---- descriptors in messages ----------------------------------------------------------------------------------------------------------- */

static void limits_send_raw(int number, const int *descriptors, size_t count) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * 253)];
    } control;
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    memset(&control, 0, sizeof control);
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int) * count)};
    memcpy(CMSG_DATA(&control.header), descriptors, sizeof(int) * count);
    EXPECT_EQ(sendmsg(number, &message, 0), 1);
}

/* As many as there may be, though the kernel has credentials to tell beside them; one more is too many, and none is left open. */
static void limits_pass(void *arg) {
    enum { LIMITS_PIDFD = 76 }; /* SO_PASSPIDFD, Linux 6.5 */
    int bell = eventfd(0, EFD_CLOEXEC), all[253], got[WEFT_PASS_MOST], on = 1;
    weft_fd pair[2];
    char byte;
    (void)arg;
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(setsockopt(weft_fd_number(pair[1]), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    setsockopt(weft_fd_number(pair[1]), SOL_SOCKET, LIMITS_PIDFD, &on, sizeof on); /* where there is that */
    setsockopt(weft_fd_number(pair[1]), SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on);
    for (unsigned i = 0; i < 253; i++)
        all[i] = bell;
    unsigned open = net_count_open();
    for (unsigned i = 0; i < 3; i++) {
        size_t count = WEFT_PASS_MOST;
        EXPECT_EQ(weft_net_send_fds(pair[0], "x", 1, all, count, WEFT_FOREVER), 1);
        EXPECT_EQ(weft_net_recv_fds(pair[1], &byte, 1, got, &count, WEFT_FOREVER), 1);
        EXPECT_EQ(count, WEFT_PASS_MOST);
        EXPECT_EQ(net_count_open(), open + WEFT_PASS_MOST);
        for (unsigned k = 0; k < count; k++)
            EXPECT_EQ(close(got[k]), 0);
    }
    static const size_t too_many[] = {WEFT_PASS_MOST + 1, 253};
    for (unsigned i = 0; i < 2; i++) {
        size_t count = WEFT_PASS_MOST;
        limits_send_raw(weft_fd_number(pair[0]), all, too_many[i]);
        EXPECT_EQ(weft_net_recv_fds(pair[1], &byte, 1, got, &count, WEFT_FOREVER), WEFT_EMSGSIZE);
        EXPECT_EQ(net_count_open(), open);
    }
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    close(bell);
    net_is_done();
}
static void limits_passes(void) { net_run_until(limits_pass, 1); }
TEST(limits_descriptors_beside_credentials) { rt_each(limits_passes); }

/* ---- names, and nothing ------------------------------------------------------------------------------------------------------------------ */

static void limits_name(void *arg) {
    char name[200] = "unix:@", text[WEFT_ADDR_TEXT];
    weft_addr address, own;
    (void)arg;
    memset(name + 6, 'n', 107); /* all of sun_path but the byte that says that it is abstract */
    for (unsigned i = 0, pid = (unsigned)getpid(); i < 7; i++, pid /= 10)
        name[6 + 100 + i] = (char)('0' + pid % 10);
    EXPECT_EQ(weft_addr_parse(name, &address), 0);
    EXPECT_EQ(address.size, sizeof(struct sockaddr_un));
    EXPECT(strcmp(weft_addr_text(&address, text, sizeof text), name) == 0);
    weft_fd door = weft_net_listen(name, NULL), client = weft_net_connect(name, WEFT_FOREVER);
    EXPECT(door > 0 && client > 0);
    EXPECT_EQ(weft_net_name(door, &own), 0);
    EXPECT(strcmp(weft_addr_text(&own, text, sizeof text), name) == 0);
    EXPECT_EQ(weft_fd_close(client), 0);
    EXPECT_EQ(weft_fd_close(door), 0);
    strcat(name, "n");
    EXPECT_EQ(weft_addr_parse(name, &address), WEFT_EINVAL);
    memset(name + 5, 'p', 107); /* a path ends with a 0 byte */
    name[5] = '/';
    name[5 + 107] = '\0';
    EXPECT_EQ(weft_addr_parse(name, &address), 0);
    strcat(name, "p");
    EXPECT_EQ(weft_addr_parse(name, &address), WEFT_EINVAL);
    net_is_done();
}
static void limits_names(void) { net_run_until(limits_name, 1); }
TEST(limits_the_longest_names) { rt_each(limits_names); }

/* Nothing is read or written of a descriptor that is open, and of a closed one not even that. */
static void limits_nothing(void *arg) {
    weft_fd pair[2];
    (void)arg;
    EXPECT_EQ(weft_net_pair(pair), 0);
    for (unsigned closed = 0; closed < 2; closed++) {
        ssize_t wanted = closed ? WEFT_EBADF : 0;
        EXPECT_EQ(weft_fd_read(pair[0], NULL, 0, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_read_all(pair[0], NULL, 0, NULL, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_readv(pair[0], NULL, 0, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_write_all(pair[0], "", 0, NULL, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_write(pair[0], "", 0, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_writev(pair[0], NULL, 0, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_writev_all(pair[0], NULL, 0, NULL, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_sendfile(pair[0], 0, NULL, 0, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_sendfile_all(pair[0], 0, NULL, 0, NULL, WEFT_FOREVER), wanted);
        EXPECT_EQ(weft_fd_close(pair[0]), wanted);
    }
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
    net_is_done();
}
static void limits_nothings(void) { net_run_until(limits_nothing, 1); }
TEST(limits_nothing_of_a_closed_one) { rt_each(limits_nothings); }

int main(int argc, char **argv) { return test_main(argc, argv); }
