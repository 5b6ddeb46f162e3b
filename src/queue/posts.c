/* Slots for signal handlers and their delivery: see queue/posts.h. */
#include "queue/posts.h"

void posts_init(struct posts *posts) {
    mpsc_init(&posts->box);
    for (unsigned i = 0; i < POST_SLOTS; i++)
        atom_store_rlx(&posts->slots[i].taken, false); /* rlx: not shared yet */
}

struct post *posts_claim(struct posts *posts) {
    for (unsigned i = 0; i < POST_SLOTS; i++) {
        struct post *post = &posts->slots[i];
        if (atom_load_rlx(&post->taken)) continue;           /* rlx: the swap decides */
        if (!atom_swap_acq(&post->taken, true)) return post; /* acq: pairs with the rel in post_free */
    }
    return NULL;
}

bool posts_deliver(struct posts *posts) {
    for (struct mpsc_node *node; (node = mpsc_take_all(&posts->box)) != NULL;)
        while (node) {
            struct mpsc_node *next = node->next; /* once delivered it may be in the list again */
            if (!((struct posted *)node)->deliver((struct posted *)node)) {
                mpsc_put_back(&posts->box, node);
                return false;
            }
            node = next;
        }
    return true;
}
