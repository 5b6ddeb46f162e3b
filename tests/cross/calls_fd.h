/* Bytes through descriptors: pipes, sockets, and those of the operating system that only pass by. The completer uses the other end as the
 * operating system knows it, so that any thread can. */
#ifndef WEFT_TESTS_CROSS_CALLS_FD_H
#define WEFT_TESTS_CROSS_CALLS_FD_H

#include "raw.h"

enum { PIECE = 4096, FULL = 1 << 16 };

static inline void fd_clean(struct trial *trial) {
    for (unsigned i = 0; i < 2; i++) {
        if (trial->things.fd[i] > 0) EXPECT_EQ(weft_fd_close(trial->things.fd[i]), 0);
        if (trial->things.raw[i] > 0) close(trial->things.raw[i]);
    }
}

static char piece[PIECE];

/* Until there is no room; how much it was. */
static inline size_t raw_fill(int number) {
    size_t size = 0;
    for (ssize_t put; (put = write(number, piece, PIECE)) > 0;)
        size += (size_t)put;
    while (write(number, piece, 1) == 1)
        size++;
    EXPECT_EQ(errno, EAGAIN);
    return size;
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

/* A short read comes before: after one the kernel need not be asked, if nothing has come since. */
static inline void read_make_of(struct trial *trial, int (*make)(weft_fd pair[2])) {
    char data[16];
    EXPECT_EQ(make(trial->things.fd), 0);
    trial->things.raw[1] = raw_of(trial->things.fd[1]);
    EXPECT_EQ(write(trial->things.raw[1], "short", 5), 5);
    EXPECT_EQ(weft_fd_read(trial->things.fd[0], data, sizeof data, WEFT_FOREVER), 5);
}
static inline void read_make_pipe(struct trial *trial) { read_make_of(trial, weft_pipe); }
static inline void read_make_pair(struct trial *trial) { read_make_of(trial, weft_net_pair); }
static inline bool read_complete(struct trial *trial) {
    EXPECT_EQ(write(trial->things.raw[1], "ab", 2), 2);
    return true;
}
/* Over TCP, where weft trusts a short read most. The caller's end is not shown by weft_fd_number, which would end that trust. */
static inline void tcp_make(struct trial *trial) {
    weft_addr address;
    char data[16];
    weft_fd door = weft_net_listen("127.0.0.1:0", NULL);
    EXPECT(door > 0);
    EXPECT_EQ(weft_net_name(door, &address), 0);
    trial->things.raw[1] = raw_socket(AF_INET, SOCK_STREAM, true);
    EXPECT_EQ(connect(trial->things.raw[1], (struct sockaddr *)&address.place, address.size), 0);
    weft_shield_begin(); /* the network takes its time, and a scope's deadline may come meanwhile */
    trial->things.fd[0] = weft_net_accept(door, NULL, WEFT_FOREVER);
    EXPECT(trial->things.fd[0] > 0);
    EXPECT_EQ(weft_fd_close(door), 0);
    EXPECT_EQ(write(trial->things.raw[1], "short", 5), 5);
    EXPECT_EQ(weft_fd_wait(trial->things.fd[0], WEFT_READABLE, WEFT_FOREVER), WEFT_READABLE);
    EXPECT_EQ(weft_fd_read(trial->things.fd[0], data, sizeof data, WEFT_FOREVER), 5);
    weft_shield_end();
}
static inline bool tcp_complete(struct trial *trial) {
    char byte;
    int number = (int)(trial->things.fd[0] & 0xffffff);
    EXPECT_EQ(write(trial->things.raw[1], "ab", 2), 2);
    while (moment_of(trial) == BEFORE && recv(number, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {} /* it is on its way */
    return true;
}
static inline int read_judge(ssize_t got, const char *data) {
    if (got < 0) return (int)got;
    EXPECT(got == 2 && data[0] == 'a' && data[1] == 'b');
    return 0;
}
static inline int read_wait(struct trial *trial, uint64_t deadline) {
    char data[16];
    ssize_t got = weft_fd_read(trial->things.fd[0], data, sizeof data, deadline);
    return read_judge(got, data);
}
static inline int read_wait_all(struct trial *trial, uint64_t deadline) {
    char data[2];
    size_t got = 1;
    int error = weft_fd_read_all(trial->things.fd[0], data, sizeof data, &got, deadline);
    EXPECT_EQ(got, error ? 0 : 2);
    return error ? error : read_judge(2, data);
}
static inline int read_wait_vector(struct trial *trial, uint64_t deadline) {
    char data[3];
    struct iovec parts[] = {{data, 1}, {data + 1, 2}};
    ssize_t got = weft_fd_readv(trial->things.fd[0], parts, 2, deadline);
    return read_judge(got, data);
}
/* As the docs recommend to processes that may not wait in a read. */
static inline int read_wait_readable(struct trial *trial, uint64_t deadline) {
    int ready = weft_fd_wait(trial->things.fd[0], WEFT_READABLE, deadline);
    if (ready < 0) return ready;
    EXPECT_EQ(ready, WEFT_READABLE);
    EXPECT_EQ(read_wait(trial, 0), 0);
    return 0;
}
/* For either direction, where only one will ever be ready. */
static inline void either_make(struct trial *trial) {
    read_make_pair(trial);
    raw_fill(weft_fd_number(trial->things.fd[0]));
}
static inline int read_wait_either(struct trial *trial, uint64_t deadline) {
    int ready = weft_fd_wait(trial->things.fd[0], WEFT_READABLE | WEFT_WRITABLE, deadline);
    if (ready < 0) return ready;
    EXPECT_EQ(ready, WEFT_READABLE);
    EXPECT_EQ(read_wait(trial, 0), 0);
    return 0;
}
static inline int read_wait_raw(struct trial *trial, uint64_t deadline) {
    char data[16];
    int ready = weft_fd_wait_raw(trial->things.raw[0], WEFT_READABLE, deadline);
    if (ready < 0) return ready;
    return read_judge(read(trial->things.raw[0], data, sizeof data), data);
}
static inline void raw_make(struct trial *trial) { raw_pipe(trial->things.raw, true); }
static inline bool read_complete_end(struct trial *trial) {
    EXPECT_EQ(shutdown(trial->things.raw[1], SHUT_WR), 0);
    return true;
}
static inline int read_wait_end(struct trial *trial, uint64_t deadline) {
    char data[16];
    return (int)weft_fd_read(trial->things.fd[0], data, sizeof data, deadline);
}
static inline bool read_complete_close(struct trial *trial) {
    EXPECT_EQ(weft_fd_close(trial->things.fd[0]), 0);
    return true;
}
static inline int read_wait_close(struct trial *trial, uint64_t deadline) {
    char data[16];
    int got = (int)weft_fd_read(trial->things.fd[0], data, sizeof data, deadline);
    return got == WEFT_ECLOSED || got == WEFT_EBADF ? 0 : got;
}
static inline void read_clean_closed(struct trial *trial) {
    trial->things.fd[0] = WEFT_NO_FD;
    fd_clean(trial);
}

/* The same by files' calls. */
static inline int file_wait_read(struct trial *trial, uint64_t deadline) {
    char data[16];
    ssize_t got = weft_file_read(trial->things.raw[0], data, sizeof data, deadline);
    return read_judge(got, data);
}
static inline int file_wait_readv(struct trial *trial, uint64_t deadline) {
    char data[3];
    struct iovec parts[] = {{data, 1}, {data + 1, 2}};
    ssize_t got = weft_file_readv(trial->things.raw[0], parts, 2, deadline);
    return read_judge(got, data);
}

static inline int file_wait_read_all(struct trial *trial, uint64_t deadline) {
    char data[2];
    size_t got = 1;
    int error = weft_file_read_all(trial->things.raw[0], data, sizeof data, &got, deadline);
    EXPECT_EQ(got, error ? 0 : 2);
    return error ? error : read_judge(2, data);
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

static inline void write_make_of(struct trial *trial, int (*make)(weft_fd pair[2])) {
    EXPECT_EQ(make(trial->things.fd), 0);
    trial->things.raw[0] = raw_of(trial->things.fd[0]);
    int out = weft_fd_number(trial->things.fd[1]);
    trial->things.size = raw_fill(out);
}
static inline void write_make_pipe(struct trial *trial) { write_make_of(trial, weft_pipe); }
static inline void write_make_pair(struct trial *trial) { write_make_of(trial, weft_net_pair); }
/* Makes room by taking what was there at first. */
static inline bool write_complete(struct trial *trial) {
    static __thread char data[FULL];
    for (size_t left = trial->things.size; left > 0;) {
        ssize_t got = read(trial->things.raw[0], data, left < sizeof data ? left : sizeof data);
        EXPECT(got > 0);
        left -= (size_t)got;
    }
    return true;
}
/* What is there now is what the call has written. */
static inline void write_clean(struct trial *trial) {
    char data[PIECE];
    size_t found = 0;
    for (ssize_t got; (got = read(trial->things.raw[0], data, sizeof data)) > 0;)
        found += (size_t)got;
    EXPECT_EQ(found, PIECE);
    fd_clean(trial);
}
static inline int write_judge(ssize_t put) {
    if (put < 0) return (int)put;
    EXPECT_EQ(put, PIECE);
    return 0;
}
static inline int write_judge_all(int error, size_t written) {
    EXPECT_EQ(written, error ? 0 : PIECE);
    return error;
}
static inline int write_wait_all(struct trial *trial, uint64_t deadline) {
    size_t written = 1;
    int error = weft_fd_write_all(trial->things.fd[1], piece, PIECE, &written, deadline);
    return write_judge_all(error, written);
}
static inline int write_wait(struct trial *trial, uint64_t deadline) {
    return write_judge(weft_fd_write(trial->things.fd[1], piece, PIECE, deadline));
}
static inline int write_wait_vector(struct trial *trial, uint64_t deadline) {
    struct iovec parts[] = {{piece, 1}, {piece + 1, PIECE - 1}};
    return write_judge(weft_fd_writev(trial->things.fd[1], parts, 2, deadline));
}
static inline int write_wait_vector_all(struct trial *trial, uint64_t deadline) {
    struct iovec parts[] = {{piece, 1}, {piece + 1, PIECE - 1}};
    size_t written = 1;
    int error = weft_fd_writev_all(trial->things.fd[1], parts, 2, &written, deadline);
    return write_judge_all(error, written);
}
static inline int write_wait_writable(struct trial *trial, uint64_t deadline) {
    int ready = weft_fd_wait(trial->things.fd[1], WEFT_WRITABLE, deadline);
    if (ready < 0) return ready;
    EXPECT_EQ(ready, WEFT_WRITABLE);
    return write_wait(trial, 0);
}
/* Full as the others, but of files' calls. */
static inline void raw_make_full(struct trial *trial) {
    raw_pipe(trial->things.raw, false);
    trial->things.size = raw_fill(trial->things.raw[1]);
}
static inline int file_wait_write(struct trial *trial, uint64_t deadline) {
    return write_judge(weft_file_write(trial->things.raw[1], piece, PIECE, deadline));
}
static inline int file_wait_write_all(struct trial *trial, uint64_t deadline) {
    size_t written = 1;
    int error = weft_file_write_all(trial->things.raw[1], piece, PIECE, &written, deadline);
    return write_judge_all(error, written);
}
static inline int file_wait_writev(struct trial *trial, uint64_t deadline) {
    struct iovec parts[] = {{piece, 1}, {piece + 1, PIECE - 1}};
    return write_judge(weft_file_writev(trial->things.raw[1], parts, 2, deadline));
}
static inline int file_wait_writev_all(struct trial *trial, uint64_t deadline) {
    struct iovec parts[] = {{piece, 1}, {piece + 1, PIECE - 1}};
    size_t written = 1;
    int error = weft_file_writev_all(trial->things.raw[1], parts, 2, &written, deadline);
    return write_judge_all(error, written);
}
/* The direction ends under the process that waits to write. */
static inline bool write_complete_end(struct trial *trial) {
    EXPECT_EQ(weft_net_shutdown(trial->things.fd[1], WEFT_SIDE_WRITE), 0);
    return true;
}
static inline int write_wait_end(struct trial *trial, uint64_t deadline) {
    int error = weft_fd_write_all(trial->things.fd[1], piece, PIECE, NULL, deadline);
    EXPECT(error < 0);
    return error == WEFT_EPIPE ? 0 : error;
}

#define READS(what, also) .is = CALL_ANYWHERE | (also), .make = read_make_##what, .complete = read_complete, .clean = fd_clean
#define WRITES(what, also)                                                                                                                 \
    .is = CALL_LEVEL | CALL_ANYWHERE | (also), .make = write_make_##what, .complete = write_complete, .clean = write_clean
#define CALLS_FD(CALL)                                                                                                                     \
    CALL(fd_read, READS(pipe, CALL_PACKS), .wait = read_wait)                                                                              \
    CALL(fd_read_pair, READS(pair, CALL_PACKS), .wait = read_wait)                                                                         \
    CALL(fd_read_tcp, .is = CALL_ANYWHERE | CALL_PACKS, .make = tcp_make, .complete = tcp_complete, .clean = fd_clean, .wait = read_wait)  \
    CALL(fd_wait_tcp, .is = CALL_ANYWHERE | CALL_PACKS, .make = tcp_make, .complete = tcp_complete, .clean = fd_clean,                     \
         .wait = read_wait_readable)                                                                                                       \
    CALL(fd_read_all, READS(pipe, CALL_PACKS), .wait = read_wait_all)                                                                      \
    CALL(fd_readv, READS(pipe, CALL_PACKS), .wait = read_wait_vector)                                                                      \
    CALL(fd_wait_readable, READS(pipe, CALL_PACKS), .wait = read_wait_readable)                                                            \
    CALL(fd_wait_either, .is = CALL_ANYWHERE, .make = either_make, .complete = read_complete, .clean = fd_clean, .wait = read_wait_either) \
    CALL(fd_wait_raw, .is = CALL_PACKS, .make = raw_make, .complete = read_complete, .clean = fd_clean, .wait = read_wait_raw)             \
    CALL(fd_read_end, .is = CALL_LEVEL | CALL_ANYWHERE | CALL_PACKS, .make = read_make_pair, .complete = read_complete_end,                \
         .clean = fd_clean, .wait = read_wait_end)                                                                                         \
    CALL(fd_read_close, .is = CALL_LEVEL | CALL_ANYWHERE | CALL_PACKS, .make = read_make_pair, .complete = read_complete_close,            \
         .clean = read_clean_closed, .wait = read_wait_close)                                                                              \
    CALL(fd_write, WRITES(pipe, CALL_PACKS), .wait = write_wait)                                                                           \
    CALL(fd_write_all, WRITES(pipe, CALL_PACKS), .wait = write_wait_all)                                                                   \
    CALL(fd_write_all_pair, WRITES(pair, CALL_PACKS), .wait = write_wait_all)                                                              \
    CALL(fd_writev_all, WRITES(pipe, CALL_PACKS), .wait = write_wait_vector_all)                                                           \
    CALL(fd_writev, WRITES(pipe, CALL_PACKS), .wait = write_wait_vector)                                                                   \
    CALL(fd_wait_writable, WRITES(pipe, CALL_PACKS), .wait = write_wait_writable)                                                          \
    CALL(fd_write_end, .is = CALL_LEVEL | CALL_ANYWHERE | CALL_PACKS, .make = write_make_pair, .complete = write_complete_end,             \
         .clean = fd_clean, .wait = write_wait_end)                                                                                        \
    CALL(file_read, .is = CALL_REFUSES | CALL_PACKS, .make = raw_make, .complete = read_complete, .clean = fd_clean,                       \
         .wait = file_wait_read)                                                                                                           \
    CALL(file_readv, .is = CALL_REFUSES | CALL_PACKS, .make = raw_make, .complete = read_complete, .clean = fd_clean,                      \
         .wait = file_wait_readv)                                                                                                          \
    CALL(file_read_all, .is = CALL_REFUSES | CALL_PACKS, .make = raw_make, .complete = read_complete, .clean = fd_clean,                   \
         .wait = file_wait_read_all)                                                                                                       \
    CALL(file_write, .is = CALL_LEVEL | CALL_REFUSES | CALL_PACKS, .make = raw_make_full, .complete = write_complete,                      \
         .clean = write_clean, .wait = file_wait_write)                                                                                    \
    CALL(file_writev, .is = CALL_LEVEL | CALL_REFUSES | CALL_PACKS, .make = raw_make_full, .complete = write_complete,                     \
         .clean = write_clean, .wait = file_wait_writev)                                                                                   \
    CALL(file_write_all, .is = CALL_LEVEL | CALL_REFUSES | CALL_PACKS, .make = raw_make_full, .complete = write_complete,                  \
         .clean = write_clean, .wait = file_wait_write_all)                                                                                \
    CALL(file_writev_all, .is = CALL_LEVEL | CALL_REFUSES | CALL_PACKS, .make = raw_make_full, .complete = write_complete,                 \
         .clean = write_clean, .wait = file_wait_writev_all)

#endif
