/* The growing run queue of one worker (policy `deque`): Chase and Lev's work-stealing deque. The owner pushes and pops
 * at the bottom (last in, first out), thieves take the oldest entry at the top. Delivers every entry exactly once.
 *
 * Callers. "Owner" is the one thread that drives the worker now; a hand-over of the worker to another thread makes
 * everything done before it happen before what follows. "Any" is every thread, the owner included.
 *
 *   deque_init, deque_destroy    one thread, before the deque is shared or after its last use
 *   deque_push, deque_pop        owner    no read-modify-write but for the last entry
 *   deque_reserve                owner
 *   deque_steal                  any
 *   deque_steal_half             any, as the owner of the deque that it steals into
 *   deque_size, deque_is_empty   any      hints
 *
 *   D1  The entries are at the indices top <= i < bottom. top only grows, by CAS, one at a time: the thread that moves it
 *       from i to i + 1 has the entry at i. Indices are 64 bits wide and never wrap around.
 *   D2  The owner takes the entry at bottom - 1 without a CAS only after it has published the smaller bottom and then
 *       seen top below it. A thief that sees a top there looks at bottom afterwards and finds the smaller one. Both are
 *       "store, then load what the other stores", hence seq_cst on bottom and top.
 *   D3  The last entry is taken by CAS on top, by the owner as well.
 *   D4  The slot of index i is written again (at i + capacity) only after the owner has seen top > i; a thief that
 *       read the new contents fails in its CAS.
 *   D5  A buffer that has been replaced keeps its contents until the deque is destroyed: a thief may still be reading
 *       there. All replaced ones together are smaller than the present one.
 *   D6  What was written before an entry was pushed is visible to the thread that takes it out. */
#ifndef WEFT_QUEUE_DEQUE_H
#define WEFT_QUEUE_DEQUE_H

#include "base/atom.h"
#include "queue/entry.h"

#if WEFT_CHECK
#define DEQUE_FIRST_CAPACITY 2
#define DEQUE_FIRST_INDEX (UINT64_MAX - 1)
#else
#define DEQUE_FIRST_CAPACITY 256
#define DEQUE_FIRST_INDEX 0
#endif

struct deque_buffer {
    struct deque_buffer *older; /* D5 */
    uint64_t capacity;          /* a power of two */
    atom_u64 slots[];
};

struct deque {
    _Alignas(64) atom_u64 top;            /* CAS by any thread */
    _Alignas(64) atom_u64 bottom;         /* owner */
    ATOM_PTR(struct deque_buffer) buffer; /* owner */
};

/* 0 or -ENOMEM. */
int deque_init(struct deque *deque);
void deque_destroy(struct deque *deque);

/* 0, or -ENOMEM with nothing changed. */
int deque_push(struct deque *own, uint64_t entry);

/* Makes room for `more` entries, so that as many pushes cannot fail. 0, or -ENOMEM with nothing changed. */
int deque_reserve(struct deque *own, uint64_t more);

/* The newest entry; ENTRY_NONE when there is none. */
uint64_t deque_pop(struct deque *own);

/* Takes the oldest entry: 1; or 0 when the deque was empty; or -EAGAIN when the owner or another thief was faster, which
 * says nothing about emptiness. */
int deque_steal(struct deque *victim, uint64_t *entry);

/* Takes up to half of the victim's entries, rounded up, one at a time: the oldest to *first, to be run at once, the
 * others to the bottom of `own`. Returns how many were taken, or as deque_steal when none was. Stops early when the
 * victim's owner or another thief is faster, or when `own` cannot grow. */
int deque_steal_half(struct deque *own, struct deque *victim, uint64_t *first);

/* Racy reads: the answer is a hint. */
uint64_t deque_size(struct deque *deque);
bool deque_is_empty(struct deque *deque);

#endif
