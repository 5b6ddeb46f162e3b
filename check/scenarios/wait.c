/* Waiting: a claim, a deadline and a cancellation come at once, and one of them it is.
 *
 * What is waited for is a box under a lock. The thread that fills it hands the number to a waiter, into the waiter's memory, or leaves it
 * in the box. The waiter's memory is freed as soon as it goes on: a thread that touches it later is caught, and a number that is written
 * too late is a race. */
#include "small_fiber.h"
#include "sync/synch2.h"

struct stay { /* the waiter's stack, as it were */
    struct wait wait;
    struct waiter waiter;
    unsigned number;
};

static struct lock lock;
static struct waiters list;
SHARED unsigned box;
SHARED int answer;
SHARED unsigned got;

static void setup(void) {
    small_fibers(2);
    lock_init(&lock);
    chk_name(&lock.word, "lock");
    list.first = list.last = NULL;
}

/* ---- the waiter ------------------------------------------------------------------------------------------------------ */

static void wait_until(uint64_t deadline) {
    struct stay *stay = sys->alloc(sizeof *stay);
    chk_name(&stay->wait.claimed, "claimed");
    chk_name(&stay->wait.parker.word, "parker");
    chk_name(&stay->wait.timer.timer.place, "timer");
    lock_take(&lock);
    if (box) {
        got = box;
        box = 0;
        lock_drop(&lock);
    } else {
        wait_begin(&stay->wait);
        waiter_init(&stay->waiter, &stay->wait, 1);
        stay->waiter.item = &stay->number;
        answer = waiters_wait(&list, &stay->waiter, &lock, deadline, "wait_until");
        if (answer > 0) got = stay->number;
        else lock_drop(&lock);
    }
    sys->free(stay, sizeof *stay);
}
static void process_waits(void) {
    small_process(0);
    wait_until(WEFT_FOREVER);
}
static void process_waits_soon(void) {
    small_process(0);
    wait_until(SMALL_SOON);
}
static void thread_waits(void) {
    small_thread();
    wait_until(WEFT_FOREVER);
}
static void thread_waits_soon(void) {
    small_thread();
    wait_until(SMALL_SOON);
}

/* ---- the others ------------------------------------------------------------------------------------------------------ */

/* Into the memory of a waiter, which is to be woken then; or into the box: NULL. */
static struct waiter *put(bool while_it_waits) {
    lock_take(&lock);
    if (while_it_waits) chk_assume(list.first);
    struct waiter *waiter = waiters_claim(&list);
    if (waiter) *(unsigned *)waiter->item = 42; /* W3 */
    else box = 42;
    lock_drop(&lock);
    return waiter;
}
static void fill(bool while_it_waits) {
    struct waiter *waiter = put(while_it_waits);
    if (waiter) waiter_wake(waiter);
}
static void process_fills(void) {
    small_process(1);
    fill(false);
}
static void thread_fills(void) {
    small_thread();
    fill(false);
}
static void process_cancels(void) {
    small_process(1);
    small_cancel(0);
}
static void thread_cancels(void) {
    small_thread();
    small_cancel(0);
}
static void clock_comes_by(void) { small_clock(0); }

static void got_it(void) { chk_assert(got == 42, "the number has arrived"); }
static void got_it_or_not(void) {
    chk_assert(got + box == 42 && got * box == 0, "the number has arrived, or is still there");
    chk_assert((got == 42) == (answer >= 0), "and the waiter knows");
    chk_assert(!list.first, "no waiter is left in the list");
}

SCENARIO(wait_wake, .about = "a process waits || a process of the same runtime claims and wakes it", .setup = setup,
         .threads = {process_waits, process_fills}, .finish = got_it)
SCENARIO(wait_wake_foreign, .about = "the same, but the waker is a thread (W4)", .setup = setup, .threads = {process_waits, thread_fills},
         .finish = got_it)
SCENARIO(wait_thread, .about = "a thread waits || a process wakes it", .setup = setup, .threads = {thread_waits, process_fills},
         .finish = got_it)
SCENARIO(wait_thread_timeout, .about = "a thread waits, its deadline may pass at any moment || a thread wakes it", .setup = setup,
         .threads = {thread_waits_soon, thread_fills}, .finish = got_it_or_not)
SCENARIO(wait_cancel, .about = "a process waits || a wake-up || a cancellation", .setup = setup,
         .threads = {process_waits, process_fills, thread_cancels}, .finish = got_it_or_not)
SCENARIO(wait_cancel_foreign, .about = "the same, but the waker is a thread", .setup = setup,
         .threads = {process_waits, thread_fills, process_cancels}, .finish = got_it_or_not)
SCENARIO(wait_timeout, .about = "a process waits || a wake-up || its deadline", .setup = setup,
         .threads = {process_waits_soon, process_fills, clock_comes_by}, .finish = got_it_or_not)

/* Fewer orders, so that all four fit: the one that fills the box comes when the process is in the list. */
static void process_fills_when_waited_for(void) {
    small_process(1);
    fill(true);
}
SCENARIO(wait_timeout_cancel, .about = "a process waits || a wake-up while it is in the list || its deadline || a cancellation",
         .setup = setup, .threads = {process_waits_soon, process_fills_when_waited_for, clock_comes_by, thread_cancels},
         .finish = got_it_or_not, .deep_in = CHK_ALL)

/* ---- twins that are wrong -------------------------------------------------------------------------------------------- */

/* Claims as the real one, but without BUSY: the waiter goes on before the number is there. */
static void fill_without_busy(void) {
    small_process(1);
    lock_take(&lock);
    struct waiter *waiter = list.first;
    uint32_t pending = WAIT_PENDING;
    if (waiter) {
        waiters_remove(waiter);
        if (!atom_cas_acqrel_rlx(&waiter->wait->claimed, &pending, 1)) waiter = NULL;
    }
    if (waiter) *(unsigned *)waiter->item = 42;
    else box = 42;
    lock_drop(&lock);
    if (waiter) wait_awake(waiter->wait->runtime, my_worker, waiter->wait->proc);
}
SCENARIO(wait_twin_without_busy, .about = "a claim that does not hold the waiter: it is cancelled, wakes, and goes on too early",
         .setup = setup, .threads = {process_waits, fill_without_busy, thread_cancels}, .finish = got_it_or_not, .flawed_in = CHK_ALL,
         .flaw = CHK_NONE)

/* Ends BUSY first although the waiter is a thread: its parker is gone. */
static void fill_busy_first(void) {
    small_thread();
    struct waiter *waiter = put(false);
    if (!waiter) return;
    struct wait *wait = waiter->wait;
    atom_store_rel(&wait->claimed, 1);
    parker_unpark(&wait->parker);
}
SCENARIO(wait_twin_busy_first, .about = "a thread's parker is used after BUSY has ended", .setup = setup,
         .threads = {thread_waits_soon, fill_busy_first}, .finish = got_it_or_not, .flawed_in = CHK_ALL, .flaw = CHK_USE_AFTER_FREE)

/* Gives up without asking whether it has been claimed. */
static void wait_carelessly(void) {
    small_process(0);
    struct wait wait;
    struct waiter waiter;
    wait_begin(&wait);
    waiter_init(&waiter, &wait, 1);
    waiter.item = &got;
    lock_take(&lock);
    if (box) {
        got = box;
        box = 0;
        lock_drop(&lock);
        return;
    }
    waiters_add(&list, &waiter);
    lock_drop(&lock);
    while (atom_load_acq(&wait.claimed) == WAIT_PENDING) {
        if (fiber_is_cancelled(my_worker->current)) { /* another thread may claim it this moment */
            answer = WEFT_ECANCELED;
            break;
        }
        fiber_leave(my_worker, WEFT_STEP_BLOCKED);
    }
    lock_take(&lock);
    if (waiter.in) waiters_remove(&waiter);
    lock_drop(&lock);
}
SCENARIO(wait_twin_careless, .about = "gives up without claiming itself: the number is handed to a waiter that has gone", .setup = setup,
         .threads = {wait_carelessly, process_fills, thread_cancels}, .finish = got_it_or_not, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* ---- synch2's bed ---------------------------------------------------------------------------------------------------- */

static weft_synch2 door;

static void setup_door(void) {
    small_fibers(2);
    weft_synch2_init(&door);
    struct synch2_role *role = &synch2_of(&door)->role[0];
    atom_store_rlx(&role->bell, 1);
    chk_name(&role->bell, "bell");
    chk_name(&role->bed_lock.word, "bed.lock");
}
/* Sleeps until the bell is down, as synch2_rest does. */
static void sleep_on_bell(void) {
    atom_u32 *bell = &synch2_of(&door)->role[0].bell;
    while (atom_load_rlx(bell)) {
        int error = synch2_any_waiter.sleep(&synch2_any_waiter, 0, bell, SYS_FOREVER);
        chk_assert(error != WEFT_ETIMEDOUT, "there is no deadline");
        if (error == WEFT_ECANCELED) break;
    }
}
static void process_sleeps(void) {
    small_process(0);
    sleep_on_bell();
}
static void thread_sleeps(void) {
    small_thread();
    sleep_on_bell();
}
static void ring(void) {
    atom_u32 *bell = &synch2_of(&door)->role[0].bell;
    atom_store_rlx(bell, 0);
    synch2_any_waiter.wake(&synch2_any_waiter, 0, bell);
}
static void process_rings(void) {
    small_process(1);
    ring();
}
static void thread_rings(void) {
    small_thread();
    ring();
}
static void none_is_parked(void) { chk_assert(!synch2_of(&door)->role[0].bed.first, "no process is left parked"); }

SCENARIO(synch2_parked, .about = "synch2: a process goes to bed || the other one rings", .setup = setup_door,
         .threads = {process_sleeps, process_rings}, .finish = none_is_parked)
SCENARIO(synch2_parked_thread_rings, .about = "synch2: a process goes to bed || a thread rings", .setup = setup_door,
         .threads = {process_sleeps, thread_rings}, .finish = none_is_parked)
SCENARIO(synch2_parked_thread_sleeps, .about = "synch2: a thread goes to sleep || a process rings", .setup = setup_door,
         .threads = {thread_sleeps, process_rings}, .finish = none_is_parked)
SCENARIO(synch2_parked_cancel, .about = "synch2: a process goes to bed || the other one rings || a cancellation", .setup = setup_door,
         .threads = {process_sleeps, process_rings, thread_cancels}, .finish = none_is_parked)

/* Goes to bed without looking at the bell under the lock. */
static void twin_sleeps(void) {
    small_process(0);
    struct synch2_role *role = &synch2_of(&door)->role[0];
    if (!atom_load_rlx(&role->bell)) return;
    struct wait wait;
    struct waiter sleeper;
    wait_begin(&wait);
    waiter_init(&sleeper, &wait, 1);
    lock_take(&role->bed_lock);
    waiters_wait(&role->bed, &sleeper, &role->bed_lock, WEFT_FOREVER, "twin");
}
SCENARIO(synch2_parked_twin, .about = "synch2: goes to bed without looking at the bell again", .setup = setup_door,
         .threads = {twin_sleeps, process_rings}, .finish = none_is_parked, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
