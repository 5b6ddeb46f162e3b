/* Mutex and condition, the real sources: what is guarded is plain data, so two at once, or one that does not see what the other did, is a
 * race; one that is forgotten is a lost wake-up. */
#include "sync/mutex.h"
#include "small_fiber.h"

SHARED unsigned room;                  /* plain: only under the lock */
SHARED unsigned entered[SMALL_FIBERS]; /* each written by its own thread */
SHARED int answers[SMALL_FIBERS];

/* ---- mutex ----------------------------------------------------------------------------------------------------------- */

static weft_mutex mutex;

static void mutex_fresh(weft_mutex *at) {
    struct mutex *inner = mutex_of(at);
    atom_store_rlx(&inner->word, MUTEX_FREE);
    lock_init(&inner->lock);
    inner->waiting.first = inner->waiting.last = NULL;
    chk_name(&inner->word, "mutex");
    chk_name(&inner->lock.word, "lock");
}
static void setup(void) {
    small_fibers(3);
    mutex_fresh(&mutex);
}
/* Process 0 has it. */
static void setup_held(void) {
    setup();
    atom_store_rlx(&mutex_of(&mutex)->word, MUTEX_HELD);
}

static void visit(unsigned number, uint64_t deadline) {
    answers[number] = weft_mutex_lock(&mutex, deadline);
    if (answers[number]) return;
    room++;
    entered[number]++;
    weft_mutex_unlock(&mutex);
}
/* And process 1 waits for it. */
static void setup_queued(void) {
    setup_held();
    atom_store_rlx(&mutex_of(&mutex)->word, MUTEX_HELD | MUTEX_QUEUE);
    small_queue(1, &mutex_of(&mutex)->waiting, 0);
}
static void queued_1(void) {
    small_queued(1);
    room++;
    entered[1]++;
    weft_mutex_unlock(&mutex);
}
static void visit_0(void) {
    small_process(0);
    visit(0, WEFT_FOREVER);
}
static void visit_1(void) {
    small_process(1);
    visit(1, WEFT_FOREVER);
}
static void visit_1_twice(void) {
    small_process(1);
    visit(1, WEFT_FOREVER);
    visit(1, WEFT_FOREVER);
}
static void visit_2(void) {
    small_process(2);
    visit(2, WEFT_FOREVER);
}
static void visit_1_soon(void) {
    small_process(1);
    visit(1, SMALL_SOON);
}
static void thread_visits_soon(void) { /* its deadline may pass at any moment */
    small_thread();
    visit(1, SMALL_SOON);
}
static void try_2(void) {
    small_process(2);
    visit(2, 0);
}
static void unlock_0(void) {
    small_process(0);
    room++;
    entered[0]++;
    weft_mutex_unlock(&mutex);
}
static void cancel_1(void) {
    small_thread();
    small_cancel(1);
}
static void clock_1(void) { small_clock(1); }

static void all_out(void) {
    chk_assert(room == entered[0] + entered[1] + entered[2], "every visit left its trace");
    chk_assert(!(atom_load_rlx(&mutex_of(&mutex)->word) & MUTEX_HELD), "it is free");
    chk_assert(!mutex_of(&mutex)->waiting.first, "no waiter is left in the list");
}
static void two_were_in(void) {
    chk_assert(room == 2, "both were inside");
    all_out();
}
static void three_were_in(void) {
    chk_assert(room == 3, "all were inside");
    all_out();
}
static void one_gave_up_or_not(void) {
    chk_assert((answers[1] == 0) == (entered[1] == 1), "the process that was refused was not inside, and one that was not refused was");
    all_out();
}

SCENARIO(mutex_two, .about = "two lock and unlock", .setup = setup, .threads = {visit_0, visit_1}, .finish = two_were_in)
SCENARIO(mutex_handover, .about = "the holder unlocks || one waits || one comes: handed over, M1-M3", .setup = setup_queued,
         .threads = {unlock_0, queued_1, visit_2}, .finish = three_were_in)
SCENARIO(mutex_again, .about = "the holder unlocks || one comes twice", .setup = setup_held, .threads = {unlock_0, visit_1_twice},
         .finish = three_were_in)
SCENARIO(mutex_try, .about = "the holder unlocks || one waits, one tries", .setup = setup_queued, .threads = {unlock_0, queued_1, try_2},
         .finish = all_out)
SCENARIO(mutex_thread_timeout, .about = "the holder unlocks || a thread comes, its deadline may pass at any moment", .setup = setup_held,
         .threads = {unlock_0, thread_visits_soon}, .finish = one_gave_up_or_not)
SCENARIO(mutex_cancel, .about = "the holder unlocks || one comes || and is cancelled", .setup = setup_held,
         .threads = {unlock_0, visit_1, cancel_1}, .finish = one_gave_up_or_not)
SCENARIO(mutex_deadline, .about = "the holder unlocks || one comes || its deadline passes", .setup = setup_held,
         .threads = {unlock_0, visit_1_soon, clock_1}, .finish = one_gave_up_or_not)

/* M4: the last one frees the memory that the mutex is in. */
struct shared {
    weft_mutex mutex;
    unsigned users;
};
static struct shared *shared;
static void setup_shared(void) {
    small_fibers(3);
    shared = sys->alloc(sizeof *shared);
    mutex_fresh(&shared->mutex);
    shared->users = 2;
}
static void use_and_leave(unsigned number, uint64_t deadline) {
    small_process(number);
    struct shared *mine = shared;
    bool in = weft_mutex_lock(&mine->mutex, deadline) == 0;
    chk_assume(in); /* a process that was refused still counts as a user; not of interest */
    bool last = --mine->users == 0;
    weft_mutex_unlock(&mine->mutex);
    if (last) sys->free(mine, sizeof *mine);
}
static void use_0(void) { use_and_leave(0, WEFT_FOREVER); }
static void use_1(void) { use_and_leave(1, WEFT_FOREVER); }
SCENARIO(mutex_freed, .about = "two use what the mutex guards, the last one frees both (M4)", .setup = setup_shared,
         .threads = {use_0, use_1})

/* Three: the one that gives up counts itself out without the lock, afterwards. */
static void use_soon_2(void) {
    small_thread();
    struct shared *mine = shared;
    int error = weft_mutex_lock(&mine->mutex, SMALL_SOON);
    if (error) (void)weft_mutex_lock(&mine->mutex, WEFT_FOREVER);
    bool last = --mine->users == 0;
    weft_mutex_unlock(&mine->mutex);
    if (last) sys->free(mine, sizeof *mine);
}
SCENARIO(mutex_freed_timeout, .about = "the same, one of them a thread that gives up and comes again", .setup = setup_shared,
         .threads = {use_0, use_soon_2})

/* ---- twins that are wrong -------------------------------------------------------------------------------------------- */

/* Unlocks in one step and wakes the waiter afterwards: that one may have been served, and the memory be gone. */
static void twin_unlock_then_wake(struct mutex *at) {
    bool waits = atom_swap_rel(&at->word, MUTEX_FREE) & MUTEX_QUEUE;
    if (!waits) return;
    lock_take(&at->lock);
    struct waiter *next = waiters_claim(&at->waiting);
    if (next) atom_store_rlx(&at->word, MUTEX_HELD);
    lock_drop(&at->lock);
    if (next) waiter_wake(next);
}
static void twin_unlock_0(void) {
    small_process(0);
    room++;
    entered[0]++;
    twin_unlock_then_wake(mutex_of(&mutex));
}
SCENARIO(mutex_twin_free_first, .about = "an unlock that frees it and then hands it over: another process came in between",
         .setup = setup_queued, .threads = {twin_unlock_0, queued_1, visit_2}, .finish = three_were_in, .flawed_in = CHK_ALL,
         .flaw = CHK_NONE)

/* Looks at the word before it takes the lock, and not again. */
static void twin_visit_1(void) {
    small_process(1);
    struct mutex *at = mutex_of(&mutex);
    struct wait wait;
    struct waiter waiter;
    uint32_t found = MUTEX_FREE;
    if (!atom_cas_acq_rlx(&at->word, &found, MUTEX_HELD)) {
        wait_begin(&wait);
        waiter_init(&waiter, &wait, 1);
        lock_take(&at->lock);
        atom_or_rlx(&at->word, MUTEX_QUEUE);
        waiters_wait(&at->waiting, &waiter, &at->lock, WEFT_FOREVER, "twin");
    }
    room++;
    entered[1]++;
    weft_mutex_unlock(&mutex);
}
SCENARIO(mutex_twin_no_second_look, .about = "one that waits without looking again under the lock sleeps beside a free mutex",
         .setup = setup_held, .threads = {unlock_0, twin_visit_1}, .finish = two_were_in, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* ---- condition ------------------------------------------------------------------------------------------------------- */

static weft_cond cond;
SHARED unsigned open, seen;

static void setup_cond(void) {
    setup();
    for (unsigned i = 0; i < sizeof cond / sizeof *cond.opaque; i++)
        cond.opaque[i] = 0;
    atom_store_rlx((atom_u32 *)(void *)&cond, LOCK_FREE);
    atom_store_rlx((atom_u32 *)(void *)&cond + 1, 0);
    chk_name(&cond, "cond.lock");
    chk_name((atom_u32 *)(void *)&cond + 1, "cond.waits");
}
static void await_ready(unsigned number) {
    small_process(number);
    answers[number] = weft_mutex_lock(&mutex, WEFT_FOREVER); /* it may be cancelled */
    if (answers[number]) return;
    while (!open && answers[number] == 0)
        answers[number] = weft_cond_wait(&cond, &mutex, WEFT_FOREVER);
    if (open) seen++;
    weft_mutex_unlock(&mutex);
}
static void await_ready_1(void) { await_ready(1); }
static void make_ready_0(void) {
    small_process(0);
    chk_assert(weft_mutex_lock(&mutex, WEFT_FOREVER) == 0, "locked");
    open = 1;
    weft_mutex_unlock(&mutex);
    weft_cond_signal(&cond);
}
static void one_has_seen(void) { chk_assert(seen == 1, "the process that waited has seen it"); }
static void seen_or_canceled(void) {
    chk_assert(seen == 1 || answers[1] == WEFT_ECANCELED, "the process that waited has seen it, or was cancelled");
}
SCENARIO(cond_signal, .about = "one waits || one makes it ready and signals", .setup = setup_cond, .threads = {await_ready_1, make_ready_0},
         .finish = one_has_seen)
SCENARIO(cond_cancel, .about = "one waits || one signals || a cancellation: the mutex is held again in any case", .setup = setup_cond,
         .threads = {await_ready_1, make_ready_0, cancel_1}, .finish = seen_or_canceled, .deep_in = CHK_SC | CHK_TSO)
