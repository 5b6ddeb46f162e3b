/* Step processes, small state machines without a stack (init, step, close); and what all processes share: a PID, being cancelled,
 * flags of spawning. (Messages are in weft/message.h.)
 *
 * A step is given what has happened since the last one (messages, completions of commands, a cancellation), does a little, and
 * says how to go on. It never blocks. The first step may come without events, and so may one after WEFT_STEP_CONTINUE; no other does.
 * Steps of one process never run at the same time; steps of different processes do. */
#ifndef WEFT_PROCESS_H
#define WEFT_PROCESS_H

#include <weft/context.h>
#include <weft/message.h>
#include <weft/runtime.h>

#include <stdbool.h>

WEFT_BEGIN

enum weft_event_type {
    WEFT_EVENT_MESSAGE,    /* data is the payload, tag and from are the sender's */
    WEFT_EVENT_COMPLETION, /* of the command that was yielded with this tag; error says how it went, data is its result */
    WEFT_EVENT_CANCEL,     /* this process is asked to end; it decides how. Comes once */
    WEFT_EVENT_REQUEST,    /* a message whose sender waits for an answer (weft_call): weft_reply(weft_event_request(event), ...) */
    WEFT_EVENT_NOTICE,     /* a process that this one monitors, or is linked to, has ended: weft_event_notice (weft/life.h) */
};

typedef struct weft_event {
    uint32_t type;
    int32_t error;
    uint64_t tag;
    const void *data; /* valid until the step returns */
    size_t size;
    weft_pid from;
} weft_event;

/* How a process goes on after a step. */
enum weft_status {
    WEFT_STEP_CONTINUE, /* again soon, behind the other ready processes */
    WEFT_STEP_IDLE,     /* when a message comes */
    WEFT_STEP_BLOCKED,  /* when a command is completed (or a message comes) */
    WEFT_STEP_DONE,     /* not at all: it has ended */
};

typedef struct weft_out weft_out;

/* What a step leaves in its output; the default is WEFT_STEP_IDLE. */
WEFT_API void weft_out_status(weft_out *out, enum weft_status status);
/* Yields a command; its completion comes back as an event with this tag. The data is copied. 0, or WEFT_ENOMEM, and then there
 * will be no completion. An unknown command comes back as a completion with the error WEFT_ENOENT. */
WEFT_API int weft_out_yield(weft_out *out, uint32_t command, uint64_t tag, const void *data, size_t size);
/* Sends, and after this step runs the receiver at once on this worker, before any other process, if that is possible; this process is
 * queued behind the others. If the receiver is woken otherwise before this step returns, it reads the message then. One hand-off a
 * step; a second is an ordinary send. Errors as weft_send. */
WEFT_API int weft_out_handoff(weft_out *out, weft_pid to, uint64_t tag, const void *data, size_t size);

/* Kept, not copied: it stays as it is until the last process that was spawned with it has ended. */
typedef struct weft_behavior {
    const char *name;
    const char *const *methods; /* ends with NULL; a NULL list offers "main" alone */
    size_t state_size;          /* of `self`; zeroed before init */
    /* Called by the spawner, before others know the PID. An error ends the process there and is what spawn returns. Spawned by a stackful
     * process or by a thread, init may wait (weft_sleep, weft_file_load...), and weft_stop waits for it, until its deadline; spawned by a
     * step process it must not. May be NULL. */
    int (*init)(void *self, weft_context *context, const char *method, const void *input, size_t size);
    /* An error (negative) ends the process with it as its reason. */
    int (*step)(void *self, const weft_event *events, size_t count, weft_out *out);
    /* Once, after the last step; also when init has returned 0 and the runtime has been stopped meanwhile. Must not wait. May be NULL. */
    void (*close)(void *self);
    /* NULL: room for later versions, because the library keeps the struct's address and not a copy. */
#ifdef __cplusplus
    const void *reserved[4] = {};
#else
    const void *reserved[4];
#endif
} weft_behavior;

/* How a process is spawned: `flags` of the options. */
enum weft_spawn_flags {
    /* Without memory for a stack spawning fails with WEFT_ENOSTACK, rather than the process when it first runs. Stackful processes only. */
    WEFT_SPAWN_STACK_NOW = 1,
    /* The reason of its end is kept for a later weft_join, until it is joined, detached, or the process that spawned it ends. Spawned by a
     * thread of the program's own: until the runtime ends. It takes a few hundred bytes. */
    WEFT_SPAWN_JOINABLE = 2,
    /* It is interrupted when it has used up its time slice: weft/preempt.h. Stackful processes only. */
    WEFT_SPAWN_PREEMPT = 4,
    /* The process that spawns it monitors it from its birth on: `monitor` of the options, weft/life.h. */
    WEFT_SPAWN_MONITOR = 8,
};

/* For WEFT_SPAWN_MONITOR: as weft_monitor. */
typedef struct weft_spawn_monitoring {
    uint64_t tag;        /* of the notice */
    uint64_t *reference; /* where the monitor's reference goes; may be NULL */
} weft_spawn_monitoring;

typedef struct weft_spawn_options {
    weft_runtime *runtime; /* NULL: the caller's own, inside a process */
    const char *method;    /* NULL: the first */
    const void *input;     /* given to init */
    size_t input_size;
    weft_context *context; /* NULL: the spawner's own, or none */
    unsigned flags;        /* WEFT_SPAWN_JOINABLE, WEFT_SPAWN_MONITOR */
    weft_spawn_monitoring monitor;
} weft_spawn_options;

/* 0 and *pid, or what init said, or WEFT_ENOENT for an unknown method (a line on standard error names the known ones),
 * WEFT_ENOMEM, WEFT_ENOBUFS at the limit of processes, WEFT_ESTOPPING, WEFT_ENOTINSIDE without a runtime outside of a process. */
WEFT_API int weft_spawn_step_sized(const weft_behavior *behavior, const weft_spawn_options *options, size_t options_size, weft_pid *pid);
static inline int weft_spawn_step(const weft_behavior *behavior, const weft_spawn_options *options, weft_pid *pid) {
    return weft_spawn_step_sized(behavior, options, sizeof *options, pid);
}

/* Of a WEFT_EVENT_REQUEST event, in the step that was given it. */
WEFT_API weft_request weft_event_request(const weft_event *event);

/* The calling process, or WEFT_NOBODY outside of one. */
WEFT_API weft_pid weft_self(void);
WEFT_API weft_runtime *weft_own_runtime(void);

/* Asks a process to end: it gets a WEFT_EVENT_CANCEL event, once. 0 or as weft_send. */
WEFT_API int weft_cancel(weft_pid pid);
WEFT_API bool weft_alive(weft_pid pid);

WEFT_END

#endif
