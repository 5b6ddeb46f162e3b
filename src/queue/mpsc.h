/* The mailbox: many producers, one consumer, linked through the messages themselves.
 *
 * Callers. "Consumer" is one thread at a time: the thread that runs the process the box belongs to.
 *
 *   mpsc_init, mpsc_divert         one thread, before the box is shared
 *   mpsc_push, _unheard, _trailing any        lock-free
 *   mpsc_pop, _direct, mpsc_close  consumer
 *   mpsc_shut                      a producer, when the consumer is done with the box and has left it open
 *   mpsc_renew                     one thread, when no producer comes to the box any more: what no thread has taken out
 *   mpsc_take_all, mpsc_put_back   consumer
 *   mpsc_put_first                 consumer
 *   mpsc_is_clear                  any        a hint, but for what the caller pushed itself
 *   mpsc_hand_over                 a producer in place of the consumer, which sleeps until a push wakes it: it has claimed the consumer
 *   mpsc_is_empty                  consumer   exact: nothing pushed before is left
 *   mpsc_is_closed                 any        once true, always true
 *   mpsc_each                      consumer   nothing pushed before is left out
 *   mpsc_expect_emptied            consumer   before it sleeps until a push wakes it
 *   mpsc_forget_look               consumer   when it lets go of the box in any other way
 *
 * Producers push onto a stack; the consumer takes the whole stack in one swap and turns it round into a list of its
 * own.
 *
 *   M1  head is NULL, the newest message pushed since the consumer last took all, or a mark: bit 1 is set. The mark of a closed box is
 *       MPSC_SHUT; any other is that of a diverted box. The lowest bit, HEARD, is set once one of these messages was pushed by mpsc_push.
 *   M2  A message belongs to its producer until the push succeeds, to the box until popped or returned by close, and
 *       then to the consumer. A push that fails keeps it with the producer.
 *   M3  Messages of one producer come out in the order in which they were pushed, and the box has one order in all: that of the
 *       successful pushes; a message that is handed over comes before those whose push has not ended when its producer finds the box clear.
 *   M4  Of the pushes that come between two takes of the consumer, unheard ones apart, one is told that it is the first: its
 *       producer wakes the consumer. (What the consumer has taken and not popped yet does not count: it is awake then.) A
 *       producer that pushes unheard wakes the consumer later; until then any other producer's push still wakes it.
 *   M5  Everything pushed before the close is returned by it or was popped; every later push fails.
 *   M6  A producer that is refused, or a thread told that the box is closed, sees what the consumer did before it closed it.
 *   M7  A consumer that sleeps until a push wakes it has found the box empty since it was last woken. Otherwise a message
 *       whose wake-up is used up may lie there; the next push is then not the first and wakes no consumer: a lost wake-up.
 *       Asserted in debug builds and under the checker, where the consumer's last look is remembered.
 *   M8  A box that was diverted before it was shared stays so until it is closed: its messages are kept by a detour, which does what
 *       the box does otherwise, and keeps M2 to M7. Pushing, taking and closing test one bit, that of a closed box, and find both.
 *   M9  Of a message that the consumer has not taken, the upper 16 bits of `next` are a hint (base/ahead.h); 0: none. So messages lie below 2^48, as all memory does that a
 *       program has not asked for otherwise. A receiver whose senders run on another core finds its messages in that core's cache: it took 72 ns a message where a line
 *       takes 350 ns there and back, and takes 35 with hints; where it takes 60 ns, 23 and 19 (weft bench fanin, Zen 4). Tools that look for pointers in memory (a debugger's
 *       script, a leak detector other than the address sanitizer's) do not see what such a `next` points to. */
#ifndef WEFT_QUEUE_MPSC_H
#define WEFT_QUEUE_MPSC_H

#include "base/ahead.h"
#include "base/assert.h"
#include "base/atom.h"

#include <errno.h>
#include <stddef.h>

struct mpsc_node {
    struct mpsc_node *next;
};

struct mpsc {
    ATOM_PTR(struct mpsc_node) head; /* any */
    struct mpsc_node *taken;         /* consumer: oldest first. NULL or MPSC_LOOKED: none */
};

enum { MPSC_HEARD = 1, MPSC_MARK = 2 }; /* M1 */
/* `head` of a closed box. In debug builds also `taken`, when the consumer's last look found nothing. Never dereferenced. */
#define MPSC_SHUT ((struct mpsc_node *)(uintptr_t)MPSC_MARK)
#if WEFT_DEBUG
#define MPSC_LOOKED MPSC_SHUT
#else
#define MPSC_LOOKED ((struct mpsc_node *)NULL)
#endif

enum mpsc_pushed {
    MPSC_CLOSED = -EPIPE,    /* refused: the message is still the caller's */
    MPSC_DIVERTED = -EAGAIN, /* likewise, by a detour that takes such messages another way */
    MPSC_PUSHED = 0,
    MPSC_PUSHED_FIRST = 1, /* M4: the caller wakes the consumer */
};

/* What a diverted box leads to (M8). It may serve another box once this one is closed, so `push` is told for which box it is meant. */
struct mpsc_detour {
    atom_u32 queued; /* messages that a take would find */
    enum mpsc_pushed (*push)(struct mpsc_detour *detour, struct mpsc *box, struct mpsc_node *node);
    struct mpsc_node *(*take)(struct mpsc_detour *detour, unsigned most); /* consumer; oldest first */
    struct mpsc_node *(*close)(struct mpsc_detour *detour);               /* consumer; likewise, all that is left */
};
enum { MPSC_DETOUR_MOST = 64 }; /* messages of a diverted box that one mpsc_take_all returns */

void mpsc_init(struct mpsc *box);
/* In place of mpsc_init. */
void mpsc_divert(struct mpsc *box, struct mpsc_detour *detour);
/* NULL: the box is not diverted, or closed. By any thread that knows that the memory of detours stays what it is. */
struct mpsc_detour *mpsc_detour(struct mpsc *box);
enum mpsc_pushed mpsc_push(struct mpsc *box, struct mpsc_node *node);
/* The same with a hint, by a producer whose trail that is (M9). */
enum mpsc_pushed mpsc_push_trailing(struct mpsc *box, struct mpsc_node *node, struct ahead_trail *trail);
/* The same by a producer that will wake the consumer in any case, but not yet: MPSC_PUSHED or MPSC_CLOSED. */
enum mpsc_pushed mpsc_push_unheard(struct mpsc *box, struct mpsc_node *node);

/* The oldest message, or NULL. mpsc_pop_direct: of a box that the caller knows not to be diverted; else NULL. */
struct mpsc_node *mpsc_pop(struct mpsc *box);
struct mpsc_node *mpsc_pop_direct(struct mpsc *box);

/* The oldest of those that were put back or handed over, or NULL. */
static inline struct mpsc_node *mpsc_pop_taken(struct mpsc *box) {
    struct mpsc_node *node = box->taken;
    if (!node || node == MPSC_LOOKED) return NULL;
    box->taken = node->next;
    return node;
}

/* A list of messages, oldest first, linked by next: what was put back or handed over, if anything was, or else all that there are now (of a
 * diverted box MPSC_DETOUR_MOST); NULL when there are none. Behind a single message come those that were pushed since. The caller may put the rest
 * of the list back before it takes or pops again. */
struct mpsc_node *mpsc_take_all(struct mpsc *box);
static inline void mpsc_put_back(struct mpsc *box, struct mpsc_node *oldest) { box->taken = oldest; }
/* The same before what is still there of an earlier list; *end is the `next` of the last one. */
static inline void mpsc_put_first(struct mpsc *box, struct mpsc_node *oldest, struct mpsc_node **end) {
    *end = box->taken == MPSC_LOOKED ? NULL : box->taken;
    box->taken = oldest;
}

/* Whether nothing was pushed since the consumer last took all, and the box is neither closed nor diverted. Once true of a box that is not
 * closed, it is never diverted. */
static inline bool mpsc_is_clear(struct mpsc *box) { return atom_is_rlx(&box->head, NULL); } /* rlx: nothing is read through it */
/* A message for a consumer that has none (M7): its list. */
static inline void mpsc_hand_over(struct mpsc *box, struct mpsc_node *node) {
    WEFT_ASSERT(!box->taken || box->taken == MPSC_LOOKED, "a message is put before others");
    node->next = NULL;
    box->taken = node;
}

/* Closes the box and returns what is left in it, oldest first, linked by next. Closing again returns NULL. */
struct mpsc_node *mpsc_close(struct mpsc *box);
/* The same in place of the consumer, who has found nothing and will not come again: of a box that is not diverted. */
struct mpsc_node *mpsc_shut(struct mpsc *box);
/* What a `head` that is not NULL leads to, when the box is closed. */
struct mpsc_node *mpsc_rest(struct mpsc_node *head);
/* As mpsc_shut, when no producer comes to the box any more. */
static inline struct mpsc_node *mpsc_renew(struct mpsc *box) {
    struct mpsc_node *head = atom_load_rlx(&box->head); /* rlx, both: all producers have left before */
    atom_store_rlx(&box->head, MPSC_SHUT);
    return __builtin_expect(((uintptr_t)head & ~(uintptr_t)MPSC_MARK) == 0, 1) ? NULL : mpsc_rest(head);
}
/* For the consumer: whether there is nothing to close, neither messages nor a detour; then it may leave the box open, and a producer shuts it (mpsc_shut). */
static inline bool mpsc_is_bare(struct mpsc *box) {
    return atom_is_rlx(&box->head, NULL) && (!box->taken || box->taken == MPSC_LOOKED); /* rlx: nothing is read through it */
}

bool mpsc_is_empty(struct mpsc *box);
/* Calls `visit` with each message, which stays where it is, in no particular order. */
void mpsc_each(struct mpsc *box, void (*visit)(struct mpsc_node *node, void *user), void *user);
bool mpsc_is_closed(struct mpsc *box);

/* The consumer has found nothing (M7). */
static inline void mpsc_looked(struct mpsc *box) {
    if (WEFT_DEBUG) box->taken = MPSC_LOOKED;
}
static inline void mpsc_forget_look(struct mpsc *box) {
    if (WEFT_DEBUG && box->taken == MPSC_LOOKED) box->taken = NULL;
}
/* M7 */
static inline void mpsc_expect_emptied(struct mpsc *box) {
    WEFT_ASSERT(box->taken == MPSC_LOOKED, "a process sleeps until a message comes and has not emptied its mailbox");
    mpsc_forget_look(box);
}

#endif
