/* The scripted table's part for files: the real calls, until the script says otherwise. */
#include "scripted.h"

#include <errno.h>
#include <sys/uio.h>

/* As in scripted.c. */
#define SCRIPTED __attribute__((no_sanitize("thread")))

/* What the script says about this call: 0, do it; or its error. rlx: counters. */
SCRIPTED static int scripted_file(enum sys_file_call call, bool interruptible) {
    uint64_t number = atom_add_rlx(&sys_script.counts.file[call], 1) + 1;
    int error = sys_script.file[call].error;
    if (error && (sys_script.file[call].at == 0 || sys_script.file[call].at == number)) return error;
    return interruptible && sys_script.file_eintr_every && number % sys_script.file_eintr_every == 0 ? -EINTR : 0;
}
#define SCRIPTED_FILE(call, interruptible, real)                                                                                           \
    ({                                                                                                                                     \
        int scripted_error = scripted_file(call, interruptible);                                                                           \
        scripted_error ? scripted_error : (real);                                                                                          \
    })

SCRIPTED static int scripted_open(const char *path, int flags, unsigned mode) {
    return SCRIPTED_FILE(SYS_FILE_OPEN, true, sys_linux_file.open(path, flags, mode));
}
/* The descriptor is closed in every case, as by the kernel. */
SCRIPTED static int scripted_close(int descriptor) {
    int real = sys_linux_file.close(descriptor);
    return real ? real : SCRIPTED_FILE(SYS_FILE_CLOSE, true, 0);
}

typedef int64_t scripted_mover(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait);
SCRIPTED static int64_t scripted_move(scripted_mover *move, int descriptor, const struct iovec *parts, int count, int64_t offset,
                                      bool nowait) {
    if (nowait && sys_script.nowait_refused) return -EOPNOTSUPP;
    if (!sys_script.file_most || count < 1) return move(descriptor, parts, count, offset, nowait);
    struct iovec part = parts[0];
    if (part.iov_len > sys_script.file_most) part.iov_len = sys_script.file_most;
    return move(descriptor, &part, 1, offset, nowait);
}
SCRIPTED static int64_t scripted_read(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    return SCRIPTED_FILE(SYS_FILE_READ, true, scripted_move(sys_linux_file.read, descriptor, parts, count, offset, nowait));
}
SCRIPTED static int64_t scripted_write(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait) {
    return SCRIPTED_FILE(SYS_FILE_WRITE, true, scripted_move(sys_linux_file.write, descriptor, parts, count, offset, nowait));
}

SCRIPTED static int scripted_reopen(int descriptor, bool writes) {
    return SCRIPTED_FILE(SYS_FILE_REOPEN, true, sys_linux_file.reopen(descriptor, writes));
}

SCRIPTED static int scripted_sync(int descriptor, bool data_only) {
    return SCRIPTED_FILE(SYS_FILE_SYNC, true, sys_linux_file.sync(descriptor, data_only));
}
SCRIPTED static int scripted_truncate(int descriptor, int64_t size) {
    return SCRIPTED_FILE(SYS_FILE_TRUNCATE, true, sys_linux_file.truncate(descriptor, size));
}
SCRIPTED static int scripted_stat_path(const char *path, struct stat *info, bool follow) {
    return SCRIPTED_FILE(SYS_FILE_STAT_PATH, false, sys_linux_file.stat_path(path, info, follow));
}
SCRIPTED static int scripted_stat(int descriptor, struct stat *info) {
    return SCRIPTED_FILE(SYS_FILE_STAT, false, sys_linux_file.stat(descriptor, info));
}
SCRIPTED static int scripted_unlink(const char *path, bool directory) {
    return SCRIPTED_FILE(SYS_FILE_UNLINK, false, sys_linux_file.unlink(path, directory));
}
SCRIPTED static int scripted_rename(const char *from, const char *to) {
    return SCRIPTED_FILE(SYS_FILE_RENAME, false, sys_linux_file.rename(from, to));
}
SCRIPTED static int scripted_mkdir(const char *path, unsigned mode) {
    return SCRIPTED_FILE(SYS_FILE_MKDIR, false, sys_linux_file.mkdir(path, mode));
}
SCRIPTED static int64_t scripted_list(int descriptor, void *entries, size_t size) {
    return SCRIPTED_FILE(SYS_FILE_LIST, true, sys_linux_file.list(descriptor, entries, size));
}

/* The scripted clock may move while the thread waits: read it now and then, as scripted_futex_wait does. */
SCRIPTED static int scripted_poll(struct pollfd *descriptors, unsigned count, uint64_t deadline) {
    enum { SLICE = 1000 * 1000 };
    int error = scripted_file(SYS_FILE_POLL, true);
    if (error) return error;
    if (deadline == SYS_FOREVER) return sys_linux_file.poll(descriptors, count, deadline);
    for (uint64_t until = 0;; until = sys_linux.now() + SLICE) {
        int ready = sys_linux_file.poll(descriptors, count, until);
        if (ready != 0 || sys->now() >= deadline) return ready;
    }
}
SCRIPTED static int scripted_event_open(void) { return SCRIPTED_FILE(SYS_FILE_EVENT_OPEN, false, sys_linux_file.event_open()); }
SCRIPTED static void scripted_event_signal(int descriptor) { sys_linux_file.event_signal(descriptor); }
SCRIPTED static int scripted_child_open(int pid) { return SCRIPTED_FILE(SYS_FILE_CHILD_OPEN, false, sys_linux_file.child_open(pid)); }
SCRIPTED static int scripted_child_peek(int pid) { return sys_linux_file.child_peek(pid); }
SCRIPTED static int scripted_child_signal(int pid, int number, bool group) { return sys_linux_file.child_signal(pid, number, group); }
SCRIPTED static int scripted_child_reap(int pid, int *status) {
    return SCRIPTED_FILE(SYS_FILE_CHILD_REAP, true, sys_linux_file.child_reap(pid, status));
}

const struct sys_file scripted_file_table = {
    .open = scripted_open,
    .close = scripted_close,
    .read = scripted_read,
    .write = scripted_write,
    .reopen = scripted_reopen,
    .sync = scripted_sync,
    .truncate = scripted_truncate,
    .stat_path = scripted_stat_path,
    .stat = scripted_stat,
    .unlink = scripted_unlink,
    .rename = scripted_rename,
    .mkdir = scripted_mkdir,
    .list = scripted_list,
    .poll = scripted_poll,
    .event_open = scripted_event_open,
    .event_signal = scripted_event_signal,
    .child_open = scripted_child_open,
    .child_reap = scripted_child_reap,
    .child_peek = scripted_child_peek,
    .child_signal = scripted_child_signal,
};
