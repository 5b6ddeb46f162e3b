/* The kernel's side of a futex, as the checker sees it: a queue of sleeping threads kept in one cell.
 *
 * The cell holds a count of wake calls in its upper half and the sleepers, oldest first, four bits each, below it. A wait reads
 * the queue, reads the word, and joins the queue only if the queue has not changed in between; so, as under the kernel's
 * bucket lock, a waker either finds the sleeper or has its stores seen by the sleeper's read of the word.
 *
 * That is needed where several threads may sleep on one word. As long as a search has seen only one on each, a count of wake calls
 * says the same with far fewer executions (api.c); when it meets a second, it begins again with queues. */
#ifndef CHECK_FUTEX_H
#define CHECK_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

/* Queues are in use: set when a search meets a second sleeper, or by a replay string. */
extern bool futex_several;

enum { FUTEX_SLEEPER_BITS = 4, FUTEX_SLEEPERS = 8 };

/* One more wake call, `count` sleepers fewer. */
static inline uint64_t futex_queue_after_wake(uint64_t queue, unsigned count) {
    uint64_t calls = (queue >> 32) + 1;
    uint32_t sleepers = (uint32_t)queue;
    for (; count > 0 && sleepers != 0; count--)
        sleepers >>= FUTEX_SLEEPER_BITS;
    return calls << 32 | sleepers;
}

static inline unsigned futex_queue_length(uint64_t queue) {
    unsigned n = 0;
    for (uint32_t s = (uint32_t)queue; s != 0; s >>= FUTEX_SLEEPER_BITS)
        n++;
    return n;
}

static inline uint64_t futex_queue_join(uint64_t queue, unsigned thread) {
    return queue | (uint64_t)thread << FUTEX_SLEEPER_BITS * futex_queue_length(queue);
}

/* Without `thread`; the same queue if it is not in it. */
static inline uint64_t futex_queue_leave(uint64_t queue, unsigned thread) {
    uint32_t rest = 0, s = (uint32_t)queue;
    for (unsigned at = 0; s != 0; s >>= FUTEX_SLEEPER_BITS)
        if ((s & 15) != thread) rest |= (s & 15) << FUTEX_SLEEPER_BITS * at++;
    return (queue & ~UINT64_C(0xffffffff)) | rest;
}

#endif
