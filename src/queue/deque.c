/* Chase and Lev's deque: see queue/deque.h.
 *
 * Relaxed operations in this file. On bottom and buffer, by the owner: it reads back what it wrote itself. On slots:
 * bottom orders them (D6), top decides whether what was read counts (D4). */
#include "queue/deque.h"

#include "sys/sys.h"

#include <errno.h>

static inline atom_u64 *deque_slot(struct deque_buffer *buffer, uint64_t index) { return &buffer->slots[index & (buffer->capacity - 1)]; }

static size_t deque_buffer_bytes(uint64_t capacity) { return sizeof(struct deque_buffer) + (size_t)capacity * sizeof(atom_u64); }

static struct deque_buffer *deque_buffer_make(uint64_t capacity, struct deque_buffer *older) {
    if (capacity > SIZE_MAX / 2 / sizeof(atom_u64)) return NULL;
    struct deque_buffer *buffer = sys->alloc(deque_buffer_bytes(capacity));
    if (buffer) {
        buffer->older = older;
        buffer->capacity = capacity;
    }
    return buffer;
}

int deque_init(struct deque *deque) {
    struct deque_buffer *buffer = deque_buffer_make(DEQUE_FIRST_CAPACITY, NULL);
    if (!buffer) return -ENOMEM;
    atom_store_rlx(&deque->top, DEQUE_FIRST_INDEX);
    atom_store_rlx(&deque->bottom, DEQUE_FIRST_INDEX);
    atom_store_rlx(&deque->buffer, buffer);
    return 0;
}

void deque_destroy(struct deque *deque) {
    struct deque_buffer *buffer = atom_load_rlx(&deque->buffer);
    while (buffer) {
        struct deque_buffer *older = buffer->older;
        sys->free(buffer, deque_buffer_bytes(buffer->capacity));
        buffer = older;
    }
    atom_store_rlx(&deque->buffer, NULL);
}

/* A buffer for at least `needed` entries that holds top <= i < bottom; NULL when there is no memory. */
static struct deque_buffer *deque_grow(struct deque *own, uint64_t top, uint64_t bottom, uint64_t needed) {
    struct deque_buffer *old = atom_load_rlx(&own->buffer);
    uint64_t capacity = old->capacity;
    while (capacity < needed) {
        if (capacity > UINT64_MAX / 2) return NULL;
        capacity *= 2;
    }
    struct deque_buffer *grown = deque_buffer_make(capacity, old);
    if (!grown) return NULL;
    for (uint64_t i = top; i != bottom; i++)
        atom_store_rlx(deque_slot(grown, i), atom_load_rlx(deque_slot(old, i)));
    /* Pairs with the load in deque_steal: without it a thief could use the buffer before it is filled. */
    atom_store_rel(&own->buffer, grown);
    return grown;
}

/* The buffer in which the next `more` pushes find room; NULL when there is no memory. */
static struct deque_buffer *deque_room(struct deque *own, uint64_t bottom, uint64_t more) {
    /* Pairs with the CAS in deque_steal: a thief's read of a slot stays before our next write to it (D4). An older
     * value than the present one is smaller and only makes us grow early. */
    uint64_t top = atom_load_acq(&own->top);
    struct deque_buffer *buffer = atom_load_rlx(&own->buffer);
    if (more <= buffer->capacity - (bottom - top)) return buffer;
    uint64_t used = bottom - top;
    return more > UINT64_MAX - used ? NULL : deque_grow(own, top, bottom, used + more);
}

int deque_push(struct deque *own, uint64_t entry) {
    uint64_t bottom = atom_load_rlx(&own->bottom);
    struct deque_buffer *buffer = deque_room(own, bottom, 1);
    if (!buffer) return -ENOMEM;
    atom_store_rlx(deque_slot(buffer, bottom), entry);
    /* Pairs with the load of bottom in deque_steal: without it a thief could find the slot, or what the entry points
     * to, as it was before (D6). */
    atom_store_rel(&own->bottom, bottom + 1);
    return 0;
}

int deque_reserve(struct deque *own, uint64_t more) { return deque_room(own, atom_load_rlx(&own->bottom), more) ? 0 : -ENOMEM; }

uint64_t deque_pop(struct deque *own) {
    uint64_t bottom = atom_load_rlx(&own->bottom);
    /* Spares an empty deque the rest. Relaxed: an older top is smaller, so this never takes a full deque for empty. */
    if (bottom == atom_load_rlx(&own->top)) return ENTRY_NONE;
    bottom--;
    /* D2: the thief's load of bottom must see this store, or our load of top must see the thief's CAS. */
    atom_store_sc(&own->bottom, bottom);
    uint64_t top = atom_load_sc(&own->top); /* D2 */
    if (top == bottom + 1) {
        atom_store_rlx(&own->bottom, bottom + 1); /* empty; a thief that reads this finds top at the same index */
        return ENTRY_NONE;
    }
    uint64_t entry = atom_load_rlx(deque_slot(atom_load_rlx(&own->buffer), bottom));
    if (top == bottom) {
        /* D3. Pairs with the load of top in deque_steal: without it a thief that starts from the new top could still
         * see a bottom from before our pops, and take again what we have taken. */
        if (!atom_cas_rel_rlx(&own->top, &top, top + 1)) entry = ENTRY_NONE;
        atom_store_rlx(&own->bottom, bottom + 1); /* as above */
    }
    return entry;
}

int deque_steal(struct deque *victim, uint64_t *entry) {
    /* Pairs with the CAS that moved top here: this thief sees at least the bottom that the thread of that CAS had seen. */
    uint64_t top = atom_load_sc(&victim->top);
    /* D2, and pairs with the store in deque_push (D6). */
    uint64_t bottom = atom_load_sc(&victim->bottom);
    if ((int64_t)(bottom - top) <= 0) return 0;
    /* Pairs with the store in deque_grow. */
    struct deque_buffer *buffer = atom_load_acq(&victim->buffer);
    uint64_t taken = atom_load_rlx(deque_slot(buffer, top));
    /* D1. seq_cst: it has to stand before the owner's load of top in deque_pop, or that load is before our load of
     * bottom (D2); and it keeps the load of the slot before it (D4). */
    if (!atom_cas_sc_rlx(&victim->top, &top, top + 1)) return -EAGAIN;
    *entry = taken;
    return 1;
}

int deque_steal_half(struct deque *own, struct deque *victim, uint64_t *first) {
    uint64_t size = deque_size(victim), half = size - size / 2;
    int got = deque_steal(victim, first);
    if (got != 1) return got;
    int count = 1;
    while ((uint64_t)count < half && count < INT32_MAX) {
        uint64_t entry;
        if (deque_reserve(own, 1) != 0 || deque_steal(victim, &entry) != 1) break;
        deque_push(own, entry); /* cannot fail: reserved */
        count++;
    }
    return count;
}

uint64_t deque_size(struct deque *deque) {
    /* Relaxed: a hint; a caller that needs more has passed a fence. */
    uint64_t top = atom_load_rlx(&deque->top);
    int64_t size = (int64_t)(atom_load_rlx(&deque->bottom) - top);
    return size > 0 ? (uint64_t)size : 0;
}

bool deque_is_empty(struct deque *deque) { return deque_size(deque) == 0; }
