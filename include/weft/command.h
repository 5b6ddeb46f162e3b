/* Commands: what a step process cannot do itself, because it would block. It yields a command; a handler does the work and
 * completes it, at once, later, or from any thread; the completion comes back as an event. */
#ifndef WEFT_COMMAND_H
#define WEFT_COMMAND_H

#include <weft/process.h>

#include <sys/types.h>

WEFT_BEGIN

/* The process that gets the result: this incarnation and no other. */
typedef struct weft_completion {
    weft_pid pid;
    uint64_t tag;
    void *reserved; /* room for the event, allocated with the command: completing cannot fail for lack of memory */
} weft_completion;

/* Called on the worker, right after the step that yielded. `data` is valid until it returns. 0: it will be completed, once, by
 * weft_complete. An error: the command is completed with that error, and the handler must not complete it. */
typedef int (*weft_handler)(void *user, weft_completion completion, const void *data, size_t size);

/* ---- the commands that every runtime knows ---- */

/* The calls below yield them, and so do those in weft/net.h, weft/name.h and weft/child.h. Data is copied, and the result belongs to the
 * event: no memory of the process's is touched meanwhile, and it may end at any time. The command is carried out even then, and its result
 * is released; but waiting for a pipe, a terminal or a socket is given up, and so it is when the runtime stops (the completion says
 * WEFT_ECANCELED). Any number of them may be under way at once; each but a sleep has a stackful process of its own meanwhile, which blocks
 * as weft/file.h and weft/blocking.h say. If there is none for it the completion says so (WEFT_ENOMEM, WEFT_ENOSTACK, WEFT_ENOBUFS). Their
 * numbers are the library's own: 0xffff0000 and above. */

/* A function that may block: weft/blocking.h. It is given a copy of the data, to read and to change; the result is that copy, and the
 * completion's error is what the function returns. */
typedef struct weft_command_call {
    int (*run)(void *data, size_t size);
    /* Called when the process has ended and will not see the completion, or when the function could not be called: to free what the data
     * points to. On any thread, must not block. May be NULL. */
    void (*drop)(void *data, size_t size);
    bool is_long; /* it is known to take long */
} weft_command_call;

/* As weft_out_yield. The completion comes when so many nanoseconds have passed. */
WEFT_API int weft_out_sleep(weft_out *out, uint64_t tag, uint64_t nanoseconds);
/* Files, as in weft/file.h; an offset below 0 is the descriptor's own position, the deadline is for what can be waited for. The completion's
 * data: of a read what was read, nothing at the end; of a write a size_t, how many bytes were written, also with an error (but none if the
 * command was refused before it began); of an open an int, the descriptor. */
WEFT_API int weft_out_read(weft_out *out, uint64_t tag, int descriptor, size_t size, int64_t offset, uint64_t deadline);
WEFT_API int weft_out_write_all(weft_out *out, uint64_t tag, int descriptor, const void *data, size_t size, int64_t offset,
                                uint64_t deadline);
WEFT_API int weft_out_open(weft_out *out, uint64_t tag, const char *path, int flags, mode_t mode);
WEFT_API int weft_out_close(weft_out *out, uint64_t tag, int descriptor);
WEFT_API int weft_out_sync(weft_out *out, uint64_t tag, int descriptor);
WEFT_API int weft_out_call_sized(weft_out *out, uint64_t tag, const weft_command_call *call, size_t call_size, const void *data,
                                 size_t size);
static inline int weft_out_call(weft_out *out, uint64_t tag, const weft_command_call *call, const void *data, size_t size) {
    return weft_out_call_sized(out, tag, call, sizeof *call, data, size);
}

/* As weft_call: a request to `to`, with its own `request_tag` and data. (It comes from a process that asks on the caller's behalf: the
 * receiver replies to the request, and sends nothing else to its sender.) The completion's data is the reply's; its error WEFT_ENOPROC when that process has ended without an answer, WEFT_ETIMEDOUT. */
WEFT_API int weft_out_ask(weft_out *out, uint64_t tag, weft_pid to, uint64_t request_tag, const void *data, size_t size, uint64_t deadline);
/* As weft_join. The completion's data is an int, the reason; its error WEFT_ENOPROC when the result was not kept, WEFT_ETIMEDOUT. (To be told
 * of ends without taking results: weft_monitor, weft/life.h.) */
WEFT_API int weft_out_join(weft_out *out, uint64_t tag, weft_pid pid, uint64_t deadline);

struct weft_case; /* weft/select.h */
/* As weft_select_with: of the cases one happens, and the completion tells which. Not for messages and replies, which come as events, nor for
 * channels of bytes (WEFT_EINVAL as the completion's error). Elements to be sent are copied; an element that is received, and the reason of an end, comes with the
 * completion, whatever place the case names. The completion's data is a weft_selected, and behind it the element, or an int, the reason. Its error is
 * WEFT_ETIMEDOUT when none has happened. An element that was received for a process that ends before it has seen it is lost. */
typedef struct weft_selected {
    int number; /* of the case */
    int error;  /* of the case */
} weft_selected;
WEFT_API int weft_out_select(weft_out *out, uint64_t tag, const struct weft_case *cases, size_t count, unsigned flags, uint64_t deadline);
/* Of that completion: what is behind the weft_selected. */
static inline const void *weft_selected_data(const weft_selected *selected) { return selected + 1; }

/* The completion comes when there is room in the mailbox of `pid`, in its turn among the senders that wait there; at once if it is not bounded,
 * and with WEFT_ENOPROC when it ends. Another sender may be quicker and fill it again: then weft_send says WEFT_EAGAIN once more. */
WEFT_API int weft_out_await_room(weft_out *out, weft_pid pid, uint64_t tag);

/* To be called before the first process that yields it. 0, or WEFT_EEXIST, WEFT_EINVAL (command 0), WEFT_ENOMEM. */
WEFT_API int weft_register_command(weft_runtime *runtime, uint32_t command, weft_handler handler, void *user);

/* From any thread. The data is copied; when there is no memory for it the event says WEFT_ENOMEM instead. 0, or WEFT_ENOPROC when
 * the process has ended meanwhile: the result is dropped, and counted (weft_stats.late_completions). */
WEFT_API int weft_complete(weft_completion completion, int error, const void *data, size_t size);

WEFT_END

#endif
