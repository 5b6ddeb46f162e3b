/* The mailbox queue: see queue/mpsc.h. */
#include "queue/mpsc.h"

#include "base/spin.h"

struct mpsc_node mpsc_mark;

void mpsc_init(struct mpsc *box) {
    atom_store_rlx(&box->head, NULL); /* relaxed: not shared yet */
    box->taken = NULL;
}

/* The node that `head` points to: M1. */
static inline struct mpsc_node *mpsc_strip(struct mpsc_node *head) {
    return (struct mpsc_node *)((uintptr_t)head & ~(uintptr_t)MPSC_HEARD);
}
static inline uintptr_t mpsc_is_heard(struct mpsc_node *head) { return (uintptr_t)head & MPSC_HEARD; }

/* `heard` is MPSC_HEARD or 0. */
static inline __attribute__((always_inline)) enum mpsc_pushed mpsc_push_as(struct mpsc *box, struct mpsc_node *node, uintptr_t heard) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        /* Relaxed, as is a failed CAS: the value is passed on in next, never followed. */
        struct mpsc_node *head = atom_load_rlx(&box->head);
        if (head == &mpsc_mark) {
            (void)atom_load_acq(&box->head); /* pairs with the swap in mpsc_close: M6 */
            return MPSC_CLOSED;
        }
        node->next = mpsc_strip(head);
        uintptr_t before = mpsc_is_heard(head); /* recheck, without: uintptr_t before = head ? MPSC_HEARD : 0; */
        struct mpsc_node *next = (struct mpsc_node *)((uintptr_t)node + (heard | before));
        /* Pairs with the swap in mpsc_take_all: without it the consumer could read the message before it is written. The
         * swap reads the newest push; the older ones come with it, being followed by nothing but such pushes. */
        if (atom_cas_rel_rlx(&box->head, &head, next)) return !heard || before ? MPSC_PUSHED : MPSC_PUSHED_FIRST;
    }
}

enum mpsc_pushed mpsc_push(struct mpsc *box, struct mpsc_node *node) { return mpsc_push_as(box, node, MPSC_HEARD); }
enum mpsc_pushed mpsc_push_unheard(struct mpsc *box, struct mpsc_node *node) { return mpsc_push_as(box, node, 0); }

/* What `head` pointed to, oldest first. There is something. */
static struct mpsc_node *mpsc_turn_round(struct mpsc_node *head) {
    struct mpsc_node *list = NULL, *newest = mpsc_strip(head);
    do {
        struct mpsc_node *older = newest->next;
        newest->next = list;
        list = newest;
        newest = older;
    } while (newest);
    return list;
}

/* The consumer has found nothing (M7). */
static inline void mpsc_looked(struct mpsc *box) {
    if (WEFT_DEBUG) box->taken = MPSC_LOOKED;
}

struct mpsc_node *mpsc_take_all(struct mpsc *box) {
    struct mpsc_node *taken = box->taken;
    if (taken && taken != MPSC_LOOKED) {
        box->taken = NULL;
        return taken;
    }
    /* Relaxed: only saves the swap; NULL is what a swap might have found a moment earlier. */
    struct mpsc_node *head = atom_load_rlx(&box->head);
    if (!head || head == &mpsc_mark) {
        mpsc_looked(box);
        return NULL;
    }
    mpsc_forget_look(box);
    return mpsc_turn_round(atom_swap_acq(&box->head, NULL)); /* pairs with the CAS in mpsc_push_as */
}

struct mpsc_node *mpsc_pop(struct mpsc *box) {
    struct mpsc_node *node = mpsc_take_all(box);
    if (node) box->taken = node->next;
    return node;
}

struct mpsc_node *mpsc_close(struct mpsc *box) {
    /* acq: pairs with the CAS in mpsc_push_as. rel: with the acq loads of the mark in mpsc_push_as and mpsc_is_closed (M6). */
    struct mpsc_node *head = atom_swap_acqrel(&box->head, &mpsc_mark), *first = box->taken;
    struct mpsc_node *rest = head && head != &mpsc_mark ? mpsc_turn_round(head) : NULL;
    box->taken = NULL;
    if (!first || first == MPSC_LOOKED) return rest;
    struct mpsc_node *last = first;
    while (last->next)
        last = last->next;
    last->next = rest;
    return first;
}

bool mpsc_is_empty(struct mpsc *box) {
    if (box->taken && box->taken != MPSC_LOOKED) return false;
    struct mpsc_node *head = atom_load_rlx(&box->head); /* relaxed: nothing is read through it */
    bool empty = !head || head == &mpsc_mark;
    if (empty) mpsc_looked(box);
    return empty;
}

bool mpsc_is_closed(struct mpsc *box) { return atom_load_acq(&box->head) == &mpsc_mark; /* pairs with the swap in mpsc_close: M6 */ }
