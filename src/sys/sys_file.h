/* The part of the outside-effects table for files, descriptors that are waited for, and children. `sys->file` points to the real one
 * (sys/linux_file.c) or, in fault tests, to the scripted one (tests/scripted_file.c).
 *
 * Conventions: a count, a descriptor or 0, or a negative errno; -EINTR is passed on as any other; errno stays as it was. Every call may
 * block its thread, unless its comment says that it does not. New descriptors are closed on exec. */
#ifndef WEFT_SYS_SYS_FILE_H
#define WEFT_SYS_SYS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;  /* <sys/uio.h> */
struct pollfd; /* <poll.h> */
struct stat;   /* <sys/stat.h> */

struct sys_file {
    int (*open)(const char *path, int flags, unsigned mode);
    int (*close)(int descriptor);

    /* An offset below 0: at the descriptor's own position. `nowait`: -EAGAIN instead of blocking, or -EOPNOTSUPP where the kernel
     * cannot do that. */
    int64_t (*read)(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait);
    int64_t (*write)(int descriptor, const struct iovec *parts, int count, int64_t offset, bool nowait);

    /* Opens the same pipe or terminal again, for writing or reading, without blocking: the descriptor's own mode is shared with other
     * programs. An error: it is neither, or cannot be opened again. */
    int (*reopen)(int descriptor, bool writes);

    int (*sync)(int descriptor, bool data_only);
    int (*truncate)(int descriptor, int64_t size);
    int (*stat_path)(const char *path, struct stat *info, bool follow);
    int (*stat)(int descriptor, struct stat *info);
    int (*unlink)(const char *path, bool directory);
    int (*rename)(const char *from, const char *to);
    int (*mkdir)(const char *path, unsigned mode);
    /* Some entries of a directory, as the kernel writes them (struct sys_entry); 0: there are no more. */
    int64_t (*list)(int descriptor, void *entries, size_t size);

    /* As poll, but with a deadline of the monotonic clock; one that has passed does not block. */
    int (*poll)(struct pollfd *descriptors, unsigned count, uint64_t deadline);
    /* A descriptor that is ready to read once it was signalled, and stays so. Signalling does not block. */
    int (*event_open)(void);
    void (*event_signal)(int descriptor);

    /* A descriptor that is ready to read when the child has ended. */
    int (*child_open)(int pid);
    /* Does not block: the child's PID if it has ended, 0 if it has not. */
    int (*child_reap)(int pid, int *status);
    /* The same, and the child can be reaped again: 0 if it has not ended. */
    int (*child_peek)(int pid);
    /* To the child, or to the process group that it leads. */
    int (*child_signal)(int pid, int number, bool group);
};

extern const struct sys_file sys_linux_file;

/* struct linux_dirent64. */
struct sys_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size; /* of this entry, with its name */
    uint8_t type;  /* DT_... of <dirent.h> */
    char name[];
};

#endif
