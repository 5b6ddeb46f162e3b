/* The calls that yield the built-in commands for sleeping, files and blocking functions. */
#include "command/yield.h"

int weft_out_sleep(weft_out *out, uint64_t tag, uint64_t nanoseconds) {
    return weft_out_yield(out, WEFT_COMMAND_SLEEP, tag, &nanoseconds, sizeof nanoseconds);
}

int weft_out_read(weft_out *out, uint64_t tag, int descriptor, size_t size, int64_t offset, uint64_t deadline) {
    weft_command_read read = {descriptor, size, offset, deadline};
    return weft_out_yield(out, WEFT_COMMAND_READ, tag, &read, sizeof read);
}

int weft_out_write(weft_out *out, uint64_t tag, int descriptor, const void *data, size_t size, int64_t offset, uint64_t deadline) {
    weft_command_write write = {descriptor, offset, deadline};
    return yield_two(out, WEFT_COMMAND_WRITE, tag, &write, sizeof write, data, size);
}

int weft_out_open(weft_out *out, uint64_t tag, const char *path, int flags, mode_t mode) {
    weft_command_open open = {flags, mode};
    return yield_two(out, WEFT_COMMAND_OPEN, tag, &open, sizeof open, path, strlen(path));
}

int weft_out_close(weft_out *out, uint64_t tag, int descriptor) {
    return weft_out_yield(out, WEFT_COMMAND_CLOSE, tag, &descriptor, sizeof descriptor);
}

int weft_out_sync(weft_out *out, uint64_t tag, int descriptor) {
    return weft_out_yield(out, WEFT_COMMAND_SYNC, tag, &descriptor, sizeof descriptor);
}

int weft_out_call(weft_out *out, uint64_t tag, const weft_command_call *call, const void *data, size_t size) {
    return yield_two(out, WEFT_COMMAND_CALL, tag, call, sizeof *call, data, size);
}
