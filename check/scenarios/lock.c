/* The lock: mutual exclusion shown by plain data inside, and no thread left asleep. */
#include "queue/lock.h"
#include "chk.h"

static struct lock lock;
SHARED unsigned plain;

static void setup(void) {
    lock_init(&lock);
    chk_name(&lock.word, "lock");
}

static void take_once(void) {
    lock_take(&lock);
    plain++;
    lock_drop(&lock);
}
static void take_twice(void) {
    take_once();
    take_once();
}
static void try_once(void) {
    if (!lock_try(&lock)) return;
    plain += 10;
    lock_drop(&lock);
}

static void three_taken(void) { chk_assert(plain == 3, "every taker was inside, one after the other"); }
static void four_taken(void) { chk_assert(plain == 4, "every taker was inside, one after the other"); }
static void two_and_a_try(void) { chk_assert(plain == 2 || plain == 12, "both takers were inside, perhaps the third"); }

SCENARIO(lock_three, .about = "three threads take the lock once each: two of them may sleep (K2, K3)", .setup = setup,
         .threads = {take_once, take_once, take_once}, .finish = three_taken)

SCENARIO(lock_again, .about = "two threads take the lock twice each", .setup = setup, .threads = {take_twice, take_twice},
         .finish = four_taken)

SCENARIO(lock_try, .about = "two take, one tries", .setup = setup, .threads = {take_once, take_once, try_once}, .finish = two_and_a_try)
