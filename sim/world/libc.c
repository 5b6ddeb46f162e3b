/* Calls of the C library on virtual descriptors, by the program itself: options of a socket whose number weft_fd_number has told, a read from one
 * that weft_fd_release has given back. Each goes on to the simulated table; on any other descriptor it is the C library's own. */
#include "real.h"
#include "sim.h"
#include "sys/sys_net.h"
#include "world/fd.h"
#include "world/net.h"

#include <errno.h>
#include <fcntl.h>
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

int setsockopt(int number, int level, int option, const void *value, socklen_t size) {
    if (!libc_is_virtual(number)) return real()->setsockopt(number, level, option, value, size);
    return (int)libc_result(sim_net.option_set(number, level, option, value, size));
}
int getsockopt(int number, int level, int option, void *value, socklen_t *size) {
    if (!libc_is_virtual(number)) return real()->getsockopt(number, level, option, value, size);
    return (int)libc_result(sim_net.option_get(number, level, option, value, size));
}

/* Flags: whether it waits, and nothing else. */
static int libc_fcntl(int number, int command, int value) {
    struct sim_fd *fd = sim_fd_at(number);
    switch (command) {
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
