/* Descriptors: the table of what weft knows of the operating system's descriptors, one place for each number, for the whole program.
 *
 * A handle is a number and a generation. Places are made when they are first needed and stay until the program ends, so any handle,
 * however old, can be looked up.
 *
 *   operation       caller
 *   desc_open       the process that has just got the descriptor from the kernel, or from the program
 *   desc_use        any process or thread with a handle; NULL: it is closed. Then desc_done, once
 *   desc_close      any process or thread with a handle; one of them succeeds
 *   desc_place      any process or thread with a handle
 *   desc_next       any thread; the places found may belong to any runtime
 *   net_deliver     the worker or thread that polls (sched/netpoll.h)
 *
 *   D4  The last user (fdref.h) gives the number back to the kernel: no user makes a system call with a number that may mean another
 *       descriptor by then. Before that the place gets its next generation, since the number may come back at once.
 *   D5  The closer wakes all waiters (readiness_shut), so the last user is gone soon. */
#ifndef WEFT_NET_DESC_H
#define WEFT_NET_DESC_H

#include "net/fdref.h"
#include "net/readiness.h"
#include "sched/netpoll.h"
#include "sys/sys_net.h"

#include <weft/net.h>

enum {
    DESC_NUMBER_BITS = 24, /* numbers below 16 million; the rest of a handle is the generation */
    DESC_CHUNK = 1024,
    DESC_CHUNKS = (1 << DESC_NUMBER_BITS) / DESC_CHUNK,
};
_Static_assert(FDREF_GENERATIONS < UINT64_C(1) << (63 - DESC_NUMBER_BITS), "a handle is positive");

enum desc_flags {
    DESC_SOCKET = 1,
    DESC_TCP = 2,       /* a short read says that there is no more: readiness.h, N6 */
    DESC_ADOPTED = 4,   /* not weft's to close when the runtime stops */
    DESC_BORROWED = 8,  /* nor weft's to make non-blocking */
    DESC_BLOCKING = 16, /* it was; `restores` says whether it is to be again */
    DESC_UNIX = 32,     /* the kernel does not tell a writer of every end: op.h */
    DESC_MESSAGES = 64, /* a socket where each write is a message of its own: datagrams */
};

struct desc {
    _Alignas(64) struct fdref fdref;
    struct runtime *runtime; /* the one whose netpoll has it; NULL: none any more. Under readiness.lock when it closes */
    unsigned flags;
    bool keep; /* the number does not go back to the kernel; written by the closer */
    /* Under readiness.lock. */
    bool polled;        /* the netpoll has it */
    bool restores;      /* it makes its open file blocking again when it ends (adopt.c) */
    unsigned borrowers; /* of a borrowed one: how many processes wait for it. 0: it is being given back */
    struct readiness readiness;
};

static inline int desc_number(weft_fd handle) { return (int)(handle & ((1 << DESC_NUMBER_BITS) - 1)); }
static inline uint64_t desc_generation(weft_fd handle) { return (uint64_t)handle >> DESC_NUMBER_BITS; }

/* The descriptor is weft's from now on, in the netpoll of the calling process's runtime; or an error, and it is still the caller's. */
weft_fd desc_open(int number, unsigned flags, const char *call);
/* The same, but if it fails the descriptor is closed. A number below 0 is an error already. */
weft_fd desc_open_or_close(int number, unsigned flags, const char *call);

struct desc *desc_use(weft_fd handle);
/* The same for a caller that only waits there, and does not use the descriptor (readiness.h, N8): it was open a moment ago. */
struct desc *desc_place(weft_fd handle);
void desc_done(struct desc *desc, int number);

/* 0 or WEFT_EBADF. `keep`: the number does not go back to the kernel. */
int desc_close(weft_fd handle, bool keep);
/* The same with `keep`, and WEFT_EBUSY if it has other users; it has ended when this returns. */
int desc_close_alone(weft_fd handle);
/* A borrowed descriptor is shared by the processes that wait for it. DESC_LENT: the caller is one of them, until desc_return; DESC_OWN: it
 * is not borrowed but weft's; WEFT_EBADF: it is being given back. The last desc_return closes it. */
enum { DESC_OWN = 0, DESC_LENT = 1 };
int desc_lend(weft_fd handle);
void desc_return(weft_fd handle);
/* True: the caller is a process; only processes may make descriptors. For calls that would first do something that cannot be undone. */
bool desc_may_open(void);
/* The next place that has been made, from *number on; *number becomes its number. NULL: there is none. */
struct desc *desc_next(int *number);
/* adopt.c: an adopted descriptor ends, and its mode becomes what it was, unless another adopted one shares it. */
void adopt_let_go(int number, bool restores);
/* adopt.c: for writes that raise SIGPIPE instead of failing: ignores the signal, unless the program has set an action of its own. */
void net_ignore_broken_pipes(void);

/* The handle of this number's present generation, or WEFT_EBADF. */
weft_fd desc_of(int number);

/* Passes on an event of the kernel: wakes a waiter, or all of them (readiness.h). */
void net_deliver(const struct epoll_event *event);
/* Closes what is left of the runtime's descriptors. */
void net_destroy(struct runtime *runtime);

#endif
