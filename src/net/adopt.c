/* Adopting descriptors that the program has opened itself, giving them back, and closing. */
#include "net/op.h"
#include "sched/heed.h"

#include <signal.h>

void net_ignore_broken_pipes(void) {
    static atom_bool done; /* rlx: at worst it is done twice */
    struct sigaction action = {.sa_handler = SIG_IGN}, before;
    if (atom_load_rlx(&done)) return;
    if (sys->signal_action(SIGPIPE, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
        sys->signal_action(SIGPIPE, &action, NULL);
    atom_store_rlx(&done, true);
}

/* ---- adopting ----------------------------------------------------------------------------------------------------------------- */

static int adopt_option(int number, int option, int *value) {
    socklen_t size = sizeof *value;
    return sys->net->option_get(number, SOL_SOCKET, option, value, &size);
}

/* Not DESC_TCP, even if it is TCP: what the program did to it is not known (net/readiness.h, N6). */
static unsigned adopt_kind(int number) {
    int type = 0, family = 0;
    if (adopt_option(number, SO_TYPE, &type) || adopt_option(number, SO_DOMAIN, &family)) return 0;
    return DESC_SOCKET | (family == AF_UNIX ? DESC_UNIX : 0) | (type == SOCK_STREAM ? 0 : DESC_MESSAGES);
}

/* Blocking or not is a mode of the open file, which several adopted descriptors may share: 0, 1 and 2 of a terminal. The first that is
 * adopted changes the mode and has to change it back (`restores`); later ones, the followers, find it changed. A descriptor with that duty
 * that is let go of while a follower is still adopted passes the duty on to the follower. The lock makes changing the mode and `restores`
 * one step. */
static struct lock adopt_modes;
static unsigned adopt_followers; /* adopted descriptors without the duty. Under the lock */

weft_fd weft_fd_adopt(int number) {
    heed(my_worker);
    if (number < 0) return WEFT_EBADF;
    unsigned kind = adopt_kind(number);
    if (!(kind & DESC_SOCKET)) net_ignore_broken_pipes();
    lock_take(&adopt_modes);
    int before = sys->net->nonblocking(number, true);
    weft_fd handle = before < 0 ? before : desc_open(number, DESC_ADOPTED | kind | (before ? 0 : DESC_BLOCKING), "weft_fd_adopt");
    if (handle < 0 && handle != WEFT_EEXIST && before == 0) sys->net->nonblocking(number, false);
    if (handle > 0 && before) adopt_followers++;
    lock_drop(&adopt_modes);
    return handle;
}

/* True: `desc` shares the open file, and has the duty now. Its number stays its own while its readiness is open and locked: desc_end comes
 * later. */
static bool adopt_inherits(struct desc *desc, int heir, int number) {
    lock_take(&desc->readiness.lock);
    bool follows = desc->readiness.open && desc->polled && desc->flags & DESC_ADOPTED && !desc->restores;
    if (follows && sys->net->same_file(number, heir)) desc->restores = true;
    bool inherits = follows && desc->restores;
    lock_drop(&desc->readiness.lock);
    return inherits;
}

/* Under the lock. True: another adopted descriptor has the duty now. */
static bool adopt_bequeath(int number) {
    int heir = 0;
    for (struct desc *desc; adopt_followers > 0 && (desc = desc_next(&heir)) != NULL; heir++)
        if (adopt_inherits(desc, heir, number)) return true;
    return false;
}

void adopt_let_go(int number, bool restores) {
    lock_take(&adopt_modes);
    if (!restores || adopt_bequeath(number)) adopt_followers--;
    else sys->net->nonblocking(number, false);
    lock_drop(&adopt_modes);
}

static bool adopt_in_step(void) {
    struct worker *worker = worker_here();
    return worker && worker->current && !worker->current->stackful;
}

/* Waits until the last user has gone; all waiters have been woken. */
static void adopt_settle_users(weft_fd handle) {
    struct spin spin = spin_begin();
    while (desc_of(desc_number(handle)) == handle) {
        if (worker_here()) weft_yield();
        else spin_wait(&spin);
    }
}

/* A step process must not wait: the user that it would wait for may be a process of the same worker. */
int weft_fd_release(weft_fd fd) {
    heed(my_worker);
    bool step = adopt_in_step();
    int error = step ? desc_close_alone(fd) : desc_close(fd, true);
    if (error) return error;
    struct proc *proc = fiber_whole_begin(); /* it alone knows the number */
    if (!step) adopt_settle_users(fd);
    fiber_whole_end(proc);
    return desc_number(fd);
}

int weft_fd_number(weft_fd fd) {
    struct desc *desc = desc_use(fd);
    if (!desc) return WEFT_EBADF;
    readiness_doubt(&desc->readiness);
    desc_done(desc, desc_number(fd));
    return desc_number(fd);
}

int weft_fd_close(weft_fd fd) {
    int error = desc_close(fd, false);
    heed_after(my_worker);
    return error;
}
