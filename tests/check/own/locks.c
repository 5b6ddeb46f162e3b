/* Locks in plain C11: spinning on a flag, a compare-and-swap, tickets; and the mutexes of the C library. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <weft/chk.h>

static int counter; /* plain: the lock has to order its accesses */

static atomic_flag flag = ATOMIC_FLAG_INIT;
static void flag_lock(void) {
    while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire)) {}
}
static void with_flag(void) {
    flag_lock();
    counter++;
    atomic_flag_clear_explicit(&flag, memory_order_release);
}
static void with_weak_flag(void) {
    flag_lock();
    counter++;
    atomic_flag_clear_explicit(&flag, memory_order_relaxed);
}
static void all_three(void) { chk_assert(counter == 3, "every increment counts"); }
CHK_SCENARIO(flag_lock, .about = "three threads, a flag", .threads = {with_flag, with_flag, with_flag}, .finish = all_three)
CHK_SCENARIO(flag_lock_weak, .about = "the flag is cleared by a relaxed store", .threads = {with_weak_flag, with_weak_flag},
             .flawed_in = CHK_C11, .flaw = CHK_RACE)

static _Atomic int word;
static void with_word(void) {
    int free_word;
    do
        free_word = 0;
    while (!atomic_compare_exchange_weak_explicit(&word, &free_word, 1, memory_order_acquire, memory_order_relaxed));
    counter++;
    atomic_store_explicit(&word, 0, memory_order_release);
}
CHK_SCENARIO(cas_lock, .about = "three threads, a compare-and-swap", .threads = {with_word, with_word, with_word}, .finish = all_three)

static _Atomic unsigned char next, serving;
static void with_ticket(void) {
    unsigned char mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
        sched_yield();
    counter++;
    atomic_store_explicit(&serving, (unsigned char)(mine + 1), memory_order_release);
}
CHK_SCENARIO(ticket_lock, .about = "three threads, tickets of one byte", .threads = {with_ticket, with_ticket, with_ticket},
             .finish = all_three)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void with_mutex(void) {
    pthread_mutex_lock(&mutex);
    counter++;
    pthread_mutex_unlock(&mutex);
}
static void with_tries(void) {
    while (pthread_mutex_trylock(&mutex) != 0) {}
    counter++;
    pthread_mutex_unlock(&mutex);
}
CHK_SCENARIO(library_mutex, .about = "a mutex of the C library", .threads = {with_mutex, with_tries, with_mutex}, .finish = all_three)

static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static void one_then_other(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&other);
}
static void other_then_one(void) {
    pthread_mutex_lock(&other);
    pthread_mutex_lock(&mutex);
}
CHK_SCENARIO(mutex_order, .about = "two mutexes, taken in both orders", .threads = {one_then_other, other_then_one}, .flawed_in = CHK_ALL,
             .flaw = CHK_DEADLOCK)
