/* The mailbox: many producers, one consumer, linked through the messages themselves.
 *
 * Callers. "Consumer" is one thread at a time: the thread that runs the process the box belongs to.
 *
 *   mpsc_init                      one thread, before the box is shared
 *   mpsc_push, mpsc_push_unheard   any        lock-free
 *   mpsc_pop, mpsc_close           consumer
 *   mpsc_take_all, mpsc_put_back   consumer
 *   mpsc_put_first                 consumer
 *   mpsc_is_empty                  consumer   exact: nothing pushed before is left
 *   mpsc_is_closed                 any        once true, always true
 *   mpsc_expect_emptied            consumer   before it sleeps until a push wakes it
 *   mpsc_forget_look               consumer   when it lets go of the box in any other way
 *
 * Producers push onto a stack; the consumer takes the whole stack in one swap and turns it round into a list of its
 * own.
 *
 *   M1  head is NULL, the newest message pushed since the consumer last took all, or the mark of a closed box. Its lowest
 *       bit, HEARD, is set once one of these messages was pushed by mpsc_push.
 *   M2  A message belongs to its producer until the push succeeds, to the box until popped or returned by close, and
 *       then to the consumer. A push that fails keeps it with the producer.
 *   M3  Messages of one producer come out in the order in which they were pushed, and the box has one order in all:
 *       that of the successful pushes.
 *   M4  Of the pushes that come between two takes of the consumer, unheard ones apart, one is told that it is the first: its
 *       producer wakes the consumer. (What the consumer has taken and not popped yet does not count: it is awake then.) A
 *       producer that pushes unheard wakes the consumer later; until then any other producer's push still wakes it.
 *   M5  Everything pushed before the close is returned by it or was popped; every later push fails.
 *   M6  A producer that is refused, or a thread told that the box is closed, sees what the consumer did before it closed it.
 *   M7  A consumer that sleeps until a push wakes it has found the box empty since it was last woken. Otherwise a message
 *       whose wake-up is used up may lie there; the next push is then not the first and wakes no consumer: a lost wake-up.
 *       Asserted in debug builds and under the checker, where the consumer's last look is remembered. */
#ifndef WEFT_QUEUE_MPSC_H
#define WEFT_QUEUE_MPSC_H

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

/* `head` of a closed box. In debug builds also `taken`, when the consumer's last look found nothing. Never dereferenced. */
extern struct mpsc_node mpsc_mark;
#if WEFT_DEBUG
#define MPSC_LOOKED (&mpsc_mark)
#else
#define MPSC_LOOKED ((struct mpsc_node *)NULL)
#endif

enum mpsc_pushed {
    MPSC_CLOSED = -EPIPE, /* refused: the message is still the caller's */
    MPSC_PUSHED = 0,
    MPSC_PUSHED_FIRST = 1, /* M4: the caller wakes the consumer */
};
enum { MPSC_HEARD = 1 }; /* M1 */

void mpsc_init(struct mpsc *box);
enum mpsc_pushed mpsc_push(struct mpsc *box, struct mpsc_node *node);
/* The same by a producer that will wake the consumer in any case, but not yet: MPSC_PUSHED or MPSC_CLOSED. */
enum mpsc_pushed mpsc_push_unheard(struct mpsc *box, struct mpsc_node *node);

/* The oldest message, or NULL. */
struct mpsc_node *mpsc_pop(struct mpsc *box);

/* A list of messages, oldest first, linked by next: what was put back, if anything was, or else all that there are now;
 * NULL when there are none. The caller may put the rest of the list back before it takes or pops again. */
struct mpsc_node *mpsc_take_all(struct mpsc *box);
static inline void mpsc_put_back(struct mpsc *box, struct mpsc_node *oldest) { box->taken = oldest; }
/* The same before what is still there of an earlier list; *end is the `next` of the last one. */
static inline void mpsc_put_first(struct mpsc *box, struct mpsc_node *oldest, struct mpsc_node **end) {
    *end = box->taken == MPSC_LOOKED ? NULL : box->taken;
    box->taken = oldest;
}

/* Closes the box and returns what is left in it, oldest first, linked by next. Closing again returns NULL. */
struct mpsc_node *mpsc_close(struct mpsc *box);

bool mpsc_is_empty(struct mpsc *box);
bool mpsc_is_closed(struct mpsc *box);

static inline void mpsc_forget_look(struct mpsc *box) {
    if (WEFT_DEBUG && box->taken == MPSC_LOOKED) box->taken = NULL;
}
/* M7 */
static inline void mpsc_expect_emptied(struct mpsc *box) {
    WEFT_ASSERT(box->taken == MPSC_LOOKED, "a process sleeps until a message comes and has not emptied its mailbox");
    mpsc_forget_look(box);
}

#endif
