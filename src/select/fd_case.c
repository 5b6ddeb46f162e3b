/* Descriptors as cases of a select: as weft_fd_wait, in one direction each. */
#include "net/await.h"
#include "select/select.h"

#include <poll.h>

static enum readiness_side fd_case_side(const weft_case *one) { return one->kind == WEFT_CASE_READABLE ? READINESS_IN : READINESS_OUT; }

void fd_case_begin(weft_case *one, struct select_fd *room) {
    room->desc = one->fd ? desc_use(one->fd) : NULL;
    room->waiter.in = NULL;
}

void fd_case_finish(weft_case *one, struct select_fd *room) {
    if (room->desc) desc_done(room->desc, desc_number(one->fd));
}

static int fd_case_try(weft_case *one, struct select_fd *room, bool waits) {
    enum readiness_side side = fd_case_side(one);
    room->seen = readiness_seen(&room->desc->readiness, side);
    if (side == READINESS_IN && waits && readiness_is_drained(&room->desc->readiness, room->seen)) return -EAGAIN; /* readiness.h, N6 */
    int ready;
    do
        ready = await_look(room->desc, desc_number(one->fd), side == READINESS_IN ? POLLIN : POLLOUT);
    while (ready == -EINTR);
    if (ready == -EAGAIN && side == READINESS_IN) readiness_drain(&room->desc->readiness, room->seen); /* likewise */
    return ready;
}

bool fd_case_look(weft_case *one, struct select_fd *room, bool waits) {
    if (!one->fd) return false;
    room->ready = room->desc ? fd_case_try(one, room, waits) : WEFT_EBADF;
    return room->ready != -EAGAIN;
}

int fd_case_error(const struct select_fd *room) { return room->ready < 0 ? room->ready : 0; }

int fd_case_join(weft_case *one, struct select_fd *room, struct wait *wait, uint32_t why) {
    if (!room->desc) return 0;
    waiter_init(&room->waiter, wait, why);
    return readiness_join(&room->desc->readiness, desc_generation(one->fd), fd_case_side(one), room->seen, &room->waiter);
}

void fd_case_leave(struct select_fd *room) {
    if (room->desc) readiness_leave(&room->desc->readiness, &room->waiter);
}

bool fd_case_woken(weft_case *one, struct select_fd *room, int why) {
    int edge = why & READINESS_WHY;
    one->error = edge == READINESS_CLOSED ? WEFT_ECLOSED : 0;
    if (edge == READINESS_CLOSED) return true;
    if (!fd_case_look(one, room, false)) return false; /* readiness.h, N2: there is nothing for the next waiter either */
    one->error = fd_case_error(room);
    if (edge == READINESS_EDGE_MORE) readiness_pass(&room->desc->readiness, fd_case_side(one));
    return true;
}
