/* Delivering: a message to a process that waits is put into its hands by the sender that holds it; all other messages are pushed.
 *
 * One process, and its mailbox. Its private data, the consumer's side of the box included, is plain: two threads that touch it at once, or one
 * after the other without order, are a race. A thread that is told to queue the process claims and runs it itself, as a worker would. */
#include "proc/deliver.h"
#include "chk.h"

enum { LETTERS = 3 };

struct letter {
    struct mpsc_node node; /* first: a node's address is the letter's */
    unsigned payload;
};

static struct proc proc;
static struct letter letters[LETTERS];
static unsigned wanted; /* a bit for each letter */
static bool by_store;   /* how the process is let go: by a store, as on x86 */
SHARED unsigned seen;   /* the process's: likewise */
SHARED unsigned order[LETTERS], count;

/* ---- what the process does ---------------------------------------------------------------------------------------- */

static void reads(void) {
    for (struct mpsc_node *node; (node = mpsc_pop(&proc.box)) != NULL;) {
        unsigned id = (unsigned)((struct letter *)node - letters);
        chk_assert(id < LETTERS && letters[id].payload == id + 100 && !(seen & 1u << id), "a letter comes once, as it was sent");
        seen |= 1u << id;
        order[count++] = id;
    }
}

/* Runs the process, which the caller has claimed, until it parks. `looks`: if it has been told of a letter, it looks again whether it has read it. */
static void process_run_as(bool looks) {
    for (;;) {
        reads();
        mpsc_expect_emptied(&proc.box);
        struct state_next next = state_park(&proc.state, STATE_IDLE);
        if (looks && next.verdict == STATE_LOOK && !mpsc_is_clear(&proc.box)) next = state_wake(&proc.state);
        if (next.verdict != STATE_ENQUEUE || !state_claim(&proc.state, next.ticket)) return;
    }
}
static void process_run(void) { process_run_as(true); }
static void process_run_without_a_look(void) { process_run_as(false); }

static struct state_next let_go(void) { return by_store ? state_let_go_tso(&proc.state) : state_let_go_any(&proc.state); }

/* Does what it is told, as a worker that has nothing else to do. */
static void obey(struct state_next next) {
    if (next.verdict == STATE_RUN) next = let_go();
    if (next.verdict == STATE_ENQUEUE && state_claim(&proc.state, next.ticket)) process_run();
}

/* ---- setup --------------------------------------------------------------------------------------------------------- */

static void running(unsigned wants) {
    uint16_t ticket = state_init(&proc.state);
    mpsc_init(&proc.box);
    wanted = wants;
    by_store = false;
    for (unsigned i = 0; i < LETTERS; i++)
        letters[i].payload = 0;
    chk_name(&proc.state.word, "state");
    chk_name(&proc.box.head, "box");
    chk_assert(state_claim(&proc.state, ticket), "a fresh process can be claimed");
}
static void asleep(unsigned wants) {
    running(wants);
    chk_assert(state_park(&proc.state, STATE_IDLE).verdict == STATE_NOTHING, "it sleeps");
}
static void running_one(void) { running(1); }
static void running_two(void) { running(3); }
static void asleep_one(void) { asleep(1); }
static void asleep_two(void) { asleep(3); }
static void asleep_three(void) { asleep(7); }
static void asleep_two_store(void) {
    asleep(3);
    by_store = true;
}

/* ---- threads ------------------------------------------------------------------------------------------------------- */

static void send(unsigned id) {
    struct state_next next;
    letters[id].payload = id + 100;
    chk_assert(deliver(&proc, &letters[id].node, NULL, &next) >= 0, "an open box");
    obey(next);
}
static void sends_0(void) { send(0); }
static void sends_1(void) { send(1); }
static void sends_2(void) { send(2); }
static void sends_0_1(void) {
    send(0);
    send(1);
}
/* Unheard, then heard: the second is not before the first. It wakes the process for the first at the end, as a step's hand-off does. */
static void leaves_0_sends_1(void) {
    letters[0].payload = 100;
    mpsc_push_unheard(&proc.box, &letters[0].node);
    send(1);
    obey(state_wake(&proc.state));
}
static void wakes(void) { obey(state_wake(&proc.state)); }
/* As a hand-off, which claims a Ready process whether or not it finds an entry of it. */
static void claims(void) {
    if (state_wake_to_run(&proc.state).verdict == STATE_RUN) process_run();
}

/* A hand-off that brings a letter. */
static void hands_off(unsigned id) {
    letters[id].payload = id + 100;
    if (deliver_and_claim(&proc, &letters[id].node, true)) {
        process_run();
        return;
    }
    mpsc_push(&proc.box, &letters[id].node);
    if (state_wake_to_run(&proc.state).verdict == STATE_RUN) process_run();
}
static void hands_off_0(void) { hands_off(0); }
static void hands_off_1(void) { hands_off(1); }
static void hands_off_0_1(void) {
    hands_off(0);
    hands_off(1);
}
/* It yields, and has not read its letters. */
static void yields(void) { obey(state_requeue_any(&proc.state)); }

static void has_seen_all(void) {
    chk_assert(state_of(atom_load_rlx(&proc.state.word)) == STATE_IDLE, "it has gone to sleep");
    chk_assert(seen == wanted, "it does not sleep beside a letter");
}
static unsigned place(unsigned id) {
    unsigned i = 0;
    while (i < count && order[i] != id)
        i++;
    return i;
}
static void in_order(void) {
    has_seen_all();
    chk_assert(place(0) < place(1), "one producer's letters come in order");
}

SCENARIO(deliver_park, .about = "a process reads and parks || a letter", .setup = running_one, .threads = {process_run, sends_0},
         .finish = has_seen_all)
SCENARIO(deliver_park_two, .about = "a process reads and parks || two letters", .setup = running_two,
         .threads = {process_run, sends_0, sends_1}, .finish = has_seen_all)
SCENARIO(deliver_asleep, .about = "a letter to a process that waits || a wake-up for another reason", .setup = asleep_one,
         .threads = {sends_0, wakes}, .finish = has_seen_all)
SCENARIO(deliver_two, .about = "two letters to a process that waits, of two senders", .setup = asleep_two, .threads = {sends_0, sends_1},
         .finish = has_seen_all)
SCENARIO(deliver_two_wake, .about = "the same || a wake-up for another reason", .setup = asleep_two, .threads = {sends_0, sends_1, wakes},
         .finish = has_seen_all, .deep_in = CHK_ALL)
SCENARIO(deliver_claim, .about = "a letter to a process that waits || a hand-off, which claims it even without an entry",
         .setup = asleep_one, .threads = {sends_0, claims}, .finish = has_seen_all)
SCENARIO(deliver_claim_two, .about = "the same with two letters", .setup = asleep_two, .threads = {sends_0, sends_1, claims},
         .finish = has_seen_all, .deep_in = CHK_ALL)
SCENARIO(deliver_order, .about = "two letters of one sender || one of another (M3)", .setup = asleep_three, .threads = {sends_0_1, sends_2},
         .finish = in_order)
SCENARIO(deliver_unheard, .about = "an unheard letter, then another of the same sender || a wake-up (V1)", .setup = asleep_two,
         .threads = {leaves_0_sends_1, wakes}, .finish = in_order)
SCENARIO(deliver_unheard_beside, .about = "the same || a letter of another sender", .setup = asleep_three,
         .threads = {leaves_0_sends_1, sends_2}, .finish = in_order)
SCENARIO(deliver_store, .about = "as deliver_two, let go by a plain store: loses a wake-up, but not where stores have one order",
         .setup = asleep_two_store, .threads = {sends_0, sends_1}, .finish = has_seen_all, .flawed_in = CHK_C11)
SCENARIO(deliver_store_wake, .about = "the same || a wake-up for another reason", .setup = asleep_two_store,
         .threads = {sends_0, sends_1, wakes}, .finish = has_seen_all, .models = CHK_SC | CHK_TSO, .deep_in = CHK_ALL)
SCENARIO(deliver_handoff, .about = "a hand-off to a process that waits || a letter", .setup = asleep_two, .threads = {hands_off_0, sends_1},
         .finish = has_seen_all)
SCENARIO(deliver_handoff_two, .about = "two hand-offs to a process that waits", .setup = asleep_two, .threads = {hands_off_0, hands_off_1},
         .finish = has_seen_all)
SCENARIO(deliver_handoff_ready, .about = "a process yields, runs and parks || two hand-offs of one sender", .setup = running_two,
         .threads = {yields, hands_off_0_1}, .finish = in_order)
SCENARIO(deliver_handoff_ready_beside, .about = "a process yields, runs and parks || a hand-off || a letter", .setup = running_two,
         .threads = {yields, hands_off_0, sends_1}, .finish = has_seen_all)

/* A letter has been taken and not read. */
static void ready_with_one(void) {
    running(7);
    letters[0].payload = 100;
    letters[2].payload = 102;
    mpsc_push(&proc.box, &letters[2].node);
    mpsc_push(&proc.box, &letters[0].node);
    mpsc_put_back(&proc.box, mpsc_take_all(&proc.box));
}
SCENARIO(deliver_handoff_unread, .about = "a process with unread letters yields || a hand-off: its letter comes behind",
         .setup = ready_with_one, .threads = {yields, hands_off_1}, .finish = in_order)

/* ---- broken twins --------------------------------------------------------------------------------------------------- */

/* The process is Ready before the letter is in its hands. */
static void wakes_then_hands_over(void) {
    letters[0].payload = 100;
    struct state_next next = state_wake(&proc.state);
    if (next.verdict == STATE_ENQUEUE) mpsc_hand_over(&proc.box, &letters[0].node);
    else mpsc_push(&proc.box, &letters[0].node);
    obey(next);
}
SCENARIO(deliver_twin_ready_first, .about = "as deliver_claim, but it is made Ready first and given the letter then (V2)",
         .setup = asleep_one, .threads = {wakes_then_hands_over, claims}, .finish = has_seen_all, .flawed_in = CHK_ALL)

static void leaves_0_hands_over_1(void) {
    letters[0].payload = 100;
    mpsc_push_unheard(&proc.box, &letters[0].node);
    letters[1].payload = 101;
    struct state_next next;
    if (state_hold(&proc.state, &next)) {
        mpsc_hand_over(&proc.box, &letters[1].node);
        obey(let_go());
    }
}
SCENARIO(deliver_twin_no_look, .about = "as deliver_unheard, but the sender does not look into the box first (V1)", .setup = asleep_two,
         .threads = {leaves_0_hands_over_1}, .finish = in_order, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* A hand-off that overwrites what was not read. */
static void hands_off_1_blindly(void) {
    letters[1].payload = 101;
    if (state_take(&proc.state, true)) {
        mpsc_put_back(&proc.box, &letters[1].node);
        process_run();
    } else {
        mpsc_push(&proc.box, &letters[1].node);
        obey(state_wake(&proc.state));
    }
}
SCENARIO(deliver_twin_overwrites, .about = "as deliver_handoff_unread, but the letter takes the place of the unread ones",
         .setup = ready_with_one, .threads = {yields, hands_off_1_blindly}, .finish = in_order, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

SCENARIO(deliver_twin_no_second_look, .about = "as deliver_park, but a process that was told of a letter does not look again (S4)",
         .setup = running_one, .threads = {process_run_without_a_look, sends_0}, .finish = has_seen_all, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)

/* The sender that finds the process held by another one leaves the letter without a wake-up: it is awake, after all. */
static void sends_1_if_idle(void) {
    letters[1].payload = 101;
    struct state_next next;
    if (state_hold(&proc.state, &next)) {
        mpsc_hand_over(&proc.box, &letters[1].node);
        obey(let_go());
    } else {
        mpsc_push(&proc.box, &letters[1].node);
    }
}
SCENARIO(deliver_twin_no_wake, .about = "as deliver_two, but a sender that cannot hold the process does not wake it", .setup = asleep_two,
         .threads = {sends_0, sends_1_if_idle}, .finish = has_seen_all, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
