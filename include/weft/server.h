/* The loop of a server, written once: a stackful process with a state that answers requests and handles messages, one after the other.
 *
 *     struct counter { long value; };
 *     static int counter_call(void *state, const weft_incoming *in) {
 *         struct counter *counter = state;
 *         counter->value += *(const long *)in->data;
 *         return weft_reply(in->request, &counter->value, sizeof counter->value);
 *     }
 *     static const weft_server_spec spec = {.name = "counter", .state_size = sizeof(struct counter), .call = counter_call};
 *     weft_pid pid;
 *     int error = weft_server_start(&spec, NULL, NULL, &pid, weft_in(WEFT_SECOND));
 *
 * Other processes ask it by weft_call and tell it things by weft_send. */
#ifndef WEFT_SERVER_H
#define WEFT_SERVER_H

#include <weft/life.h>
#include <weft/stackful.h>

WEFT_BEGIN

typedef struct weft_server weft_server;

/* What has come. Valid until the handler returns. */
typedef struct weft_incoming {
    weft_server *server;
    weft_request request; /* from, tag; and for weft_reply, now or later, by this process or another: it may be copied and kept */
    const void *data;
    size_t size;
    const weft_notice *notice; /* of `info`; else NULL */
    weft_msg *message;         /* all of it: for weft_msg_take, say. Freed after the handler has returned */
} weft_incoming;

/* What a handler returns: 0, and the server goes on; WEFT_SERVER_STOP, and it ends with the reason 0; an error, which is then its reason. Every
 * handler may wait. Those that are NULL are as if they did nothing and returned 0; but a request is answered, if `call` is NULL, by an
 * empty reply. Kept, not copied. */
enum { WEFT_SERVER_STOP = 1 };
typedef struct weft_server_spec {
    const char *name;                                  /* for dumps and reports */
    size_t state_size;                                 /* of `state`, which is zeroed before init */
    int (*init)(void *state, void *arg);               /* first; an error is what weft_server_start returns */
    int (*call)(void *state, const weft_incoming *in); /* a request */
    int (*cast)(void *state, const weft_incoming *in); /* a message */
    int (*info)(void *state, const weft_incoming *in); /* a notice: the end of a process that it monitors, or is linked to */
    int (*idle)(void *state, weft_server *server);     /* nothing has come for the time of weft_server_idle */
    void (*terminate)(void *state, int code);          /* last, however it ends, if init has returned 0; shielded */
    uint64_t idle_ns;                                  /* as weft_server_idle, from the beginning */
    void *reserved[6];                                 /* NULL */
} weft_server_spec;

/* A new process; 0 and *pid when its init has returned 0. In a stackful process or a thread of the program's own. `options` may be NULL. Or an error: of
 * init, of weft_spawn_with, WEFT_ETIMEDOUT (it is killed then). */
WEFT_API int weft_server_start_sized(const weft_server_spec *spec, void *arg, const weft_stackful_options *options, size_t options_size,
                                     weft_pid *pid, uint64_t deadline);
static inline int weft_server_start(const weft_server_spec *spec, void *arg, const weft_stackful_options *options, weft_pid *pid,
                                    uint64_t deadline) {
    return weft_server_start_sized(spec, arg, options, sizeof *options, pid, deadline);
}

/* The calling process becomes a server; returns when it has ended, with its reason: for the entry function of a supervisor's child. Calls
 * weft_ready with the result of init. A cancelled server handles what is in its mailbox and ends with WEFT_ECANCELED. */
WEFT_API int weft_server_run(const weft_server_spec *spec, void *arg);

/* By a handler: `idle` will be called when nothing has come for so many nanoseconds, and again after each such time; 0: not any more. */
WEFT_API void weft_server_idle(weft_server *server, uint64_t nanoseconds);

/* Asks it to end, and waits: as weft_cancel and waiting for its end. 0, or WEFT_ENOPROC, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API int weft_server_stop(weft_pid server, uint64_t deadline);

WEFT_END

#endif
