/* Signals as messages. The handler counts, and posts the entry of its signal to sysmon (mail/post.h), which sends the message.
 *
 *   G1  An entry is changed under its lock, and what the handler reads of it only while no handler is inside (`visitors`).
 *   G2  A signal is counted, or its former action is taken: handlers are turned away only after that action has been restored. What was
 *       counted is sent before weft_signal_unwatch returns.
 *   G3  `queued`: the entry is in a list of sysmon's. The thread that takes it out reads the count after that. */
#include "os/signal.h"

#include "mail/post.h"
#include "mail/send.h"
#include "net/desc.h"
#include "queue/visitors.h"
#include "sched/atfork.h"
#include "sched/heed.h"

#include <weft/signal.h>

#include <signal.h>
#include <unistd.h>

enum { SIGNAL_MOST = 64 };

struct signal_watch {
    struct posted posted; /* first: its address is the entry's */
    struct visitors visitors;
    atom_bool queued;
    atom_u64 count;
    /* Under the lock. */
    struct lock lock;
    bool taken;
    int number;
    pid_t program; /* its pid: a child between fork and exec has the same handler */
    weft_pid to;
    uint64_t tag;
    struct sigaction before;
};
static bool signal_deliver(struct posted *posted);
static struct signal_watch signal_watches[SIGNAL_MOST + 1] = {[0 ... SIGNAL_MOST] = {.posted.deliver = signal_deliver}};

/* ---- the handler ---------------------------------------------------------------------------------------------------------------- */

static void signal_handler(int number);

/* Whether the signal's action is this handler. */
static bool signal_is_ours(int number) {
    struct sigaction now;
    return sys->signal_action(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == signal_handler;
}

/* Restores the former action, unless the program has set another meanwhile. */
static void signal_restore(const struct signal_watch *watch, int number) {
    if (signal_is_ours(number)) sys->signal_action(number, &watch->before, NULL);
}

static void signal_count(struct signal_watch *watch) {
    atom_add_rlx(&watch->count, 1); /* rlx: the swap */
    /* acqrel: pairs with the swap in signal_deliver, both ways: sysmon sees the count, and is done with the entry in the list (G3). */
    if (!atom_swap_acqrel(&watch->queued, true) && !post_put(pid_instance(watch->to), &watch->posted))
        atom_store_rlx(&watch->queued, false); /* the runtime has stopped; rlx: no thread will take it */
}

/* False: turned away. */
static bool signal_visit(struct signal_watch *watch, int number) {
    if (!visitors_enter(&watch->visitors)) return false;
    bool ours = watch->program == getpid();
    if (ours) signal_count(watch);
    visitors_leave(&watch->visitors);
    if (ours) return true;
    signal_restore(watch, number); /* in a child made by fork or vfork: for the child alone */
    raise(number);                 /* delivered when the handler returns */
    return true;
}

/* G2: if it is turned away, another action has been set and gets the signal; or the signal is watched again by now. If neither, the program
 * has installed this handler itself (it must have read it by sigaction while the signal was watched): then the signal is ignored. */
static void signal_handler(int number) {
    int error = errno;
    for (unsigned i = 0; i < 2 && !signal_visit(&signal_watches[number], number); i++)
        if (!signal_is_ours(number)) {
            raise(number);
            break;
        }
    errno = error;
}

/* ---- under the lock ------------------------------------------------------------------------------------------------------------- */

static int signal_begin(struct signal_watch *watch) {
    struct sigaction action = {.sa_handler = signal_handler, .sa_flags = SA_RESTART | SA_ONSTACK}; /* processes have small stacks */
    int error = sys->signal_action(watch->number, NULL, &watch->before);
    if (error) return error;
    visitors_open(&watch->visitors);
    error = sys->signal_action(watch->number, &action, NULL);
    if (error) visitors_close(&watch->visitors);
    return error;
}

/* G2 */
static void signal_end(struct signal_watch *watch) {
    signal_restore(watch, watch->number);
    visitors_close(&watch->visitors);
}

static void signal_give_back(struct signal_watch *watch) {
    watch->taken = false;
    post_expect(pid_instance(watch->to), (uint32_t)-1);
}

/* Sends what was counted, if anything. On an error it is still counted; any but WEFT_ENOMEM and WEFT_ENOBUFS (there is no memory now): the receiver does not exist any
 * more. */
static int signal_tell(struct signal_watch *watch) {
    weft_signal signal = {.number = watch->number, .count = atom_swap_rlx(&watch->count, 0)}; /* rlx: G3, or no handler is inside */
    if (signal.count == 0) return 0;
    int error = send_past_bounds(watch->to, watch->tag, &signal, sizeof signal);
    if (error) atom_add_rlx(&watch->count, signal.count);
    return error;
}

/* There is no receiver: ends the watch, and what was counted goes to the former action, as one signal. */
static void signal_leave_alone(struct signal_watch *watch) {
    signal_end(watch);
    signal_give_back(watch);
    if (atom_swap_rlx(&watch->count, 0) > 0) kill(getpid(), watch->number);
}

/* By sysmon. */
static bool signal_deliver(struct posted *posted) {
    struct signal_watch *watch = (struct signal_watch *)posted;
    (void)atom_swap_acqrel(&watch->queued, false); /* acqrel: pairs with the swap in signal_count (G3) */
    lock_take(&watch->lock);
    int error = signal_tell(watch);
    bool memory = error != WEFT_ENOMEM && error != WEFT_ENOBUFS;
    if (error && memory && watch->taken) signal_leave_alone(watch);
    bool later = !memory && !atom_swap_rlx(&watch->queued, true); /* rlx: sysmon's own, as long as the entry is in no list */
    lock_drop(&watch->lock);
    return !later;
}

/* ---- beginning and ending ------------------------------------------------------------------------------------------------------- */

static bool signal_can_be_watched(int number) {
    switch (number) {
    case SIGKILL:
    case SIGSTOP:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
    case SIGABRT:
    case SIGURG: return false;
    default: return number > 0 && number <= SIGNAL_MOST;
    }
}

static int signal_take(struct signal_watch *watch, int number, weft_pid to, uint64_t tag) {
    if (watch->taken) return WEFT_EBUSY;
    watch->number = number;
    watch->program = getpid();
    watch->to = to;
    watch->tag = tag;
    int error = signal_begin(watch);
    if (error) return error;
    watch->taken = true;
    post_expect(pid_instance(to), 1);
    return 0;
}

int weft_signal_watch(int number, weft_pid to, uint64_t tag) {
    heed(worker_here());
    if (!signal_can_be_watched(number)) return WEFT_EINVAL;
    atfork_check("weft_signal_watch");
    if (!post_is_open(pid_instance(to))) return WEFT_EFOREIGN;
    struct signal_watch *watch = &signal_watches[number];
    lock_take(&watch->lock);
    int error = signal_take(watch, number, to, tag);
    lock_drop(&watch->lock);
    return error;
}

/* Under the lock. */
static int signal_untake(struct signal_watch *watch) {
    if (!watch->taken) return WEFT_ENOENT;
    signal_end(watch);
    int error = signal_tell(watch);
    if (error == WEFT_ENOMEM && signal_begin(watch) == 0) return error;
    signal_give_back(watch);
    atom_store_rlx(&watch->count, 0); /* rlx: no handler is inside */
    return 0;
}

int weft_signal_unwatch(int number) {
    heed(worker_here());
    if (number <= 0 || number > SIGNAL_MOST) return WEFT_ENOENT;
    atfork_check("weft_signal_unwatch");
    struct signal_watch *watch = &signal_watches[number];
    lock_take(&watch->lock);
    int error = signal_untake(watch);
    lock_drop(&watch->lock);
    return error;
}

void signal_forsake(struct runtime *runtime) {
    for (int number = 1; number <= SIGNAL_MOST; number++) {
        struct signal_watch *watch = &signal_watches[number];
        lock_take(&watch->lock);
        if (watch->taken && pid_instance(watch->to) == runtime->instance) signal_leave_alone(watch);
        lock_drop(&watch->lock);
    }
}
