/* Where the memory of bounded mailboxes comes from. A struct bounds stays one (bounds.h, N4) while a thread may know its address:
 *
 *   - a thread inside a runtime that has had such a mailbox. `runtimes` counts them.
 *   - a sender that waits, or has waited and is about to leave the list; its receiver's runtime may be gone by then. `senders` counts them.
 *
 * When there are none of both, all go back to the system. */
#include "mail/bounds.h"

static struct {
    struct lock lock;
    struct bounds *free;
    uint64_t runtimes, senders;
} bounds_spare;

/* Under the lock. The list of those that the caller is to free, once it has dropped the lock. */
static struct bounds *spare_unneeded(void) {
    struct bounds *list = bounds_spare.free;
    if (bounds_spare.runtimes + bounds_spare.senders > 0) return NULL;
    bounds_spare.free = NULL;
    return list;
}

static void spare_free(struct bounds *list) {
    for (struct bounds *next; list; list = next) {
        next = list->next;
        sys->free(list, sizeof *list);
    }
}

/* One fewer of `number`. */
static void spare_leave(uint64_t *number) {
    lock_take(&bounds_spare.lock);
    --*number;
    struct bounds *unneeded = spare_unneeded();
    lock_drop(&bounds_spare.lock);
    spare_free(unneeded);
}

struct bounds *bounds_take_spare(bool *counted) {
    lock_take(&bounds_spare.lock);
    if (!*counted) bounds_spare.runtimes++;
    *counted = true;
    struct bounds *bounds = bounds_spare.free;
    if (bounds) bounds_spare.free = bounds->next;
    lock_drop(&bounds_spare.lock);
    return bounds ? bounds : sys->alloc(sizeof *bounds);
}

void bounds_give(struct bounds *bounds) {
    lock_take(&bounds_spare.lock);
    bounds->next = bounds_spare.free;
    bounds_spare.free = bounds;
    lock_drop(&bounds_spare.lock);
}

void bounds_runtime_ends(bool counted) {
    if (counted) spare_leave(&bounds_spare.runtimes);
}

void bounds_sender_begins(void) {
    lock_take(&bounds_spare.lock);
    bounds_spare.senders++;
    lock_drop(&bounds_spare.lock);
}

void bounds_sender_ends(void) { spare_leave(&bounds_spare.senders); }
