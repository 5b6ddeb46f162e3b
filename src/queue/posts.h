/* Entries that signal handlers leave for a thread that can do more than a handler may: a fixed number of slots and one list,
 * oldest first. Nothing is allocated and nothing waits, so a handler may interrupt any of this, even another handler.
 *
 *   operation       caller
 *   posts_claim     any thread, any signal handler; then posts_push
 *   posts_push      the claimer of the slot, or the owner of the entry
 *   posts_deliver   one thread at a time, the consumer
 *   post_free       the consumer, with a slot that it delivers
 *
 *   O5  A slot belongs to its claimer until it is pushed, then to the list, then to the consumer until it is freed.
 *   O6  Entries come out in the order in which they were pushed (mpsc.h, M3); an entry whose pusher never resumes blocks no other. */
#ifndef WEFT_QUEUE_POSTS_H
#define WEFT_QUEUE_POSTS_H

#include "queue/mpsc.h"

#include <stdint.h>

enum { POST_BYTES = 64 };
#if WEFT_CHECK
enum { POST_SLOTS = 2 };
#else
enum { POST_SLOTS = 64 };
#endif

/* What is in the list: a slot, or an entry of the pusher's own. */
struct posted {
    struct mpsc_node node;                  /* first: its address is the entry's */
    bool (*deliver)(struct posted *posted); /* by the consumer. False: not now, and it stays in the list */
};

struct post {
    struct posted posted; /* first, likewise */
    atom_bool taken;
    uint32_t size;
    uint64_t to, tag;
    unsigned char data[POST_BYTES];
};

struct posts {
    struct mpsc box;
    struct post slots[POST_SLOTS];
};

void posts_init(struct posts *posts);
/* A slot, or NULL: all are in use. */
struct post *posts_claim(struct posts *posts);
/* The caller wakes the consumer afterwards, first push or not: the consumer may have to retry what it could not deliver. */
static inline void posts_push(struct posts *posts, struct posted *posted) { mpsc_push(&posts->box, &posted->node); }
/* By the consumer: delivers what there is. False: not all of it, for now. */
bool posts_deliver(struct posts *posts);
static inline bool posts_is_empty(struct posts *posts) { return mpsc_is_empty(&posts->box); }

static inline void post_free(struct post *post) {
    atom_store_rel(&post->taken, false); /* rel: pairs with the acq in posts_claim; the next claimer overwrites what was read here */
}

#endif
