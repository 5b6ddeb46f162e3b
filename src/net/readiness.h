/* Whether a descriptor is ready, and who waits until it is: one cell for each direction.
 *
 * The kernel says once that a descriptor has *become* ready (edge-triggered), and says so to whoever polls. So a process tries first, and
 * waits only if nothing has been said since before it tried:
 *
 *     a process                                        whoever polls
 *     1  readiness_seen: how many edges there were          1  the kernel speaks: readiness_edge, under the lock:
 *     2  the system call: EAGAIN                             one edge more
 *     3  readiness_wait, under the lock:                          the first who waits is claimed
 *            another number of edges: try again        2  without the lock: wakes it
 *            else into the list; parks
 *
 *   operation              who may call
 *   readiness_open              whoever has the descriptor, before anybody else knows of it
 *   readiness_shut              whoever closes it, once
 *   readiness_forget            whoever takes a runtime down, when none of its processes will ever run again
 *   readiness_seen, readiness_wait   processes, and threads that are not workers, between readiness_open and the descriptor's end
 *   readiness_wait_either       the same
 *   readiness_pass              whoever readiness_wait told to
 *   readiness_retry             a user of the descriptor that has changed what others wait for
 *   readiness_edge              whoever polls, at any time: the generation says whom the kernel meant
 *
 *   N1  A waiter is in a list only while no edge came since before its EAGAIN; so what it waits for is told by an edge yet to come, or
 *       by one for which another was woken (N2).
 *   N2  An edge wakes one waiter, since it may stand for a single connection. If others wait too the one is told, and when it has got
 *       something it wakes the next (readiness_pass); if it finds nothing, there is nothing for them either.
 *   N3  What ends or fails, ends or fails for all: then an edge wakes everybody, in both directions.
 *   N4  After readiness_shut nobody waits, and nobody begins to.
 *   N5  An edge of another generation, that is of a descriptor of the same number that was closed before, is nobody's.
 *   N6  `drained` is the number of edges at which a read got less than it asked for: until there is another edge, there is nothing to read.
 *       A reader relies on that only if it waits for that edge: an edge that no worker has polled yet is not counted, so a reader whose deadline has
 *       passed asks the kernel. Not so once the other side has ended, or sent something urgent: those are said once, with the data or after. Plain
 *       TCP sockets that weft made itself only; UNIX sockets end a read where descriptors are passed, others where messages or records end.
 *   N7  Who waits in both directions is in both lists with one wait. Whichever edge claims it, it takes itself out of the other list
 *       before it goes on; an edge that meets it there meanwhile passes it over, and claims the next. */
#ifndef WEFT_NET_READINESS_H
#define WEFT_NET_READINESS_H

#include "wait/waiters.h"

enum readiness_side { READINESS_IN, READINESS_OUT };
enum { READINESS_BOTH = 1 << READINESS_IN | 1 << READINESS_OUT };

struct cell {
    atom_u64 edges; /* written under the lock */
    struct waiters waiters;
};

/* Zeroed memory is a gate that is shut. */
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
        &readiness->cells[side].edges); /* acq: pairs with the rel in readiness_count: what was said is there for the system call */
}

/* READINESS_AGAIN: try again. READINESS_MORE: likewise, and call readiness_pass if that brought anything or failed for good. WEFT_ECLOSED,
 * WEFT_ETIMEDOUT, WEFT_ECANCELED: do not. */
int readiness_wait(struct readiness *readiness, enum readiness_side side, uint64_t seen, uint64_t deadline, const char *call);
void readiness_pass(struct readiness *readiness, enum readiness_side side);
/* In either direction, each seen before. As readiness_wait, but it has passed on already what there was to be. */
int readiness_wait_either(struct readiness *readiness, const uint64_t seen[2], uint64_t deadline, const char *call);

/* Everybody who waits, in either direction, tries again. */
void readiness_retry(struct readiness *readiness);

/* How many processes of this runtime waited; they do not any more, and are not woken. */
unsigned readiness_forget(struct readiness *readiness, const struct runtime *runtime);

/* Of which kind: `sides` is a set of 1 << side; `ended`: N3, N6. True: somebody was woken. */
bool readiness_edge(struct readiness *readiness, uint64_t generation, unsigned sides, bool ended, bool urgent);

/* N6, both by a reader that saw so many edges before. rlx: `ended` was written before the edge that `seen` stands for, and seen by its acq;
 * a number that is out of date is another number. */
static inline bool readiness_is_drained(struct readiness *readiness, uint64_t seen) {
    return atom_load_rlx(&readiness->drained) == seen + 1 && !atom_load_rlx(&readiness->ended);
}
/* Somebody may do things to the descriptor after which short reads mean nothing (a layer of TLS in the kernel, say). rlx: seen by
 * whoever reads after that. */
static inline void readiness_doubt(struct readiness *readiness) { atom_store_rlx(&readiness->ended, true); }
static inline void readiness_drain(struct readiness *readiness, uint64_t seen) { atom_store_rlx(&readiness->drained, seen + 1); }

#endif
