/* The real table's part for files, descriptors and children: system calls. */
#include "base/assert.h"
#include "sys/sys.h"
#include "sys/sys_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The result of a call, or its error, negative. A process that calls weft keeps its errno. */
#define LINUX_RESULT(expression)                                                                                                           \
    ({                                                                                                                                     \
        int linux_before = errno;                                                                                                          \
        __typeof__(expression) linux_result = (expression);                                                                                \
        if (linux_result < 0) linux_result = -errno;                                                                                       \
        errno = linux_before;                                                                                                              \
        linux_result;                                                                                                                      \
    })

static int linux_open(const char *path, int flags, unsigned mode) { return LINUX_RESULT(open(path, flags | O_CLOEXEC, (mode_t)mode)); }

static int linux_close(int descriptor) { return LINUX_RESULT(close(descriptor)); }

static int64_t linux_read(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    if (nowait) return LINUX_RESULT(preadv2(descriptor, parts, count, offset, RWF_NOWAIT));
    if (count != 1) return LINUX_RESULT(offset < 0 ? readv(descriptor, parts, count) : preadv(descriptor, parts, count, offset));
    if (offset < 0) return LINUX_RESULT(read(descriptor, parts->iov_base, parts->iov_len));
    return LINUX_RESULT(pread(descriptor, parts->iov_base, parts->iov_len, offset));
}

static int64_t linux_write(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    if (nowait) return LINUX_RESULT(pwritev2(descriptor, parts, count, offset, RWF_NOWAIT));
    if (count != 1) return LINUX_RESULT(offset < 0 ? writev(descriptor, parts, count) : pwritev(descriptor, parts, count, offset));
    if (offset < 0) return LINUX_RESULT(write(descriptor, parts->iov_base, parts->iov_len));
    return LINUX_RESULT(pwrite(descriptor, parts->iov_base, parts->iov_len, offset));
}

/* Not other devices: opening them again may have side effects. Not 5, 2: that would open another pseudo-terminal's controlling end. */
static int linux_reopen(int descriptor, bool writes) {
    struct stat info;
    char path[32];
    int error = LINUX_RESULT(fstat(descriptor, &info)), before = errno;
    if (error) return error;
    bool terminal = S_ISCHR(info.st_mode) && info.st_rdev != makedev(5, 2) && isatty(descriptor);
    errno = before;
    if (!terminal && !S_ISFIFO(info.st_mode)) return -EOPNOTSUPP;
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return LINUX_RESULT(open(path, (writes ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static int linux_sync(int descriptor, bool data_only) { return LINUX_RESULT(data_only ? fdatasync(descriptor) : fsync(descriptor)); }
static int linux_truncate(int descriptor, int64_t size) { return LINUX_RESULT(ftruncate(descriptor, size)); }

static int linux_stat_path(const char *path, struct stat *info, bool follow) {
    return LINUX_RESULT(fstatat(AT_FDCWD, path, info, follow ? 0 : AT_SYMLINK_NOFOLLOW));
}
static int linux_stat(int descriptor, struct stat *info) { return LINUX_RESULT(fstat(descriptor, info)); }

static int linux_unlink(const char *path, bool directory) { return LINUX_RESULT(unlinkat(AT_FDCWD, path, directory ? AT_REMOVEDIR : 0)); }
static int linux_rename(const char *from, const char *to) { return LINUX_RESULT(rename(from, to)); }
static int linux_mkdir(const char *path, unsigned mode) { return LINUX_RESULT(mkdir(path, (mode_t)mode)); }

static int64_t linux_list(int descriptor, void *entries, size_t size) {
    return LINUX_RESULT(syscall(SYS_getdents64, descriptor, entries, size));
}

static int linux_poll(struct pollfd *descriptors, unsigned count, uint64_t deadline) {
    struct timespec t, *timeout = NULL;
    if (deadline != SYS_FOREVER) {
        uint64_t now = deadline ? sys_linux.now() : 0, left = deadline > now ? deadline - now : 0;
        t.tv_sec = (time_t)(left / UINT64_C(1000000000));
        t.tv_nsec = (long)(left % UINT64_C(1000000000));
        timeout = &t;
    }
    return LINUX_RESULT(ppoll(descriptors, count, timeout, NULL));
}

static int linux_event_open(void) { return LINUX_RESULT(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

static void linux_event_signal(int descriptor) {
    uint64_t one = 1;
    ssize_t n = LINUX_RESULT(write(descriptor, &one, sizeof one)); /* -EAGAIN: signalled more often than can be counted */
    WEFT_ENSURE(n == sizeof one || n == -EAGAIN, "a wake-up by descriptor %d failed with errno %d", descriptor, (int)-n);
}

/* Linux 5.3. */
static int linux_child_open(int pid) { return (int)LINUX_RESULT(syscall(SYS_pidfd_open, pid, 0)); }

static int linux_child_reap(int pid, int *status) { return LINUX_RESULT(waitpid(pid, status, WNOHANG)); }

static int linux_child_peek(int pid) {
    siginfo_t info = {.si_pid = 0};
    int error = LINUX_RESULT(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT));
    return error ? error : info.si_pid;
}

static int linux_child_signal(int pid, int number, bool group) { return LINUX_RESULT(kill(group ? -pid : pid, number)); }

const struct sys_file sys_linux_file = {
    .open = linux_open,
    .close = linux_close,
    .read = linux_read,
    .write = linux_write,
    .reopen = linux_reopen,
    .sync = linux_sync,
    .truncate = linux_truncate,
    .stat_path = linux_stat_path,
    .stat = linux_stat,
    .unlink = linux_unlink,
    .rename = linux_rename,
    .mkdir = linux_mkdir,
    .list = linux_list,
    .poll = linux_poll,
    .event_open = linux_event_open,
    .event_signal = linux_event_signal,
    .child_open = linux_child_open,
    .child_reap = linux_child_reap,
    .child_peek = linux_child_peek,
    .child_signal = linux_child_signal,
};
