/* The linked run queue of one worker (policy `line`): the thread-queue scheduler's FIFO. Doubly linked through the
 * processes themselves; the head pointer doubles as the lock: it holds the address of a sentinel while a thread changes
 * the list.
 *
 * No thread ever waits for that lock: a `try` operation that finds the sentinel fails at once and the caller goes
 * elsewhere.
 *
 * Callers: any thread may call any operation but line_init and line_node_init at any time, concurrently with all others.
 * The rules are about nodes:
 *   - line_try_enqueue gets a node that is free (line_node_is_free) and that no other thread is enqueuing: making a
 *     process ready has one winner, and the winner enqueues it.
 *   - A process that is ready is claimed only through its node: by the thread that got the node from line_try_dequeue
 *     or line_try_dequeue_entry. A thread that claimed it by its state word alone might do so between "ready" and
 *     "enqueued", and then a running process would be put into a line (docs/design/queues.md).
 *
 *   L1  head is NULL (empty), the first node, or the sentinel (locked). tail, and the links of all nodes in the line,
 *       are touched only by the thread that put the sentinel there.
 *   L2  Unlocked, and not empty: head->prev and tail->next are NULL, and the links agree in both directions.
 *   L3  node->owner is the line that the node is in, or NULL. It is set and cleared under the lock; clearing it is the
 *       last touch of the node, so a thread that sees NULL may link it again at once, anywhere.
 *   L4  The new head is computed in a local and stored last: unlocking never brings back a node that was taken out.
 *   L5  `was_empty` is read under the lock, by the one enqueue that made the line non-empty, and by no other.
 *   L6  Every node that was enqueued is handed out once. What was written before is visible to the thread that gets it. */
#ifndef WEFT_QUEUE_LINE_H
#define WEFT_QUEUE_LINE_H

#include "base/atom.h"

#include <stddef.h>

struct line;

struct line_node {
    struct line_node *next;      /* L1 */
    struct line_node *prev;      /* L1 */
    ATOM_PTR(struct line) owner; /* L3 */
};

struct line {
    ATOM_PTR(struct line_node) head;
    struct line_node *tail; /* L1 */
};

/* What head points to while the line is locked. Never dereferenced. */
extern struct line_node line_sentinel;

struct line_enqueued {
    bool success; /* false: the line was locked */
    bool was_empty;
};

struct line_dequeued {
    bool success;           /* false: the line was locked */
    struct line_node *node; /* NULL: the line was empty */
};

void line_init(struct line *line);
void line_node_init(struct line_node *node);

struct line_enqueued line_try_enqueue(struct line *line, struct line_node *node);
struct line_dequeued line_try_dequeue(struct line *line);

/* Takes out one particular node. False when it is not in this line (any more), or the line was locked. */
bool line_try_dequeue_entry(struct line *line, struct line_node *node);

/* A hint; a locked line counts as not empty. */
bool line_is_empty(struct line *line);

/* The line that the node is in; a hint, unless it is NULL and only the caller may link the node. */
struct line *line_node_owner(struct line_node *node);
bool line_node_is_free(struct line_node *node);

#endif
