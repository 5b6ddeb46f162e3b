/* Whole files at once: weft_file_load, weft_file_save. */
#include "io/file_call.h"

#include <weft/file.h>

#include <string.h>

enum { WHOLE_LEAST = 4096 };

/* A block is as long as its contents and the 0 byte, so that weft_file_free knows its length. */
static char *whole_resize(char *data, size_t size, size_t kept, size_t wanted) {
    char *other = sys->alloc(wanted);
    if (other && data) memcpy(other, data, kept);
    if (data) sys->free(data, size);
    return other;
}

/* Reads into *data, of *room bytes, from the beginning; the number of bytes that were read. On an error *data is to be freed. */
static int64_t whole_read(int descriptor, char **data, size_t *room) {
    size_t filled = 0;
    for (;;) {
        if (filled + 1 >= *room) {
            size_t wanted = *room * 2;
            *data = whole_resize(*data, *room, filled, wanted);
            *room = wanted;
            if (!*data) return WEFT_ENOMEM;
        }
        ssize_t n = weft_file_read(descriptor, *data + filled, *room - filled - 1, WEFT_FOREVER);
        if (n < 0) return n;
        if (n == 0) return (int64_t)filled;
        filled += (size_t)n;
    }
}

static int whole_load(const char *path, char **data, size_t *size) {
    struct stat info;
    *data = NULL;
    *size = 0;
    int descriptor = weft_file_open(path, O_RDONLY, 0);
    if (descriptor < 0) return descriptor;
    int64_t result = weft_file_fstat(descriptor, &info);
    /* Two more than the size of the file: one to see that there is no more, one for the 0. */
    size_t room = result == 0 && info.st_size > 0 && S_ISREG(info.st_mode) ? (size_t)info.st_size + 2 : WHOLE_LEAST;
    if (result == 0 && !(*data = sys->alloc(room))) result = WEFT_ENOMEM;
    if (result == 0) result = whole_read(descriptor, data, &room);
    weft_file_close(descriptor);
    if (result >= 0 && (size_t)result + 1 != room) *data = whole_resize(*data, room, (size_t)result, (size_t)result + 1);
    else if (result < 0 && *data) sys->free(*data, room);
    if (result >= 0 && !*data) result = WEFT_ENOMEM;
    if (result < 0) {
        *data = NULL;
        return (int)result;
    }
    (*data)[result] = '\0';
    *size = (size_t)result;
    return 0;
}

int weft_file_load(const char *path, char **data, size_t *size) {
    struct proc *proc = fiber_whole_begin();
    int error = whole_load(path, data, size);
    fiber_whole_end(proc);
    return error;
}

void weft_file_free(char *data, size_t size) {
    if (data) sys->free(data, size + 1);
}

int weft_file_save(const char *path, const void *data, size_t size, mode_t mode) {
    struct proc *proc = fiber_whole_begin();
    int descriptor = weft_file_open(path, O_WRONLY | O_CREAT | O_TRUNC, mode), closing = 0;
    int error = descriptor < 0 ? descriptor : weft_file_write_all(descriptor, data, size, NULL, WEFT_FOREVER);
    if (descriptor >= 0) closing = weft_file_close(descriptor); /* some file systems say only now that the disk is full */
    fiber_whole_end(proc);
    return error ? error : closing;
}
