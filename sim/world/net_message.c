/* recvmsg and sendmsg: addresses and descriptors in messages. */
#include "world/net_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_DESCRIPTORS = 253 }; /* SCM_MAX_FD of Linux */

/* ---- descriptors that are sent ---------------------------------------------------------------------------------------------------------- */

/* One more reference, or a copy of a real one. */
static int parcel_add(struct parcel *parcel, int number) {
    struct parcel_item *item = &parcel->items[parcel->count];
    int before = errno;
    item->fd = sim_fd_is_real(number) ? NULL : sim_fd_at(number);
    if (item->fd) sim_fd_keep(item->fd);
    item->number = item->fd ? number : sim_fd_is_real(number) ? fcntl(number, F_DUPFD_CLOEXEC, 0) : -1;
    errno = before;
    if (item->number < 0) return -EBADF;
    parcel->count++;
    return 0;
}

static int parcel_pack(const struct cmsghdr *header, struct parcel **parcel) {
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int number, error = 0;
    if (count > MESSAGE_DESCRIPTORS || *parcel) return -EINVAL;
    *parcel = calloc(1, sizeof **parcel + count * sizeof(*parcel)->items[0]);
    if (!*parcel) return -ENOMEM;
    for (size_t i = 0; i < count && !error; i++) {
        memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
        error = parcel_add(*parcel, number);
    }
    return error;
}

/* *parcel: what the message carries, or NULL. */
static int message_pack(const struct socket *socket, const struct msghdr *message, struct parcel **parcel) {
    int error = 0;
    *parcel = NULL;
    struct msghdr *all = (struct msghdr *)(uintptr_t)message;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(all); header && !error; header = CMSG_NXTHDR(all, header))
        if (socket_is_unix(socket) && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
            error = parcel_pack(header, parcel);
    if (error) parcel_free(*parcel);
    return error;
}

/* The address is read here and not kept on the stack of the calls below. */
static ssize_t message_send_to(struct socket *socket, const struct msghdr *message, struct parcel *parcel) {
    struct place to;
    int error = message->msg_name ? place_read(&to, socket->family, message->msg_name, message->msg_namelen) : 0;
    if (error) return error;
    if (message->msg_name && place_is_any(&to)) place_set_loopback(&to, IN6_IS_ADDR_V4MAPPED(&to.ip));
    return datagram_write(socket, message->msg_iov, (int)message->msg_iovlen, message->msg_name ? &to : NULL, parcel);
}

ssize_t net_sendmsg(int number, const struct msghdr *message, int flags) {
    struct socket *socket;
    struct parcel *parcel;
    int error = socket_at(number, &socket);
    (void)flags; /* none sends a signal or waits */
    if (!error) error = message_pack(socket, message, &parcel);
    if (error) return error;
    ssize_t n = socket->type == SOCK_DGRAM ? message_send_to(socket, message, parcel)
                                           : stream_write(socket, message->msg_iov, (int)message->msg_iovlen, parcel);
    if (n < 0 || (n == 0 && socket->type == SOCK_STREAM)) parcel_free(parcel);
    return n;
}

/* ---- descriptors that are received -------------------------------------------------------------------------------------------------------- */

static int parcel_number(struct parcel_item *item) {
    if (!item->fd) return item->number;
    int error = sim_fd_may_open(1);
    return error ? error : sim_fd_number(sim_fd_keep(item->fd));
}

/* Gives out as many as there are room and numbers for. */
static size_t parcel_unpack(struct parcel *parcel, int *numbers, size_t room) {
    size_t count = 0;
    while (count < parcel->count && count < room) {
        int number = parcel_number(&parcel->items[count]);
        if (number < 0) break;
        numbers[count++] = number;
    }
    return count;
}

/* Those that were given out are the receiver's; the others are closed. */
static void parcel_finish(struct parcel *parcel, size_t given) {
    for (size_t i = 0; i < given; i++) {
        if (parcel->items[i].fd) sim_fd_drop(parcel->items[i].fd);
        else parcel->items[i].number = -1;
    }
    size_t left = parcel->count - given;
    memmove(parcel->items, parcel->items + given, left * sizeof parcel->items[0]);
    parcel->count = (unsigned)left;
    parcel_free(parcel);
}

static void message_unpack(struct msghdr *message, struct parcel *parcel) {
    struct cmsghdr *header = message->msg_control;
    size_t room = message->msg_controllen >= CMSG_LEN(sizeof(int)) ? (message->msg_controllen - CMSG_LEN(0)) / sizeof(int) : 0;
    message->msg_controllen = 0;
    if (!parcel) return;
    size_t count = room > 0 ? parcel_unpack(parcel, (int *)(void *)CMSG_DATA(header), room) : 0;
    if (count < parcel->count) message->msg_flags |= MSG_CTRUNC;
    if (count > 0) {
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        message->msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    parcel_finish(parcel, count);
}

static void message_name(struct msghdr *message, int family, const struct place *from) {
    if (family == AF_UNIX && from->size == 0) message->msg_namelen = 0;
    else if (message->msg_name) place_write(from, family, message->msg_name, &message->msg_namelen);
}

static ssize_t message_recv_datagram(struct socket *socket, struct msghdr *message, int flags, struct parcel **parcel) {
    struct datagram_info info;
    ssize_t n = datagram_read(socket, message->msg_iov, (int)message->msg_iovlen, flags, &info);
    if (n < 0) return n;
    message_name(message, socket->family, &info.from);
    if (info.cut) message->msg_flags |= MSG_TRUNC;
    *parcel = info.parcel;
    return n;
}

static ssize_t message_recv_stream(struct socket *socket, struct msghdr *message, int flags, struct parcel **parcel) {
    ssize_t n = stream_read(socket, message->msg_iov, (int)message->msg_iovlen, flags, parcel);
    if (n >= 0) message->msg_namelen = 0;
    return n;
}

ssize_t net_recvmsg(int number, struct msghdr *message, int flags) {
    struct socket *socket;
    struct parcel *parcel = NULL;
    int error = socket_at(number, &socket);
    if (error) return error;
    int given = message->msg_flags;
    message->msg_flags = 0;
    ssize_t n = socket->type == SOCK_DGRAM ? message_recv_datagram(socket, message, flags, &parcel)
                                           : message_recv_stream(socket, message, flags, &parcel);
    if (n < 0) message->msg_flags = given;
    else message_unpack(message, parcel);
    return n;
}
