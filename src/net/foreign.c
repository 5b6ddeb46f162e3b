/* Descriptors of others, and the end of one's own. */
#include "net/op.h"

#include <poll.h>
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

static int foreign_option(int number, int option, int *value) {
    socklen_t size = sizeof *value;
    return sys->net->option_get(number, SOL_SOCKET, option, value, &size);
}

/* Not DESC_TCP, even if it is: what was done to it is not known (net/gate.h, N6). */
static unsigned foreign_kind(int number) {
    int type = 0, family = 0;
    if (foreign_option(number, SO_TYPE, &type) || foreign_option(number, SO_DOMAIN, &family)) return 0;
    return DESC_SOCKET | (family == AF_UNIX ? DESC_UNIX : 0) | (type == SOCK_STREAM ? 0 : DESC_MESSAGES);
}

weft_fd weft_fd_adopt(int number) {
    if (number < 0) return WEFT_EBADF;
    if (desc_of(number) > 0) return WEFT_EEXIST;
    int before = sys->net->nonblocking(number, true);
    if (before < 0) return before;
    unsigned kind = foreign_kind(number), flags = DESC_ADOPTED | kind | (before ? 0 : DESC_BLOCKING);
    if (!(kind & DESC_SOCKET)) net_ignore_broken_pipes();
    weft_fd handle = desc_open(number, flags, "weft_fd_adopt");
    if (handle < 0 && handle != WEFT_EEXIST && !before) sys->net->nonblocking(number, false);
    return handle;
}

/* Until the last user has gone; those who waited have been woken. */
static void foreign_settle_users(weft_fd handle) {
    struct spin spin = spin_begin();
    while (desc_of(desc_number(handle)) == handle) {
        struct worker *worker = worker_here();
        if (worker && worker->current && worker->current->stackful) weft_yield();
        else spin_wait(&spin);
    }
}

int weft_fd_release(weft_fd fd) {
    int error = desc_close(fd, true);
    if (error) return error;
    foreign_settle_users(fd);
    return desc_number(fd);
}

int weft_fd_number(weft_fd fd) {
    struct desc *desc = desc_use(fd);
    if (!desc) return WEFT_EBADF;
    gate_doubt(&desc->gate);
    desc_done(desc, desc_number(fd));
    return desc_number(fd);
}

int weft_fd_close(weft_fd fd) { return desc_close(fd, false); }

/* ---- waiting ------------------------------------------------------------------------------------------------------------------ */

/* Writing to a full UNIX stream has ended: poll does not say so, a write of nothing does. */
static bool foreign_is_broken(const struct desc *desc, int number, short events) {
    bool stream = desc->flags & DESC_UNIX && !(desc->flags & DESC_MESSAGES);
    return stream && events & POLLOUT && sys->net->send(number, "", 0, MSG_NOSIGNAL) == -EPIPE;
}

static ssize_t foreign_try_ready(struct desc *desc, int number, uint64_t seen, void *arg) {
    (void)seen;
    short events = *(short *)arg;
    int ready = sys->net->ready(number, events);
    if (ready == 0 && foreign_is_broken(desc, number, events)) return POLLERR;
    return ready == 0 ? -EAGAIN : ready;
}

/* As op_wait and op_run, in both directions at once. */
static int foreign_park_either(struct desc *desc, const uint64_t seen[2], uint64_t *deadline, struct op_pause *pause) {
    uint64_t until = op_until(desc, pause, *deadline);
    return op_waited(gate_wait_either(&desc->gate, seen, until, "weft_fd_wait"), until, deadline);
}
static ssize_t foreign_wait_either(weft_fd fd, short events, uint64_t deadline) {
    fiber_take_turns(my_worker);
    struct desc *desc = desc_use(fd);
    if (!desc) return WEFT_EBADF;
    struct op_pause pause = op_pause_unix;
    ssize_t ready;
    do {
        uint64_t seen[2] = {gate_seen(&desc->gate, GATE_IN), gate_seen(&desc->gate, GATE_OUT)};
        ready = foreign_try_ready(desc, desc_number(fd), 0, &events);
        if (ready == -EAGAIN) ready = deadline == 0 ? wait_late() : foreign_park_either(desc, seen, &deadline, &pause);
    } while (ready == GATE_AGAIN || ready == -EINTR);
    desc_done(desc, desc_number(fd));
    return ready;
}

int weft_fd_wait(weft_fd fd, int what, uint64_t deadline) {
    short events = (short)((what & WEFT_READABLE ? POLLIN : 0) | (what & WEFT_WRITABLE ? POLLOUT : 0));
    if (what == 0 || what & ~(WEFT_READABLE | WEFT_WRITABLE)) return WEFT_EINVAL;
    enum gate_side side = what == WEFT_READABLE ? GATE_IN : GATE_OUT;
    ssize_t ready = what == (WEFT_READABLE | WEFT_WRITABLE)
                        ? foreign_wait_either(fd, events, deadline)
                        : op_run(fd, side, deadline, "weft_fd_wait", foreign_try_ready, &events);
    if (ready < 0) return (int)ready;
    if (ready & (POLLERR | POLLHUP)) return what; /* whatever is tried will not wait */
    return (ready & POLLIN ? WEFT_READABLE : 0) | (ready & POLLOUT ? WEFT_WRITABLE : 0);
}

int weft_fd_wait_raw(int number, int what, uint64_t deadline) {
    if (number < 0) return WEFT_EBADF;
    fiber_worker("weft_fd_wait_raw");
    for (;;) {
        weft_fd own = desc_open(number, DESC_BORROWED, "weft_fd_wait_raw"), fd = own;
        if (own == WEFT_EEXIST) fd = desc_of(number); /* another waits for it just now, or it is weft's after all */
        int ready = fd < 0 ? (int)fd : weft_fd_wait(fd, what, deadline);
        if (own > 0) {
            desc_close(own, true);
            return ready;
        }
        if (own != WEFT_EEXIST || (ready != WEFT_EBADF && ready != WEFT_ECLOSED)) return ready;
        weft_yield(); /* the one that borrowed it is giving it back */
    }
}
