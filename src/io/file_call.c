/* Entering a call that may block, and waiting for a descriptor; see file_call.h. */
#include "io/file_call.h"
#include "sys/deadline.h"

#include "life/interrupt.h"
#include "net/await.h"
#include "thread/thread.h"

#include <weft/net.h>

#include <poll.h>

struct proc *io_caller(const char *call) {
    struct worker *worker = worker_here();
    if (worker) {
        if (worker->current && worker->current->stackful) return worker->current;
        WEFT_REFUSE(call, "called from a step process, which must not block", "yield a command");
    }
    struct thread *thread = thread_here(); /* it may be inside weft_blocking of a process */
    return thread && thread->caller ? thread->caller->proc : NULL;
}

int io_enter(const char *call, bool is_long) {
    struct proc *proc = io_caller(call);
    if (proc && fiber_is_cancelled(proc)) {
        if (worker_here()) fiber_refused(worker_here());
        return WEFT_ECANCELED;
    }
    if (blocking_is_full(worker_here())) return WEFT_EAGAIN;
    blocking_enter(call, is_long);
    return 0;
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

/* ns; how often a waiting process checks whether it was cancelled, if there was no descriptor left to tell it by. */
enum { IO_LOOK = 10 * 1000 * 1000 };

struct io_interrupt {
    struct interrupt interrupt; /* first */
    int event;                  /* below 0: there is none */
};

static void io_poke(struct interrupt *interrupt) {
    struct io_interrupt *own = (struct io_interrupt *)interrupt;
    if (own->event >= 0) sys->file->event_signal(own->event);
}

/* The poll itself. A cancellation of `proc` ends it, if not NULL. */
static int io_poll(int descriptor, short events, uint64_t deadline, struct proc *proc, int event) {
    struct pollfd watched[2] = {{.fd = descriptor, .events = events}, {.fd = event, .events = POLLIN}};
    for (;;) {
        uint64_t until = deadline;
        if (proc && event < 0 && sys->now() + IO_LOOK < deadline) until = sys->now() + IO_LOOK;
        int ready = sys->file->poll(watched, event < 0 ? 1 : 2, until);
        if (ready == -EINTR) continue;
        if (ready < 0) return ready;
        if (ready > 0 && watched[0].revents) return 0;
        if (proc && state_is_cancelled(&proc->state)) return WEFT_ECANCELED;
        if (deadline != WEFT_FOREVER && sys->now() >= deadline) return WEFT_ETIMEDOUT;
    }
}

/* Gives the worker away at once: the wait may be long. */
static int io_wait_long(int descriptor, short events, uint64_t deadline, struct proc *proc, int event, const char *call) {
    blocking_enter(call, true);
    int error = io_poll(descriptor, events, deadline, proc, event);
    blocking_leave();
    return error;
}

/* A process waits on its thread: inside weft_blocking, or if the netpoll cannot take the descriptor. */
static int io_wait_interruptibly(int descriptor, short events, uint64_t deadline, struct proc *proc, const char *call) {
    struct runtime *runtime = thread_here()->runtime;
    struct io_interrupt own = {.interrupt.poke = io_poke, .event = sys->file->event_open()};
    int error = WEFT_ECANCELED;
    if (interrupt_begin(runtime, proc, &own.interrupt)) {
        error = io_wait_long(descriptor, events, deadline, proc, own.event, call);
        interrupt_end(runtime, &own.interrupt);
    }
    if (own.event >= 0) sys->file->close(own.event);
    return error;
}

static int io_wait_on_thread(int descriptor, short events, uint64_t deadline, struct proc *proc, const char *call) {
    int error = IO_CALL(call, io_poll(descriptor, events, 0, NULL, -1));
    if (error != WEFT_ETIMEDOUT) return error;
    if (proc) fiber_may_wait(proc, call);
    if (proc && fiber_of(proc)->shields > 0) proc = NULL;
    return proc ? io_wait_interruptibly(descriptor, events, deadline, proc, call)
                : io_wait_long(descriptor, events, deadline, NULL, -1, call);
}

/* True: the netpoll took the descriptor, and *error is how the wait ended. */
static bool io_wait_polled(int descriptor, short events, uint64_t deadline, const char *call, int *error) {
    int what = (events & POLLIN ? WEFT_READABLE : 0) | (events & POLLOUT ? WEFT_WRITABLE : 0);
    int ready = await_number(descriptor, what, deadline, call);
    *error = ready > 0 ? 0 : ready;
    return ready > 0 || ready == WEFT_ETIMEDOUT || ready == WEFT_ECANCELED;
}

int io_wait(int descriptor, short events, uint64_t deadline, const char *call) {
    struct proc *proc = io_caller(call);
    int error;
    if (deadline <= sys->now()) {
        deadline_check(deadline, call);
        return IO_CALL(call, io_poll(descriptor, events, 0, NULL, -1));
    }
    if (worker_here() && io_wait_polled(descriptor, events, deadline, call, &error)) return error;
    return io_wait_on_thread(descriptor, events, deadline, proc, call);
}
