/* Files and other descriptors, from a stackful process or a thread of the program's own: plain calls that block no other process.
 *
 * A call that the operating system answers at once costs a few nanoseconds more than the system call. A call that lasts holds up its own
 * process alone (weft/blocking.h). A step process yields commands instead: weft/command.h.
 *
 * Results are 0, a count or a descriptor, or a negative code: the system's own error number negated, whichever it is (WEFT_ENOENT,
 * WEFT_EACCES ...: weft/errors.h). WEFT_EINTR is never among them, and errno is left alone.
 *
 * At the limit of threads the other processes wait while a call lasts; with at_max_threads "error" (weft/runtime.h) the result is
 * WEFT_EAGAIN, and nothing is done. A cancelled process gets WEFT_ECANCELED before anything is done (weft_file_close excepted, which always
 * closes). Deadlines and cancellations that come during a call are described in docs/files.md; in short: waiting for a pipe, a terminal or
 * a socket is given up at once; what the system has begun to do with a disk runs to its end, and its result counts. */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

#include <weft/process.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

WEFT_BEGIN

/* As open(2), always with O_CLOEXEC. A descriptor, or an error. Opening a FIFO may wait for the other end, and that cannot be given up:
 * open it with O_RDWR, or O_NONBLOCK. */
WEFT_API int weft_file_open(const char *path, int flags, mode_t mode);
/* Closes the descriptor whatever it returns. No call on it may be under way. */
WEFT_API int weft_file_close(int descriptor);

/* One rule for reading and writing, and for the calls of weft/net.h: a plain call moves some bytes, at least one, and returns how many, or an error,
 * and then it has moved none. A call that ends in _all moves all of them: 0, or an error; *got or *written (may be NULL) is how many were moved, in
 * either case. WEFT_EEOF: there were no more before all were read. */

/* At the descriptor's own position. 0: there are no more. On standard input, pipes, terminals, sockets and the like the call waits until there is
 * something; WEFT_ETIMEDOUT when nothing came in time (a deadline that has passed: only what is there already). On files on a disk it never
 * has to wait for that. Descriptors may be blocking or not. */
WEFT_API ssize_t weft_file_read(int descriptor, void *data, size_t size, uint64_t deadline);
WEFT_API ssize_t weft_file_readv(int descriptor, const struct iovec *parts, int count, uint64_t deadline);
WEFT_API int weft_file_read_all(int descriptor, void *data, size_t size, size_t *got, uint64_t deadline);
/* Waits likewise. If the reader has gone the program gets SIGPIPE, and WEFT_EPIPE if it ignores that, as it does once it has used weft's pipes
 * (docs/signals.md). */
WEFT_API ssize_t weft_file_write(int descriptor, const void *data, size_t size, uint64_t deadline);
WEFT_API ssize_t weft_file_writev(int descriptor, const struct iovec *parts, int count, uint64_t deadline);
WEFT_API int weft_file_write_all(int descriptor, const void *data, size_t size, size_t *written, uint64_t deadline);
WEFT_API int weft_file_writev_all(int descriptor, const struct iovec *parts, int count, size_t *written, uint64_t deadline);

/* At an offset, for files that have offsets (others: WEFT_ESPIPE). Never waits for another program or process, hence no deadline. */
WEFT_API ssize_t weft_file_pread(int descriptor, void *data, size_t size, off_t offset);
WEFT_API int weft_file_pread_all(int descriptor, void *data, size_t size, off_t offset, size_t *got);
WEFT_API ssize_t weft_file_pwrite(int descriptor, const void *data, size_t size, off_t offset);
WEFT_API int weft_file_pwrite_all(int descriptor, const void *data, size_t size, off_t offset, size_t *written);

/* Flushes to the disk; the second without the time of the change. Known to be long: the worker is given away at once. */
WEFT_API int weft_file_sync(int descriptor);
WEFT_API int weft_file_datasync(int descriptor);
WEFT_API int weft_file_truncate(int descriptor, off_t size);

WEFT_API int weft_file_stat(const char *path, struct stat *info);
WEFT_API int weft_file_lstat(const char *path, struct stat *info); /* of a symbolic link itself */
WEFT_API int weft_file_fstat(int descriptor, struct stat *info);

WEFT_API int weft_file_unlink(const char *path);
WEFT_API int weft_file_rename(const char *from, const char *to);
WEFT_API int weft_file_mkdir(const char *path, mode_t mode);
WEFT_API int weft_file_rmdir(const char *path);

/* A whole file. 0 and *data, with a 0 byte behind its *size bytes, to be given back with weft_file_free; or an error, and *data is
 * NULL. Files without a length of their own (/proc, pipes) are read until they end. */
WEFT_API int weft_file_load(const char *path, char **data, size_t *size);
/* NULL is fine. `size` is what weft_file_load said. */
WEFT_API void weft_file_free(char *data, size_t size);
/* Creates the file, or truncates it, and writes all. Not synced. */
WEFT_API int weft_file_save(const char *path, const void *data, size_t size, mode_t mode);

/* The entries of a directory. */
typedef struct weft_dir weft_dir;
typedef struct weft_dir_entry {
    const char *name; /* valid until the next call with this directory */
    uint64_t inode;
    unsigned type; /* DT_REG, DT_DIR ... of <dirent.h>; DT_UNKNOWN where the file system does not say */
} weft_dir_entry;

WEFT_API int weft_dir_open(const char *path, weft_dir **dir);
/* 1: the next entry, in no order; "." and ".." are left out. 0: there are no more. Or an error. */
WEFT_API int weft_dir_next_sized(weft_dir *dir, weft_dir_entry *entry, size_t entry_size);
static inline int weft_dir_next(weft_dir *dir, weft_dir_entry *entry) { return weft_dir_next_sized(dir, entry, sizeof *entry); }
/* NULL is fine. */
WEFT_API int weft_dir_close(weft_dir *dir);

WEFT_END

#endif
