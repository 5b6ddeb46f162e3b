/* Calls of the C library on virtual descriptors, by the program itself: options of a socket whose number weft_fd_number has told, a read from one
 * that weft_fd_release has given back. Each goes on to the simulated table; on any other descriptor it is the C library's own. And kill(2) for
 * simulated children. */
#include "real.h"
#include "sim.h"
#include "sys/sys_net.h"
#include "world/child.h"
#include "world/fd.h"
#include "world/net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

static bool libc_is_virtual(int number) { return sim_me() && sim_fd_at(number); }

/* As the C library says it. */
static ssize_t libc_result(ssize_t result) {
    if (result >= 0) return result;
    errno = (int)-result;
    return -1;
}

ssize_t read(int number, void *data, size_t size) {
    if (!libc_is_virtual(number)) return real()->read(number, data, size);
    return libc_result(sim_net.readv(number, &(struct iovec){data, size}, 1));
}
ssize_t write(int number, const void *data, size_t size) {
    if (!libc_is_virtual(number)) return real()->write(number, data, size);
    return libc_result(sim_net.writev(number, &(struct iovec){(void *)(uintptr_t)data, size}, 1));
}
ssize_t recv(int number, void *data, size_t size, int flags) {
    return libc_is_virtual(number) ? libc_result(sim_net.recv(number, data, size, flags)) : real()->recv(number, data, size, flags);
}
ssize_t send(int number, const void *data, size_t size, int flags) {
    return libc_is_virtual(number) ? libc_result(sim_net.send(number, data, size, flags)) : real()->send(number, data, size, flags);
}
int close(int number) { return libc_is_virtual(number) ? (int)libc_result(sim_net.close(number)) : real()->close(number); }
int shutdown(int number, int how) {
    return libc_is_virtual(number) ? (int)libc_result(sim_net.shutdown(number, how)) : real()->shutdown(number, how);
}

ssize_t sendmsg(int number, const struct msghdr *message, int flags) {
    return libc_is_virtual(number) ? libc_result(sim_net.sendmsg(number, message, flags)) : real()->sendmsg(number, message, flags);
}
ssize_t sendto(int number, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
    struct iovec part = {(void *)(uintptr_t)data, size};
    struct msghdr message = {.msg_name = (void *)(uintptr_t)address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
    if (!libc_is_virtual(number)) return real()->sendto(number, data, size, flags, address, length);
    return libc_result(sim_net.sendmsg(number, &message, flags));
}

/* ---- sockets ---------------------------------------------------------------------------------------------------------------- */

int bind(int number, const struct sockaddr *address, socklen_t size) {
    return libc_is_virtual(number) ? (int)libc_result(sim_net.bind(number, address, size)) : real()->bind(number, address, size);
}
int listen(int number, int backlog) {
    return libc_is_virtual(number) ? (int)libc_result(sim_net.listen(number, backlog)) : real()->listen(number, backlog);
}
/* Does not wait, even on a listener that blocks. */
int accept(int number, struct sockaddr *address, socklen_t *size) {
    return libc_is_virtual(number) ? (int)libc_result(sim_net.accept(number, address, size)) : real()->accept(number, address, size);
}
int getsockname(int number, struct sockaddr *address, socklen_t *size) {
    if (!libc_is_virtual(number)) return real()->getsockname(number, address, size);
    return (int)libc_result(sim_net.name(number, false, address, size));
}

/* Until the connection is made or refused, where the socket blocks. */
static int libc_connected(int number) {
    struct pollfd one = {.fd = number, .events = POLLOUT};
    int error = 0;
    socklen_t size = sizeof error;
    sim_fd_poll(&one, 1, SIM_FOREVER);
    int failed = sim_net.option_get(number, SOL_SOCKET, SO_ERROR, &error, &size);
    return failed ? failed : -error;
}
int connect(int number, const struct sockaddr *address, socklen_t size) {
    if (!libc_is_virtual(number)) return real()->connect(number, address, size);
    int error = sim_net.connect(number, address, size);
    struct sim_fd *fd = sim_fd_at(number);
    return (int)libc_result(error == -EINPROGRESS && fd && !fd->nonblocking ? libc_connected(number) : error);
}

int setsockopt(int number, int level, int option, const void *value, socklen_t size) {
    if (!libc_is_virtual(number)) return real()->setsockopt(number, level, option, value, size);
    return (int)libc_result(sim_net.option_set(number, level, option, value, size));
}
int getsockopt(int number, int level, int option, void *value, socklen_t *size) {
    if (!libc_is_virtual(number)) return real()->getsockopt(number, level, option, value, size);
    return (int)libc_result(sim_net.option_get(number, level, option, value, size));
}

static int libc_dup(struct sim_fd *fd) {
    int error = sim_fd_may_open(1);
    return error ? error : sim_fd_number(sim_fd_keep(fd));
}

/* Another number for it; of flags only whether it waits. */
static int libc_fcntl(int number, int command, int value) {
    struct sim_fd *fd = sim_fd_at(number);
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: return libc_dup(fd);
    case F_GETFD: return FD_CLOEXEC;
    case F_SETFD: return 0;
    case F_GETFL: return O_RDWR | (fd->nonblocking ? O_NONBLOCK : 0);
    case F_SETFL: fd->nonblocking = value & O_NONBLOCK; return 0;
    default: return -EINVAL;
    }
}

int fcntl(int number, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (!libc_is_virtual(number)) return real()->fcntl(number, command, argument);
    sim_effect("fcntl", (uint64_t)number);
    return libc_is_virtual(number) ? (int)libc_result(libc_fcntl(number, command, (int)(intptr_t)argument)) : (int)libc_result(-EBADF);
}

int kill(pid_t pid, int signal) {
    return !sim_me() || sim_child_is_real(pid) ? real()->kill(pid, signal) : (int)libc_result(sim_child_kill(pid, signal));
}
