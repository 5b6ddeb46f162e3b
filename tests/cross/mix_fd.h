/* Bytes through pipes and sockets: as many come out as went in, and their sum is the same. */
#ifndef WEFT_TESTS_CROSS_MIX_FD_H
#define WEFT_TESTS_CROSS_MIX_FD_H

#include "mix.h"

#include <sys/wait.h>

enum { CHUNK = 4096 }; /* what goes into a pipe as a whole or not at all */

static struct {
    weft_fd pipe[2], door;
    char where[WEFT_ADDR_TEXT];
    atom_u64 written, read, sum_written, sum_read;
    atom_u64 connected, accepted, echoed; /* connections; those whose other end has been closed */
    atom_u64 ready;
} flow;

/* ---- the pipe ------------------------------------------------------------------------------------------------------- */

static inline uint64_t bytes_sum(const unsigned char *data, size_t size) {
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += data[i];
    return sum;
}
static inline void reader_main(void *arg) {
    unsigned char data[3000];
    ssize_t got;
    (void)arg;
    while ((got = weft_fd_read(flow.pipe[0], data, sizeof data, WEFT_FOREVER)) > 0) {
        atom_add_rlx(&flow.sum_read, bytes_sum(data, (size_t)got));
        atom_add_rel(&flow.read, (uint64_t)got);
    }
    EXPECT_EQ(got, 0); /* the end: the other end has been closed */
    EXPECT_EQ(weft_fd_close(flow.pipe[0]), 0);
}
static inline void act_write(struct member *member) {
    unsigned char data[CHUNK];
    size_t size = 1 + mix_below(member, CHUNK);
    uint64_t deadline = mix_limit(member);
    memset(data, (int)mix_below(member, 256), size);
    size_t put = 0;
    ssize_t result = mix_below(member, 2) ? weft_fd_write_all(flow.pipe[1], data, size, &put, deadline)
                                          : weft_fd_write(flow.pipe[1], data, size, deadline);
    if (result < 0) mix_expect((int)result, deadline);
    if (result > 0) put = (size_t)result;
    EXPECT_EQ(put, result < 0 ? 0 : size);
    atom_add_rlx(&flow.sum_written, bytes_sum(data, put));
    atom_add_rel(&flow.written, put);
}
static inline void act_fd_wait(struct member *member) {
    uint64_t deadline = mix_deadline(member);
    int ready = weft_fd_wait(flow.pipe[1], WEFT_WRITABLE, deadline);
    if (ready < 0) mix_expect(ready, deadline);
    else EXPECT_EQ(ready, WEFT_WRITABLE);
}

/* ---- connections ---------------------------------------------------------------------------------------------------- */

static inline void echo_guest(void *arg) {
    weft_fd guest = (weft_fd)(intptr_t)arg;
    char data[512];
    ssize_t got;
    while ((got = weft_fd_read(guest, data, sizeof data, WEFT_FOREVER)) > 0)
        if (weft_fd_write_all(guest, data, (size_t)got, NULL, WEFT_FOREVER) != 0) break;
    EXPECT_EQ(weft_fd_close(guest), 0);
    atom_add_rel(&flow.echoed, 1);
}
static inline void echo_main(void *arg) {
    weft_addr address;
    weft_fd guest;
    (void)arg;
    EXPECT_EQ(weft_pipe(flow.pipe), 0);
    flow.door = weft_net_listen("127.0.0.1:0", NULL);
    EXPECT(flow.door > 0);
    EXPECT_EQ(weft_net_name(flow.door, &address), 0);
    weft_addr_text(&address, flow.where, sizeof flow.where);
    atom_store_rel(&flow.ready, 1);
    while ((guest = weft_net_accept(flow.door, NULL, WEFT_FOREVER)) > 0) {
        atom_add_rel(&flow.accepted, 1);
        mix_spawn(echo_guest, (void *)(intptr_t)guest);
    }
    EXPECT_EQ(guest, WEFT_ECLOSED);
}
/* A word there and back. If it gives up, so does the other end. */
static inline void echo_talk(struct member *member, weft_fd fd) {
    char out[2000], in[2000];
    size_t size = 1 + mix_below(member, sizeof out);
    memset(out, (int)mix_below(member, 256), size);
    int error = weft_fd_write_all(fd, out, size, NULL, WEFT_FOREVER);
    if (error) return mix_expect(error, WEFT_FOREVER);
    uint64_t deadline = mix_below(member, 4) ? WEFT_FOREVER : mix_deadline(member);
    error = weft_fd_read_all(fd, in, size, NULL, deadline);
    if (error) return mix_expect(error, deadline);
    EXPECT(memcmp(in, out, size) == 0);
}
static inline void act_connect(struct member *member) {
    weft_fd fd = weft_net_connect(flow.where, WEFT_FOREVER);
    if (fd < 0) return mix_expect((int)fd, WEFT_FOREVER); /* the kernel may have connected it all the same */
    atom_add_rlx(&flow.connected, 1);
    echo_talk(member, fd);
    EXPECT_EQ(weft_fd_close(fd), 0);
}
/* Between two ends of one's own. */
static inline void act_pair(struct member *member) {
    weft_fd pair[2];
    char data[8] = "";
    EXPECT_EQ(weft_net_pair(pair), 0);
    EXPECT_EQ(weft_fd_write_all(pair[0], "word", 4, NULL, 0), 0);
    EXPECT_EQ(weft_fd_wait(pair[1], WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    EXPECT_EQ(weft_fd_read(pair[1], data, sizeof data, 0), 4);
    if (mix_below(member, 2)) EXPECT_EQ(weft_net_shutdown(pair[0], WEFT_SIDE_WRITE), 0);
    uint64_t deadline = mix_deadline(member);
    ssize_t got = weft_fd_read(pair[1], data, sizeof data, deadline);
    if (got != 0) mix_expect((int)got, deadline);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
}

/* To oneself: what has gone comes, whole. */
static inline void act_datagram(struct member *member) {
    weft_addr address;
    char data[2000];
    size_t size = mix_below(member, sizeof data);
    weft_fd fd = weft_net_udp("127.0.0.1:0", NULL);
    EXPECT(fd > 0);
    EXPECT_EQ(weft_net_name(fd, &address), 0);
    EXPECT_EQ(weft_net_send_to(fd, data, size, &address, 0), size);
    ssize_t got = weft_net_recv_from(fd, data, sizeof data, &address, WEFT_FOREVER);
    if (got != (ssize_t)size) mix_expect((int)got, WEFT_FOREVER);
    EXPECT_EQ(weft_fd_close(fd), 0);
}
/* A program, told when to end by its input. */
static inline void act_child(struct member *member) {
    const char *arguments[] = {"sh", "-c", "read line; exit 5", NULL};
    weft_child child;
    int status = 0, error = weft_child_start(arguments, WEFT_CHILD_IN, &child);
    if (error == WEFT_ECANCELED) return;
    EXPECT_EQ(error, 0);
    uint64_t deadline = mix_deadline(member);
    error = weft_waitpid(child.pid, &status, deadline);
    EXPECT(error != 0); /* it waits for its input */
    mix_expect(error, deadline);
    EXPECT_EQ(weft_fd_close(child.in), 0);
    weft_shield_begin();
    EXPECT_EQ(weft_waitpid(child.pid, &status, WEFT_FOREVER), 0);
    weft_shield_end();
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static inline void fd_open(void) {
    memset(&flow, 0, sizeof flow);
    mix.echo = mix_spawn(echo_main, NULL);
    rt_wait(&flow.ready, 1);
    mix.reader = mix_spawn(reader_main, NULL);
}
static inline void fd_close_all(void) {
    mix_balance("bytes", &flow.written, &flow.read);
    EXPECT_EQ(atom_load_acq(&flow.sum_written), atom_load_acq(&flow.sum_read));
    EXPECT_EQ(weft_fd_close(flow.pipe[1]), 0);
    while (atom_load_acq(&flow.accepted) < atom_load_acq(&flow.connected)) /* its client has given up, and it still waits to be accepted */
        usleep(100);
    mix_balance("connections", &flow.accepted, &flow.echoed);
    EXPECT_EQ(weft_fd_close(flow.door), 0);
    while (weft_alive(mix.reader) || weft_alive(mix.echo))
        usleep(100);
    printf("  %llu bytes, %llu connections\n", (unsigned long long)atom_load_acq(&flow.read),
           (unsigned long long)atom_load_acq(&flow.accepted));
}

#endif
