/* The pool of threads: starting, resting, being given a worker, and ending. */
#include "thread/thread.h"
#include "sched/parts.h"
#include "sys/print.h"
#include "thread/maker.h"
#include "thread/stopped.h"
#include "thread/worker.h"

#include <pthread.h>
#include <unistd.h>

_Thread_local bool thread_is_careful __attribute__((tls_model("initial-exec")));

__attribute__((noinline)) struct thread *thread_here(void) {
    __asm__ volatile(""); /* so that no call of it is taken for another's result */
    return my_thread;
}

enum { THREAD_REST_SECONDS = 3 }; /* how long a thread without a worker stays */

void threads_init(struct threads *threads, unsigned most) {
    lock_init(&threads->lock);
    threads->most = most;
}

/* ---- resting ------------------------------------------------------------------------------------------------------ */

/* Under the lock. */
static bool thread_forget(struct threads *threads, struct thread *thread) {
    for (struct thread **at = &threads->resting; *at; at = &(*at)->next)
        if (*at == thread) {
            *at = thread->next;
            atom_store_rlx(&threads->at_rest, atom_load_rlx(&threads->at_rest) - 1); /* rlx, all: under the lock */
            return true;
        }
    return false;
}

/* Under the lock: the thread ends now; another joins it later, unless the runtime was left behind. */
static void thread_retire(struct threads *threads, struct thread *thread) {
    thread->unjoined = threads->left;
    if (!threads->left) {
        thread->next = threads->ended;
        threads->ended = thread;
    }
    atom_store_rlx(&threads->living, atom_load_rlx(&threads->living) - 1); /* rlx: under the lock; other threads want a number */
}

/* Waits for a worker or a call. False: the thread is to end. `came`: it has just been started, to rest. */
static bool thread_rest(struct thread *self, bool came) {
    struct threads *threads = &self->runtime->threads;
    self->given = NULL;
    self->carries = NULL;
    lock_take(&threads->lock);
    bool over = threads->over;
    if (over) {
        thread_retire(threads, self);
    } else {
        self->next = threads->resting;
        threads->resting = self;
        atom_store_rlx(&threads->at_rest, atom_load_rlx(&threads->at_rest) + 1);
    }
    if (came) atom_sub_rlx(&threads->coming, 1); /* rlx: a count */
    lock_drop(&threads->lock);
    if (over) return false;
    if (parker_park(&self->parker, sys->now() + THREAD_REST_SECONDS * UINT64_C(1000000000)) == 0) return self->given || self->carries;
    lock_take(&threads->lock);
    bool mine = thread_forget(threads, self);
    if (mine) thread_retire(threads, self);
    lock_drop(&threads->lock);
    if (mine) return false;
    parker_park(&self->parker, SYS_FOREVER); /* thread_take has just chosen it: its unpark is on the way */
    return self->given || self->carries;
}

/* ---- driving ------------------------------------------------------------------------------------------------------ */

/* Queues the process that came back from a call on this thread without a worker. */
static void thread_queue_returned(struct thread *self) {
    struct proc *proc = self->returned;
    if (!proc) return;
    self->returned = NULL;
    ready_again(self->runtime, NULL, proc, state_requeue(&proc->state), READY_YIELDED);
}

static void thread_drive(struct thread *self, struct worker *worker) {
    worker_driven_by(worker, &self->loop);
    worker->current = NULL; /* the process that ran on it last is elsewhere, in a call or stopped */
    stopped_took(worker, self->number);
    worker_main(worker);
}

/* Does what it was woken or started for. */
static void thread_serve(struct thread *self) {
    if (self->given) {
        thread_drive(self, self->given);
    } else {
        stopped_no_alarm(self, NULL);
        parts.carry(self, self->carries);
    }
    thread_queue_returned(self);
}

/* ---- a thread that ends in the middle ------------------------------------------------------------------------------- */

#if !WEFT_CHECK
static pthread_key_t
    thread_key; /* set while a thread may drive workers: its destructor runs if the thread ends without having been told to */
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static int thread_key_error;

static void thread_lost(void *argument) {
    struct worker *worker = my_worker;
    struct thread *self = argument;
    char name[192] = "?";
    struct proc *proc = worker ? worker->current : NULL; /* none: in a blocking call */
    if (proc) parts.name(self->runtime, proc, name, sizeof name);
    print_line(STDERR_FILENO, "weft: a worker's thread has ended in process %s\n", name);
    WEFT_MISUSE("pthread_exit", "called in a process, whose thread runs others too; or the thread was cancelled",
                "return from the process's function, or call weft_exit");
}
static void thread_key_make(void) { thread_key_error = pthread_key_create(&thread_key, thread_lost); }

static void thread_watch(struct thread *self) {
    pthread_once(&thread_key_once, thread_key_make);
    if (!thread_key_error) pthread_setspecific(thread_key, self);
}
/* The thread ends as it should: another joins it, unless the runtime has been left behind. */
static void thread_unwatch(struct thread *self) {
    if (!thread_key_error) pthread_setspecific(thread_key, NULL);
    if (self->unjoined) pthread_detach(pthread_self());
}
/* The kernel would keep it until the program ends. */
static void thread_drop_alarm(struct thread *self) {
    if (self->alarm.kind) sys->alarm_drop(&self->alarm);
}
#else
static void thread_watch(struct thread *self) { (void)self; }
static void thread_unwatch(struct thread *self) { (void)self; }
static void thread_drop_alarm(struct thread *self) { (void)self; }
#endif

static void *thread_main(void *argument) {
    struct thread *self = argument;
    my_thread = self;
    thread_watch(self);
    self->number = sys->thread_id();
    sys->thread_name("weft");
    self->loop.error_number = &errno;
    ctx_begin(); /* a process may have made this thread, which inherited that process's floating-point settings: it gets its own */
    annotate_thread(&self->loop.annotate);
    struct signal_stack signals;
    parts.thread_begins(&signals, &self->loop);
    if (self->reserved) parker_park(&self->parker, SYS_FOREVER);
    for (bool more = self->given || self->carries || thread_rest(self, true); more; more = thread_rest(self, false))
        thread_serve(self);
    thread_unwatch(self);
    thread_drop_alarm(self);
    parts.thread_ends(&signals);
    return NULL;
}

/* ---- giving ------------------------------------------------------------------------------------------------------- */

static void thread_join_ended(struct threads *threads) {
    lock_take(&threads->lock);
    struct thread *ended = threads->ended;
    threads->ended = NULL;
    lock_drop(&threads->lock);
    while (ended) {
        struct thread *next = ended->next;
        sys->thread_join(ended->handle);
        sys->free(ended, sizeof *ended);
        ended = next;
    }
}

static bool thread_admit(struct threads *threads) {
    lock_take(&threads->lock);
    uint32_t living = atom_load_rlx(&threads->living); /* rlx: under the lock */
    bool admitted = living < threads->most && !threads->over;
    if (admitted) atom_store_rlx(&threads->living, living + 1);
    lock_drop(&threads->lock);
    return admitted;
}

/* Said once: then the runtime carries on with the threads that it has. While the runtime starts, weft_start reports it. */
static void thread_say_refused(struct runtime *runtime, const char *why) {
    struct threads *threads = &runtime->threads;
    if (atom_load_rlx(&runtime->coarse) == 0 || threads->over || atom_swap_rlx(&threads->told, true))
        return; /* rlx: the first caller prints */
    print_line(STDERR_FILENO,
               "weft: no more threads than %u (%s): processes wait while these are in blocking calls or with interrupted processes\n",
               atom_load_rlx(&threads->living), why); /* rlx: a number */
}

/* Starts a thread: to drive the worker; with `reserved`, to be woken by the caller; else to rest in the pool. */
static int thread_start(struct runtime *runtime, struct worker *worker, struct thread **reserved) {
    struct threads *threads = &runtime->threads;
    thread_join_ended(threads);
    if (!thread_admit(threads)) {
        thread_say_refused(runtime, "the limit, WEFT_MAX_THREADS");
        return WEFT_EAGAIN;
    }
    struct thread *thread = sys->alloc(sizeof *thread);
    int error = WEFT_ENOMEM;
    if (thread) {
        thread->runtime = runtime;
        thread->given = worker;
        thread->reserved = reserved != NULL;
        parker_init(&thread->parker);
        error = sys->thread_start(&thread->handle, thread_main, thread);
    }
    if (!error && reserved) *reserved = thread;
    if (!error) return 0;
    if (thread) sys->free(thread, sizeof *thread);
    lock_take(&threads->lock);
    atom_store_rlx(&threads->living, atom_load_rlx(&threads->living) - 1);
    lock_drop(&threads->lock);
    thread_say_refused(runtime, error == WEFT_ENOMEM ? "no memory" : "the system refuses");
    return error == WEFT_ENOMEM ? WEFT_ENOMEM : WEFT_EAGAIN;
}

int thread_prepare(struct runtime *runtime) {
    atom_add_rlx(&runtime->threads.coming, 1); /* rlx: a count */
    int error = thread_start(runtime, NULL, NULL);
    if (error) atom_sub_rlx(&runtime->threads.coming, 1);
    return error;
}

struct thread *thread_take(struct runtime *runtime) {
    struct threads *threads = &runtime->threads;
    lock_take(&threads->lock);
    struct thread *thread = threads->resting;
    if (thread) {
        threads->resting = thread->next;
        atom_store_rlx(&threads->at_rest, atom_load_rlx(&threads->at_rest) - 1);
    }
    lock_drop(&threads->lock);
    return thread;
}

struct thread *thread_reserve(struct runtime *runtime) {
    struct thread *thread = thread_take(runtime);
    if (!thread) thread_start(runtime, NULL, &thread);
    return thread;
}

void thread_carry(struct thread *thread, struct fiber *fiber) {
    atom_add_rlx(&thread->runtime->threads.away, 1); /* rlx: a count */
    thread->given = NULL;
    thread->carries = fiber;
    parker_unpark(&thread->parker);
}

int thread_give(struct runtime *runtime, struct worker *worker) {
    atom_store_rlx(&worker->driver, 0); /* rlx: as in thread_wake */
    struct thread *thread = stopped_heir(worker);
    if (!thread) thread = thread_take(runtime);
    if (thread) {
        thread_wake(thread, worker);
        return 0;
    }
    if (!preempt_is_on(runtime) || !(my_thread || thread_is_careful)) return thread_start(runtime, worker, NULL);
    thread_maker_call(runtime);
    return WEFT_EAGAIN;
}

/* True: every thread that has not ended is out in a call, and is not waited for. */
static bool threads_leave(struct threads *threads) {
    lock_take(&threads->lock);
    uint32_t living = atom_load_rlx(&threads->living); /* rlx, both: written under the lock; lowered before thread_came_back takes it */
    bool out = living <= atom_load_rlx(&threads->away);
    if (out) threads->left = living > 0;
    lock_drop(&threads->lock);
    return out;
}

bool threads_end(struct runtime *runtime) {
    struct threads *threads = &runtime->threads;
    lock_take(&threads->lock);
    threads->over = true;
    struct thread *resting = threads->resting;
    threads->resting = NULL;
    atom_store_rlx(&threads->at_rest, 0);
    for (struct thread *each = resting, *next; each; each = next) {
        next = each->next;
        thread_retire(threads, each);
        each->given = NULL;
        parker_unpark(&each->parker);
    }
    lock_drop(&threads->lock);
    thread_join_ended(threads);
    /* Threads that are on their way to rest find `over` set. */
    for (struct spin spin = spin_begin(); !threads_leave(threads); spin_wait(&spin))
        thread_join_ended(threads);
    thread_join_ended(threads);
    return atom_load_rlx(&threads->living) == 0;
}

void thread_came_back(struct thread *self) {
    struct threads *threads = &self->runtime->threads;
    lock_take(&threads->lock);
    bool left = threads->left; /* if not, threads_leave has seen that this thread is not away any more, and waits for it */
    lock_drop(&threads->lock);
    if (!left) return;
    for (;;)
        parker_park(&self->parker, SYS_FOREVER);
}
