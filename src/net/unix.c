/* UNIX sockets, which can carry descriptors, and pipes. */
#include "net/op.h"
#include "sched/heed.h"

#include <string.h>

/* Two at once: both, or an error and neither. */
static int unix_open_both(const int numbers[2], unsigned flags, weft_fd pair[2], const char *call) {
    weft_fd first = desc_open_or_close(numbers[0], flags, call);
    weft_fd second = first < 0 ? first : desc_open_or_close(numbers[1], flags, call);
    if (first < 0) sys->net->close(numbers[1]);
    else if (second < 0) desc_close(first, false);
    if (second < 0) return (int)second;
    pair[0] = first;
    pair[1] = second;
    return 0;
}

int weft_net_pair(weft_fd pair[2]) {
    heed(my_worker);
    int numbers[2], error = sys->net->socket_pair(AF_UNIX, SOCK_STREAM, numbers);
    return error ? error : unix_open_both(numbers, DESC_SOCKET | DESC_UNIX, pair, "weft_net_pair");
}

int weft_pipe(weft_fd pair[2]) {
    heed(my_worker);
    int numbers[2], error = sys->net->pipe(numbers);
    net_ignore_broken_pipes();
    return error ? error : unix_open_both(numbers, 0, pair, "weft_pipe");
}

/* ---- descriptors in messages --------------------------------------------------------------------------------------------------- */

struct unix_parcel {
    void *data;
    size_t size;
    int descriptors[WEFT_PASS_MOST];
    size_t count, room;
    int error; /* why descriptors that came were dropped */
};
/* Room for what else the program may have asked the kernel to add to each message: credentials, a security label, time stamps, a pidfd. */
enum { UNIX_OTHERS = 1024 };
union unix_control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * WEFT_PASS_MOST) + UNIX_OTHERS];
};

static ssize_t unix_try_send(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct unix_parcel *parcel = arg;
    union unix_control control;
    struct iovec part = {parcel->data, parcel->size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    (void)desc, (void)seen;
    if (parcel->count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * parcel->count);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * parcel->count);
        memcpy(CMSG_DATA(&control.header), parcel->descriptors, sizeof(int) * parcel->count);
    }
    return sys->net->sendmsg(number, &message, MSG_NOSIGNAL);
}

ssize_t weft_net_send_fds(weft_fd fd, const void *data, size_t size, const int *descriptors, size_t count, uint64_t deadline) {
    struct unix_parcel parcel = {.data = (void *)(uintptr_t)data, .size = size, .count = count};
    if (size == 0 || count > WEFT_PASS_MOST) return WEFT_EINVAL;
    if (count > 0) memcpy(parcel.descriptors, descriptors, sizeof(int) * count);
    return op_run(fd, READINESS_OUT, deadline, "weft_net_send_fds", unix_try_send, &parcel);
}

/* The sender's pidfd (SO_PASSPIDFD) is a descriptor too, which weft_net_recv_fds does not hand on: it is closed. */
enum { UNIX_PIDFD = 4 };

/* True: there was room for all descriptors. */
static bool unix_unpack_one(struct unix_parcel *parcel, const struct cmsghdr *header) {
    bool fits = true, passed = header->cmsg_type == SCM_RIGHTS;
    if (header->cmsg_level != SOL_SOCKET || (!passed && header->cmsg_type != UNIX_PIDFD)) return true;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
        int number;
        memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        bool kept = passed && parcel->count < WEFT_PASS_MOST;
        if (kept) parcel->descriptors[parcel->count++] = number;
        else if (number >= 0) sys->net->close(number);
        fits = fits && (kept || !passed);
    }
    return fits;
}

static void unix_unpack(struct unix_parcel *parcel, struct msghdr *message) {
    bool fits = true;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header))
        fits = unix_unpack_one(parcel, header) && fits;
    fits = fits && parcel->count <= parcel->room;
    if (fits && !(message->msg_flags & MSG_CTRUNC)) return;
    parcel->error = fits ? WEFT_EMFILE : WEFT_EMSGSIZE; /* the kernel had none left, or there were more */
    while (parcel->count > 0)
        sys->net->close(parcel->descriptors[--parcel->count]);
}

static ssize_t unix_try_recv(struct desc *desc, int number, uint64_t seen, void *arg) {
    struct unix_parcel *parcel = arg;
    union unix_control control;
    struct iovec part = {parcel->data, parcel->size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    (void)desc, (void)seen;
    ssize_t n = sys->net->recvmsg(number, &message, MSG_CMSG_CLOEXEC);
    if (n >= 0) unix_unpack(parcel, &message);
    return n;
}

ssize_t weft_net_recv_fds(weft_fd fd, void *data, size_t size, int *descriptors, size_t *count, uint64_t deadline) {
    struct unix_parcel parcel = {.data = data, .size = size, .room = *count};
    if (size == 0) return WEFT_EINVAL;
    ssize_t n = op_run(fd, READINESS_IN, deadline, "weft_net_recv_fds", unix_try_recv, &parcel);
    if (n < 0) return n;
    *count = parcel.count;
    if (parcel.count > 0) memcpy(descriptors, parcel.descriptors, sizeof(int) * parcel.count);
    return parcel.error ? parcel.error : n;
}
