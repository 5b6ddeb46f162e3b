/* The calls that yield the built-in commands for sleeping, files and blocking functions. */
#include "command/yield.h"
#include "base/sized.h"
#include "command/built_in.h"
#include "sys/deadline.h"

int weft_out_sleep(weft_out *out, uint64_t tag, uint64_t nanoseconds) {
    return weft_out_yield(out, COMMAND_SLEEP, tag, &nanoseconds, sizeof nanoseconds);
}

int weft_out_read(weft_out *out, uint64_t tag, int descriptor, size_t size, int64_t offset, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_read read = {descriptor, size, offset, deadline};
    return weft_out_yield(out, COMMAND_READ, tag, &read, sizeof read);
}

int weft_out_write_all(weft_out *out, uint64_t tag, int descriptor, const void *data, size_t size, int64_t offset, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_write write = {descriptor, offset, deadline};
    return yield_two(out, COMMAND_WRITE, tag, &write, sizeof write, data, size);
}

int weft_out_open(weft_out *out, uint64_t tag, const char *path, int flags, mode_t mode) {
    struct command_open open = {flags, mode};
    return yield_two(out, COMMAND_OPEN, tag, &open, sizeof open, path, strlen(path));
}

int weft_out_close(weft_out *out, uint64_t tag, int descriptor) {
    return weft_out_yield(out, COMMAND_CLOSE, tag, &descriptor, sizeof descriptor);
}

int weft_out_sync(weft_out *out, uint64_t tag, int descriptor) {
    return weft_out_yield(out, COMMAND_SYNC, tag, &descriptor, sizeof descriptor);
}

int weft_out_call_sized(weft_out *out, uint64_t tag, const weft_command_call *call, size_t call_size, const void *data, size_t size) {
    weft_command_call mine;
    call = sized_read(call, call_size, &mine, sizeof mine);
    if (!call) return WEFT_EINVAL;
    return yield_two(out, COMMAND_CALL, tag, call, sizeof *call, data, size);
}
