/* Commands: what a step process cannot do itself, because it would block. It yields a command; a handler does the work and
 * completes it, at once, later, or from any thread; the completion comes back as an event. */
#ifndef WEFT_COMMAND_H
#define WEFT_COMMAND_H

#include <weft/process.h>

WEFT_BEGIN

/* Who gets the result: this incarnation of the process and no other. */
typedef struct weft_completion {
    weft_pid pid;
    uint64_t tag;
    void *reserved; /* room for the event, made when the command was: completing cannot fail for want of memory */
} weft_completion;

/* Called on the worker, right after the step that yielded. `data` is valid until it returns. 0: it will be completed, once, by
 * weft_complete. An error: the command is completed with that error, and the handler must not complete it. */
typedef int (*weft_handler)(void *user, weft_completion completion, const void *data, size_t size);

/* A command that every runtime knows: its data is a number of nanoseconds, as a uint64_t; it is completed when they have passed. */
#define WEFT_COMMAND_SLEEP UINT32_C(0xffff0001)

/* 0, or WEFT_EEXIST, WEFT_EINVAL (command 0), WEFT_ENOMEM. Before the first process that yields it. */
WEFT_API int weft_register_command(weft_runtime *runtime, uint32_t command, weft_handler handler, void *user);

/* From any thread. The data is copied; when there is no memory for it the event says WEFT_ENOMEM instead. 0, or WEFT_ENOPROC when
 * the process has ended meanwhile: dropped, and counted. */
WEFT_API int weft_complete(weft_completion completion, int error, const void *data, size_t size);

/* Routing by PID: what weft_send does with a PID of another runtime or node. The router in front sees every such message. */
typedef int (*weft_router)(void *user, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size);
/* NULL takes it away. Returns 0, or WEFT_EBUSY when there is one already. */
WEFT_API int weft_set_router(weft_router router, void *user);

WEFT_END

#endif
