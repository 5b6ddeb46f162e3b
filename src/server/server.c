/* The loop of a generic server: init, then one handler for each message that comes, then terminate. */
#include "base/sized.h"
#include "fiber/cleanup.h"
#include "fiber/upcall.h"
#include "life/cancel.h"
#include "super/insist.h"
#include "super/starter.h"
#include "wait/wait.h"

#include <weft/server.h>
#include <weft/super.h>
#include <weft/time.h>

struct weft_server {
    struct cleanup cleanup; /* server_end, however the process ends */
    const weft_server_spec *spec;
    struct starter *starter; /* NULL: no process waits for the result of init */
    weft_msg *handled;       /* in a handler; NULL: none */
    uint64_t idle;           /* nanoseconds; 0: none */
    bool up;                 /* init has returned 0 */
    size_t size;             /* of this block */
    _Alignas(64) unsigned char state[];
};

/* ---- handlers: calls into the program, which may wait, throw and end the process --------------------------------------- */

static int server_upcall(uintptr_t handler, void *state, const void *argument) {
    struct upcall way = {.thrown = NULL};
    uintptr_t result = upcall_here(handler, (uintptr_t)state, (uintptr_t)argument, &way);
    upcall_pass_on(&way);
    return (int)result;
}

static void server_end(void *opaque) {
    struct weft_server *server = opaque;
    int code = cleanup_reason(worker_here());
    if (!server->up) starter_answer(server->starter, code ? code : WEFT_ECANCELED);
    weft_msg_free(server->handled);
    if (server->up && server->spec->terminate) server_upcall((uintptr_t)server->spec->terminate, server->state, (void *)(intptr_t)code);
    sys->free(server, server->size);
}

static int server_init(struct weft_server *server, void *arg) {
    int error = server->spec->init ? server_upcall((uintptr_t)server->spec->init, server->state, arg) : 0;
    server->up = error == 0;
    while (insist_again(weft_ready(error))) {}
    if (server->up) starter_answer(server->starter, 0);
    return error;
}

/* ---- what has come -------------------------------------------------------------------------------------------------------- */

static uintptr_t server_handler(const weft_server_spec *spec, const weft_incoming *in) {
    if (in->notice) return (uintptr_t)spec->info;
    return in->request.reference ? (uintptr_t)spec->call : (uintptr_t)spec->cast;
}

static int server_handle(struct weft_server *server, weft_msg *message) {
    weft_incoming in = {.server = server, .request = weft_msg_request(message), .notice = weft_msg_notice(message), .message = message};
    in.data = weft_msg_data(message);
    in.size = weft_msg_len(message);
    uintptr_t handler = server_handler(server->spec, &in);
    int result = 0;
    server->handled = message;
    if (handler) result = server_upcall(handler, server->state, &in);
    else if (in.request.reference)
        while (insist_again(weft_reply(in.request, NULL, 0))) {}
    server->handled = NULL;
    weft_msg_free(message);
    return result;
}

static int server_idle(struct weft_server *server) {
    return server->spec->idle ? server_upcall((uintptr_t)server->spec->idle, server->state, server) : 0;
}

/* Until a handler ends it, or it is cancelled. */
static int server_loop(struct weft_server *server) {
    int result = 0;
    while (result == 0) {
        weft_msg *message;
        result = weft_recv(&message, server->idle ? weft_in(server->idle) : WEFT_FOREVER);
        if (result == 0) result = server_handle(server, message);
        else if (result == WEFT_ETIMEDOUT) result = server_idle(server);
    }
    return result > 0 ? 0 : result;
}

/* ---- starting and stopping -------------------------------------------------------------------------------------------------- */

static struct weft_server *server_new(const weft_server_spec *spec, struct starter *starter) {
    size_t size = sizeof(struct weft_server) + spec->state_size;
    struct weft_server *server = sys->alloc(size);
    if (!server) return NULL;
    server->spec = spec;
    server->starter = starter;
    server->idle = spec->idle_ns;
    server->size = size;
    server->cleanup = (struct cleanup){.run = server_end, .arg = server};
    return server;
}

static int server_run(const weft_server_spec *spec, void *arg, struct starter *starter) {
    struct weft_server *server = server_new(spec, starter);
    if (!server) {
        weft_ready(WEFT_ENOMEM);
        starter_answer(starter, WEFT_ENOMEM);
        return WEFT_ENOMEM;
    }
    cleanup_push(fiber_worker("weft_server_run")->current, &server->cleanup);
    int code = server_init(server, arg);
    if (code == 0) code = server_loop(server);
    cleanup_call(worker_here()->current, &server->cleanup, code);
    return code;
}

int weft_server_run(const weft_server_spec *spec, void *arg) {
    if (!spec) WEFT_MISUSE("weft_server_run", "no specification", "give one");
    fiber_worker("weft_server_run");
    return server_run(spec, arg, NULL);
}

/* What a new server's process is given, and frees; its spawner does, if none was spawned. */
struct server_start {
    const weft_server_spec *spec;
    void *arg;
    struct starter *starter;
};

static struct server_start server_start_take(void *opaque) {
    struct server_start start = *(struct server_start *)opaque;
    sys->free(opaque, sizeof start);
    return start;
}

static void server_main(void *opaque) {
    struct server_start start = server_start_take(opaque);
    weft_exit(server_run(start.spec, start.arg, start.starter));
}

/* In place of server_main, if the process never begins. */
static void server_discard(void *opaque) { starter_answer(server_start_take(opaque).starter, WEFT_EKILLED); }

/* What the starter has in hand: given up when it is done, or ends meanwhile. */
struct server_beginning {
    struct server_start *start;
    struct starter *starter;
    weft_pid pid; /* WEFT_NOBODY: not spawned yet */
    bool up;
};

static void server_beginning_over(void *opaque) {
    struct server_beginning *begun = opaque;
    bool spawned = begun->pid != WEFT_NOBODY;
    if (spawned && !begun->up) kill_pid(begun->pid);
    if (begun->start && !spawned) sys->free(begun->start, sizeof *begun->start);
    starter_let_go(begun->starter, spawned);
}

static int server_beginning(struct server_beginning *begun, const weft_server_spec *spec, void *arg, const weft_stackful_options *options,
                            uint64_t deadline) {
    begun->start = sys->alloc(sizeof *begun->start);
    begun->starter = begun->start ? starter_new() : NULL;
    if (!begun->starter) return WEFT_ENOMEM;
    *begun->start = (struct server_start){spec, arg, begun->starter};
    weft_pid pid;
    int error = fiber_spawn(server_main, begun->start, options, &pid);
    if (error) return error;
    begun->pid = pid;
    error = starter_wait(begun->starter, pid, deadline, "weft_server_start");
    begun->up = !error;
    return error;
}

int weft_server_start_sized(const weft_server_spec *spec, void *arg, const weft_stackful_options *options, size_t options_size,
                            weft_pid *pid, uint64_t deadline) {
    weft_stackful_options mine;
    struct server_beginning begun = {.pid = WEFT_NOBODY};
    struct proc *process = guard_process(worker_here());
    struct guard guard;
    wait_check("weft_server_start");
    if (!spec || !pid) WEFT_MISUSE("weft_server_start", "no specification, or no place for the PID", "give both");
    options = sized_read(options, options_size, &mine, sizeof mine);
    if (!options) return WEFT_EINVAL;
    weft_stackful_options with = *options;
    with.flags |= WEFT_SPAWN_STACK_NOW; /* so that the caller learns of it if there is none */
    with.discard = server_discard;
    if (!with.name) with.name = spec->name;
    parts.guard_begin(&guard, process, server_beginning_over, &begun);
    int error = server_beginning(&begun, spec, arg, &with, deadline);
    parts.guard_end(&guard, process);
    server_beginning_over(&begun);
    *pid = begun.pid;
    return error;
}

void weft_server_idle(weft_server *server, uint64_t nanoseconds) {
    if (!server) WEFT_REFUSE("weft_server_idle", "no server", "give the handler's own: weft_incoming has it");
    server->idle = nanoseconds;
}

int weft_server_stop(weft_pid server, uint64_t deadline) { return cancel_and_wait(server, deadline, "weft_server_stop"); }
