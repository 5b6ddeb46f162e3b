/* The mailbox queue: see queue/mpsc.h. */
#include "queue/mpsc.h"

#include "base/spin.h"
#include "sys/leak_roots.h"

void mpsc_init(struct mpsc *box) {
    atom_store_rlx(&box->head, NULL); /* relaxed: not shared yet */
    box->taken = NULL;
}

static inline bool mpsc_is_mark(struct mpsc_node *head) { return ((uintptr_t)head & MPSC_MARK) != 0; }
/* Of a mark. NULL: that of a closed box. */
static inline struct mpsc_detour *mpsc_marked(struct mpsc_node *mark) {
    return (struct mpsc_detour *)((uintptr_t)mark & ~(uintptr_t)MPSC_MARK);
}

void mpsc_divert(struct mpsc *box, struct mpsc_detour *detour) {
    box->taken = NULL;
    /* rel: pairs with the acq in mpsc_detour: a thread that has guessed the process's PID sees the detour as it was made. */
    atom_store_rel(&box->head, (struct mpsc_node *)((uintptr_t)detour | MPSC_MARK));
}

struct mpsc_detour *mpsc_detour(struct mpsc *box) {
    struct mpsc_node *head = atom_load_acq(&box->head); /* acq: pairs with the rel in mpsc_divert */
    return mpsc_is_mark(head) ? mpsc_marked(head) : NULL;
}

/* Pushing to a box that is closed or diverted. */
static __attribute__((noinline, cold)) enum mpsc_pushed mpsc_push_marked(struct mpsc *box, struct mpsc_node *node) {
    struct mpsc_detour *detour = mpsc_detour(box); /* by an acq load, which also pairs with the swap in mpsc_close: M6 */
    return detour ? detour->push(detour, box, node) : MPSC_CLOSED;
}

/* The node that `head` points to: M1. */
static inline struct mpsc_node *mpsc_strip(struct mpsc_node *head) {
    return (struct mpsc_node *)((uintptr_t)head & ~(uintptr_t)MPSC_HEARD);
}
static inline uintptr_t mpsc_is_heard(struct mpsc_node *head) { return (uintptr_t)head & MPSC_HEARD; }

/* M9. The leak detector would not see what such a `next` points to. */
enum { NEXT_BITS = 48, NEXT_HINTS = !LEAK_ROOTS };

static inline struct mpsc_node *mpsc_next(struct mpsc_node *next) {
    return (struct mpsc_node *)((uintptr_t)next & ((UINT64_C(1) << NEXT_BITS) - 1));
}
static inline int16_t mpsc_next_hint(struct mpsc_node *next) { return (int16_t)((uintptr_t)next >> NEXT_BITS); }
static inline struct mpsc_node *mpsc_next_make(struct mpsc_node *next, int16_t hint) {
    return (struct mpsc_node *)((uintptr_t)next | (uintptr_t)(uint16_t)hint << NEXT_BITS);
}

/* `heard` is MPSC_HEARD or 0. `trail`: NULL, and there is no hint. */
static inline __attribute__((always_inline)) enum mpsc_pushed mpsc_push_as(struct mpsc *box, struct mpsc_node *node, uintptr_t heard,
                                                                           struct ahead_trail *trail) {
    WEFT_ASSERT((uintptr_t)node >> NEXT_BITS == 0, "a message lies where no hint can be: %p", (void *)node);
    bool trailed = false;
    int16_t hint = 0;
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        /* Relaxed, as is a failed CAS: the value is passed on in next, never followed. */
        struct mpsc_node *head = atom_load_rlx(&box->head);
        if (__builtin_expect(mpsc_is_mark(head), 0)) return mpsc_push_marked(box, node);
        node->next = mpsc_strip(head);
        if (NEXT_HINTS && trail) {
            if (!node->next) ahead_first(trail, node);
            else if (!trailed) hint = ahead_hint(trail, node);
            trailed = true;
            if (node->next) node->next = mpsc_next_make(node->next, hint);
        }
        uintptr_t before = mpsc_is_heard(head); /* recheck, without: uintptr_t before = head ? MPSC_HEARD : 0; */
        struct mpsc_node *next = (struct mpsc_node *)((uintptr_t)node + (heard | before));
        /* Pairs with the swap in mpsc_take: without it the consumer could read the message before it is written. The
         * swap reads the newest push; the older ones come with it, being followed by nothing but such pushes. */
        if (atom_cas_rel_rlx(&box->head, &head, next)) return !heard || before ? MPSC_PUSHED : MPSC_PUSHED_FIRST;
        /* The consumer has taken all; or there are several producers, which pass the line of `head` to and fro. After a pause this one has it for a while: a message of a
         * hundred senders on two cores took 19 ns, and takes 16 (Zen 4, as above). A pause for the consumer would let it fall asleep. */
        if (head) spin_pause_long();
    }
}

enum mpsc_pushed mpsc_push(struct mpsc *box, struct mpsc_node *node) { return mpsc_push_as(box, node, MPSC_HEARD, NULL); }
enum mpsc_pushed mpsc_push_trailing(struct mpsc *box, struct mpsc_node *node, struct ahead_trail *trail) {
    return mpsc_push_as(box, node, MPSC_HEARD, trail);
}
enum mpsc_pushed mpsc_push_unheard(struct mpsc *box, struct mpsc_node *node) { return mpsc_push_as(box, node, 0, NULL); }

static __attribute__((noinline)) struct mpsc_node *mpsc_turn_many(struct mpsc_node *newest) {
    struct mpsc_node *list = NULL;
    do {
        struct mpsc_node *older = newest->next;
        ahead_fetch(newest, mpsc_next_hint(older));
        newest->next = list;
        list = newest;
        newest = mpsc_next(older);
    } while (newest);
    return list;
}

/* What `head` pointed to, oldest first. There is something; most often it is one message. */
static inline struct mpsc_node *mpsc_turn_round(struct mpsc_node *head) {
    struct mpsc_node *newest = mpsc_strip(head);
    return newest->next ? mpsc_turn_many(newest) : newest;
}

/* Taking from a box that is closed or diverted. */
static __attribute__((noinline, cold)) struct mpsc_node *mpsc_take_marked(struct mpsc *box, unsigned most) {
    struct mpsc_detour *detour = mpsc_detour(box);
    struct mpsc_node *list = detour ? detour->take(detour, most) : NULL;
    if (list) mpsc_forget_look(box);
    else mpsc_looked(box);
    return list;
}

/* As mpsc_take_all; of a diverted box at most `most`. (In some callers even a call that is never made costs instructions: for registers.) */
static inline __attribute__((always_inline)) struct mpsc_node *mpsc_take(struct mpsc *box, unsigned most) {
    struct mpsc_node *taken = box->taken;
    if (taken && taken != MPSC_LOOKED) {
        box->taken = NULL;
        return taken;
    }
    /* Relaxed: only saves the swap; NULL is what a swap might have found a moment earlier. */
    struct mpsc_node *head = atom_load_rlx(&box->head);
    if (!head) {
        mpsc_looked(box);
        return NULL;
    }
    if (__builtin_expect(mpsc_is_mark(head), 0)) return most ? mpsc_take_marked(box, most) : NULL;
    mpsc_forget_look(box);
    return mpsc_turn_round(atom_swap_acq(&box->head, NULL)); /* pairs with the CAS in mpsc_push_as */
}

struct mpsc_node *mpsc_take_all(struct mpsc *box) {
    struct mpsc_node *list = mpsc_take(box, MPSC_DETOUR_MOST);
    if (!list || list->next) return list;
    struct mpsc_node *head = atom_load_rlx(&box->head); /* relaxed: as in mpsc_take */
    if (__builtin_expect(head && !mpsc_is_mark(head), 0)) list->next = mpsc_turn_round(atom_swap_acq(&box->head, NULL)); /* as there */
    return list;
}

struct mpsc_node *mpsc_pop(struct mpsc *box) {
    struct mpsc_node *node = mpsc_take(box, 1);
    if (node) box->taken = node->next;
    return node;
}

struct mpsc_node *mpsc_pop_direct(struct mpsc *box) {
    struct mpsc_node *node = mpsc_take(box, 0);
    if (node) box->taken = node->next;
    return node;
}

struct mpsc_node *mpsc_rest(struct mpsc_node *head) {
    if (!mpsc_is_mark(head)) return mpsc_turn_round(head);
    struct mpsc_detour *detour = mpsc_marked(head);
    return detour ? detour->close(detour) : NULL;
}

/* The same, behind those that were taken and not popped. */
static __attribute__((noinline)) struct mpsc_node *mpsc_all_rest(struct mpsc_node *head, struct mpsc_node *first) {
    struct mpsc_node *rest = head ? mpsc_rest(head) : NULL;
    if (!first || first == MPSC_LOOKED) return rest;
    struct mpsc_node *last = first;
    while (last->next)
        last = last->next;
    last->next = rest;
    return first;
}

struct mpsc_node *mpsc_close(struct mpsc *box) {
    /* acq: pairs with the CAS in mpsc_push_as. rel: with the acq loads of the mark in mpsc_detour and mpsc_is_closed (M6). */
    struct mpsc_node *head = atom_swap_acqrel(&box->head, MPSC_SHUT), *first = box->taken;
    box->taken = NULL;
    return __builtin_expect(head || first, 0) ? mpsc_all_rest(head, first) : NULL;
}

struct mpsc_node *mpsc_shut(struct mpsc *box) {
    struct mpsc_node *head = atom_swap_acqrel(&box->head, MPSC_SHUT); /* as in mpsc_close */
    return head ? mpsc_rest(head) : NULL;
}

/* Of a box that is closed or diverted. rlx: the consumer's own takes, or a push whose wake-up it has not seen yet (M4). */
static __attribute__((noinline, cold)) bool mpsc_is_empty_marked(struct mpsc *box) {
    struct mpsc_detour *detour = mpsc_detour(box);
    return !detour || atom_load_rlx(&detour->queued) == 0;
}

bool mpsc_is_empty(struct mpsc *box) {
    if (box->taken && box->taken != MPSC_LOOKED) return false;
    /* rlx: nothing is read through it. */
    bool empty = mpsc_is_clear(box) || (__builtin_expect(mpsc_is_mark(atom_load_rlx(&box->head)), 0) && mpsc_is_empty_marked(box));
    if (empty) mpsc_looked(box);
    return empty;
}

void mpsc_each(struct mpsc *box, void (*visit)(struct mpsc_node *node, void *user), void *user) {
    struct mpsc_node *head = atom_load_acq(&box->head); /* acq: pairs with the CAS in mpsc_push_as */
    for (struct mpsc_node *node = box->taken == MPSC_LOOKED ? NULL : box->taken; node; node = node->next)
        visit(node, user);
    for (struct mpsc_node *node = mpsc_is_mark(head) ? NULL : mpsc_strip(head); node; node = mpsc_next(node->next))
        visit(node, user);
}

bool mpsc_is_closed(struct mpsc *box) { return atom_load_acq(&box->head) == MPSC_SHUT; /* pairs with the swap in mpsc_close: M6 */ }
