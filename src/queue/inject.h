/* The global FIFO of entries: for submissions from outside, overflow, and fairness. A growing circular array under a
 * lock.
 *
 * Callers: inject_init and inject_destroy, one thread while no other uses the queue; everything else, any thread.
 *
 *   I1  first, count, capacity and slots belong to the holder of the lock; `size` repeats count for readers without
 *       the lock.
 *   I2  A batch goes in as a whole, contiguous, or not at all.
 *   I3  A push that leaves at most as many entries as were reserved cannot fail: the array never shrinks. */
#ifndef WEFT_QUEUE_INJECT_H
#define WEFT_QUEUE_INJECT_H

#include "base/atom.h"
#include "queue/entry.h"
#include "queue/lock.h"

#include <stddef.h>

#if WEFT_CHECK
#define INJECT_FIRST_CAPACITY 2
#else
#define INJECT_FIRST_CAPACITY 256
#endif

struct inject {
    _Alignas(64) struct lock lock;
    atom_u64 size;   /* I1 */
    uint64_t *slots; /* NULL until something is pushed or reserved */
    size_t capacity; /* 0 or a power of two */
    size_t first;    /* index of the oldest entry */
    size_t count;
};

void inject_init(struct inject *inject);
void inject_destroy(struct inject *inject);

/* Makes room for `capacity` entries in all (I3). 0, or -ENOMEM with nothing changed. */
int inject_reserve(struct inject *inject, size_t capacity);

/* Adds at the tail, in the order given. 0, or -ENOMEM with nothing changed. */
int inject_push(struct inject *inject, uint64_t entry);
int inject_push_batch(struct inject *inject, const uint64_t *entries, size_t count);

/* Moves up to `max` of the oldest entries to `out`, oldest first; returns how many. */
size_t inject_take_batch(struct inject *inject, uint64_t *out, size_t max);

/* The same with the newest entries, oldest of them first. */
size_t inject_take_newest(struct inject *inject, uint64_t *out, size_t max);

/* A racy read without the lock: a hint. */
size_t inject_size(struct inject *inject);

#endif
