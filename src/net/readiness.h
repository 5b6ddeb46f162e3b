/* Whether a descriptor is ready, and the processes that wait until it is: one cell for each direction.
 *
 * The kernel reports once that a descriptor has *become* ready (edge-triggered), to the worker or thread that polls, the poller. So a
 * process tries first, and waits only if no edge has come since before it tried:
 *
 *     a process                                        the poller
 *     1  readiness_seen: how many edges there were     1  the kernel reports one: readiness_edge, under the lock:
 *     2  the system call: EAGAIN                              counts the edge
 *     3  readiness_wait, under the lock:                      claims the first waiter
 *            another number of edges: try again        2  without the lock: wakes it
 *            else into the list; parks
 *
 *   operation                        caller
 *   readiness_open                   the process that opens the descriptor, before others know of it
 *   readiness_shut                   its closer, once
 *   readiness_forget                 the thread that takes a runtime down, when none of its processes will ever run again
 *   readiness_seen, readiness_wait   processes, and threads that are not workers, between readiness_open and the descriptor's end
 *   readiness_wait_either            the same
 *   readiness_join, readiness_leave  the same; and at any time with a generation (N8)
 *   readiness_pass                   the process that got READINESS_MORE from readiness_wait
 *   readiness_retry                  a user of the descriptor that has changed what others wait for
 *   readiness_edge                   the poller, at any time: the generation says which descriptor the kernel meant
 *
 *   N1  A waiter is in a list only while no edge has come since before its EAGAIN; so what it waits for is reported by a later edge, or
 *       by an edge for which another waiter was woken (N2).
 *   N2  An edge wakes one waiter, since it may stand for a single connection. If there are more waiters the woken one is told so, and when
 *       it has got something it wakes the next (readiness_pass); if it finds nothing, there is nothing for them either.
 *   N3  An end or an error concerns all waiters: such an edge wakes them all, in both directions.
 *   N4  After readiness_shut no process waits, and none begins to.
 *   N5  An edge of another generation, that is of an earlier, closed descriptor with the same number, is ignored.
 *   N6  `drained` is the number of edges, counted before the call, at which a read got less than it asked for, or poll(2) found nothing (select/): until
 *       there is another edge, there is nothing to read. A reader relies on that only if it waits for that edge: an edge that no worker has polled yet
 *       is not counted, so a reader whose deadline has passed asks the kernel. It no longer holds once the other side has ended, or sent urgent data:
 *       the kernel reports those once, with the data or after. Short reads count only on plain TCP sockets that weft made itself: on UNIX sockets a read
 *       ends where descriptors are passed, on others where messages or records end. What poll says counts on all descriptors that weft made: to one whose number the
 *       program has it may do things that weft does not know of.
 *   N7  A process that waits in both directions is in both lists with one wait. When an edge has claimed it, it takes itself out of the
 *       other list before it goes on; an edge that meets it there meanwhile skips it, and claims the next waiter.
 *   N8  A waiter that names its descriptor's generation does not use the descriptor (fdref.h) while it waits: under the lock it joins only if that one is open, and
 *       readiness_shut takes it out. It makes no system call with the number before it uses the descriptor again. */
#ifndef WEFT_NET_READINESS_H
#define WEFT_NET_READINESS_H

#include "wait/waiters.h"

/* The reason that a claim leaves with the waiter, in the lowest bits of its `why`; the bits above are the waiter's own. */
enum { READINESS_EDGE = 1, READINESS_EDGE_MORE = 2, READINESS_CLOSED = 3, READINESS_WHY = 3 };

enum readiness_side { READINESS_IN, READINESS_OUT };
enum { READINESS_BOTH = 1 << READINESS_IN | 1 << READINESS_OUT };

struct cell {
    atom_u64 edges; /* written under the lock */
    struct waiters waiters;
};

/* Zeroed memory is shut. */
struct readiness {
    struct lock lock;
    bool open;
    atom_bool ended; /* never `drained` again */
    uint64_t generation;
    struct cell cells[2];
    atom_u64 drained; /* edges + 1; 0: not known to be */
};

/* What readiness_wait answers besides errors. */
enum { READINESS_AGAIN = 0, READINESS_MORE = 1 };

void readiness_open(struct readiness *readiness, uint64_t generation);
void readiness_shut(struct readiness *readiness);

static inline uint64_t readiness_seen(struct readiness *readiness, enum readiness_side side) {
    return atom_load_acq(
        &readiness->cells[side].edges); /* acq: pairs with the rel in readiness_count: the system call finds what the edge reported */
}

/* READINESS_AGAIN: try again. READINESS_MORE: likewise, and call readiness_pass if that brought anything or failed for good. WEFT_ECLOSED,
 * WEFT_ETIMEDOUT, WEFT_ECANCELED: do not try again. */
int readiness_wait(struct readiness *readiness, enum readiness_side side, uint64_t seen, uint64_t deadline, const char *call);
void readiness_pass(struct readiness *readiness, enum readiness_side side);
/* For a wait of the caller's own (select/): into the list, unless an edge has come since `seen` (READINESS_EDGE), or the readiness is shut, or of another
 * generation (READINESS_CLOSED); 0: it waits there. And out of the list, where it may be no longer. */
int readiness_join(struct readiness *readiness, uint64_t generation, enum readiness_side side, uint64_t seen, struct waiter *waiter);
void readiness_leave(struct readiness *readiness, struct waiter *waiter);
/* Waits for an edge in either direction; `seen` is for each. As readiness_wait, but it has called readiness_pass itself where needed. */
int readiness_wait_either(struct readiness *readiness, const uint64_t seen[2], uint64_t deadline, const char *call);

/* All waiters, in both directions, try again. */
void readiness_retry(struct readiness *readiness);

/* Removes this runtime's processes from the lists, without waking them. How many waited. */
unsigned readiness_forget(struct readiness *readiness, const struct runtime *runtime);

/* An edge: `sides` is a set of 1 << side; `ended`: N3, N6. True: a waiter was woken. */
bool readiness_edge(struct readiness *readiness, uint64_t generation, unsigned sides, bool ended, bool urgent);

/* N6, by a reader that saw `seen` edges before. rlx: `ended` was written before the edge that `seen` stands for, and is visible by its acq;
 * a `drained` that is out of date is another number. */
static inline bool readiness_is_drained(struct readiness *readiness, uint64_t seen) {
    return atom_load_rlx(&readiness->drained) == seen + 1 && !atom_load_rlx(&readiness->ended);
}
/* Whether it may be known that there is nothing to read. rlx: a hint. */
static inline bool readiness_may_drain(struct readiness *readiness) { return !atom_load_rlx(&readiness->ended); }
/* The program may do things to the descriptor after which short reads mean nothing (a layer of TLS in the kernel, say). rlx: visible to
 * every read after that. */
static inline void readiness_doubt(struct readiness *readiness) { atom_store_rlx(&readiness->ended, true); }
static inline void readiness_drain(struct readiness *readiness, uint64_t seen) { atom_store_rlx(&readiness->drained, seen + 1); }

#endif
