/* The table of descriptors: opening, using and closing places, and the events of the kernel; the protocol is in desc.h. */
#include "net/desc.h"

#include <errno.h>

static ATOM_PTR(struct desc) desc_chunks[DESC_CHUNKS];
static atom_u32 desc_highest; /* chunks above have never been made */

/* ---- places ---------------------------------------------------------------------------------------------------------------- */

static struct desc *desc_at(int number) {
    if (number < 0 || number >> DESC_NUMBER_BITS) return NULL;
    struct desc *chunk = atom_load_acq(&desc_chunks[number / DESC_CHUNK]); /* acq: pairs with the rel in desc_make */
    return chunk ? &chunk[number % DESC_CHUNK] : NULL;
}

/* Zeroed pages are free places. */
static struct desc *desc_make(int number) {
    unsigned at = (unsigned)number / DESC_CHUNK;
    size_t size = sizeof(struct desc) * DESC_CHUNK;
    struct desc *none = NULL, *chunk = sys->vm_map(size);
    if (!chunk) return NULL;
    if (!atom_cas_rel_rlx(&desc_chunks[at], &none, chunk)) sys->vm_unmap(chunk, size); /* rel: pairs with the acq in desc_at */
    uint32_t highest = atom_load_rlx(&desc_highest);
    /* rlx: net_destroy comes after all processes of its runtime that opened descriptors. */
    while (highest <= at && !atom_cas_rlx_rlx(&desc_highest, &highest, at + 1)) {}
    return desc_at(number);
}

struct desc *desc_next(int *number) {
    int end = (int)(atom_load_rlx(&desc_highest) * DESC_CHUNK); /* rlx: as in desc_make */
    for (; *number < end; *number = (*number / DESC_CHUNK + 1) * DESC_CHUNK) {
        struct desc *desc = desc_at(*number);
        if (desc) return desc;
    }
    return NULL;
}

static inline weft_fd desc_handle(uint64_t generation, int number) { return (weft_fd)(generation << DESC_NUMBER_BITS | (uint64_t)number); }

/* ---- using ------------------------------------------------------------------------------------------------------------------ */

static inline struct desc *desc_of_handle(weft_fd handle) { return handle > 0 ? desc_at(desc_number(handle)) : NULL; }

struct desc *desc_use(weft_fd handle) {
    struct desc *desc = desc_of_handle(handle);
    return desc && fdref_use(&desc->fdref, desc_generation(handle)) ? desc : NULL;
}

struct desc *desc_place(weft_fd handle) {
    struct desc *desc = desc_of_handle(handle);
    return desc && fdref_is_open(&desc->fdref, desc_generation(handle)) ? desc : NULL;
}

/* The number means another descriptor than when weft got it: the netpoll does not have it. Calls on it, and closing it, would hit that
 * other descriptor. */
static _Noreturn void desc_misused(const char *call) {
    WEFT_MISUSE(call, "a descriptor was closed behind weft's back, and its number has come again", "close it with weft_fd_close");
}

/* The last user has gone: the place gets its next generation, and then the number goes back. */
static void desc_end(struct desc *desc, int number) {
    bool keep = desc->keep;
    lock_take(&desc->readiness.lock);
    bool adopted = desc->polled && desc->flags & DESC_ADOPTED, restores = desc->restores;
    struct runtime *runtime = desc->runtime; /* NULL: it has gone, and its netpoll with it */
    bool strange = false;
    if (runtime) { /* closing is not enough: with a copy (dup, fork) the kernel would go on reporting it */
        strange = sys->net->poll_change(runtime->netpoll.set, EPOLL_CTL_DEL, number, 0, 0) == -ENOENT && desc->polled;
        netpoll_left(runtime);
        desc->runtime = NULL;
    }
    lock_drop(&desc->readiness.lock);
    if (strange) desc_misused("weft_fd_close");
    if (adopted) adopt_let_go(number, restores);
    fdref_end(&desc->fdref);            /* D4 */
    if (!keep) sys->net->close(number); /* whatever it says, it is closed */
}

void desc_done(struct desc *desc, int number) {
    if (fdref_done(&desc->fdref)) desc_end(desc, number);
}

/* ---- opening and closing ---------------------------------------------------------------------------------------------------- */

bool desc_may_open(void) {
    struct worker *self = worker_here();
    return self && self->current;
}

enum { DESC_EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI };

static int desc_poll(struct desc *desc, int operation, int number, weft_fd handle) {
    return sys->net->poll_change(desc->runtime->netpoll.set, operation, number, DESC_EVENTS | EPOLLET, (uint64_t)handle);
}

/* The place is taken, but the number now means another descriptor than the one in the netpoll. */
static bool desc_is_strange(int number) {
    weft_fd handle = desc_of(number);
    struct desc *desc = handle > 0 ? desc_use(handle) : NULL;
    if (!desc) return false; /* its place is about to be free */
    lock_take(&desc->readiness.lock);
    bool strange = desc->polled && desc->runtime && desc_poll(desc, EPOLL_CTL_MOD, number, handle) == -ENOENT;
    lock_drop(&desc->readiness.lock);
    desc_done(desc, number);
    return strange;
}

weft_fd desc_open(int number, unsigned flags, const char *call) {
    struct worker *self = worker_here();
    if (!desc_may_open()) return WEFT_ENOTINSIDE;
    if (number >> DESC_NUMBER_BITS) return WEFT_EMFILE;
    struct desc *desc = desc_at(number);
    if (!desc && !(desc = desc_make(number))) return WEFT_ENOMEM;
    uint64_t generation;
    if (!fdref_reserve(&desc->fdref, &generation)) {
        if (flags & (DESC_ADOPTED | DESC_BORROWED) && !desc_is_strange(number)) return WEFT_EEXIST;
        desc_misused(call);
    }
    int error = netpoll_join(self->runtime, self);
    if (error) {
        fdref_forgo(&desc->fdref);
        return error;
    }
    weft_fd handle = desc_handle(generation, number);
    lock_take(&desc->readiness.lock); /* net_destroy of any runtime reads every place */
    desc->runtime = self->runtime;
    desc->flags = flags;
    desc->polled = false;
    desc->restores = flags & DESC_BLOCKING;
    desc->borrowers = 1;
    lock_drop(&desc->readiness.lock);
    readiness_open(&desc->readiness, generation);
    if (flags & (DESC_ADOPTED | DESC_BORROWED)) readiness_doubt(&desc->readiness); /* the program has its number */
    fdref_begin(&desc->fdref);
    error = desc_poll(desc, EPOLL_CTL_ADD, number, handle);
    if (error) {
        desc_close(handle, true);
        return error;
    }
    lock_take(&desc->readiness.lock);
    desc->polled = true;
    lock_drop(&desc->readiness.lock);
    return handle;
}

weft_fd desc_open_or_close(int number, unsigned flags, const char *call) {
    if (number < 0) return number;
    weft_fd handle = desc_open(number, flags, call);
    if (handle < 0) sys->net->close(number);
    return handle;
}

/* By a user: if it is the closer (`mine`), wakes the waiters. Ends this use. */
static void desc_shut(struct desc *desc, int number, bool mine, bool keep) {
    if (mine) {
        desc->keep = keep;                /* for the last user, which comes after this one */
        readiness_shut(&desc->readiness); /* D5 */
    }
    desc_done(desc, number);
}

/* `close` decides whether the caller is the closer; if not, the answer is `refused`. */
static int desc_close_by(weft_fd handle, bool (*close)(struct fdref *), bool keep, int refused) {
    struct desc *desc = desc_use(handle);
    if (!desc) return WEFT_EBADF;
    bool mine = close(&desc->fdref);
    desc_shut(desc, desc_number(handle), mine, keep);
    return mine ? 0 : refused;
}

int desc_close(weft_fd handle, bool keep) { return desc_close_by(handle, fdref_close, keep, WEFT_EBADF); }
int desc_close_alone(weft_fd handle) { return desc_close_by(handle, fdref_close_alone, true, WEFT_EBUSY); }

int desc_lend(weft_fd handle) {
    struct desc *desc = desc_use(handle);
    if (!desc) return WEFT_EBADF;
    lock_take(&desc->readiness.lock);
    int lent = !(desc->flags & DESC_BORROWED) ? DESC_OWN : desc->borrowers > 0 ? DESC_LENT : WEFT_EBADF;
    if (lent == DESC_LENT) desc->borrowers++;
    lock_drop(&desc->readiness.lock);
    desc_done(desc, desc_number(handle));
    return lent;
}

void desc_return(weft_fd handle) {
    struct desc *desc = desc_use(handle);
    if (!desc) return; /* its runtime has ended */
    lock_take(&desc->readiness.lock);
    bool last = --desc->borrowers == 0;
    lock_drop(&desc->readiness.lock);
    desc_done(desc, desc_number(handle));
    if (last) desc_close(handle, true);
}

weft_fd desc_of(int number) {
    struct desc *desc = desc_at(number);
    uint64_t generation = desc ? fdref_of(&desc->fdref) : 0;
    return generation ? desc_handle(generation, number) : WEFT_EBADF;
}

/* ---- what the kernel says ---------------------------------------------------------------------------------------------------- */

void net_deliver(const struct epoll_event *event) {
    weft_fd handle = (weft_fd)event->data.u64;
    struct desc *desc = desc_at(desc_number(handle));
    uint32_t said = event->events;
    unsigned sides = (said & (EPOLLIN | EPOLLPRI) ? 1u << READINESS_IN : 0) | (said & EPOLLOUT ? 1u << READINESS_OUT : 0);
    if (desc) readiness_edge(&desc->readiness, desc_generation(handle), sides, said & (EPOLLHUP | EPOLLERR | EPOLLRDHUP), said & EPOLLPRI);
}

/* ---- the end of a runtime ----------------------------------------------------------------------------------------------------- */

enum { DESC_PATIENCE = 100000000 }; /* ns, for threads and other runtimes' processes to stop using a closed descriptor */

/* Waits for the remaining users, up to `until`, then detaches the place from its runtime. A user that is left gives the number back when
 * it is done. */
static void desc_forsake(struct desc *desc, uint64_t generation, struct runtime *runtime, uint64_t until) {
    struct spin spin = spin_begin();
    while (sys->now() < until && fdref_of(&desc->fdref) == generation)
        spin_wait(&spin);
    lock_take(&desc->readiness.lock);
    if (desc->runtime == runtime) desc->runtime = NULL;
    lock_drop(&desc->readiness.lock);
}

static void desc_close_of(struct desc *desc, int number, struct runtime *runtime, uint64_t until) {
    weft_fd handle = desc_of(number);
    if (handle < 0 || !desc_use(handle)) return;
    lock_take(&desc->readiness.lock);
    bool mine = desc->runtime == runtime, foreign = desc->flags & (DESC_ADOPTED | DESC_BORROWED);
    lock_drop(&desc->readiness.lock);
    unsigned dead = readiness_forget(&desc->readiness, runtime);
    bool closed = mine && desc_close(handle, foreign) == 0;
    for (unsigned i = 0; i < dead; i++) /* each was a user, and will never call desc_done itself */
        desc_done(desc, number);
    desc_done(desc, number);
    if (closed) desc_forsake(desc, desc_generation(handle), runtime, until);
}

void net_destroy(struct runtime *runtime) {
    uint64_t until = sys->now() + DESC_PATIENCE;
    int number = 0;
    for (struct desc *desc; (desc = desc_next(&number)) != NULL; number++)
        desc_close_of(desc, number, runtime, until);
}
