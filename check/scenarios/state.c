/* The state word: run by one at a time, no wake-up lost, one claim for each time it was made ready.
 *
 * One process. Its private data is plain: two threads that run it at once, or one after the other without order, are
 * a race. Letters for it are relaxed cells: only the state word can make the process see them. A thread that is told to
 * enqueue runs the process itself, as a worker would that finds the entry in its queue. */
#include "proc/state.h"
#include "chk.h"

enum { LETTERS = 2 };

static struct state state;
static atom_u32 letter[LETTERS];
static uint16_t first_ticket;
SHARED unsigned stack;         /* plain, belongs to the worker that runs the process */
SHARED unsigned read_letters;  /* likewise: a bit for each letter the process has read */
SHARED unsigned cancel_reason; /* plain, written before the cancel */
SHARED unsigned claims[CHK_THREADS];

static void setup_ready(void) {
    first_ticket = state_init(&state);
    for (unsigned i = 0; i < LETTERS; i++) {
        atom_store_rlx(&letter[i], 0);
        chk_name(&letter[i], i ? "letter[1]" : "letter[0]");
    }
    chk_name(&state.word, "state");
    chk_name(&state.asked, "asked");
}
static void setup_running(void) {
    setup_ready();
    chk_assert(state_claim(&state, first_ticket), "a fresh process can be claimed");
}

/* ---- what the process does ------------------------------------------------------------------------------------- */

/* Reads its letters; true when it has read all that it waits for. */
static bool process_step(unsigned wanted) {
    stack++;
    for (unsigned i = 0; i < LETTERS; i++)
        if (!(read_letters & 1u << i) && atom_load_rlx(&letter[i]) != 0) read_letters |= 1u << i;
    return (read_letters & wanted) == wanted;
}

/* Runs the process, which the caller has claimed, until it parks or ends. */
static void process_run(unsigned wanted, enum state_name park_as) {
    for (;;) {
        if (process_step(wanted)) {
            state_complete(&state);
            return;
        }
        struct state_next next = state_park(&state, park_as);
        if (next.verdict == STATE_NOTHING) return;
        chk_assert(next.verdict == STATE_ENQUEUE, "parked or to be queued again");
        if (!state_claim(&state, next.ticket)) return; /* another thread wanted this very process */
    }
}

static void obey(struct state_next next, unsigned wanted, enum state_name park_as) {
    bool mine = next.verdict == STATE_RUN;
    if (next.verdict == STATE_ENQUEUE) mine = state_claim(&state, next.ticket);
    if (mine) process_run(wanted, park_as);
}

static void has_read_one(void) {
    chk_assert(read_letters == 1, "no wake-up is lost (S3)");
    chk_assert(state_of(atom_load_rlx(&state.word)) == STATE_COMPLETE, "the process has ended");
}
static void has_read_two(void) {
    chk_assert(read_letters == 3, "no wake-up is lost (S3)");
    chk_assert(state_of(atom_load_rlx(&state.word)) == STATE_COMPLETE, "the process has ended");
}

/* ---- park || wake ---------------------------------------------------------------------------------------------- */

static void runner_one(void) { process_run(1, STATE_IDLE); }
static void runner_one_blocked(void) { process_run(1, STATE_BLOCKED); }
static void runner_two(void) { process_run(3, STATE_IDLE); }

static void send(unsigned which, unsigned wanted, enum state_name park_as) {
    atom_store_rlx(&letter[which], 1);
    obey(state_wake(&state), wanted, park_as);
}
static void waker_one(void) { send(0, 1, STATE_IDLE); }
static void waker_one_blocked(void) { send(0, 1, STATE_BLOCKED); }
static void waker_first(void) { send(0, 3, STATE_IDLE); }
static void waker_second(void) { send(1, 3, STATE_IDLE); }

SCENARIO(state_park_wake, .about = "a process parks as Idle || a letter and a wake", .setup = setup_running,
         .threads = {runner_one, waker_one}, .finish = has_read_one)
SCENARIO(state_park_wake_blocked, .about = "a process parks as Blocked || a letter and a wake: a wake reaches it too",
         .setup = setup_running, .threads = {runner_one_blocked, waker_one_blocked}, .finish = has_read_one)
SCENARIO(state_two_wakers, .about = "a process parks || two letters, two wakes", .setup = setup_running,
         .threads = {runner_two, waker_first, waker_second}, .finish = has_read_two)

/* ---- wake of a Ready process: the waker writes the word although it changes nothing ----------------------------- */

static void claimer_one(void) {
    if (state_claim(&state, first_ticket)) process_run(1, STATE_IDLE);
}
static void claimer_two(void) {
    if (state_claim(&state, first_ticket)) process_run(3, STATE_IDLE);
}
SCENARIO(state_ready_wake, .about = "a Ready process is claimed and parks || a letter and a wake (S3)", .setup = setup_ready,
         .threads = {claimer_one, waker_one}, .finish = has_read_one)
SCENARIO(state_ready_two_wakers, .about = "a Ready process is claimed and parks || two letters, two wakes", .setup = setup_ready,
         .threads = {claimer_two, waker_first, waker_second}, .finish = has_read_two)

/* ---- pin --------------------------------------------------------------------------------------------------------- */

/* A wake that comes meanwhile is not written over. */
static void pins_and_parks(void) {
    if (process_step(1)) {
        state_complete(&state);
        return;
    }
    state_pin(&state, 1);
    state_unpin(&state);
    obey(state_park(&state, STATE_IDLE), 1, STATE_IDLE);
}
SCENARIO(state_pin_wake, .about = "a process is pinned and unpinned, and parks || a letter and a wake", .setup = setup_running,
         .threads = {pins_and_parks, waker_one}, .finish = has_read_one)

/* ---- several ask at once ----------------------------------------------------------------------------------------- */

static void also_watches(void) { state_monitor(&state); }
static void also_cancels(void) { state_cancel(&state); }
static void owns_and_waits(void) {
    state_owns(&state);
    state_interruptible(&state);
    state_uninterruptible(&state);
}
static void all_is_asked(void) {
    chk_assert(atom_load_rlx(&state.asked) == (STATE_MONITORED | STATE_CANCEL | STATE_OWNS), "none has written over another's");
}
SCENARIO(state_asked, .about = "a process is watched || cancelled || has something of its own, and waits", .setup = setup_running,
         .threads = {also_watches, also_cancels, owns_and_waits}, .finish = all_is_asked)

/* ---- yield ------------------------------------------------------------------------------------------------------- */

/* Drops NOTIFIED, but not what came with it. */
static void yields_then_parks(uint16_t (*yield)(struct state *)) {
    if (process_step(1)) {
        state_complete(&state);
        return;
    }
    uint16_t ticket = yield(&state);
    if (state_claim(&state, ticket)) process_run(1, STATE_IDLE);
}
static void yields_by_swap(void) { yields_then_parks(state_yield_any); }
static void yields_by_store(void) { yields_then_parks(state_yield_tso); }
SCENARIO(state_yield_wake, .about = "a process yields, runs again and parks || a letter and a wake", .setup = setup_running,
         .threads = {yields_by_swap, waker_one}, .finish = has_read_one)
SCENARIO(state_yield_store, .about = "the same by a plain store: loses the wake-up, but not where stores have one order",
         .setup = setup_running, .threads = {yields_by_store, waker_one}, .finish = has_read_one, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* ---- hand-off ---------------------------------------------------------------------------------------------------- */

static void hand_off_first(void) {
    atom_store_rlx(&letter[0], 1);
    obey(state_wake_to_run(&state), 3, STATE_IDLE);
}
static void hand_off_second(void) {
    atom_store_rlx(&letter[1], 1);
    obey(state_wake_to_run(&state), 3, STATE_IDLE);
}
SCENARIO(state_hand_off, .about = "a process parks || a hand-off to it || a wake", .setup = setup_running,
         .threads = {runner_two, hand_off_first, waker_second}, .finish = has_read_two)
SCENARIO(state_hand_off_ready, .about = "a Ready process: an entry is claimed || a hand-off takes it || a wake", .setup = setup_ready,
         .threads = {claimer_two, hand_off_first, waker_second}, .finish = has_read_two)
SCENARIO(state_two_hand_offs, .about = "a process parks || two hand-offs to it", .setup = setup_running,
         .threads = {runner_two, hand_off_first, hand_off_second}, .finish = has_read_two)

/* ---- cancel ------------------------------------------------------------------------------------------------------ */

/* Waits for a letter or a cancel. */
static void process_run_cancellable(void) {
    for (;;) {
        stack++;
        if (state_is_cancelled(&state)) {
            chk_assert(cancel_reason == 9, "the reason is there with the request");
            read_letters |= 4;
            state_complete(&state);
            return;
        }
        if (!(read_letters & 1) && atom_load_rlx(&letter[0]) != 0) read_letters |= 1;
        struct state_next next = state_park(&state, STATE_IDLE);
        if (next.verdict == STATE_NOTHING || !state_claim(&state, next.ticket)) return;
    }
}
static void obey_cancellable(struct state_next next) {
    if (next.verdict == STATE_ENQUEUE && state_claim(&state, next.ticket)) process_run_cancellable();
}
static void cancels(void) {
    cancel_reason = 9;
    chk_assert(state_cancel(&state), "first to ask");
    obey_cancellable(state_wake(&state));
}
static void wakes_cancellable(void) {
    atom_store_rlx(&letter[0], 1);
    obey_cancellable(state_wake(&state));
}
static void is_cancelled(void) {
    chk_assert((read_letters & 4) != 0, "the cancel is seen (S6)");
    chk_assert(state_of(atom_load_rlx(&state.word)) == STATE_COMPLETE, "the process has ended");
}
SCENARIO(state_cancel, .about = "a process parks || a cancel || a wake: no transition erases the request", .setup = setup_running,
         .threads = {process_run_cancellable, cancels, wakes_cancellable}, .finish = is_cancelled)

static void asks_to_cancel(void) { chk_assert(state_cancel(&state), "first to ask"); }
static void asks_to_yield(void) { state_preempt(&state); }
static void forgets_to_yield(void) { state_preempt_forget(&state); }
static void both_asked(void) {
    chk_assert(state_is_cancelled(&state) && state_is_preempted(&state), "no request erases another (S6)");
    chk_assert(!state_cancel(&state), "not the first to ask");
}
static void still_cancelled(void) { chk_assert(state_is_cancelled(&state), "no request erases another (S6)"); }
SCENARIO(state_requests, .about = "a cancel || a request to yield", .setup = setup_running, .threads = {asks_to_cancel, asks_to_yield},
         .finish = both_asked)
SCENARIO(state_requests_forget, .about = "a cancel || a request to yield || the process forgets the latter", .setup = setup_running,
         .threads = {asks_to_cancel, asks_to_yield, forgets_to_yield}, .finish = still_cancelled)

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Entries may be delivered several times, by several queues; one claim in all for each step to Ready. */
static void claims_then_yields(uint16_t (*yield)(struct state *)) {
    if (!state_claim(&state, first_ticket)) return;
    claims[chk_self()]++;
    stack++;
    uint16_t ticket = yield(&state);
    chk_assert(!state_claim(&state, first_ticket), "the old ticket is worth nothing now (S2)");
    if (state_claim(&state, ticket)) {
        stack++;
        state_complete(&state);
    }
}
static void claims_and_yields(void) { claims_then_yields(state_yield_any); }
static void claims_and_stores(void) { claims_then_yields(state_yield_tso); }
static void claims_any(void) {
    if (!state_claim_any(&state)) return;
    stack++;
    if (stack == 3) state_complete(&state);
    else state_yield(&state); /* its entry is forgotten here: the ticket is never claimed */
}
static void claimed_once(void) {
    chk_assert(claims[0] + claims[1] <= 1, "one claim at most with one ticket (S2)");
    chk_assert(stack >= 1 && stack <= 3, "runs");
}
SCENARIO(state_claims, .about = "one entry delivered twice || a thread takes the process out of its queue", .setup = setup_ready,
         .threads = {claims_and_yields, claims_and_yields, claims_any}, .finish = claimed_once)

SCENARIO(state_claims_store, .about = "the same, with yields by a plain store: without wakers that is as good", .setup = setup_ready,
         .threads = {claims_and_stores, claims_and_stores, claims_any}, .finish = claimed_once)

/* ---- seized by the thread that takes the runtime down --------------------------------------------------------------------- */

SHARED bool seized;

static void seizes(void) {
    if (!state_seize(&state)) return;
    stack++;
    seized = true;
    state_complete(&state);
}
static void seized_or_ended(void) {
    chk_assert(seized != (read_letters == 1), "it is ended from outside, or comes to its own end");
    chk_assert(state_of(atom_load_rlx(&state.word)) == STATE_COMPLETE, "the process has ended");
}
static void claims_and_ends(void) {
    atom_store_rlx(&letter[0], 1);
    if (state_claim(&state, first_ticket)) process_run(1, STATE_IDLE);
}
SCENARIO(state_seize, .about = "a process parks || a letter and a wake || it is seized, unless a worker runs it", .setup = setup_running,
         .threads = {runner_one, waker_one, seizes}, .finish = seized_or_ended)
SCENARIO(state_seize_ready, .about = "a Ready process is claimed || and seized", .setup = setup_ready, .threads = {claims_and_ends, seizes},
         .finish = seized_or_ended)

/* ---- the end
 * ------------------------------------------------------------------------------------------------------ */

SHARED unsigned drained[2];

static void completes_and_drains(void) {
    state_complete(&state);
    drained[0] = atom_swap_rlx(&letter[0], 0);
}
static void sends_late(void) {
    atom_store_rlx(&letter[0], 1);
    if (state_wake(&state).verdict == STATE_DEAD) drained[1] = atom_swap_rlx(&letter[0], 0);
}
static void no_letter_is_left(void) { chk_assert(drained[0] + drained[1] == 1, "the letter is cleaned up once (S5)"); }
SCENARIO(state_complete_wake, .about = "the process ends and cleans up || a letter and a wake", .setup = setup_running,
         .threads = {completes_and_drains, sends_late}, .finish = no_letter_is_left)
static void hands_off_late(void) {
    atom_store_rlx(&letter[0], 1);
    if (state_wake_to_run(&state).verdict == STATE_DEAD) drained[1] = atom_swap_rlx(&letter[0], 0);
}
SCENARIO(state_complete_hand_off, .about = "the process ends and cleans up || a letter and a hand-off", .setup = setup_running,
         .threads = {completes_and_drains, hands_off_late}, .finish = no_letter_is_left)

static void ends_then_revives(uint16_t (*revive)(struct state *)) {
    stack = 1;
    state_complete(&state);
    stack = 2; /* the keeper makes the block ready for the next process */
    revive(&state);
}
static void ends_and_revives(void) { ends_then_revives(state_revive_any); }
static void ends_and_revives_by_store(void) { ends_then_revives(state_revive_tso); }
static void takes_the_next(void) {
    chk_assert(!state_claim(&state, first_ticket), "the former process's entry is stale");
    if (state_claim_any(&state)) chk_assert(stack == 2, "only the finished new process can be had");
}
SCENARIO(state_revive, .about = "the block serves the next process || a stale entry and a taker look at it", .setup = setup_running,
         .threads = {ends_and_revives, takes_the_next})
SCENARIO(state_revive_store, .about = "the same by a plain store: without wakers that is as good", .setup = setup_running,
         .threads = {ends_and_revives_by_store, takes_the_next})

/* ---- broken twins: one transition done wrongly, the others real -------------------------------------------------------- */

/* The wake-up that came after the look is overwritten. */
static void parks_by_store(void) {
    if (process_step(1)) {
        state_complete(&state);
        return;
    }
    atom_store_rel(&state.word, state_with(atom_load_rlx(&state.word), STATE_IDLE));
}
SCENARIO(state_twin_park_by_store, .about = "as state_park_wake, but a store instead of a compare-and-swap parks it",
         .setup = setup_running, .threads = {parks_by_store, waker_one}, .finish = has_read_one, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* It is ready, says the look: it will run and see the letter. But the letter may still be on its way. */
static void wakes_without_a_word(void) {
    atom_store_rlx(&letter[0], 1);
    if (state_of(atom_load_acq(&state.word)) == STATE_READY) return;
    obey(state_wake(&state), 1, STATE_IDLE);
}
SCENARIO(state_twin_wake_by_look, .about = "as state_ready_wake, but a waker that sees Ready goes away without a write (S3)",
         .setup = setup_ready, .threads = {claimer_one, wakes_without_a_word}, .finish = has_read_one, .flawed_in = CHK_TSO | CHK_C11,
         .flaw = CHK_ASSERT)

static void cancels_too_late(void) {
    struct state_next next = state_wake(&state);
    cancel_reason = 9;
    state_cancel(&state);
    obey_cancellable(next);
}
SCENARIO(state_twin_cancel_after_wake, .about = "as state_cancel, but it is woken first and asked then (S6)", .setup = setup_running,
         .threads = {process_run_cancellable, cancels_too_late}, .finish = is_cancelled, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* Found Ready, taken by a store: a worker that claims it by its entry runs it too. */
static void hands_off_by_store(void) {
    atom_store_rlx(&letter[0], 1);
    uint64_t word = atom_load_acq(&state.word);
    if (state_of(word) == STATE_READY) {
        atom_store_rlx(&state.word, state_with(word, STATE_RUNNING));
        process_run(1, STATE_IDLE);
    } else {
        obey(state_wake(&state), 1, STATE_IDLE);
    }
}
SCENARIO(state_twin_hand_off_by_store, .about = "as state_hand_off_ready, but a store instead of a compare-and-swap takes it",
         .setup = setup_ready, .threads = {claimer_one, hands_off_by_store}, .finish = has_read_one, .flawed_in = CHK_ALL)
