/* synch2, inside: a mutex for two parties, made of loads and stores; the state behind weft/synch2.h, and how a role waits. The protocol
 * with its proofs is in docs/synch2.md.
 *
 *   operation               caller
 *   weft_synch2_init        one thread, before the other thread can reach the object
 *   synch2_set_waiter       the same
 *   weft_synch2_enter ...   role r: one thread at a time; the two roles: any two threads at once
 *
 *   cell                    written by              read by
 *   role[r].active          r                       both
 *   wait[r]                 r: 1; the other: 0      both
 *   waker                   the role inside         both
 *   waker_change            the role inside: 1      both
 *                           both: 0
 *   role[r].bell            r: 1; both: 0           both
 *   role[r].place, gave_up  r                       r
 *
 * Invariants.
 *
 * S1  A role that is past the guard and still active is alone there (mutual exclusion).
 * S2  wait[r] becomes 0 only by the other role, in its guard, while it is the waker, or was when it looked and the
 *     new waker has not been answered yet.
 * S3  When a role becomes inactive after having been inside it is the waker, and the other role is not about to write
 *     wait[r]: the other was inactive, or had its bell up, or has answered, each seen after `waker` was written.
 * S4  A role that leaves the guard while the other is active leaves the other there, as the waker, unless the other gives up.
 * S5  bell[r] is 1 only while r waits. Between checking whether it is the waker and acting as such a role has its bell down.
 * S6  A role that writes a cell which r may be waiting for rings r's bell afterwards. r checks again after putting the bell
 *     up. With a fence on either side one of the two sees the other: no wake-up is lost.
 *
 * The protocol (active, wait, waker, waker_change) is made of loads and stores, and so is the bell. Only the sleep
 * itself needs more: the futex, and membarrier on the sleeper's side, so that the fence on the ringing side costs
 * nothing. */
#ifndef WEFT_SYNC_SYNCH2_H
#define WEFT_SYNC_SYNCH2_H

#include "wait/waiters.h"

#include <weft/synch2.h>

/* How a role waits for longer than a moment. Threads sleep on a futex, processes park (synch2_park.c). */
struct synch2_waiter {
    /* Sleeps while the bell is 1, as futex_wait does: comparing and going to sleep is one step. May return at any time,
     * for no reason; -ETIMEDOUT says that the deadline has passed. */
    int (*sleep)(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell, uint64_t deadline);
    /* Ends that sleep; the bell is 0 already. Called by the other role. */
    void (*wake)(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell);
    /* Each role's rounds of spinning and yielding (base/spin.h) before a sleep; SYNCH2_NO_SLEEP: no sleep at all. */
    uint32_t rounds[2];
    /* Whether the caller is a process: then it hardly spins, since that would keep its thread from other processes. NULL: no. */
    bool (*parks)(void);
    /* Around calls that cannot be given up, in a process: no cancellation ends a sleep. With `parks`. */
    void (*shield)(bool on);
};

#define SYNCH2_NO_SLEEP UINT32_MAX
/* The pauses of base/spin.h, then a few yields; for a process, a few pauses. */
enum { SYNCH2_ROUNDS = 64 + 16, SYNCH2_PROCESS_ROUNDS = 16 };

extern const struct synch2_waiter synch2_thread_waiter;
/* The default: for callers of either kind. The two roles may be a thread and a process. */
extern const struct synch2_waiter synch2_any_waiter;

/* Where a role is; only for finding misuse. */
enum synch2_place { SYNCH2_OUT, SYNCH2_WAITING, SYNCH2_IN };

struct synch2_role {
    /* What the other role reads while it waits. */
    _Alignas(CONFIG_CACHE_LINE) atom_u32 active;
    atom_u32 bell;
    /* On a line of its own, so that writing it does not disturb a waiter. */
    _Alignas(CONFIG_CACHE_LINE) atom_u32 place;
    atom_u32 gave_up; /* since it last began to wait */
    struct lock bed_lock;
    struct waiters bed; /* where this role parks: its waiter, if it is a process and parked */
};

struct synch2 {
    struct synch2_role role[2];
    _Alignas(CONFIG_CACHE_LINE) atom_u32 wait[2];
    atom_u32 waker;
    atom_u32 waker_change;
    const struct synch2_waiter *waiter; /* NULL: synch2_any_waiter */
};

_Static_assert(sizeof(struct synch2) == sizeof(weft_synch2), "the public struct has the right size");
_Static_assert(_Alignof(struct synch2) == _Alignof(weft_synch2), "and alignment");

static inline struct synch2 *synch2_of(weft_synch2 *synch2) { return (struct synch2 *)(void *)synch2; }

/* After weft_synch2_init. */
static inline void synch2_set_waiter(weft_synch2 *synch2, const struct synch2_waiter *waiter) { synch2_of(synch2)->waiter = waiter; }

#endif
