/* Blocking calls of stackful processes. The switches of a process that loses its worker meanwhile are in fiber/switch.c. */
#include "fiber/upcall.h"
#include "sys/deadline.h"
#include "thread/oscall.h"
#include "wait/wait.h"

#include <weft/blocking.h>

enum {
    BLOCKING_LASTING = 4,   /* after so many long calls in a row the next is expected to be long too */
    BLOCKING_SHORT = 50000, /* ns; a shorter call should have kept its worker */
};

/* Whether the call is expected to be long, as those before it were, and other processes wait for the worker. */
static bool blocking_will_last(struct worker *worker) {
    return atom_load_rlx(&worker->lasting) >= BLOCKING_LASTING && /* rlx: a guess */
           (!policy_is_empty(worker) || inject_size(&worker->runtime->inject) > 0);
}

/* The call is over: corrects the expectation. rlx: guesses, which sysmon may be changing. */
static void blocking_learn(struct fiber *fiber, struct worker *worker, bool lost) {
    if (lost ? fiber->call_began && sys->now() - fiber->call_began < BLOCKING_SHORT : atom_load_rlx(&worker->lasting) > 0)
        atom_store_rlx(&worker->lasting, 0);
}

/* The thread begins a call of the process, which had the worker; NULL: the call is made without one. */
static struct fiber *blocking_begin(struct thread *thread, struct fiber *fiber, struct worker *worker) {
    thread->caller = fiber;
    fiber->calls = 1;
    fiber->call_worker = worker;
    return fiber;
}

/* The worker's thread belongs to pinned processes, and another process must not block it: it makes its call on another thread
 * (thread/thread.h, D3). False: it makes the call here, because it is pinned itself or there is no other thread. */
static __attribute__((noinline)) bool blocking_outside(struct worker *worker) {
    struct proc *proc = worker->current;
    struct thread *carrier = proc->extras & PROC_PINNED ? NULL : thread_reserve(worker->runtime);
    if (!carrier) return false;
    struct fiber *fiber = fiber_of(proc);
    blocking_begin(fiber_go_out(worker, fiber, carrier), fiber, NULL);
    return true;
}

void blocking_enter(const char *call, bool is_long) {
    struct thread *thread = my_thread;
    struct worker *worker = my_worker;
    if (!thread) return;  /* not a thread of a runtime: it may block */
    if (thread->caller) { /* nested */
        thread->caller->calls++;
        return;
    }
    if (!worker) return;
    if (!worker->current || !worker->current->stackful)
        WEFT_REFUSE(call, "called from a step process, which must not block", "yield a command");
    fiber_worker(call);
    fiber_waits(worker->current, call, NULL);
    worker->current->since = atom_load_rlx(&worker->coarse); /* rlx: an approximate time */
    bool stays = oscall_stays(worker);
    if (__builtin_expect(stays, 0) && blocking_outside(worker)) return;
    struct fiber *fiber = blocking_begin(thread, fiber_of(worker->current), worker);
    fiber->call_began = !is_long && !stays && blocking_will_last(worker) ? sys->now() : 0;
    is_long |= fiber->call_began != 0;
    fiber->call_number = oscall_enter(worker);
    /* If there is no thread for the worker, sysmon tries again later. So if there is no sysmon (rlx: set before the first process)
     * the worker stays. */
    if (is_long && !stays && atom_load_rlx(&thread->runtime->coarse) != 0) oscall_hand_over(worker, fiber->call_number);
}

/* A process that is to end does so before it enters: blocking_leave must not end it, since in C++ a destructor calls that. A nested call has no
 * worker. */
static __attribute__((noinline, cold)) void blocking_heed(struct worker *worker, const char *call) {
    if (worker->current->stackful == PROC_STACKFUL) fiber_heed(fiber_worker(call));
}
static void blocking_enter_public(const char *call, bool is_long) {
    struct worker *worker = my_worker;
    if (worker && worker->current && __builtin_expect(state_is_cancelled(&worker->current->state), 0)) blocking_heed(worker, call);
    blocking_enter(call, is_long);
}
void weft_blocking_enter(void) { blocking_enter_public("weft_blocking_enter", false); }
void weft_blocking_enter_long(void) { blocking_enter_public("weft_blocking_enter_long", true); }

/* A process that was condemned may end in it. */
static void blocking_over(void) {
    struct thread *thread = thread_here();
    struct fiber *fiber = thread ? thread->caller : NULL;
    if (!fiber) {
        if (my_worker) WEFT_REFUSE("weft_blocking_leave", "there was no weft_blocking_enter", "pair them");
        return;
    }
    if (fiber->calls > 1) {
        fiber->calls--;
        return;
    }
    bool lost = !fiber->call_worker || !oscall_leave(fiber->call_worker, fiber->call_number);
    if (__builtin_expect(!fiber->call_worker, 0)) oscall_back(thread->runtime);
    if (__builtin_expect(lost, 0)) thread_came_back(thread); /* before `calls` is cleared: it still counts as in the call */
    if (fiber->call_worker) blocking_learn(fiber, fiber->call_worker, lost);
    fiber->calls = 0;
    thread->caller = NULL;
    if (lost) fiber_come_back(thread, fiber);
    else fiber_spend(my_worker, WEFT_FOREVER); /* many short calls in a row are a long one */
}

void blocking_leave(void) {
    struct thread *thread = thread_here();
    struct proc *proc = fiber_whole(thread && thread->caller ? thread->caller->proc : NULL);
    blocking_over();
    fiber_whole_end(proc);
}
void weft_blocking_leave(void) { blocking_leave(); }

/* ---- a function ---------------------------------------------------------------------------------------------------- */

/* rlx, both: racy reads; the values are hints. */
bool blocking_is_full(struct worker *worker) {
    if (__builtin_expect(!worker || !worker->runtime->blocking_fails, 1)) return false;
    struct threads *threads = &worker->runtime->threads;
    return atom_load_rlx(&threads->living) >= threads->most && atom_load_rlx(&threads->at_rest) == 0;
}

static int blocking_call(const char *call, void (*fn)(void *arg), void *arg, bool is_long) {
    if (blocking_is_full(my_worker)) return WEFT_EAGAIN;
    struct upcall upcall = {0};
    void *nowhere; /* a process is not preempted in a blocking call */
    blocking_enter(call, is_long);
    sim_blocking();
    upcall_call((uintptr_t)fn, &nowhere, (uintptr_t)arg, 0, &upcall);
    blocking_over();
    upcall_pass_on(&upcall);
    struct worker *worker = worker_here(); /* perhaps another; none in a thread of the program, or in an enclosing blocking call */
    return worker && worker->current && fiber_is_cancelled(worker->current) ? WEFT_ECANCELED : 0;
}

int weft_blocking(void (*fn)(void *arg), void *arg) { return blocking_call("weft_blocking", fn, arg, false); }
int weft_blocking_long(void (*fn)(void *arg), void *arg) { return blocking_call("weft_blocking_long", fn, arg, true); }

/* ---- a call that may be abandoned ------------------------------------------------------------------------------------ */

/* Made by the waiter; freed by the last of the two, waiter and process that runs the function, to need it. */
struct errand {
    void (*fn)(void *arg), (*abandoned)(void *arg);
    void *arg;
    struct lock lock;
    struct wait *wait; /* NULL: the waiter has given up, or is done */
    bool done;
};

/* The process that runs the function for the waiter. The function runs to its end, whether the process is cancelled or not. */
static void errand_main(void *argument) {
    struct errand *errand = argument;
    struct wake wake;
    weft_blocking_long(errand->fn, errand->arg);
    lock_take(&errand->lock);
    bool waits = errand->wait != NULL, told = waits && wait_claim(errand->wait, 1, &wake);
    errand->done = true;
    lock_drop(&errand->lock);
    if (told) wait_wake(&wake);
    if (waits) return; /* the waiter frees it; if it is just giving up, it sees `done` */
    errand->abandoned(errand->arg);
    sys->free(errand, sizeof *errand);
}

static int errand_wait(struct errand *errand, struct wait *wait, uint64_t deadline) {
    int why = wait_for(wait, deadline, "weft_blocking_until");
    lock_take(&errand->lock);
    bool done = errand->done;
    errand->wait = NULL;
    lock_drop(&errand->lock);
    if (!done) return why;
    sys->free(errand, sizeof *errand);
    return 0;
}

/* Library functions expect more stack than most processes have. */
enum { ERRAND_STACK = 256 << 10 };

/* 0: the process that runs it is spawned. */
static int errand_begin(struct worker *worker, struct errand *errand, uint64_t deadline) {
    if (fiber_is_cancelled(worker->current)) return WEFT_ECANCELED;
    if (deadline != WEFT_FOREVER && deadline <= sys->now()) {
        deadline_check(deadline, "weft_blocking_until");
        return WEFT_ETIMEDOUT;
    }
    if (blocking_is_full(worker)) return WEFT_EAGAIN;
    size_t size = worker->runtime->stack_size > ERRAND_STACK ? worker->runtime->stack_size : ERRAND_STACK;
    weft_stackful_options options = {.name = "weft_blocking_until", .stack_size = size, .flags = WEFT_SPAWN_STACK_NOW};
    weft_pid pid;
    return fiber_spawn(errand_main, errand, &options, &pid);
}

int weft_blocking_until(void (*fn)(void *arg), void *arg, void (*abandoned)(void *arg), uint64_t deadline) {
    if (!abandoned) WEFT_REFUSE("weft_blocking_until", "nothing to call when it is abandoned", "use weft_blocking, or give a function");
    if (!worker_here()) { /* a thread of the program */
        sim_blocking();
        fn(arg);
        return 0;
    }
    struct worker *worker = fiber_worker("weft_blocking_until");
    fiber_may_wait(worker->current, "weft_blocking_until");
    struct errand *errand = sys->alloc(sizeof *errand);
    int error = WEFT_ENOMEM;
    if (errand) {
        struct wait wait;
        wait_begin(&wait);
        *errand = (struct errand){.fn = fn, .abandoned = abandoned, .arg = arg, .wait = &wait};
        lock_init(&errand->lock);
        error = errand_begin(worker, errand, deadline);
        if (!error) return errand_wait(errand, &wait, deadline);
        sys->free(errand, sizeof *errand);
    }
    abandoned(arg);
    return error;
}
