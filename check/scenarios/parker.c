/* The parker: every park gets its token, and with it what the unparker had done. A lost wake-up shows as an owner
 * asleep. */
#include "queue/parker.h"
#include "chk.h"
#include "sys/sys.h"

#include <errno.h>

/* Any deadline but SYS_FOREVER may pass at any moment in the checker. */
enum { SOON = 1 };

static struct parker parker, other;
static atom_u32 brought[2];
SHARED unsigned plain;

static void setup(void) {
    parker_init(&parker);
    parker_init(&other);
    atom_store_rlx(&brought[0], 0);
    atom_store_rlx(&brought[1], 0);
    chk_name(&parker.word, "parker");
    chk_name(&other.word, "other");
    chk_name(&brought[0], "brought[0]");
    chk_name(&brought[1], "brought[1]");
}

/* ---- one unparker, plain data handed over with the token ------------------------------------------------------- */

static void bring_plain(void) {
    plain = 42;
    parker_unpark(&parker);
}
static void park_for_plain(void) {
    chk_assert(parker_park(&parker, SYS_FOREVER) == 0, "a park without a deadline gets the token");
    chk_assert(plain == 42, "and what was written before the unpark (P2)");
}
SCENARIO(parker_one, .about = "park || unpark, plain data goes with the token", .setup = setup, .threads = {park_for_plain, bring_plain})

static void park_for_plain_soon(void) {
    int error = parker_park(&parker, SOON);
    chk_assert(error == 0 || error == -ETIMEDOUT, "token or time-out");
    if (error) error = parker_park(&parker, SYS_FOREVER);
    chk_assert(error == 0 && plain == 42, "a time-out does not lose the token that comes later (P4)");
}
SCENARIO(parker_timeout, .about = "park with a deadline that may pass at any moment, then without || unpark", .setup = setup,
         .threads = {park_for_plain_soon, bring_plain})

/* ---- two unparkers: tokens may melt, what they brought must be found ------------------------------------------- */

static void bring_first(void) {
    atom_store_rlx(&brought[0], 1); /* rlx: the token carries it over */
    parker_unpark(&parker);
}
static void bring_second(void) {
    atom_store_rlx(&brought[1], 1);
    parker_unpark(&parker);
}
static void park_for_both(void) {
    while (atom_load_rlx(&brought[0]) + atom_load_rlx(&brought[1]) < 2)
        chk_assert(parker_park(&parker, SYS_FOREVER) == 0, "there was a token");
}
SCENARIO(parker_two, .about = "two unparkers; the owner parks until it has found what both brought (P1-P3)", .setup = setup,
         .threads = {park_for_both, bring_first, bring_second})

static void park_for_both_soon(void) {
    parker_park(&parker, SOON);
    park_for_both();
}
SCENARIO(parker_two_timeout, .about = "the same, after a park whose deadline may pass at any moment", .setup = setup,
         .threads = {park_for_both_soon, bring_first, bring_second})

/* ---- reuse: two threads wake each other in turn ----------------------------------------------------------------- */

static void turn_first(void) {
    for (unsigned i = 0; i < 2; i++) {
        chk_assert(plain == 2 * i, "it is this thread's turn");
        plain++;
        parker_unpark(&other);
        chk_assert(parker_park(&parker, SYS_FOREVER) == 0, "token");
    }
}
static void turn_second(void) {
    for (unsigned i = 0; i < 2; i++) {
        chk_assert(parker_park(&other, SYS_FOREVER) == 0, "token");
        chk_assert(plain == 2 * i + 1, "it is this thread's turn");
        plain++;
        parker_unpark(&parker);
    }
}
static void four_turns(void) { chk_assert(plain == 4, "four turns"); }
SCENARIO(parker_turns, .about = "two threads wake each other twice in turn: the words are used again", .setup = setup,
         .threads = {turn_first, turn_second}, .finish = four_turns)

/* ---- an owner that sleeps elsewhere (P5) ------------------------------------------------------------------------- */

static atom_u32 bell;
SHARED unsigned bell_made; /* by the owner, shortly before */

static void set_up_away(void) {
    setup();
    bell_made = 0;
    atom_store_rlx(&bell, 0);
    chk_name(&bell, "bell");
}
static void bring_plain_and_ring(void) {
    plain = 42;
    if (!parker_unpark(&parker)) return;
    chk_assert(bell_made == 1, "the thread that has to ring finds the bell (P5)");
    atom_store_rlx(&bell, 1); /* rlx: the token carries it over */
    sys->futex_wake(&bell, 1);
}
static void sleep_elsewhere(uint64_t deadline) {
    bell_made = 1;
    bool token = !parker_away(&parker);
    if (!token) {
        while (atom_load_rlx(&bell) == 0 && sys->futex_wait(&bell, 0, deadline) != -ETIMEDOUT) {}
        token = parker_back(&parker);
    }
    if (!token) token = parker_park(&parker, SYS_FOREVER) == 0; /* it was time, and the token comes later */
    chk_assert(token && plain == 42, "the token, and what was written before it");
}
static void sleep_elsewhere_long(void) { sleep_elsewhere(SYS_FOREVER); }
static void sleep_elsewhere_soon(void) { sleep_elsewhere(SOON); }
SCENARIO(parker_away, .about = "an owner that sleeps elsewhere || unpark and bell", .setup = set_up_away,
         .threads = {sleep_elsewhere_long, bring_plain_and_ring})
SCENARIO(parker_away_timeout, .about = "the same with a deadline that may pass, and a park after it", .setup = set_up_away,
         .threads = {sleep_elsewhere_soon, bring_plain_and_ring})
