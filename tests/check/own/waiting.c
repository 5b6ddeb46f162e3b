/* Threads that wait for ever, that wait in loops the checker must find, and that wait in loops which have to be marked. */
#include <stdatomic.h>
#include <stdbool.h>
#include <weft/chk.h>

static atomic_int a, b;
static void a_after_b(void) {
    while (!atomic_load(&b)) {}
    a = 1;
}
static void b_after_a(void) {
    while (!a) {}
    b = 1;
}
CHK_SCENARIO(two_spins, .about = "each waits for the other", .threads = {a_after_b, b_after_a}, .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

static atomic_flag held = ATOMIC_FLAG_INIT;
static void take(void) {
    while (atomic_flag_test_and_set(&held)) {}
}
CHK_SCENARIO(never_given_back, .about = "a lock that nobody gives back", .threads = {take, take, take}, .flawed_in = CHK_ALL,
             .flaw = CHK_DEADLOCK)

/* A loop over several objects, in a function that is not inlined. */
static atomic_int ready[2];
__attribute__((noinline)) static bool any_ready(void) {
    for (int i = 0; i < 2; i++)
        if (atomic_load_explicit(&ready[i], memory_order_acquire)) return true;
    return false;
}
static void wait_for_any(void) {
    while (!any_ready()) {}
}
static void make_ready(void) { ready[1] = 1; }
CHK_SCENARIO(any_of_two, .about = "a loop over two objects", .threads = {wait_for_any, make_ready})

/* A list is walked: the same place and the same registers, another address. */
static struct link { _Atomic(struct link *) next; } first, second, third;
static void chain(void) {
    first.next = &second;
    second.next = &third;
}
static int length;
static void walk(void) {
    for (struct link *l = &first; l; l = atomic_load_explicit(&l->next, memory_order_acquire)) {}
    length = 3;
}
static void walked(void) { chk_assert(length == 3, "the walk came to its end"); }
CHK_SCENARIO(list_walk, .about = "a walk is no waiting loop", .setup = chain, .threads = {walk}, .finish = walked)

/* What decides is in the object and not in the thread: each round looks the same to the thread, and writes. */
static void count_up(void) {
    while (atomic_fetch_add(&a, 1) < 5) {}
}
static void counted(void) { chk_assert(a == 7, "two threads, and one more round for each"); }
CHK_SCENARIO(count_together, .about = "a loop that writes is no waiting loop", .threads = {count_up, count_up}, .finish = counted)

/* Gives up after three rounds: that must be explored. */
static bool gave_up;
static void try_thrice(void) {
    for (int i = 0; i < 3; i++)
        if (atomic_load(&b)) return;
    gave_up = true;
}
static void set_b(void) { b = 1; }
static void not_given_up(void) { chk_assert(!gave_up, "three rounds were enough"); }
CHK_SCENARIO(bounded_tries, .about = "a loop that counts is followed to its end", .threads = {try_thrice, set_b}, .finish = not_given_up,
             .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* A loop for ever, not the same in any two rounds: see endless.c. */
static void marked_while_waiting(void) {
    struct chk_loop loop = chk_loop_begin();
    for (volatile int tries = 0; !atomic_load(&b); tries++)
        chk_loop_again(&loop);
}
CHK_SCENARIO(marked, .about = "marked", .threads = {marked_while_waiting, set_b})

static int plain;
static void wait_for_plain(void) {
    while (!*(volatile int *)&plain) {}
}
CHK_SCENARIO(plain_wait, .about = "a loop that waits for plain data", .threads = {wait_for_plain}, .flawed_in = CHK_ALL,
             .flaw = CHK_LIVELOCK, .models = CHK_C11)
