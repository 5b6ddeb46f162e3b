/* Poll sets: see net_poll.h. */
#include "world/net_poll.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { WATCH_FLAGS = EPOLLET | EPOLLONESHOT | EPOLLWAKEUP | EPOLLEXCLUSIVE, WATCH_ALWAYS = EPOLLERR | EPOLLHUP };

struct pollset;
struct sim_watch {
    struct pollset *set;
    struct sim_watch *next_of_set, *next_of_fd, *next_ready;
    struct sim_fd *fd; /* NULL: a real descriptor */
    int number;
    bool queued;
    uint32_t events;
    uint64_t data;
};

struct pollset {
    struct sim_fd fd;
    struct pollset *next; /* of all sets */
    struct sim_watch *watches, *ready, **ready_end;
};
static struct pollset *pollsets;

/* ---- a watch -------------------------------------------------------------------------------------------------------------------- */

static bool watch_is_on(const struct sim_watch *watch) { return (watch->events & ~(uint32_t)WATCH_FLAGS) != 0; }

static uint32_t watch_ready(const struct sim_watch *watch) {
    if (!watch_is_on(watch)) return 0;
    uint32_t there = watch->fd ? watch->fd->ops->ready(watch->fd) : EPOLLIN | EPOLLOUT;
    return there & (watch->events | WATCH_ALWAYS);
}

static void watch_append(struct sim_watch *watch) {
    watch->queued = true;
    watch->next_ready = NULL;
    *watch->set->ready_end = watch;
    watch->set->ready_end = &watch->next_ready;
}

static void watch_queue(struct sim_watch *watch) {
    if (!watch->queued) watch_append(watch);
    sim_unblock(watch->set, 1, 0);
    sim_fd_changed(&watch->set->fd, EPOLLIN);
}

static struct sim_watch *watch_shift(struct pollset *set) {
    struct sim_watch *watch = set->ready;
    set->ready = watch->next_ready;
    if (!set->ready) set->ready_end = &set->ready;
    watch->queued = false;
    return watch;
}

static void watch_unqueue(struct sim_watch *watch) {
    struct pollset *set = watch->set;
    struct sim_watch **at = &set->ready;
    if (!watch->queued) return;
    while (*at != watch)
        at = &(*at)->next_ready;
    *at = watch->next_ready;
    if (!*at) set->ready_end = at;
    watch->queued = false;
}

static void watch_free(struct sim_watch *watch) {
    struct sim_watch **at;
    watch_unqueue(watch);
    for (at = &watch->set->watches; *at != watch;)
        at = &(*at)->next_of_set;
    *at = watch->next_of_set;
    if (watch->fd) {
        for (at = &watch->fd->watches; *at != watch;)
            at = &(*at)->next_of_fd;
        *at = watch->next_of_fd;
    }
    free(watch);
}

void sim_watch_tell(struct sim_fd *fd, uint32_t events) {
    for (struct sim_watch *watch = fd->watches; watch; watch = watch->next_of_fd)
        if (watch_is_on(watch) && events & (watch->events | WATCH_ALWAYS)) watch_queue(watch);
}

void sim_watch_end(struct sim_fd *fd) {
    while (fd->watches)
        watch_free(fd->watches);
}

/* ---- a set ---------------------------------------------------------------------------------------------------------------------- */

static uint32_t pollset_ready(struct sim_fd *fd) {
    for (struct sim_watch *watch = ((struct pollset *)fd)->ready; watch; watch = watch->next_ready)
        if (watch_ready(watch)) return EPOLLIN;
    return 0;
}

static void pollset_close(struct sim_fd *fd, bool crash) {
    struct pollset *set = (struct pollset *)fd, **at = &pollsets;
    (void)crash;
    while (set->watches)
        watch_free(set->watches);
    while (*at != set)
        at = &(*at)->next;
    *at = set->next;
    free(set);
}

static const struct sim_fd_ops pollset_ops = {.name = "poll", .ready = pollset_ready, .close = pollset_close};

int net_poll_open(void) {
    int error = sim_fd_may_open(1);
    struct pollset *set = error ? NULL : calloc(1, sizeof *set);
    if (!set) return error ? error : -ENOMEM;
    sim_fd_begin(&set->fd, &pollset_ops);
    set->ready_end = &set->ready;
    set->next = pollsets;
    pollsets = set;
    return sim_fd_number(&set->fd);
}

static struct pollset *pollset_at(int number) {
    struct sim_fd *fd = sim_fd_at(number);
    return fd && fd->ops == &pollset_ops ? (struct pollset *)fd : NULL;
}

/* ---- changing it ------------------------------------------------------------------------------------------------------------------ */

static struct sim_watch *watch_find(struct pollset *set, int number, struct sim_fd *fd) {
    struct sim_watch *watch = set->watches;
    while (watch && (watch->number != number || watch->fd != fd))
        watch = watch->next_of_set;
    return watch;
}

static int watch_set(struct sim_watch *watch, uint32_t events, uint64_t data) {
    watch->events = events;
    watch->data = data;
    if (watch_ready(watch)) watch_queue(watch);
    return 0;
}

static int watch_add(struct pollset *set, int number, struct sim_fd *fd, uint32_t events, uint64_t data) {
    if (fd && sim_fault(SIM_FAULT_FD, SIM_NET)) return -ENOSPC; /* as many watches as the system allows one user */
    struct sim_watch *watch = calloc(1, sizeof *watch);
    if (!watch) return -ENOMEM;
    *watch = (struct sim_watch){.set = set, .next_of_set = set->watches, .fd = fd, .number = number};
    set->watches = watch;
    if (fd) {
        watch->next_of_fd = fd->watches;
        fd->watches = watch;
    }
    return watch_set(watch, events, data);
}

/* Of a real descriptor: 0, or why no set takes it. */
static int real_error(int number) {
    struct stat info;
    int before = errno, error = fstat(number, &info);
    errno = before;
    return error ? -EBADF : S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) ? -EPERM : 0;
}

int net_poll_change(int set_number, int operation, int number, uint32_t events, uint64_t data) {
    struct pollset *set = pollset_at(set_number);
    bool real = sim_fd_is_real(number);
    int error;
    struct sim_fd *fd = real ? NULL : sim_fd_at(number);
    if (!set) return sim_fd_at(set_number) ? -EINVAL : -EBADF;
    if (real && operation == EPOLL_CTL_ADD && (error = real_error(number)) != 0) return error;
    if (!real && !fd) return -EBADF;
    if (fd == &set->fd) return -EINVAL;
    if (fd && fd->ops->always_ready) return -EPERM;
    struct sim_watch *watch = watch_find(set, number, fd);
    if (operation == EPOLL_CTL_ADD)
        return watch ? (real ? watch_set(watch, events, data) : -EEXIST) : watch_add(set, number, fd, events, data);
    if (!watch) return -ENOENT;
    if (operation == EPOLL_CTL_MOD) return watch_set(watch, events, data);
    watch_free(watch);
    return 0;
}

void net_poll_forget_real(int number) {
    for (struct pollset *set = pollsets; set; set = set->next) {
        struct sim_watch *watch = watch_find(set, number, NULL);
        if (watch) watch_free(watch);
    }
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------------------- */

/* An event of a watch that has just been taken out of the line. */
static bool watch_report(struct sim_watch *watch, struct epoll_event *event) {
    uint32_t there = watch_ready(watch);
    if (!there) return false;
    *event = (struct epoll_event){.events = there, .data.u64 = watch->data};
    if (watch->events & EPOLLONESHOT) watch->events &= WATCH_FLAGS;
    else if (!(watch->events & EPOLLET)) watch_append(watch);
    return true;
}

static int pollset_collect(struct pollset *set, struct epoll_event *events, int most) {
    int count = 0;
    struct sim_watch *last = NULL; /* those behind were put into the line again by this round */
    for (struct sim_watch *watch = set->ready; watch; watch = watch->next_ready)
        last = watch;
    while (count < most && set->ready) {
        struct sim_watch *watch = watch_shift(set);
        bool end = watch == last;
        if (watch_report(watch, &events[count])) count++;
        if (end) break;
    }
    return count;
}

int net_poll_wait(int number, struct epoll_event *events, int most, uint64_t deadline) {
    struct pollset *set = pollset_at(number);
    int count;
    if (!set) return sim_fd_at(number) ? -EINVAL : -EBADF;
    sim_fd_keep(&set->fd);
    while ((count = pollset_collect(set, events, most)) == 0 && deadline > sim_now())
        sim_block("poll_wait", set, deadline);
    sim_fd_drop(&set->fd);
    return count;
}
