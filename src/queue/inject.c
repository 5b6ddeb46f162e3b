/* The global run queue: see queue/inject.h. `size` is relaxed everywhere: it is written under the lock; a reader without
 * the lock gets a hint, or has passed a fence that follows the submitter's. */
#include "queue/inject.h"

#include "sys/sys.h"

#include <errno.h>

void inject_init(struct inject *inject) {
    lock_init(&inject->lock);
    atom_store_rlx(&inject->size, 0);
    inject->slots = NULL;
    inject->capacity = inject->first = inject->count = 0;
}

void inject_destroy(struct inject *inject) {
    if (inject->slots) sys->free(inject->slots, inject->capacity * sizeof *inject->slots);
    inject_init(inject);
}

/* Under the lock: makes the array hold `needed` entries. 0 or -ENOMEM. */
static int inject_grow(struct inject *inject, size_t needed) {
    size_t capacity = inject->capacity ? inject->capacity : INJECT_FIRST_CAPACITY;
    while (capacity < needed) {
        if (capacity > SIZE_MAX / 2 / sizeof *inject->slots) return -ENOMEM;
        capacity *= 2;
    }
    if (capacity == inject->capacity) return 0;
    uint64_t *slots = sys->alloc(capacity * sizeof *slots);
    if (!slots) return -ENOMEM;
    for (size_t i = 0; i < inject->count; i++)
        slots[i] = inject->slots[(inject->first + i) & (inject->capacity - 1)];
    if (inject->slots) sys->free(inject->slots, inject->capacity * sizeof *slots);
    inject->slots = slots;
    inject->capacity = capacity;
    inject->first = 0;
    return 0;
}

int inject_reserve(struct inject *inject, size_t capacity) {
    lock_take(&inject->lock);
    int error = inject_grow(inject, capacity);
    lock_drop(&inject->lock);
    return error;
}

int inject_push(struct inject *inject, uint64_t entry) { return inject_push_batch(inject, &entry, 1); }

int inject_push_batch(struct inject *inject, const uint64_t *entries, size_t count) {
    if (count == 0) return 0;
    lock_take(&inject->lock);
    int error = count > SIZE_MAX - inject->count ? -ENOMEM : inject_grow(inject, inject->count + count);
    if (!error) {
        for (size_t i = 0; i < count; i++)
            inject->slots[(inject->first + inject->count + i) & (inject->capacity - 1)] = entries[i];
        inject->count += count;
        atom_store_rlx(&inject->size, inject->count);
    }
    lock_drop(&inject->lock);
    return error;
}

static size_t inject_take(struct inject *inject, uint64_t *out, size_t max, bool newest) {
    if (inject_size(inject) == 0) /* spares an empty queue the lock */
        return 0;
    lock_take(&inject->lock);
    size_t count = max < inject->count ? max : inject->count, from = newest ? inject->count - count : 0;
    for (size_t i = 0; i < count; i++)
        out[i] = inject->slots[(inject->first + from + i) & (inject->capacity - 1)];
    if (count) {
        if (!newest) inject->first = (inject->first + count) & (inject->capacity - 1);
        inject->count -= count;
        atom_store_rlx(&inject->size, inject->count);
    }
    lock_drop(&inject->lock);
    return count;
}
size_t inject_take_batch(struct inject *inject, uint64_t *out, size_t max) { return inject_take(inject, out, max, false); }
size_t inject_take_newest(struct inject *inject, uint64_t *out, size_t max) { return inject_take(inject, out, max, true); }

size_t inject_size(struct inject *inject) { return (size_t)atom_load_rlx(&inject->size); }
