/* Waiting: futexes right and wrong, mutexes in opposite orders, loops that end and loops that do not. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"
#include "sys/sys.h"

#include <errno.h>

SHARED atom_u32 word, ready, sleepers, flag[2];
SHARED struct chk_mutex mutex[2];
SHARED uint32_t count;
SHARED int returned;

static void names(void) {
    chk_name(&word, "word");
    chk_name(&ready, "ready");
    chk_name(&sleepers, "sleepers");
    chk_name(&flag[0], "flag[0]");
    chk_name(&flag[1], "flag[1]");
    chk_name(&mutex[0], "mutex[0]");
    chk_name(&mutex[1], "mutex[1]");
    chk_name(&count, "count");
}

/* A futex used as it should be: the word that is slept on is the word that changes. */

static void sleep_on_word(void) {
    while (atom_load_acq(&word) == 0)
        sys->futex_wait(&word, 0, SYS_FOREVER);
    chk_assert(count == 7, "what was written before the wake-up is seen");
}
static void wake_1(void) {
    count = 7;
    atom_store_rel(&word, 1);
    sys->futex_wake(&word, 1);
}
static void wake_2(void) {
    count = 7;
    atom_store_rel(&word, 1);
    sys->futex_wake(&word, 2);
}
SCENARIO(futex, .about = "futex: change the word, then wake", .setup = names, .threads = {sleep_on_word, wake_1})
SCENARIO(futex_wake_all, .about = "futex: two sleepers, both woken", .setup = names, .threads = {sleep_on_word, sleep_on_word, wake_2})
SCENARIO(futex_wake_one_of_two, .about = "futex: two sleepers, one woken: the other sleeps on", .setup = names,
         .threads = {sleep_on_word, sleep_on_word, wake_1}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void sleep_and_pass_on(void) {
    while (atom_load_acq(&word) == 0)
        sys->futex_wait(&word, 0, SYS_FOREVER);
    sys->futex_wake(&word, 1);
}
SCENARIO(futex_baton, .about = "futex: two sleepers, one woken, which wakes the other", .setup = names,
         .threads = {sleep_and_pass_on, sleep_and_pass_on, wake_1})

static void wake_too_early(void) {
    count = 7;
    sys->futex_wake(&word, 1);
    atom_store_rel(&word, 1);
}
SCENARIO(futex_wake_too_early, .about = "futex: wake, then change the word", .setup = names, .threads = {sleep_on_word, wake_too_early},
         .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void no_wake(void) {
    count = 7;
    atom_store_rel(&word, 1);
}
SCENARIO(futex_no_wake, .about = "futex: the word changes but no thread is woken", .setup = names, .threads = {sleep_on_word, no_wake},
         .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void sleep_rlx(void) {
    while (atom_load_rlx(&word) == 0)
        sys->futex_wait(&word, 0, SYS_FOREVER);
    chk_assert(count == 7, "what was written before the wake-up is seen");
}
SCENARIO(futex_rlx, .about = "futex: the word read relaxed: a thread that need not sleep has acquired nothing", .setup = names,
         .threads = {sleep_rlx, wake_1}, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* What a wait returns. */

static void word_1(void) {
    names();
    atom_store_rlx(&word, 1);
}
static void sleep_forever(void) { returned = sys->futex_wait(&word, 0, SYS_FOREVER); }
static void sleep_a_while(void) { returned = sys->futex_wait(&word, 0, 1); }
static void said_again(void) { chk_assert(returned == -EAGAIN, "a wait on another value returns at once"); }
static void not_timed_out(void) { chk_assert(returned != -ETIMEDOUT, "the deadline did not pass"); }
static void timed_out(void) { chk_assert(returned == -ETIMEDOUT, "the deadline passed"); }
SCENARIO(futex_differs, .about = "futex: a wait returns when the word differs", .setup = word_1, .threads = {sleep_forever},
         .finish = said_again)
SCENARIO(futex_deadline, .about = "futex: a wait with a deadline ends without a waker", .setup = names, .threads = {sleep_a_while},
         .finish = timed_out)
SCENARIO(futex_deadline_passes, .about = "futex: the deadline may pass although a waker comes", .setup = names,
         .threads = {sleep_a_while, wake_1}, .finish = not_timed_out, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* A limit: the kernel may return from a wait for no reason, the checker does not explore that. */
static void sleep_no_loop(void) {
    if (atom_load_acq(&word) == 0) sys->futex_wait(&word, 0, SYS_FOREVER);
    chk_assert(atom_load_acq(&word) == 1, "a thread that was woken finds the word changed");
}
SCENARIO(futex_no_loop, .about = "futex: a wait outside a loop; wrong, but out of the checker's sight", .setup = names,
         .threads = {sleep_no_loop, wake_1})

/* Check one cell, sleep on another that does not change. */

static void check_then_sleep(void) {
    while (atom_load_acq(&ready) == 0)
        sys->futex_wait(&word, 0, SYS_FOREVER);
}
static void set_then_wake(void) {
    atom_store_rel(&ready, 1);
    sys->futex_wake(&word, 1);
}
static void set_count_wake(void) {
    atom_store_rel(&ready, 1);
    atom_add_rel(&word, 1);
    sys->futex_wake(&word, 1);
}
static void count_check_sleep(void) {
    for (;;) {
        uint32_t seen = atom_load_acq(&word);
        if (atom_load_acq(&ready) == 1) return;
        sys->futex_wait(&word, seen, SYS_FOREVER);
    }
}
SCENARIO(futex_check_then_sleep, .about = "futex: the wake-up falls between the check and the sleep", .setup = names,
         .threads = {check_then_sleep, set_then_wake}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(futex_event_count, .about = "futex: a count read before the check closes the gap", .setup = names,
         .threads = {count_check_sleep, set_count_wake})

static void check_count_sleep(void) {
    while (atom_load_acq(&ready) == 0) {
        uint32_t seen = atom_load_acq(&word);
        sys->futex_wait(&word, seen, SYS_FOREVER);
    }
}
SCENARIO(futex_count_read_late, .about = "futex: the count read after the check leaves the gap open", .setup = names,
         .threads = {check_count_sleep, set_count_wake}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* The wake is skipped when no thread seems to sleep: store buffering between word and sleepers. The flag must be up
 * before the sleeper's last look at the word, and the word changed before the waker's look at the flag. */

static void announce_sc(void) {
    atom_store_sc(&sleepers, 1);
    while (atom_load_sc(&word) == 0)
        sys->futex_wait(&word, 0, SYS_FOREVER);
}
static void wake_if_any_sc(void) {
    atom_store_sc(&word, 1);
    if (atom_load_sc(&sleepers) == 1) sys->futex_wake(&word, 1);
}
static void wake_if_any_rel(void) {
    atom_store_rel(&word, 1);
    if (atom_load_acq(&sleepers) == 1) sys->futex_wake(&word, 1);
}
SCENARIO(futex_sleepers_sc, .about = "futex: no wake call when no thread sleeps, seq_cst", .setup = names,
         .threads = {announce_sc, wake_if_any_sc})
SCENARIO(futex_sleepers_rel, .about = "futex: no wake call when no thread sleeps, the waker only release and acquire", .setup = names,
         .threads = {announce_sc, wake_if_any_rel}, .flawed_in = CHK_C11 | CHK_TSO, .flaw = CHK_LOST_WAKEUP)

static void announce_heavy(void) {
    atom_store_rlx(&sleepers, 1);
    sys_fence_heavy();
    while (atom_load_acq(&word) == 0)
        sys->futex_wait(&word, 0, SYS_FOREVER);
}
static void wake_if_any_light(void) {
    atom_store_rel(&word, 1);
    atom_fence_light();
    if (atom_load_rlx(&sleepers) == 1) sys->futex_wake(&word, 1);
}
SCENARIO(futex_sleepers_light, .about = "futex: no wake call when no thread sleeps, light fence here and heavy there", .setup = names,
         .threads = {announce_heavy, wake_if_any_light})

/* A mutex on a futex (0 free, 1 held, 2 held and perhaps awaited), as in Drepper's "Futexes are tricky". */

static void lock_by_futex(void) {
    uint32_t seen = 0;
    if (atom_cas_acq_rlx(&word, &seen, 1)) return;
    while (atom_swap_acq(&word, 2) != 0)
        sys->futex_wait(&word, 2, SYS_FOREVER);
}
static void unlock_by_futex(void) {
    if (atom_swap_rel(&word, 0) == 2) sys->futex_wake(&word, 1);
}
static void locked_by_futex(void) {
    lock_by_futex();
    count++;
    unlock_by_futex();
}
static void counted_2(void) { chk_assert(count == 2, "both critical sections counted"); }
SCENARIO(futex_mutex, .about = "a mutex made of a futex", .setup = names, .threads = {locked_by_futex, locked_by_futex},
         .finish = counted_2)

/* After the wake-up the word is taken with 1: other sleepers are forgotten. */
static void forgetful(void) {
    uint32_t seen = 0;
    while (!atom_cas_acq_rlx(&word, &seen, 1)) {
        if (seen == 2 || atom_cas_rlx_rlx(&word, &seen, 2)) sys->futex_wait(&word, 2, SYS_FOREVER);
        seen = 0;
    }
    count++;
    unlock_by_futex();
}
SCENARIO(futex_mutex_forgetful, .about = "a mutex made of a futex that forgets further sleepers", .setup = names,
         .threads = {forgetful, forgetful, forgetful}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Deadlock. */

static void lock_01(void) {
    chk_lock(&mutex[0]);
    chk_lock(&mutex[1]);
    count++;
    chk_unlock(&mutex[1]);
    chk_unlock(&mutex[0]);
}
static void lock_10(void) {
    chk_lock(&mutex[1]);
    chk_lock(&mutex[0]);
    count++;
    chk_unlock(&mutex[0]);
    chk_unlock(&mutex[1]);
}
SCENARIO(deadlock_two_mutexes, .about = "two mutexes taken in opposite orders", .setup = names, .threads = {lock_01, lock_10},
         .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)
SCENARIO(mutexes_in_order, .about = "two mutexes taken in the same order", .setup = names, .threads = {lock_01, lock_01},
         .finish = counted_2)

static void lock_twice(void) {
    chk_lock(&mutex[0]);
    chk_lock(&mutex[0]);
    chk_unlock(&mutex[0]);
}
SCENARIO(deadlock_lock_twice, .about = "a thread waits for the mutex it holds", .setup = names, .threads = {lock_twice},
         .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

static void lock_and_keep(void) {
    chk_lock(&mutex[0]);
    count++;
}
static void lock_0(void) {
    chk_lock(&mutex[0]);
    count++;
    chk_unlock(&mutex[0]);
}
SCENARIO(deadlock_kept, .about = "a thread ends with the mutex in its pocket", .setup = names, .threads = {lock_and_keep, lock_0},
         .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

/* Loops. */

static void wait_for_flag(void) {
    struct spin spin = spin_begin();
    while (atom_load_rlx(&flag[0]) == 0)
        spin_wait(&spin);
}
static void raise_flag(void) { atom_store_rlx(&flag[0], 1); }
static void raise_and_lower(void) {
    atom_store_rlx(&flag[0], 1);
    atom_store_rlx(&flag[0], 0);
}
static void raise_other(void) { atom_store_rlx(&flag[1], 1); }
SCENARIO(spin_ends, .about = "a loop that waits for a store ends, even relaxed: stores arrive", .setup = names,
         .threads = {wait_for_flag, raise_flag})
SCENARIO(spin_missed, .about = "a flag raised and lowered again may be missed", .setup = names, .threads = {wait_for_flag, raise_and_lower},
         .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)
SCENARIO(spin_never, .about = "a loop waits for a store that no thread makes", .setup = names, .threads = {wait_for_flag, raise_other},
         .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

static void first_you(void) {
    struct spin spin = spin_begin();
    while (atom_load_acq(&flag[1]) == 0)
        spin_wait(&spin);
    atom_store_rel(&flag[0], 1);
}
static void no_first_you(void) {
    struct spin spin = spin_begin();
    while (atom_load_acq(&flag[0]) == 0)
        spin_wait(&spin);
    atom_store_rel(&flag[1], 1);
}
SCENARIO(deadlock_courtesy, .about = "two loops that wait for each other", .setup = names, .threads = {first_you, no_first_you},
         .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

/* Livelock: both raise a flag, both see the other's, both take theirs back, for ever. */

static void yield_to_other(unsigned me) {
    struct spin spin = spin_begin();
    for (;;) {
        atom_store_sc(&flag[me], 1);
        if (atom_load_sc(&flag[1 - me]) == 0) break;
        atom_store_sc(&flag[me], 0);
        spin_wait(&spin);
    }
    atom_store_sc(&flag[me], 0);
}
static void yield_0(void) { yield_to_other(0); }
static void yield_1(void) { yield_to_other(1); }
SCENARIO(livelock, .about = "two threads that back off from each other for ever", .setup = names, .threads = {yield_0, yield_1},
         .flawed_in = CHK_ALL, .flaw = CHK_LIVELOCK)

/* Only one of them is polite: the other stands still, and the loop ends. */
static void insist_1(void) {
    struct spin spin = spin_begin();
    atom_store_sc(&flag[1], 1);
    while (atom_load_sc(&flag[0]) == 1)
        spin_wait(&spin);
    atom_store_sc(&flag[1], 0);
}
static void yield_quietly_0(void) {
    struct spin spin = spin_begin();
    for (;;) {
        atom_store_sc(&flag[0], 1);
        if (atom_load_sc(&flag[1]) == 0) break;
        atom_store_sc(&flag[0], 0);
        struct spin inner = spin_begin();
        while (atom_load_sc(&flag[1]) == 1)
            spin_wait(&inner);
        spin_wait(&spin);
    }
    atom_store_sc(&flag[0], 0);
}
SCENARIO(no_livelock, .about = "one thread backs off, the other insists: both get through", .setup = names,
         .threads = {yield_quietly_0, insist_1})
