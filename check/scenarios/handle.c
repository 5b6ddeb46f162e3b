/* Handles of timers: memory that is used again, cancelled by several threads with old and new handles while runners ring it; and designs that are wrong.
 *
 * `sent` and `ended` are plain: they show who was where, and a thread that is not ordered behind the writer is reported. */
#include "time/handle.h"

#include "chk.h"

enum { FIRST = 1, SECOND = 2, PERIOD = 2 };

static struct timers own, other;
static struct delayed {
    struct timer timer; /* first: its address is this one's */
    struct handle handle;
    bool periodic;
} delayed;
SHARED unsigned sent[SECOND + 1];       /* by serial number */
SHARED unsigned ended[SECOND + 1];      /* how often the memory was free again after that use */
SHARED unsigned cancelled[CHK_THREADS]; /* a thread's cancel was the one that stopped it */

static void arm(uint64_t serial, uint64_t when) {
    timer_init(&delayed.timer);
    handle_begin(&delayed.handle, serial);
    timers_arm(&own, &delayed.timer, when);
}
static void set_up_at(uint64_t when) {
    timers_init(&own, 0);
    timers_init(&other, 0);
    chk_name(&own.lock.word, "lock");
    chk_name(&delayed.timer.place, "place");
    chk_name(&delayed.handle.word, "word");
    delayed.periodic = false;
    arm(FIRST, when);
}
static void set_up(void) { set_up_at(5); }
static void set_up_never(void) { set_up_at(SYS_FOREVER); }
static void set_up_periodic(void) {
    set_up();
    delayed.periodic = true;
}

static enum handle_cancelled cancel(uint64_t serial) {
    enum handle_cancelled how = handle_cancel(&delayed.handle, &delayed.timer, serial);
    if (how != HANDLE_GONE) cancelled[chk_self()] = 1;
    if (how == HANDLE_MINE) ended[serial]++;
    return how;
}
static void cancels(void) { cancel(FIRST); }
/* The message is there when it is too late to cancel it (G2). */
static void cancels_and_looks(void) {
    if (cancel(FIRST) == HANDLE_GONE) chk_assert(sent[FIRST] == 1, "it has been sent");
}

static struct delayed *run_one(struct timers *any, uint64_t now) { return (struct delayed *)timers_run(any, now); }
static void ring(struct timers *any, uint64_t now) {
    struct delayed *due = run_one(any, now);
    if (!due) return;
    uint64_t serial = atom_load_rlx(&due->handle.word) & ~HANDLE_FLAGS;
    if (handle_ring(&due->handle)) {
        sent[serial]++;
        if (due->periodic) {
            timers_arm(any, &due->timer, due->timer.when + PERIOD);
            handle_again(&due->handle);
            return;
        }
    }
    ended[serial]++;
    handle_end(&due->handle);
}
static void rings(void) { ring(&own, 5); }
static void rings_twice(void) {
    ring(&own, 5);
    ring(&own, 5 + PERIOD);
}
static void rings_later(void) { ring(&own, 5 + PERIOD); }
static void moves(void) { timers_move(&other, &own); }
static void rings_other(void) { ring(&other, 5); }

static unsigned cancels_that_did(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < CHK_THREADS; i++)
        count += cancelled[i];
    return count;
}
static void over(void) {
    timers_destroy(&own);
    timers_destroy(&other);
}
static void finish(void) {
    chk_assert(sent[FIRST] + cancels_that_did() == 1, "sent or cancelled, and once (G1)");
    chk_assert(ended[FIRST] == 1, "one thread gets the memory (G3)");
    over();
}
static void finish_left(void) {
    ring(&own, 9);
    ring(&other, 9);
    finish();
}

SCENARIO(handle_cancel, .about = "a cancel || a runner (G1, G2, G3)", .setup = set_up, .threads = {cancels_and_looks, rings},
         .finish = finish)
SCENARIO(handle_two_cancels, .about = "two cancels with one handle || a runner", .setup = set_up, .threads = {cancels, cancels, rings},
         .finish = finish)
SCENARIO(handle_two_runners, .about = "a cancel || two runners", .setup = set_up, .threads = {cancels_and_looks, rings, rings},
         .finish = finish)
SCENARIO(handle_never, .about = "two cancels of a timer that never fires", .setup = set_up_never, .threads = {cancels, cancels},
         .finish = finish)
SCENARIO(handle_move, .about = "a cancel || the timer is moved || a runner there", .setup = set_up,
         .threads = {cancels, moves, rings_other}, .finish = finish_left)

/* ---- The memory is used again ---------------------------------------------------------------------------------- */

static void cancels_and_arms(void) {
    if (cancel(FIRST) == HANDLE_MINE) arm(SECOND, 5);
}
/* The second use is cancelled by nobody. */
static void finish_used_again(void) {
    bool again = atom_load_rlx(&delayed.handle.word) == SECOND || sent[SECOND];
    ring(&own, 5);
    chk_assert(sent[SECOND] == again && ended[SECOND] == again, "an old handle does not cancel a new timer");
    finish();
}
SCENARIO(handle_stale, .about = "one cancels and arms anew || one cancels with the old handle", .setup = set_up,
         .threads = {cancels_and_arms, cancels}, .finish = finish_used_again)
SCENARIO(handle_stale_rung, .about = "the same || a runner", .setup = set_up, .threads = {cancels_and_arms, cancels, rings},
         .finish = finish_used_again)

/* ---- Periodic -------------------------------------------------------------------------------------------------- */

static void cancels_periodic(void) {
    if (cancel(FIRST) != HANDLE_GONE) chk_assert(handle_cancel(&delayed.handle, &delayed.timer, FIRST) == HANDLE_GONE, "it is cancelled");
}
static void finish_periodic(void) {
    unsigned before = sent[FIRST];
    ring(&own, 9);
    chk_assert(sent[FIRST] == before, "nothing is sent after a cancel (G1)");
    chk_assert(cancels_that_did() == 1 && ended[FIRST] == 1, "it was cancelled once, and one thread has the memory (G3)");
    over();
}
SCENARIO(handle_periodic, .about = "a cancel || a runner that arms again and rings again", .setup = set_up_periodic,
         .threads = {cancels_periodic, rings_twice}, .finish = finish_periodic)
SCENARIO(handle_periodic_runners, .about = "a cancel || two runners, one after the other's arming", .setup = set_up_periodic,
         .threads = {cancels_periodic, rings, rings_later}, .finish = finish_periodic)

/* ---- Designs that are wrong ------------------------------------------------------------------------------------ */

/* A cancel that trusts the number it read before it had the lock. */
static void cancels_trusting(void) {
    if (atom_load_acq(&delayed.handle.word) != FIRST) return;
    struct timers *in = timers_hold(&delayed.timer);
    if (!TIMER_IS_IN(in)) return;
    timers_remove(in, &delayed.timer);
    atom_store_rlx(&delayed.handle.word, 0);
    spinlock_drop(&in->lock);
    cancelled[chk_self()] = 1;
    ended[FIRST]++;
}
SCENARIO(handle_bad_trusting, .about = "a cancel that does not look again under the lock", .setup = set_up,
         .threads = {cancels_and_arms, cancels_trusting}, .finish = finish_used_again, .flawed_in = CHK_ALL)

/* A runner that looks whether it was cancelled, and does not say that it has begun. */
static void rings_silently(void) {
    struct delayed *due = run_one(&own, 5);
    if (!due) return;
    if (!(atom_load_rlx(&due->handle.word) & HANDLE_CANCELLED)) sent[FIRST]++;
    ended[FIRST]++;
    handle_end(&due->handle);
}
SCENARIO(handle_bad_silent, .about = "a runner that does not claim the timer", .setup = set_up, .threads = {cancels, rings_silently},
         .finish = finish, .flawed_in = CHK_ALL)

/* A runner that says that it is done before it is. */
static void rings_hastily(void) {
    struct delayed *due = run_one(&own, 5);
    if (!due) return;
    bool may = handle_ring(&due->handle);
    handle_end(&due->handle);
    if (may) sent[FIRST]++;
    ended[FIRST]++;
}
SCENARIO(handle_bad_hasty, .about = "a runner that ends the timer before it has sent", .setup = set_up,
         .threads = {cancels_and_looks, rings_hastily}, .finish = finish, .flawed_in = CHK_ALL)

static void rings_relaxed(void) {
    struct delayed *due = run_one(&own, 5);
    if (!due) return;
    if (handle_ring(&due->handle)) sent[FIRST]++;
    ended[FIRST]++;
    atom_store_rlx(&due->handle.word, 0);
}
SCENARIO(handle_bad_relaxed, .about = "handle_end without release", .setup = set_up, .threads = {cancels_and_looks, rings_relaxed},
         .finish = finish, .flawed_in = CHK_C11)

/* A cancel that goes back to the timer after it has left the memory to the runner. */
static void cancels_twice(void) {
    uint64_t word = FIRST;
    if (!atom_cas_acqrel_acq(&delayed.handle.word, &word, FIRST | HANDLE_CANCELLED)) return;
    cancelled[chk_self()] = 1;
    if (timers_cancel(&delayed.timer)) ended[FIRST]++;
}
static void rings_and_arms(void) {
    rings();
    if (atom_load_rlx(&delayed.handle.word) == 0) arm(SECOND, 5);
}
SCENARIO(handle_bad_claim, .about = "a cancel that claims first and then looks where the timer is", .setup = set_up,
         .threads = {cancels_twice, rings_and_arms}, .finish = finish_used_again, .flawed_in = CHK_ALL)
