/* Queue entries: a process and the ticket under which it became ready, in one word.
 *
 * A queue stores entries and never looks inside. A worker that takes an entry out compares its ticket with the one in
 * the process's state word, and runs the process only if it wins the claim there; an entry whose ticket is old is
 * skipped. So a queue may deliver an entry several times, as long as it never loses one: at least once at the queue,
 * exactly once at the claim.
 *
 *      63                        16 15       0
 *     +----------------------------+----------+
 *     |    pointer, 48 bits        |  ticket  |
 *     +----------------------------+----------+
 *
 * 48 bits hold every user address of x86-64 and aarch64 Linux: larger ones exist only for programs that ask mmap for
 * them. No pointer is null, so no entry is zero, and zero can mean "no entry". */
#ifndef WEFT_QUEUE_ENTRY_H
#define WEFT_QUEUE_ENTRY_H

#include "base/assert.h"

#include <stdint.h>

#define ENTRY_NONE UINT64_C(0)

enum { ENTRY_TICKET_BITS = 16 };

static inline uint64_t entry_make(void *pointer, uint16_t ticket) {
    WEFT_ASSERT(pointer && (uint64_t)(uintptr_t)pointer >> (64 - ENTRY_TICKET_BITS) == 0, "%p does not fit", pointer);
    return (uint64_t)(uintptr_t)pointer << ENTRY_TICKET_BITS | ticket;
}

static inline void *entry_ptr(uint64_t entry) { return (void *)(uintptr_t)(entry >> ENTRY_TICKET_BITS); }

static inline uint16_t entry_ticket(uint64_t entry) { return (uint16_t)entry; }

#endif
