/* Descriptors of the simulated world: numbers that stand for open files in memory: sockets, pipes, bells, poll sets, files.
 *
 * A virtual number begins at SIM_FD_FIRST, and the lowest free one is given out first. Numbers below belong to the real program (standard
 * output, what the program opened by itself); the simulated tables pass them on to the real ones (sim_fd_is_real).
 *
 *   operation                 caller
 *   sim_fd_number             the thread that has made an open file: gives it a number. The number holds one reference
 *   sim_fd_at                 any thread: the open file of a number. Look it up again after every point: another thread may have closed it
 *   sim_fd_changed            the code that has changed what an open file is ready for
 *   sim_fd_poll, _wait        a thread that may block
 *
 *   F1  An open file lives as long as it has references: numbers, messages that carry it, threads that are inside one of its operations.
 *   F2  Every change that makes an open file ready is reported once by sim_fd_changed, after the change. So poll sets get their edges.
 *   F3  All numbers are in one table, whatever their machine is: weft has one table for the whole program. A number of a machine that has
 *       crashed is never given out again: weft still has it. */
#ifndef WEFT_SIM_WORLD_FD_H
#define WEFT_SIM_WORLD_FD_H

#include "sim.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { SIM_FD_FIRST = 1000, SIM_FD_MOST = 1 << 16 };

struct sim_fd;
struct sim_watch;

/* None of them blocks, none passes a point; -EAGAIN where it would have to wait. An operation that is NULL: -EINVAL. */
struct sim_fd_ops {
    const char *name;  /* "tcp", "pipe", "file" ... */
    unsigned mode;     /* S_IFSOCK ...: for stat */
    bool always_ready; /* a regular file or directory: a poll set refuses it (-EPERM), poll finds it ready */
    /* offset < 0: at the file's own position (sim_fd.position), which moves. -ESPIPE if there are no positions. */
    ssize_t (*read)(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset);
    ssize_t (*write)(struct sim_fd *fd, const struct iovec *parts, int count, int64_t offset);
    /* Which events (EPOLLIN ...; the same values as POLLIN ...) are there now, EPOLLHUP and EPOLLERR included. */
    uint32_t (*ready)(struct sim_fd *fd);
    /* The last reference has gone: frees the open file. `crash`: its machine has crashed, so it says good-bye to none. */
    void (*close)(struct sim_fd *fd, bool crash);
};

/* An open file; the first member of what a part of the world keeps of it. */
struct sim_fd {
    const struct sim_fd_ops *ops;
    unsigned machine, references;
    bool nonblocking;
    int64_t position;
    struct sim_watch *watches; /* in poll sets: world/net_poll.c */
};

/* Prepares what the caller has zeroed: no number yet, one reference, of the calling thread's machine. */
void sim_fd_begin(struct sim_fd *fd, const struct sim_fd_ops *ops);
struct sim_fd *sim_fd_keep(struct sim_fd *fd);
void sim_fd_drop(struct sim_fd *fd);

/* 0: a number is left, and the seed does not refuse it. Or -EMFILE. Call it before anything that cannot be undone. */
int sim_fd_may_open(unsigned count);
/* Gives the open file a number, which takes over the caller's reference. */
int sim_fd_number(struct sim_fd *fd);
/* NULL: there is none (-EBADF). */
struct sim_fd *sim_fd_at(int number);
int sim_fd_close(int number);
static inline bool sim_fd_is_real(int number) { return number < SIM_FD_FIRST; }
/* Most numbers of a machine at a time; 0: SIM_FD_MOST. */
void sim_fd_limit(unsigned machine, unsigned most);
unsigned sim_fd_count(unsigned machine);
/* The machine has crashed: closes all its open files. */
void sim_fd_crash(unsigned machine);

/* As preadv and pwritev, for a blocking descriptor too: then the thread waits. */
ssize_t sim_fd_read(int number, const struct iovec *parts, int count, int64_t offset, bool nowait);
ssize_t sim_fd_write(int number, const struct iovec *parts, int count, int64_t offset, bool nowait);

/* These events have come about (F2): tells poll sets and threads that wait. */
void sim_fd_changed(struct sim_fd *fd, uint32_t events);
/* As poll(2). A real descriptor is always ready: what it does is outside the simulation. */
int sim_fd_poll(struct pollfd *list, unsigned count, uint64_t deadline);

/* From now on the thread's reads and writes do not wait: -EINTR. */
void sim_fd_interrupt(struct sim_thread *thread);

/* A bell, as eventfd: ready to read once it was rung. */
int sim_bell_open(void);
int sim_bell_ring(int number);

/* world/net_poll.c: the open file has changed, or ends. */
void sim_watch_tell(struct sim_fd *fd, uint32_t events);
void sim_watch_end(struct sim_fd *fd);

#endif
