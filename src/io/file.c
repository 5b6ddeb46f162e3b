/* File calls that wait for nothing but the disk: open and close, pread and pwrite, sync, stat, unlink, rename. */
#include "io/file_call.h"

#include <weft/file.h>

int weft_file_open(const char *path, int flags, mode_t mode) { return (int)IO_CALL("weft_file_open", sys->file->open(path, flags, mode)); }

int weft_file_close(int descriptor) {
    io_caller("weft_file_close"); /* only to detect misuse: a cancelled process may close too */
    blocking_enter("weft_file_close", false);
    int error = sys->file->close(descriptor);
    io_leave();
    return error == -EINTR ? 0 : error; /* it is closed even then */
}

ssize_t weft_file_pread(int descriptor, void *data, size_t size, off_t offset) {
    struct iovec part = {data, size};
    if (offset < 0) return WEFT_EINVAL; /* -1 would mean the descriptor's own position */
    return IO_CALL("weft_file_pread", sys->file->read(descriptor, &part, 1, offset, false));
}

ssize_t weft_file_pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    struct iovec part = {(void *)data, size};
    if (offset < 0) return WEFT_EINVAL;
    return IO_CALL("weft_file_pwrite", sys->file->write(descriptor, &part, 1, offset, false));
}

int weft_file_sync(int descriptor) { return (int)IO_CALL_LONG("weft_file_sync", sys->file->sync(descriptor, false)); }
int weft_file_datasync(int descriptor) { return (int)IO_CALL_LONG("weft_file_datasync", sys->file->sync(descriptor, true)); }
int weft_file_truncate(int descriptor, off_t size) { return (int)IO_CALL("weft_file_truncate", sys->file->truncate(descriptor, size)); }

int weft_file_stat(const char *path, struct stat *info) { return (int)IO_CALL("weft_file_stat", sys->file->stat_path(path, info, true)); }
int weft_file_lstat(const char *path, struct stat *info) {
    return (int)IO_CALL("weft_file_lstat", sys->file->stat_path(path, info, false));
}
int weft_file_fstat(int descriptor, struct stat *info) { return (int)IO_CALL("weft_file_fstat", sys->file->stat(descriptor, info)); }

int weft_file_unlink(const char *path) { return (int)IO_CALL("weft_file_unlink", sys->file->unlink(path, false)); }
int weft_file_rmdir(const char *path) { return (int)IO_CALL("weft_file_rmdir", sys->file->unlink(path, true)); }
int weft_file_rename(const char *from, const char *to) { return (int)IO_CALL("weft_file_rename", sys->file->rename(from, to)); }
int weft_file_mkdir(const char *path, mode_t mode) { return (int)IO_CALL("weft_file_mkdir", sys->file->mkdir(path, mode)); }
