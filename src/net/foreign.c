/* Descriptors of others, and the end of one's own. */
#include "net/op.h"

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
