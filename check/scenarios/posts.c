/* What signal handlers leave behind, and how it is taken away from under them. A handler is a thread here: what a handler may do to the
 * code it interrupts is less than what another thread may do.
 *
 * The slots' data is plain, so that a slot which has two tenants at a time is a race; and so is what the visitors look at. */
#include "queue/posts.h"
#include "base/spin.h"
#include "chk.h"
#include "queue/parker.h"
#include "queue/visitors.h"
#include "sys/sys.h"

enum { SENT = 3 }; /* one more than there are slots */

SHARED struct posts posts;
SHARED struct parker consumer;
SHARED struct visitors visitors;
SHARED atom_u32 accepted, delivered;
SHARED uint64_t last[2];
SHARED unsigned inside;

static bool deliver(struct posted *posted) {
    struct post *post = (struct post *)posted;
    chk_assert(post->tag == last[post->to] + 1, "a sender's messages arrive once, and in order (O6)");
    last[post->to] = post->tag;
    post_free(post);
    atom_add_rlx(&delivered, 1); /* rlx: asked by the same thread */
    return true;
}

static void setup(void) {
    posts_init(&posts);
    parker_init(&consumer);
    visitors_open(&visitors);
    inside = 0;
    last[0] = last[1] = 0;
    atom_store_rlx(&accepted, 0);
    atom_store_rlx(&delivered, 0);
    chk_name(&posts.box.head, "box");
    chk_name(&posts.slots[0].taken, "slot[0]");
    chk_name(&posts.slots[1].taken, "slot[1]");
    chk_name(&visitors.word, "visitors");
    chk_name(&consumer.word, "consumer");
}

static bool put(uint64_t from, uint64_t number) {
    struct post *post = posts_claim(&posts);
    if (!post) return false;
    post->posted.deliver = deliver;
    post->to = from;
    post->tag = number;
    atom_add_rlx(&accepted, 1); /* rlx: the token carries it over */
    posts_push(&posts, &post->posted);
    parker_unpark(&consumer);
    return true;
}

/* ---- slots and the list ------------------------------------------------------------------------------------------ */

static void puts_three(void) {
    uint64_t number = 1;
    for (unsigned i = 0; i < SENT; i++)
        number += put(0, number);
}
static void puts_one(void) { put(chk_self() - 1, 1); }

/* At least as many as there are slots are accepted in all, so that many are awaited. */
static void takes(unsigned most) {
    while (atom_load_rlx(&delivered) < most) { /* rlx: this thread's */
        chk_assert(parker_park(&consumer, SYS_FOREVER) == 0, "a token comes after each push");
        chk_assert(posts_deliver(&posts), "all can be delivered");
    }
}
static void takes_slots(void) { takes(POST_SLOTS); }
static void nothing_left(void) {
    posts_deliver(&posts);
    chk_assert(posts_is_empty(&posts) && atom_load_rlx(&delivered) == atom_load_rlx(&accepted), "what was accepted is delivered (O5)");
    for (unsigned i = 0; i < POST_SLOTS; i++)
        chk_assert(!atom_load_rlx(&posts.slots[i].taken), "and every slot is free again");
}
SCENARIO(posts_reuse, .about = "a sender of three messages, two slots || the consumer: in order, no slot has two tenants", .setup = setup,
         .threads = {puts_three, takes_slots}, .finish = nothing_left)
SCENARIO(posts_two, .about = "two senders of one message each || the consumer, which sleeps in between", .setup = setup,
         .threads = {takes_slots, puts_one, puts_one}, .finish = nothing_left)

/* ---- one that cannot be delivered yet ------------------------------------------------------------------------------- */

SHARED unsigned refusals;
static bool deliver_later(struct posted *posted) { return refusals > 0 ? (refusals--, false) : deliver(posted); }
static void puts_reluctant(void) {
    for (uint64_t number = 1; number <= 2; number++) {
        struct post *post = posts_claim(&posts);
        post->posted.deliver = deliver_later;
        post->to = 0;
        post->tag = number;
        atom_add_rlx(&accepted, 1);
        posts_push(&posts, &post->posted);
        parker_unpark(&consumer);
    }
}
static void takes_again(void) {
    refusals = 1;
    parker_park(&consumer, SYS_FOREVER);
    posts_deliver(&posts);
    chk_assert(refusals == 0, "it was tried");
    for (struct spin spin = spin_begin(); atom_load_rlx(&delivered) < 2; spin_wait(&spin))
        posts_deliver(&posts);
}
SCENARIO(posts_later, .about = "the first cannot be delivered at first: it stays the first", .setup = setup,
         .threads = {puts_reluctant, takes_again}, .finish = nothing_left)

/* ---- visitors ------------------------------------------------------------------------------------------------------- */

static void visits(void) {
    if (!visitors_enter(&visitors)) return;
    chk_assert(inside == 0, "what was taken away is not looked at (W2)");
    visitors_leave(&visitors);
}
static void takes_away(void) {
    visitors_close(&visitors);
    inside = 1; /* plain: races with a visitor that is still there */
}
static void takes_away_and_back(void) {
    takes_away();
    inside = 0;
    visitors_open(&visitors);
}
static void closed_for_all(void) { chk_assert(atom_load_rlx(&visitors.word) == 0, "no visitor is counted for ever"); }
static void open_again(void) { chk_assert(atom_load_rlx(&visitors.word) == VISITORS_OPEN, "no visitor is counted for ever"); }
SCENARIO(posts_visitors, .about = "two visitors || the owner closes (W2)", .setup = setup, .threads = {takes_away, visits, visits},
         .finish = closed_for_all)
SCENARIO(posts_visitors_reopen, .about = "two visitors || the owner closes and opens again (W1, W2)", .setup = setup,
         .threads = {takes_away_and_back, visits, visits}, .finish = open_again)

/* Broken: the owner looks once and does not wait. */
static void takes_away_at_once(void) {
    atom_sub_rlx(&visitors.word, VISITORS_OPEN);
    (void)atom_load_acq(&visitors.word);
    inside = 1;
}
SCENARIO(posts_visitors_broken, .about = "the owner does not wait for the visitors inside", .setup = setup,
         .threads = {takes_away_at_once, visits}, .flawed_in = CHK_ALL)
