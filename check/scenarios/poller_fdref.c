/* A place and its generations: a thread that uses one finds what was made for it, none finds the next one's, and the last user ends it
 * alone.
 *
 * The kernel's descriptor is plain data: an access out of turn is a race. */
#include "base/spin.h"
#include "chk.h"
#include "net/fdref.h"

static struct fdref fdref;
SHARED unsigned what; /* what the number means; 0: nothing */
SHARED unsigned ends[4];

static void set_up_free(void) {
    atom_store_rlx(&fdref.word, 0);
    chk_name(&fdref.word, "fdref");
}
static void open_as(unsigned meaning) {
    uint64_t generation;
    if (!fdref_reserve(&fdref, &generation)) return;
    chk_assert(what == 0, "the number is free");
    chk_assert(generation == meaning, "in order");
    what = meaning;
    fdref_begin(&fdref);
}
static void set_up_open(void) {
    set_up_free();
    open_as(1);
}
static void done(void) {
    if (!fdref_done(&fdref)) return;
    what = 0;
    ends[chk_self()]++;
    fdref_end(&fdref);
}
static void use(unsigned generation) {
    if (!fdref_use(&fdref, generation)) return;
    chk_assert(what == generation, "what this generation means");
    done();
}
static bool close_it(void) {
    if (!fdref_use(&fdref, 1)) return false;
    bool mine = fdref_close(&fdref);
    done();
    return mine;
}

static void uses(void) { use(1); }
static void uses_twice(void) {
    use(1);
    use(1);
}
SHARED unsigned closed[4];
static void closes(void) { closed[chk_self()] += close_it(); }
static void opens_next(void) { open_as(2); }
static void opens_next_and_uses(void) {
    open_as(2);
    use(2);
}
static void opens_first(void) {
    open_as(1);
    use(1);
}
static void thinks_better_of_it(void) {
    uint64_t generation;
    if (!fdref_reserve(&fdref, &generation)) return;
    what = 9;
    what = 0;
    fdref_forgo(&fdref);
}
static void at_most_one_opened(void) { chk_assert(fdref_of(&fdref) == what, "opened, or not"); }
static void ended_once(void) {
    chk_assert(ends[0] + ends[1] + ends[2] + ends[3] == 1 && what == 0, "ended once");
    chk_assert(closed[0] + closed[1] + closed[2] + closed[3] == 1, "closed once");
}
static void first_is_over(void) {
    chk_assert(ends[0] + ends[1] + ends[2] + ends[3] == 1, "ended once");
    chk_assert(what == 0 ? fdref_of(&fdref) == 0 : fdref_of(&fdref) == what, "the place knows its generation");
}
static void one_opened(void) { chk_assert(what == 1 && fdref_of(&fdref) == 1, "opened once"); }

/* Waits until the first generation is over, as a release does. */
static void waits_for_the_end(void) {
    struct spin spin = spin_begin();
    while (fdref_of(&fdref) == 1)
        spin_wait(&spin);
    chk_assert(what == 0, "and then it is the waiter's");
}

SCENARIO(fdref_use_close, .about = "two use a descriptor || it is closed", .setup = set_up_open, .threads = {uses_twice, uses, closes},
         .finish = ended_once)
SCENARIO(fdref_two_close, .about = "used || closed || closed", .setup = set_up_open, .threads = {uses, closes, closes},
         .finish = ended_once)
static void closes_alone(void) {
    if (!fdref_use(&fdref, 1)) return;
    bool mine = fdref_close_alone(&fdref);
    closed[chk_self()] += mine;
    done();
    if (mine) chk_assert(ends[chk_self()] == 1, "the only user ends it before it goes on");
}
static void closed_once_or_open(void) {
    unsigned count = closed[0] + closed[1] + closed[2];
    chk_assert(count <= 1 && what == (count == 1 ? 0 : 1), "closed by one of them, or still there");
}
SCENARIO(fdref_close_alone, .about = "used || closed, if no other thread uses it || likewise", .setup = set_up_open,
         .threads = {uses, closes_alone, closes_alone}, .finish = closed_once_or_open)
SCENARIO(fdref_next, .about = "used || closed || the number comes again", .setup = set_up_open,
         .threads = {uses, closes, opens_next_and_uses}, .finish = first_is_over)
SCENARIO(fdref_stale, .about = "used twice || closed, and opened again", .setup = set_up_open, .threads = {uses_twice, closes, opens_next},
         .finish = first_is_over)
SCENARIO(fdref_two_open, .about = "two adopt the same number || it is used", .setup = set_up_free,
         .threads = {opens_first, opens_first, uses}, .finish = one_opened)
SCENARIO(fdref_forgo, .about = "one reserves a place and thinks better of it || another opens it", .setup = set_up_free,
         .threads = {thinks_better_of_it, opens_first}, .finish = at_most_one_opened)
SCENARIO(fdref_release, .about = "used || closed || a thread waits for the end", .setup = set_up_open,
         .threads = {uses, closes, waits_for_the_end}, .finish = ended_once)

/* ---- twins that are wrong --------------------------------------------------------------------------------------------------- */

/* Looks at the generation and then counts itself. */
static void uses_after_looking(void) {
    uint64_t word = atom_load_acq(&fdref.word);
    if ((word & FDREF_USERS) == 0 || (word & FDREF_CLOSING) || fdref_generation(word) != 1) return;
    atom_add_acqrel(&fdref.word, 1);
    chk_assert(what == 1, "what this generation means");
    done();
}
SCENARIO(fdref_twin_look, .about = "looks first and counts itself then", .setup = set_up_open,
         .threads = {uses_after_looking, closes, opens_next}, .flawed_in = CHK_ALL)

/* Gives the number back first, and the place its next generation then. */
static void close_in_wrong_order(void) {
    if (!fdref_use(&fdref, 1)) return;
    if (!fdref_close(&fdref)) return;
    if (!fdref_done(&fdref)) return;
    fdref_end(&fdref);
    what = 0; /* another generation's by now */
}
SCENARIO(fdref_twin_order, .about = "the place is free before its number is", .setup = set_up_open,
         .threads = {close_in_wrong_order, opens_next}, .flawed_in = CHK_ALL)
