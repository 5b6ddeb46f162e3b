/* The spinlock: mutual exclusion shown by plain data inside. */
#include "queue/spinlock.h"

#include "base/spin.h"
#include "chk.h"

static struct spinlock lock;
SHARED unsigned plain;

static void setup(void) {
    spinlock_init(&lock);
    chk_name(&lock.word, "lock");
}

static void take_once(void) {
    spinlock_take(&lock);
    plain++;
    spinlock_drop(&lock);
}
static void take_twice(void) {
    take_once();
    take_once();
}
static void try_once(void) {
    if (!spinlock_try(&lock)) return;
    plain += 10;
    spinlock_drop(&lock);
}

static void three_taken(void) { chk_assert(plain == 3, "every taker was inside, one after the other"); }
static void four_taken(void) { chk_assert(plain == 4, "every taker was inside, one after the other"); }
static void two_and_a_try(void) { chk_assert(plain == 2 || plain == 12, "both takers were inside, perhaps the third"); }

SCENARIO(spinlock_three, .about = "three threads take the lock once each (X1, X2)", .setup = setup,
         .threads = {take_once, take_once, take_once}, .finish = three_taken)
SCENARIO(spinlock_again, .about = "two threads take the lock twice each", .setup = setup, .threads = {take_twice, take_twice},
         .finish = four_taken)
SCENARIO(spinlock_try, .about = "two take, one tries", .setup = setup, .threads = {take_once, take_once, try_once}, .finish = two_and_a_try)

/* ---- Designs that are wrong ------------------------------------------------------------------------------------ */

static void take_and_drop_relaxed(void) {
    spinlock_take(&lock);
    plain++;
    atom_store_rlx(&lock.word, SPINLOCK_FREE);
}
SCENARIO(spinlock_bad_relaxed, .about = "dropped without release", .setup = setup, .threads = {take_and_drop_relaxed, take_once},
         .flawed_in = CHK_C11)

/* A holder that looks at the lock before it takes it, and takes it by a plain store as well. */
static void look_and_take(void) {
    struct spin spin = spin_begin();
    while (atom_load_acq(&lock.word) != SPINLOCK_FREE)
        spin_wait(&spin);
    atom_store_rlx(&lock.word, SPINLOCK_HELD);
    plain++;
    spinlock_drop(&lock);
}
SCENARIO(spinlock_bad_look, .about = "taken in two steps", .setup = setup, .threads = {look_and_take, take_once}, .flawed_in = CHK_ALL)
