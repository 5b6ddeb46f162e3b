/* Connections, datagrams, descriptors that are passed, whole files. */
#ifndef WEFT_TESTS_CROSS_CALLS_NET_H
#define WEFT_TESTS_CROSS_CALLS_NET_H

#include "calls_fd.h"

#include <sys/mman.h>
#include <sys/un.h>

/* ---- connections ---------------------------------------------------------------------------------------------------- */

static inline void listen_make(struct trial *trial) {
    trial->things.fd[0] = weft_net_listen("unix:@", NULL);
    EXPECT(trial->things.fd[0] > 0);
    EXPECT_EQ(weft_net_name(trial->things.fd[0], &trial->things.address), 0);
}
static inline int raw_connect(struct trial *trial) {
    int number = raw_socket(AF_UNIX, SOCK_STREAM, false);
    if (connect(number, (struct sockaddr *)&trial->things.address.place, trial->things.address.size) == 0) return number;
    EXPECT_EQ(errno, EAGAIN);
    close(number);
    return -1;
}
static inline bool accept_complete(struct trial *trial) {
    trial->things.raw[0] = raw_connect(trial);
    EXPECT(trial->things.raw[0] >= 0);
    return true;
}
static inline int accept_wait(struct trial *trial, uint64_t deadline) {
    weft_fd guest = weft_net_accept(trial->things.fd[0], NULL, deadline);
    if (guest < 0) return (int)guest;
    trial->took = true;
    EXPECT_EQ(weft_fd_close(guest), 0);
    return 0;
}

/* A listener that has no room: as long as no process accepts, connecting has to wait. */
static inline void connect_make(struct trial *trial) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    trial->things.raw[0] = raw_socket(AF_UNIX, SOCK_STREAM, false);
    EXPECT_EQ(bind(trial->things.raw[0], (struct sockaddr *)&place, sizeof(sa_family_t)), 0);
    EXPECT_EQ(listen(trial->things.raw[0], 0), 0);
    trial->things.address.size = sizeof trial->things.address.place;
    EXPECT_EQ(getsockname(trial->things.raw[0], (struct sockaddr *)&trial->things.address.place, &trial->things.address.size), 0);
    trial->things.raw[1] = raw_connect(trial);
    EXPECT(trial->things.raw[1] > 0);
    EXPECT_EQ(raw_connect(trial), -1);
}
static inline bool connect_complete(struct trial *trial) {
    int guest = accept(trial->things.raw[0], NULL, NULL);
    EXPECT(guest >= 0);
    close(guest);
    return true;
}
static inline int connect_wait(struct trial *trial, uint64_t deadline) {
    weft_fd fd = weft_net_connect_to(&trial->things.address, deadline);
    if (fd < 0) return (int)fd;
    trial->took = true;
    EXPECT_EQ(weft_fd_close(fd), 0);
    return 0;
}

/* ---- datagrams, and descriptors that are passed --------------------------------------------------------------------- */

static inline void datagram_make(struct trial *trial) {
    trial->things.fd[0] = weft_net_udp("127.0.0.1:0", NULL);
    EXPECT(trial->things.fd[0] > 0);
    EXPECT_EQ(weft_net_name(trial->things.fd[0], &trial->things.address), 0);
    trial->things.raw[0] = raw_socket(AF_INET, SOCK_DGRAM, true);
}
static inline bool datagram_complete(struct trial *trial) {
    const struct sockaddr *to = (const struct sockaddr *)&trial->things.address.place;
    EXPECT_EQ(sendto(trial->things.raw[0], "ab", 2, 0, to, trial->things.address.size), 2);
    return true;
}
static inline int datagram_wait(struct trial *trial, uint64_t deadline) {
    char data[16];
    weft_addr from;
    ssize_t got = weft_net_recv_from(trial->things.fd[0], data, sizeof data, &from, deadline);
    return read_judge(got, data);
}

static inline bool pass_complete(struct trial *trial) {
    char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {"ab", 2};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &trial->things.raw[1], sizeof(int));
    EXPECT_EQ(sendmsg(trial->things.raw[1], &message, 0), 2);
    return true;
}
static inline int pass_wait(struct trial *trial, uint64_t deadline) {
    char data[16];
    int passed[4];
    size_t count = 4;
    ssize_t got = weft_net_recv_fds(trial->things.fd[0], data, sizeof data, passed, &count, deadline);
    int error = read_judge(got, data);
    if (error) return error;
    EXPECT_EQ(count, 1);
    close(passed[0]);
    return 0;
}
static inline int pass_wait_send(struct trial *trial, uint64_t deadline) {
    return write_judge(weft_net_send_fds(trial->things.fd[1], piece, PIECE, &trial->things.raw[0], 1, deadline));
}

/* A receiver that has as many as it may have, and that the kernel does not tell of when there is room. */
static inline void send_make(struct trial *trial) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    weft_addr *to = &trial->things.address;
    trial->things.raw[0] = raw_socket(AF_UNIX, SOCK_DGRAM, false);
    EXPECT_EQ(bind(trial->things.raw[0], (struct sockaddr *)&place, sizeof(sa_family_t)), 0);
    to->size = sizeof to->place;
    EXPECT_EQ(getsockname(trial->things.raw[0], (struct sockaddr *)&to->place, &to->size), 0);
    trial->things.fd[1] = weft_net_udp("unix:@", NULL);
    EXPECT(trial->things.fd[1] > 0);
    while (weft_net_send_to(trial->things.fd[1], "x", 1, to, 0) == 1)
        trial->things.size++;
}
static inline int send_take(struct trial *trial) {
    char data[16];
    return (int)recv(trial->things.raw[0], data, sizeof data, 0);
}
static inline bool send_complete(struct trial *trial) {
    for (size_t i = 0; i < trial->things.size; i++)
        EXPECT_EQ(send_take(trial), 1);
    return true;
}
static inline int send_wait(struct trial *trial, uint64_t deadline) {
    ssize_t put = weft_net_send_to(trial->things.fd[1], "ab", 2, &trial->things.address, deadline);
    return put < 0 ? (int)put : put == 2 ? 0 : 1;
}
static inline void send_clean(struct trial *trial) {
    EXPECT_EQ(send_take(trial), 2);
    EXPECT_EQ(send_take(trial), -1);
    fd_clean(trial);
}

/* A file of one piece, into a socket that is full. */
static inline void sendfile_make(struct trial *trial) {
    write_make_pair(trial);
    trial->things.raw[1] = memfd_create("piece", MFD_CLOEXEC);
    EXPECT_EQ(pwrite(trial->things.raw[1], piece, PIECE, 0), PIECE);
}
static inline int sendfile_wait(struct trial *trial, uint64_t deadline) {
    off_t offset = 0;
    return write_judge(weft_fd_sendfile(trial->things.fd[1], trial->things.raw[1], &offset, PIECE, deadline));
}
static inline int sendfile_wait_all(struct trial *trial, uint64_t deadline) {
    off_t offset = 0;
    size_t sent = 1;
    int error = weft_fd_sendfile_all(trial->things.fd[1], trial->things.raw[1], &offset, PIECE, &sent, deadline);
    return write_judge_all(error, sent);
}

#define CALLS_NET(CALL)                                                                                                                    \
    CALL(accept, .is = CALL_PACKS, .make = listen_make, .complete = accept_complete, .clean = fd_clean, .wait = accept_wait)               \
    CALL(connect, .is = CALL_LEVEL | CALL_PACKS, .make = connect_make, .complete = connect_complete, .clean = fd_clean,                    \
         .wait = connect_wait)                                                                                                             \
    CALL(recv_from, .is = CALL_ANYWHERE | CALL_PACKS, .make = datagram_make, .complete = datagram_complete, .clean = fd_clean,             \
         .wait = datagram_wait)                                                                                                            \
    CALL(recv_fds, .is = CALL_ANYWHERE | CALL_PACKS, .make = read_make_pair, .complete = pass_complete, .clean = fd_clean,                 \
         .wait = pass_wait)                                                                                                                \
    CALL(send_fds, WRITES(pair, CALL_PACKS), .wait = pass_wait_send)                                                                       \
    CALL(send_to, .is = CALL_LEVEL | CALL_ANYWHERE | CALL_PACKS, .make = send_make, .complete = send_complete, .clean = send_clean,        \
         .wait = send_wait)                                                                                                                \
    CALL(sendfile, .is = CALL_LEVEL | CALL_ANYWHERE | CALL_PACKS, .make = sendfile_make, .complete = write_complete, .clean = write_clean, \
         .wait = sendfile_wait)                                                                                                            \
    CALL(sendfile_all, .is = CALL_LEVEL | CALL_ANYWHERE | CALL_PACKS, .make = sendfile_make, .complete = write_complete,                   \
         .clean = write_clean, .wait = sendfile_wait_all)

#endif
