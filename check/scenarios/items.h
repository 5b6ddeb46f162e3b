/* What the scenarios of the run queues push and count: items with a payload, and one tally for each thread.
 *
 * The payload is plain data, written by the pusher just before the push and read by every thread that takes the item out: if
 * the queue did not order the two, the checker reports a race. */
#ifndef WEFT_CHECK_ITEMS_H
#define WEFT_CHECK_ITEMS_H

#include "chk.h"
#include "queue/entry.h"

enum { ITEMS = 8 };

struct item {
    uint64_t payload;
};

struct tally {
    _Alignas(8) unsigned char times[ITEMS];
};

SHARED struct item items[ITEMS];
SHARED struct tally tallies[CHK_THREADS];
SHARED struct tally left; /* what finish finds in the queues */

static inline uint64_t item_make(unsigned id) {
    items[id].payload = id + 100;
    return entry_make(&items[id], (uint16_t)id);
}

static inline void item_count(struct tally *tally, uint64_t entry) {
    chk_assert(entry != ENTRY_NONE, "a queue hands out entries that were pushed");
    unsigned id = entry_ticket(entry);
    chk_assert(id < ITEMS && entry_ptr(entry) == &items[id], "an entry comes out as it went in");
    chk_assert(items[id].payload == id + 100, "what was written before the push is there");
    tally->times[id]++;
}

/* Counts an entry that the calling thread took out; the second form is for one that may be ENTRY_NONE. */
static inline void item_taken(uint64_t entry) { item_count(&tallies[chk_self()], entry); }
static inline void item_got(uint64_t entry) {
    if (entry != ENTRY_NONE) item_taken(entry);
}

static inline unsigned item_times(unsigned id) {
    unsigned times = left.times[id];
    for (unsigned i = 0; i < CHK_THREADS; i++)
        times += tallies[i].times[id];
    return times;
}

static inline void items_all_delivered(unsigned count) {
    for (unsigned id = 0; id < count; id++)
        chk_assert(item_times(id) > 0, "no entry is lost");
}

static inline void items_all_delivered_once(unsigned count) {
    items_all_delivered(count);
    for (unsigned id = 0; id < count; id++)
        chk_assert(item_times(id) == 1, "no entry is delivered twice");
}

#endif
