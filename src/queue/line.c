/* The linked run queue of policy `line`: see queue/line.h. */
#include "queue/line.h"

struct line_node line_sentinel;

void line_init(struct line *line) {
    atom_store_rlx(&line->head, NULL); /* relaxed: not shared yet */
    line->tail = NULL;
}

void line_node_init(struct line_node *node) {
    node->next = node->prev = NULL;
    atom_store_rlx(&node->owner, NULL); /* relaxed: not shared yet */
}

/* False when another thread holds the lock. *first becomes what head was. */
static bool line_try_lock(struct line *line, struct line_node **first) {
    struct line_node *head = atom_load_rlx(&line->head); /* only a guess; the CAS decides */
    do {
        if (head == &line_sentinel) return false;
        /* Pairs with line_unlock: without it we could see the links as they were before the last change (L1). */
    } while (!atom_cas_acq_rlx(&line->head, &head, &line_sentinel));
    *first = head;
    return true;
}

static void line_unlock(struct line *line, struct line_node *first) {
    /* Pairs with line_try_lock. */
    atom_store_rel(&line->head, first);
}

/* Takes the node out; returns what is now the first one. The caller holds the lock. */
static struct line_node *line_unlink(struct line *line, struct line_node *first, struct line_node *node) {
    struct line_node *next = node->next, *prev = node->prev;
    if (next) next->prev = prev;
    else line->tail = prev;
    if (prev) prev->next = next;
    else first = next;
    node->next = node->prev = NULL;
    /* L3. Pairs with line_node_owner: without it the next enqueue could come before our last touch of the links. */
    atom_store_rel(&node->owner, NULL);
    return first;
}

struct line_enqueued line_try_enqueue(struct line *line, struct line_node *node) {
    struct line_node *first;
    if (!line_try_lock(line, &first)) return (struct line_enqueued){.success = false};
    atom_store_rlx(&node->owner, line); /* relaxed: a reader under the lock sees it, for any other it is a hint (L3) */
    node->next = NULL;
    node->prev = line->tail;
    if (first) line->tail->next = node;
    line->tail = node;
    line_unlock(line, first ? first : node);
    return (struct line_enqueued){.success = true, .was_empty = !first};
}

struct line_dequeued line_try_dequeue(struct line *line) {
    struct line_node *first;
    if (line_is_empty(line)) /* spares an empty line the lock */
        return (struct line_dequeued){.success = true};
    if (!line_try_lock(line, &first)) return (struct line_dequeued){.success = false};
    line_unlock(line, first ? line_unlink(line, first, first) : NULL);
    return (struct line_dequeued){.success = true, .node = first};
}

bool line_try_dequeue_entry(struct line *line, struct line_node *node) {
    struct line_node *first;
    if (line_node_owner(node) != line || !line_try_lock(line, &first)) /* a racy read first saves a lock in vain */
        return false;
    /* Relaxed: set and cleared under the lock that we hold, if it is this line's. */
    bool here = atom_load_rlx(&node->owner) == line;
    if (here) /* recheck */
        first = line_unlink(line, first, node);
    line_unlock(line, first);
    return here;
}

bool line_is_empty(struct line *line) {
    return atom_load_rlx(&line->head) == NULL; /* relaxed: a hint; a caller that needs more has passed a fence */
}

struct line *line_node_owner(struct line_node *node) {
    return atom_load_acq(&node->owner); /* pairs with line_unlink: L3 */
}

bool line_node_is_free(struct line_node *node) { return line_node_owner(node) == NULL; }
