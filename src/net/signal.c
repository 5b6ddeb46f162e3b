/* Signals as messages. The handler only rings a bell, an eventfd that counts; a process of its own for each signal waits for it and sends
 * the messages.
 *
 *   G1  A bell, once made, stays open until the program ends: a handler may be about to ring it at any time.
 *   G2  An entry is taken under the lock, and given back by its process, under the lock too, when that ends; or by whoever takes the runtime
 *       down, if that did not wait for it. */
#include "net/desc.h"

#include <weft/signal.h>
#include <weft/stackful.h>

#include <signal.h>

enum { SIGNAL_MOST = 64 };

struct signal_watch {
    atom_u32 bell; /* its number + 1 */
    bool taken;
    bool ending; /* somebody wants it to end */
    int number;
    struct runtime *runtime;
    weft_pid process, to; /* who waits, for whom; NOBODY until it has begun */
    uint64_t tag;
    weft_fd fd;
    struct sigaction before;
};
static struct signal_watch signal_watches[SIGNAL_MOST + 1];
static struct lock signal_lock;

static void signal_handler(int number) {
    uint32_t bell = atom_load_rlx(&signal_watches[number].bell); /* rlx: made before this was the handler */
    if (bell) sys->net->bell_ring((int)bell - 1);
}

/* ---- the process ---------------------------------------------------------------------------------------------------------------- */

/* G2 */
static void signal_end(void *arg) {
    struct signal_watch *watch = arg;
    lock_take(&signal_lock);
    sys->signal_action(watch->number, &watch->before, NULL);
    weft_fd fd = watch->fd;
    lock_drop(&signal_lock);
    weft_fd_release(fd);
    lock_take(&signal_lock);
    watch->taken = false;
    lock_drop(&signal_lock);
}

/* 0, or nobody is to be told any more. Memory is waited for. */
static int signal_tell(const struct signal_watch *watch, const weft_signal *signal) {
    enum { PAUSE = 10 * WEFT_MILLISECOND };
    int error;
    while ((error = weft_send(watch->to, watch->tag, signal, sizeof *signal)) == WEFT_ENOMEM)
        if (weft_sleep(PAUSE)) break;
    return error;
}

static void signal_main(void *arg) {
    struct signal_watch *watch = arg;
    weft_signal signal = {.number = watch->number};
    lock_take(&signal_lock);
    watch->process = weft_self();
    bool ending = watch->ending;
    lock_drop(&signal_lock);
    while (!ending && weft_fd_read(watch->fd, &signal.count, sizeof signal.count, WEFT_FOREVER) == sizeof signal.count)
        if (signal_tell(watch, &signal)) break;
    signal_end(watch);
}

/* ---- beginning and ending --------------------------------------------------------------------------------------------------------- */

static bool signal_can_be_watched(int number) {
    switch (number) {
    case SIGKILL: case SIGSTOP: case SIGSEGV: case SIGBUS: case SIGFPE: case SIGILL: case SIGTRAP: case SIGSYS: case SIGABRT: case SIGURG:
        return false;
    default: return number > 0 && number <= SIGNAL_MOST;
    }
}

/* The descriptor of the bell, made if there is none yet. */
static weft_fd signal_adopt_bell(struct signal_watch *watch) {
    uint32_t bell = atom_load_rlx(&watch->bell); /* rlx: the entry is the caller's (G2) */
    if (bell == 0) {
        int number = sys->net->bell_open();
        if (number < 0) return number;
        bell = (uint32_t)number + 1;
        atom_store_rlx(&watch->bell, bell);
    }
    return weft_fd_adopt((int)bell - 1);
}

/* With the entry taken. */
static int signal_begin(struct signal_watch *watch) {
    struct sigaction action = {.sa_handler = signal_handler, .sa_flags = SA_RESTART};
    weft_pid pid;
    weft_fd fd = signal_adopt_bell(watch);
    if (fd < 0) return (int)fd;
    uint64_t stale;
    weft_fd_read(fd, &stale, sizeof stale, 0); /* what the last one has not seen any more */
    watch->fd = fd;
    int error = sys->signal_action(watch->number, &action, &watch->before);
    if (!error) {
        error = weft_spawn_with(&pid, signal_main, watch, &(weft_stackful_options){.name = "weft_signal_watch", .flags = WEFT_STACK_NOW});
        if (error) sys->signal_action(watch->number, &watch->before, NULL);
    }
    if (error) weft_fd_release(fd);
    return error;
}

int weft_signal_watch(int number, weft_pid to, uint64_t tag) {
    if (!signal_can_be_watched(number)) return WEFT_EINVAL;
    struct signal_watch *watch = &signal_watches[number];
    lock_take(&signal_lock);
    bool taken = watch->taken;
    if (!taken) {
        watch->taken = true;
        watch->ending = false;
        watch->number = number;
        watch->runtime = worker_here() ? worker_here()->runtime : NULL;
        watch->process = WEFT_NOBODY;
        watch->to = to;
        watch->tag = tag;
    }
    lock_drop(&signal_lock);
    if (taken) return WEFT_EBUSY;
    int error = signal_begin(watch);
    if (!error) return 0;
    lock_take(&signal_lock);
    watch->taken = false;
    lock_drop(&signal_lock);
    return error;
}

int weft_signal_unwatch(int number) {
    if (number <= 0 || number > SIGNAL_MOST) return WEFT_ENOENT;
    struct signal_watch *watch = &signal_watches[number];
    lock_take(&signal_lock);
    bool taken = watch->taken && !watch->ending;
    weft_pid process = watch->process;
    if (taken) watch->ending = true;
    lock_drop(&signal_lock);
    if (taken && process != WEFT_NOBODY) weft_cancel(process);
    return taken ? 0 : WEFT_ENOENT;
}

/* G2. Nobody who could be told is left, nor the process. */
void signal_forsake(struct runtime *runtime) {
    lock_take(&signal_lock);
    for (int number = 1; number <= SIGNAL_MOST; number++) {
        struct signal_watch *watch = &signal_watches[number];
        if (!watch->taken || watch->runtime != runtime) continue;
        sys->signal_action(number, &watch->before, NULL);
        watch->taken = false;
    }
    lock_drop(&signal_lock);
}
