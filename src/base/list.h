/* A doubly linked list through nodes that lie inside the items: no allocation, removal in one step.
 *
 * Plain data: the owner alone, or under a lock. The list is a ring through its own head, so no link is ever NULL
 * while a node is in a list, and all NULL while it is not; both are checked in debug builds. */
#ifndef WEFT_BASE_LIST_H
#define WEFT_BASE_LIST_H

#include "base/assert.h"

#include <stdbool.h>
#include <stddef.h>

struct list_node {
    struct list_node *next, *prev;
};

struct list {
    struct list_node head;
};

/* The item of type `type` whose member `member` is `node`. */
#define list_item(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Walks from front to back; the node at hand may be removed in the body. */
#define list_each(list, node)                                                                                                              \
    for (struct list_node *node = (list)->head.next, *node##_after = node->next; node != &(list)->head;                                    \
         node = node##_after, node##_after = node->next)

static inline void list_init(struct list *list) { list->head.next = list->head.prev = &list->head; }
static inline void list_node_init(struct list_node *node) { node->next = node->prev = NULL; }
static inline bool list_empty(const struct list *list) { return list->head.next == &list->head; }
static inline bool list_holds(const struct list_node *node) { return node->next != NULL; } /* in any list */

static inline void list_link(struct list_node *prev, struct list_node *node, struct list_node *next) {
    WEFT_ASSERT(!node->next && !node->prev, "node %p is in a list already", (void *)node);
    node->prev = prev;
    node->next = next;
    prev->next = node;
    next->prev = node;
}

static inline void list_push_back(struct list *list, struct list_node *node) { list_link(list->head.prev, node, &list->head); }
static inline void list_push_front(struct list *list, struct list_node *node) { list_link(&list->head, node, list->head.next); }

static inline void list_remove(struct list_node *node) {
    WEFT_ASSERT(node->next && node->prev, "node %p is in no list", (void *)node);
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_node_init(node);
}

/* NULL when empty. */
static inline struct list_node *list_front(const struct list *list) { return list_empty(list) ? NULL : list->head.next; }
static inline struct list_node *list_pop_front(struct list *list) {
    struct list_node *node = list_front(list);
    if (node) list_remove(node);
    return node;
}
static inline struct list_node *list_pop_back(struct list *list) {
    struct list_node *node = list_empty(list) ? NULL : list->head.prev;
    if (node) list_remove(node);
    return node;
}

/* Moves all of `from` to the back of `to`, in order, in constant time. */
static inline void list_splice_back(struct list *to, struct list *from) {
    if (list_empty(from)) return;
    struct list_node *first = from->head.next, *last = from->head.prev, *before = to->head.prev;
    before->next = first;
    first->prev = before;
    last->next = &to->head;
    to->head.prev = last;
    list_init(from);
}

#endif
