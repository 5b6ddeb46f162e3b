/* The growing run queue. Nothing is lost and nothing is delivered twice; what an entry points to is visible to the thread that
 * gets it. The first buffer holds two entries, so the third push grows; the indices come round at the third push as
 * well. */
#include "queue/deque.h"
#include "items.h"

static struct deque deque, deque_of_thief;

static void set_up(void) {
    chk_assert(deque_init(&deque) == 0 && deque_init(&deque_of_thief) == 0, "there is memory");
    chk_name(&deque.top, "top");
    chk_name(&deque.bottom, "bottom");
    chk_name(&deque.buffer, "buffer");
}

static void push(unsigned id) { chk_assert(deque_push(&deque, item_make(id)) == 0, "there is memory"); }
static void pop(void) { item_got(deque_pop(&deque)); }

static void steal(void) {
    uint64_t entry = ENTRY_NONE;
    if (deque_steal(&deque, &entry) == 1) item_taken(entry);
}

static void drain(struct deque *from) {
    uint64_t entry;
    while ((entry = deque_pop(from)) != ENTRY_NONE)
        item_count(&left, entry);
    deque_destroy(from);
}

static void finish(unsigned count) {
    drain(&deque);
    drain(&deque_of_thief);
    items_all_delivered_once(count);
}
static void finish_1(void) { finish(1); }
static void finish_2(void) { finish(2); }
static void finish_3(void) { finish(3); }
static void finish_4(void) { finish(4); }
static void finish_5(void) { finish(5); }

static void steal_twice(void) {
    steal();
    steal();
}
static void steal_three_times(void) {
    steal_twice();
    steal();
}

/* ---- The two sizes that every run queue must exhaust: growth during steals included ---------------------------- */

static void owner_3_3(void) {
    push(0);
    push(1);
    push(2);
    pop();
    pop();
    pop();
}
SCENARIO(deque_3_3_1x3, .about = "3 pushes, 3 pops, a thief that steals 3 times", .setup = set_up,
         .threads = {owner_3_3, steal_three_times}, .finish = finish_3)

static void owner_3_2(void) {
    push(0);
    push(1);
    push(2);
    pop();
    pop();
}
SCENARIO(deque_3_2_2x2, .about = "3 pushes, 2 pops, two thieves that steal twice each", .setup = set_up,
         .threads = {owner_3_2, steal_twice, steal_twice}, .finish = finish_3, .deep_in = CHK_SC | CHK_TSO)

static void owner_mixed(void) {
    push(0);
    pop();
    push(1);
    push(2);
    pop();
    pop();
}
SCENARIO(deque_mixed, .about = "pushes and pops in turn, a thief that steals 3 times", .setup = set_up,
         .threads = {owner_mixed, steal_three_times}, .finish = finish_3)

/* ---- The last entry: D3 ---------------------------------------------------------------------------------------- */

static void push_0(void) {
    push(0);
    pop();
}
SCENARIO(deque_last, .about = "the owner and two thieves want the only entry", .setup = set_up, .threads = {push_0, steal, steal},
         .finish = finish_1)

/* D2: the owner takes the second entry without a CAS while thieves walk up to it. */
static void set_up_two(void) {
    set_up();
    push(0);
    push(1);
}
SCENARIO(deque_two_left, .about = "the owner pops the newer of two, each of two thieves steals", .setup = set_up_two,
         .threads = {pop, steal, steal}, .finish = finish_2)
static void pop_push_pop(void) {
    pop();
    push(2);
    pop();
}
SCENARIO(deque_index_again, .about = "an index is popped and pushed again while a thief walks up to it", .setup = set_up_two,
         .threads = {pop_push_pop, steal_twice}, .finish = finish_3)
SCENARIO(deque_index_again_two_thieves, .about = "an index is popped and pushed again while two thieves walk up to it", .setup = set_up_two,
         .threads = {pop_push_pop, steal, steal}, .finish = finish_3)

/* ---- Slots used again: D4 -------------------------------------------------------------------------------------- */

static void push_twice(void) {
    push(2);
    push(3);
}
SCENARIO(deque_reuse, .about = "the owner pushes where a thief has stolen, or grows", .setup = set_up_two,
         .threads = {push_twice, steal_twice}, .finish = finish_4)

/* ---- Growth: D5 ------------------------------------------------------------------------------------------------ */

static void grow_twice(void) {
    for (unsigned id = 2; id < 5; id++)
        push(id);
    pop();
}
SCENARIO(deque_growth, .about = "two growths under a thief that steals twice", .setup = set_up_two, .threads = {grow_twice, steal_twice},
         .finish = finish_5)
static void grow_once(void) {
    push(2);
    pop();
}
SCENARIO(deque_growth_two_thieves, .about = "a growth under two thieves", .setup = set_up_two, .threads = {grow_once, steal, steal},
         .finish = finish_3)

/* ---- Steal half ------------------------------------------------------------------------------------------------ */

static void set_up_four(void) {
    set_up();
    for (unsigned id = 0; id < 4; id++)
        push(id);
}
static void steal_half(void) {
    uint64_t first = ENTRY_NONE;
    int count = deque_steal_half(&deque_of_thief, &deque, &first);
    if (count > 0) item_taken(first);
}
static void pop_twice(void) {
    pop();
    pop();
}
SCENARIO(deque_steal_half, .about = "a thief moves half while the owner pops twice", .setup = set_up_four,
         .threads = {pop_twice, steal_half}, .finish = finish_4)
SCENARIO(deque_steal_half_robbed, .about = "a thief moves half while the owner pops and another thief steals", .setup = set_up_four,
         .threads = {pop, steal_half, steal}, .finish = finish_4)

static void set_up_thief_has_two(void) {
    set_up();
    for (unsigned id = 0; id < 3; id++)
        push(id);
    deque_push(&deque_of_thief, item_make(3));
    deque_push(&deque_of_thief, item_make(4));
}
static void steal_from_thief(void) {
    uint64_t entry = ENTRY_NONE;
    if (deque_steal(&deque_of_thief, &entry) == 1) item_taken(entry);
}
SCENARIO(deque_steal_half_grows, .about = "the thief's own deque grows while it steals half and is robbed itself",
         .setup = set_up_thief_has_two, .threads = {pop, steal_half, steal_from_thief}, .finish = finish_5)
