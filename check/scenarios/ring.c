/* The bounded run queue. Duplicates are allowed at the queue, losses are not; what an entry points to is visible to
 * the thread that gets it. */
#include "queue/ring.h"
#include "items.h"

static struct ring ring, ring_of_thief[2]; /* thread 0 owns the first, threads 1 and 2 the others */

static void set_up(void) {
    ring_init(&ring);
    ring_init(&ring_of_thief[0]);
    ring_init(&ring_of_thief[1]);
    chk_name(&ring.head, "head");
    chk_name(&ring.tail, "tail");
    chk_name(&ring.next, "next");
}

static void push(unsigned id) { chk_assert(ring_push(&ring, item_make(id)), "there is room"); }
static void pop(void) { item_got(ring_pop(&ring)); }

static void steal(void) {
    uint64_t first = ENTRY_NONE;
    int count = ring_steal(&ring_of_thief[chk_self() - 1], &ring, &first);
    if (count > 0) item_taken(first);
}
static void thief_pops(void) { item_got(ring_pop(&ring_of_thief[chk_self() - 1])); }

static void drain(struct ring *from) {
    uint64_t entry;
    while ((entry = ring_pop(from)) != ENTRY_NONE)
        item_count(&left, entry);
    if ((entry = ring_take_next(from)) != ENTRY_NONE) item_count(&left, entry);
}

static void finish(unsigned count) {
    drain(&ring);
    drain(&ring_of_thief[0]);
    drain(&ring_of_thief[1]);
    items_all_delivered(count);
}
static void finish_1(void) { finish(1); }
static void finish_3(void) { finish(3); }
static void finish_4(void) { finish(4); }
static void finish_5(void) { finish(5); }
static void finish_6(void) { finish(6); }
static void finish_7(void) { finish(7); }
static void finish_8(void) { finish(8); }

static void steal_twice(void) {
    steal();
    steal();
}
static void steal_and_pop(void) {
    steal();
    thief_pops();
}
static void steal_three_times(void) {
    steal_twice();
    steal();
}

/* ---- The two sizes that every run queue must exhaust ----------------------------------------------------------- */

static void owner_3_3(void) {
    push(0);
    push(1);
    push(2);
    pop();
    pop();
    pop();
}
SCENARIO(ring_3_3_1x3, .about = "3 pushes, 3 pops, a thief that steals 3 times", .setup = set_up, .threads = {owner_3_3, steal_three_times},
         .finish = finish_3)

static void owner_3_2(void) {
    push(0);
    push(1);
    push(2);
    pop();
    pop();
}
SCENARIO(ring_3_2_2x2, .about = "3 pushes, 2 pops, two thieves that steal twice each", .setup = set_up,
         .threads = {owner_3_2, steal_twice, steal_twice}, .finish = finish_3)

static void owner_mixed(void) {
    push(0);
    push(1);
    pop();
    push(2);
    pop();
    pop();
}
SCENARIO(ring_mixed, .about = "pushes and pops in turn, a thief that steals 3 times", .setup = set_up,
         .threads = {owner_mixed, steal_three_times}, .finish = finish_3)

/* ---- Slots used again: R3, R4 ---------------------------------------------------------------------------------- */

static void set_up_four(void) {
    set_up();
    for (unsigned id = 0; id < 4; id++)
        push(id);
}
/* The owner has popped at a thief's index and writes there again while the thief still copies. */
static void owner_reuses(void) {
    pop();
    push(4);
    pop();
    push(5);
}
SCENARIO(ring_reuse, .about = "a full ring's slots are written again under a thief that steals twice", .setup = set_up_four,
         .threads = {owner_reuses, steal_twice}, .finish = finish_6)
SCENARIO(ring_reuse_popped, .about = "and the thief runs all that it got", .setup = set_up_four, .threads = {owner_reuses, steal_and_pop},
         .finish = finish_6)
SCENARIO(ring_reuse_two_thieves, .about = "a full ring's slots are written again under two thieves", .setup = set_up_four,
         .threads = {owner_reuses, steal_and_pop, steal}, .finish = finish_6)

/* All the way round: every slot is written again. */
static void owner_goes_round(void) {
    for (unsigned id = 4; id < 8; id++) {
        pop();
        push(id);
    }
}
SCENARIO(ring_round, .about = "every slot of a full ring is written again under a thief that steals twice", .setup = set_up_four,
         .threads = {owner_goes_round, steal_twice}, .finish = finish_8)
SCENARIO(ring_round_two_thieves, .about = "every slot of a full ring is written again under two thieves", .setup = set_up_four,
         .threads = {owner_goes_round, steal, steal}, .finish = finish_8)

/* Room that only thieves can have made. */
static void owner_reuses_stolen(void) {
    uint64_t entry = item_make(4);
    if (!ring_push(&ring, entry)) item_got(entry);
    pop();
    entry = item_make(5);
    if (!ring_push(&ring, entry)) item_got(entry);
}
SCENARIO(ring_reuse_stolen, .about = "the owner writes where a thief has stolen", .setup = set_up_four,
         .threads = {owner_reuses_stolen, steal_twice}, .finish = finish_6)

/* ---- head goes back: R2, R5 ------------------------------------------------------------------------------------ */

static void pop_twice(void) {
    pop();
    pop();
}
SCENARIO(ring_head_goes_back, .about = "the owner's stores undo steals; a second thief meets head for the second time",
         .setup = set_up_four, .threads = {pop_twice, steal_twice, steal}, .finish = finish_4)

/* The price of an owner without read-modify-writes, and the reason for the claim. */
static void finish_once(void) {
    finish(4);
    items_all_delivered_once(4);
}
SCENARIO(ring_delivers_twice, .about = "an entry can come out twice", .setup = set_up_four, .threads = {pop_twice, steal},
         .finish = finish_once, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* ---- Stealing into a ring that is not empty -------------------------------------------------------------------- */

static void set_up_thief_has_two(void) {
    set_up_four();
    ring_push(&ring_of_thief[0], item_make(4));
    ring_push(&ring_of_thief[0], item_make(5));
}
static void thief_pops_too(void) {
    steal_twice();
    thief_pops();
}
SCENARIO(ring_steal_into_non_empty, .about = "a thief with 2 entries steals twice and pops, the owner pops twice",
         .setup = set_up_thief_has_two, .threads = {pop_twice, thief_pops_too}, .finish = finish_6)

/* Thread 2 steals from the thief while that one steals from the owner. */
static void steal_from_thief(void) {
    uint64_t first = ENTRY_NONE;
    if (ring_steal(&ring_of_thief[1], &ring_of_thief[0], &first) > 0) item_taken(first);
}
/* Nothing but the thief's own stores tells thread 2 what the owner wrote. */
static void push_two(void) {
    push(0);
    push(1);
}
static void push_three(void) {
    push_two();
    push(2);
}
SCENARIO(ring_passed_on, .about = "entries go from the owner to a thief and on to the next", .setup = set_up,
         .threads = {push_three, steal, steal_from_thief}, .finish = finish_3)
static void set_up_thief_full_owner_empty(void) {
    set_up();
    for (unsigned id = 3; id < 7; id++)
        ring_push(&ring_of_thief[0], item_make(id));
}
static void pop_and_steal(void) {
    thief_pops();
    steal();
}
SCENARIO(ring_passed_on_in_used_slot, .about = "a stolen entry goes to a slot that the next thief is reading",
         .setup = set_up_thief_full_owner_empty, .threads = {push_three, pop_and_steal, steal_from_thief}, .finish = finish_7)
SCENARIO(ring_steal_from_thief, .about = "a thief is robbed while it steals", .setup = set_up_thief_has_two,
         .threads = {pop, steal, steal_from_thief}, .finish = finish_6)

static void set_up_thief_full(void) {
    set_up_four();
    for (unsigned id = 4; id < 8; id++)
        ring_push(&ring_of_thief[0], item_make(id));
}
static void steal_by_full_thief(void) {
    uint64_t first = ENTRY_NONE;
    int count = ring_steal(&ring_of_thief[0], &ring, &first);
    chk_assert(count <= 1, "a full thief takes one, to run at once");
    if (count > 0) item_taken(first);
}
SCENARIO(ring_steal_by_full_thief, .about = "a thief without room", .setup = set_up_thief_full, .threads = {pop_twice, steal_by_full_thief},
         .finish = finish_8)
SCENARIO(ring_steal_by_full_thief_robbed, .about = "a thief without room, until it is robbed", .setup = set_up_thief_full,
         .threads = {pop, steal, steal_from_thief}, .finish = finish_8)

/* ---- Overflow -------------------------------------------------------------------------------------------------- */

static void owner_overflows(void) {
    uint64_t entry = item_make(4), out[RING_BATCH];
    if (ring_push(&ring, entry)) return;
    unsigned count = ring_overflow(&ring, out);
    for (unsigned i = 0; i < count; i++)
        item_got(out[i]);
    chk_assert(ring_push(&ring, entry), "overflow made room, or a thief did");
    pop();
}
SCENARIO(ring_overflow_thief, .about = "half of a full ring goes elsewhere while a thief steals twice", .setup = set_up_four,
         .threads = {owner_overflows, steal_twice}, .finish = finish_5)
SCENARIO(ring_overflow_two_thieves, .about = "half of a full ring goes elsewhere while two thieves steal", .setup = set_up_four,
         .threads = {owner_overflows, steal, steal}, .finish = finish_5)

/* ---- The LIFO slot --------------------------------------------------------------------------------------------- */

static void put_next(unsigned id) {
    uint64_t pushed_out = ring_put_next(&ring, item_make(id));
    if (pushed_out != ENTRY_NONE) chk_assert(ring_push(&ring, pushed_out), "there is room");
}
static void owner_puts_and_takes(void) {
    put_next(0);
    put_next(1);
    item_got(ring_take_next(&ring));
    put_next(2);
}
static void steal_next(void) { item_got(ring_steal_next(&ring)); }
static void steal_next_twice(void) {
    steal_next();
    steal_next();
}
SCENARIO(ring_next, .about = "the LIFO slot is filled, replaced, emptied and robbed twice", .setup = set_up,
         .threads = {owner_puts_and_takes, steal_next_twice}, .finish = finish_3)
SCENARIO(ring_next_two_thieves, .about = "the LIFO slot is filled, replaced, emptied and robbed by two", .setup = set_up,
         .threads = {owner_puts_and_takes, steal_next, steal_next}, .finish = finish_3)

static void steal_all_ways(void) {
    steal();
    steal_next();
}
SCENARIO(ring_next_and_ring, .about = "a thief robs the ring and then the LIFO slot, whose entry moves to the ring", .setup = set_up,
         .threads = {owner_puts_and_takes, steal_all_ways}, .finish = finish_3)

static void put_same_again(void) {
    uint64_t entry = item_make(0);
    ring_put_next(&ring, entry);
    item_got(ring_take_next(&ring));
    ring_put_next(&ring, entry);
}
SCENARIO(ring_next_same_again, .about = "the same entry is put into the LIFO slot twice", .setup = set_up,
         .threads = {put_same_again, steal_next_twice}, .finish = finish_1)
