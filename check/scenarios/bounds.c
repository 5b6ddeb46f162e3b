/* Bounded mailboxes, the real source: a sender that waits for room is woken, whatever comes between; no message is lost or comes twice; the
 * receiver is woken for the first message. */
#include "mail/bounds.h"
#include "small_fiber.h"

#include <string.h>

enum { OWNER = 77, NEXT = 78, LETTERS = 3 };

static struct proc owner;
static struct bounds *bounds;
static bool counted;
static struct letter { struct message message; } letters[LETTERS];
SHARED int sent[SMALL_FIBERS]; /* answers, each written by its own thread; 1: none yet */
SHARED unsigned char got[LETTERS];
SHARED unsigned enqueued; /* how often the owner was made READY, under no lock: by one thread at most, since it is woken once */

static struct message *letter(unsigned number) {
    struct message *message = &letters[number].message;
    message->type = WEFT_EVENT_MESSAGE;
    message->size = 1;
    message->tag = number;
    return message;
}

/* A mailbox for `messages`, with the first letter in it. */
static void set_up(size_t messages) {
    small_fibers(3);
    memset(&owner, 0, sizeof owner);
    state_init(&owner.state);
    chk_assert(state_claim_any(&owner.state), "the owner runs");
    counted = false;
    weft_mailbox limits = {.messages = messages, .when_full = WEFT_FULL_BLOCK};
    chk_assert(bounds_begin(&counted, &owner, OWNER, &limits) == 0, "made");
    bounds = bounds_of(&owner);
    chk_name(&bounds->lock, "lock");
    chk_name(&bounds->detour.queued, "queued");
    chk_name(&owner.box.head, "head");
    for (unsigned i = 0; i < SMALL_FIBERS; i++)
        sent[i] = 1;
    chk_assert(bounds_put(bounds, OWNER, letter(0), BOUNDS_POLICY).answer == 0, "there is room");
    state_park(&owner.state, STATE_IDLE); /* it was woken for that letter, and runs */
    chk_assert(state_claim_any(&owner.state), "the owner runs");
}
static void set_up_one(void) { set_up(1); }
static void set_up_two(void) { set_up(2); }

/* As send_wait. */
static void send(unsigned who, unsigned number, uint64_t deadline) {
    struct bounds_sender sender;
    wait_begin(&sender.wait);
    sender.own = NULL;
    int error = bounds_queue(bounds, OWNER, letter(number), deadline, &sender).answer;
    if (error == WEFT_EAGAIN) {
        struct wakes wakes = {NULL, NULL};
        error = bounds_wait(bounds, &sender, deadline, "send");
        if (error && error != WEFT_ENOPROC) bounds_readmit(bounds, OWNER, &wakes);
        wakes_run(&wakes, wait_wake_inside);
    }
    sent[who] = error;
}
static void send_0(void) {
    small_process(0);
    send(0, 1, WEFT_FOREVER);
}
static void send_0_soon(void) {
    small_process(0);
    send(0, 1, SMALL_SOON);
}
static void thread_sends(void) {
    small_thread();
    send(0, 1, WEFT_FOREVER);
}
static void cancel_0(void) {
    small_thread();
    small_cancel(0);
}
static void clock_0(void) { small_clock(0); }

/* The receiver. */
static bool take(void) {
    struct mpsc_node *node = mpsc_pop(&owner.box);
    if (node) got[message_of(node)->tag]++;
    return node != NULL;
}
static void take_1(void) {
    small_process(1);
    chk_assert(take(), "the first letter is there");
    mpsc_forget_look(&owner.box);
}
static void end_1(void) {
    small_process(1);
    for (struct mpsc_node *node = mpsc_close(&owner.box); node; node = node->next)
        got[message_of(node)->tag]++;
}
/* Takes all, and parks when there is nothing. */
static void park_1(void) {
    small_process(1);
    while (take()) {}
    if (!mpsc_is_empty(&owner.box)) return;
    mpsc_expect_emptied(&owner.box);
    if (state_park(&owner.state, STATE_IDLE).verdict == STATE_ENQUEUE) enqueued++;
}

/* What was accepted has come, or lies there; nothing else has. */
static void conserved(void) {
    small_process(1);
    end_1();
    chk_assert(got[0] == 1, "the first letter comes once");
    chk_assert(got[1] == (sent[0] == 0), "the letter of the first sender comes once if it was accepted");
    chk_assert(bounds->waiting == 0 && !bounds->senders.first, "no sender is left in the list");
    bounds_runtime_ends(counted);
    memset((void *)got, 0, sizeof got);
}
static void accepted(void) {
    chk_assert(sent[0] == 0, "there was room");
    conserved();
}

SCENARIO(bounds_room, .about = "a sender waits || the receiver takes (N3)", .setup = set_up_one, .threads = {send_0, take_1},
         .finish = accepted)
SCENARIO(bounds_room_thread, .about = "a thread waits || the receiver takes (N3)", .setup = set_up_one, .threads = {thread_sends, take_1},
         .finish = accepted)
SCENARIO(bounds_end, .about = "a sender waits || the receiver ends (N3)", .setup = set_up_one, .threads = {send_0, end_1},
         .finish = conserved)
SCENARIO(bounds_end_room, .about = "a sender || the receiver, which has room, ends", .setup = set_up_two, .threads = {send_0, end_1},
         .finish = conserved)
SCENARIO(bounds_deadline, .about = "a sender waits || the receiver takes || its deadline passes", .setup = set_up_one,
         .threads = {send_0_soon, take_1, clock_0}, .finish = conserved, .deep_in = CHK_ALL)
SCENARIO(bounds_cancel, .about = "a sender waits || the receiver takes || the sender is cancelled", .setup = set_up_one,
         .threads = {send_0, take_1, cancel_0}, .finish = conserved, .deep_in = CHK_ALL)
SCENARIO(bounds_cancel_end, .about = "a sender waits || the receiver ends || the sender is cancelled", .setup = set_up_one,
         .threads = {send_0, end_1, cancel_0}, .finish = conserved, .deep_in = CHK_ALL)

/* ---- the receiver's wake-up ---------------------------------------------------------------------------------------------------- */

static void put_0(void) {
    small_process(0);
    struct bounds_put put = bounds_put(bounds, OWNER, letter(1), BOUNDS_POLICY);
    sent[0] = put.answer;
    if (put.next.verdict == STATE_ENQUEUE) enqueued++;
}
static void woken(void) {
    bool ready = state_of(atom_load_rlx(&owner.state.word)) == STATE_READY;
    chk_assert(got[1] || sent[0] != 0 || ready || state_of(atom_load_rlx(&owner.state.word)) == STATE_RUNNING,
               "it does not sleep over a letter");
    chk_assert(enqueued == ready, "it is queued once");
    enqueued = 0;
    conserved();
}
SCENARIO(bounds_wake, .about = "a sender || the receiver takes all and parks (N5)", .setup = set_up_two, .threads = {put_0, park_1},
         .finish = woken)

/* ---- in order: a sender stands in the list already ------------------------------------------------------------------------------ */

static struct bounds_sender first_sender;
SHARED unsigned order[LETTERS]; /* letters as they were taken, from 1 */
SHARED unsigned taken;

static bool take_in_order(void) {
    struct mpsc_node *node = mpsc_pop(&owner.box);
    if (node) order[message_of(node)->tag] = ++taken;
    return node != NULL;
}
/* Two bytes: one is used, and the first sender waits with two. One more would fit. */
static void set_up_queue(void) {
    set_up(0);
    taken = 0;
    memset((void *)order, 0, sizeof order);
    bounds->limits.bytes = 2;
    small_process(2);
    wait_begin(&first_sender.wait);
    first_sender.own = NULL;
    struct message *message = letter(2);
    message->size = 2;
    chk_assert(bounds_queue(bounds, OWNER, message, WEFT_FOREVER, &first_sender).answer == WEFT_EAGAIN, "there is no room");
    small_thread();
}
static void take_two_1(void) {
    small_process(1);
    chk_assert(take_in_order(), "the first letter is there");
    chk_assert(take_in_order(), "and another then");
    mpsc_forget_look(&owner.box);
}
/* The first sender, once all others are done. */
static void in_order(void) {
    small_process(2);
    chk_assert(bounds_wait(bounds, &first_sender, WEFT_FOREVER, "send") == 0, "the first sender's letter was accepted");
    small_process(1);
    while (take_in_order()) {}
    chk_assert(sent[0] == 0 && order[1], "so was the second's");
    chk_assert(order[0] < order[2] && order[2] < order[1], "the sender that came first is let in first (N2)");
    chk_assert(bounds->waiting == 0 && !bounds->senders.first, "no sender is left in the list");
    (void)mpsc_close(&owner.box);
    bounds_runtime_ends(counted);
}
SCENARIO(bounds_order, .about = "a sender whose letter would fit, behind one whose does not || the receiver takes (N2)",
         .setup = set_up_queue, .threads = {send_0, take_two_1}, .finish = in_order)

/* ---- the lock of each operation ---------------------------------------------------------------------------------------------------- */

/* The owner is stackful: what it takes out counts until it is received. */
static void set_up_stackful(void) {
    set_up(3);
    owner.extras = PROC_BOUNDED;
}
static void receive_1(void) {
    small_process(1);
    struct mpsc_node *node = mpsc_pop(&owner.box);
    chk_assert(node, "the first letter is there");
    got[message_of(node)->tag]++;
    bounds_received(bounds, message_of(node));
}
static void one_counts(void) {
    chk_assert(bounds->messages == 1 && bounds->bytes == 1, "the letter that is left counts");
    owner.extras = 0;
    accepted();
}
SCENARIO(bounds_received_put, .about = "a sender || the receiver has received", .setup = set_up_stackful, .threads = {put_0, receive_1},
         .finish = one_counts)

static void put_urgent_0(void) {
    small_process(0);
    sent[0] = bounds_put(bounds, OWNER, letter(1), BOUNDS_URGENT).answer;
}
static void urgent_1(void) {
    small_process(1);
    for (struct mpsc_node *node = bounds_urgent(bounds); node; node = node->next)
        got[message_of(node)->tag]++;
}
SCENARIO(bounds_urgent_put, .about = "an urgent letter || the receiver takes those that are urgent", .setup = set_up_two,
         .threads = {put_urgent_0, urgent_1}, .finish = accepted)

static void look_2(void) {
    weft_mailbox_use use;
    small_thread();
    chk_assert(bounds_usage(bounds, OWNER, &use) == 0, "it is there");
    chk_assert(use.messages == use.bytes, "numbers that belong together");
}
static void glance_2(void) {
    weft_mailbox_use use;
    small_thread();
    if (bounds_glance(bounds, &use)) chk_assert(use.messages == use.bytes, "numbers that belong together");
}
SCENARIO(bounds_usage_put, .about = "a sender || a thread asks how full it is", .setup = set_up_two, .threads = {put_0, look_2},
         .finish = accepted)
SCENARIO(bounds_glance_put, .about = "a sender || a dump looks how full it is", .setup = set_up_two, .threads = {put_0, glance_2},
         .finish = accepted)

/* Completions never count, and are not refused. */
static struct message *completion(void) {
    struct message *message = letter(1);
    message->type = WEFT_EVENT_COMPLETION;
    return message;
}
static void complete_0(void) {
    small_process(0);
    sent[0] = mpsc_push(&owner.box, &completion()->node) == MPSC_CLOSED ? WEFT_ENOPROC : 0;
}
SCENARIO(bounds_push_take, .about = "a completion || the receiver takes", .setup = set_up_one, .threads = {complete_0, take_1},
         .finish = accepted)

static bool is_completion(struct mpsc_node *node, uint64_t reference) {
    (void)reference;
    return message_of(node)->type == WEFT_EVENT_COMPLETION;
}
static void pick_1(void) {
    small_process(1);
    struct mpsc_node *node = bounds_pick(bounds, is_completion, 0);
    if (node) got[message_of(node)->tag]++;
}
SCENARIO(bounds_pick_push, .about = "a completion || the receiver picks it", .setup = set_up_one, .threads = {complete_0, pick_1},
         .finish = accepted)

static void forsake_1(void) {
    small_process(1);
    bounds_forsake(&owner);
}
static void forsaken(void) {
    chk_assert(sent[0] == WEFT_ENOPROC, "the sender is told");
    conserved();
}
SCENARIO(bounds_forsaken, .about = "a sender waits || its receiver is left behind by its runtime", .setup = set_up_one,
         .threads = {send_0, forsake_1}, .finish = forsaken)

/* The receiver has ended, and the struct becomes the next process's while a sender still has its address. */
static void set_up_reused(void) {
    set_up_one();
    (void)mpsc_close(&owner.box);
    chk_assert(!bounds_of(&owner), "closed");
}
static void begin_1(void) {
    small_process(1);
    weft_mailbox limits = {.messages = 1, .when_full = WEFT_FULL_BLOCK};
    chk_assert(bounds_begin(&counted, &owner, NEXT, &limits) == 0, "made");
}
static void not_for_the_next(void) {
    chk_assert(bounds_of(&owner) == bounds, "the struct is used again");
    chk_assert(sent[0] == WEFT_ENOPROC, "a letter to the former process is refused");
    chk_assert(bounds->messages == 0 && !bounds->first, "and not in the next one's mailbox");
    (void)mpsc_close(&owner.box);
    bounds_runtime_ends(counted);
}
SCENARIO(bounds_reused, .about = "a late sender || the struct becomes the next process's (N4)", .setup = set_up_reused,
         .threads = {put_0, begin_1}, .finish = not_for_the_next)

/* A thread has guessed the PID of a process that is being spawned. */
static void set_up_unborn(void) {
    small_fibers(3);
    memset(&owner, 0, sizeof owner);
    state_init(&owner.state);
    counted = false;
    sent[0] = 1;
    mpsc_init(&owner.box);
}
static void guess_2(void) {
    weft_mailbox_use use;
    small_thread();
    struct bounds *guessed = bounds_of(&owner);
    if (guessed) chk_assert(bounds_usage(guessed, NEXT, &use) == 0 && use.messages == 0, "it is there, and empty");
}
static void guessed(void) {
    (void)mpsc_close(&owner.box);
    bounds_runtime_ends(counted);
}
SCENARIO(bounds_guessed, .about = "a process gets its bounds || a thread that has guessed its PID asks how full it is (M8)",
         .setup = set_up_unborn, .threads = {begin_1, guess_2}, .finish = guessed)

/* The receiver waits with an empty mailbox. The thread that claims it after a sender has woken it, as a hand-off does, runs it to its end before the
 * sender has queued it, and the struct becomes the next process's (N6). */
static struct proc next_owner;
static void set_up_waiting(void) {
    set_up_one();
    memset(&next_owner, 0, sizeof next_owner);
    state_init(&next_owner.state);
    while (take()) {}
    mpsc_expect_emptied(&owner.box);
    chk_assert(state_park(&owner.state, STATE_IDLE).verdict == STATE_NOTHING, "it waits");
}
static void hand_off_1(void) {
    small_process(1);
    if (state_of(atom_load_rlx(&owner.state.word)) != STATE_READY || !state_claim_any(&owner.state)) return;
    weft_mailbox limits = {.messages = 1, .when_full = WEFT_FULL_BLOCK};
    end_1();
    chk_assert(bounds_begin(&counted, &next_owner, NEXT, &limits) == 0, "made");
    chk_assert(bounds_of(&next_owner) == bounds, "the struct is used again");
}
static void queue_0(struct proc *(*which)(const struct bounds_put *put)) {
    small_process(0);
    struct bounds_put put = bounds_put(bounds, OWNER, letter(1), BOUNDS_POLICY);
    sent[0] = put.answer;
    if (put.next.verdict == STATE_ENQUEUE) chk_assert(which(&put) == &owner, "the process that was woken is queued");
}
static struct proc *which_put(const struct bounds_put *put) { return put->proc; }
static void queue_0_put(void) { queue_0(which_put); }
static void handed_off(void) {
    chk_assert(sent[0] == 0, "there was room");
    if (bounds_of(&next_owner)) (void)mpsc_close(&next_owner.box);
    conserved();
}
SCENARIO(bounds_handed_off, .about = "a sender wakes the receiver || which runs and ends, and the struct becomes the next process's (N6)",
         .setup = set_up_waiting, .threads = {queue_0_put, hand_off_1}, .finish = handed_off)

/* ---- what would be wrong ----------------------------------------------------------------------------------------------------------- */

/* Looks for room, and joins the list later, without a second look. */
static void send_0_in_two(void) {
    struct bounds_sender sender;
    small_process(0);
    wait_begin(&sender.wait);
    sender.own = NULL;
    sent[0] = bounds_put(bounds, OWNER, letter(1), BOUNDS_POLICY).answer;
    if (sent[0] == 0) return;
    waiter_init(&sender.waiter, &sender.wait, BOUNDS_ADMITTED);
    sender.waiter.item = letter(1);
    sender.waiter.amount = 1;
    lock_take(&bounds->lock);
    waiters_add(&bounds->senders, &sender.waiter);
    bounds->waiting++;
    lock_drop(&bounds->lock);
    sent[0] = bounds_wait(bounds, &sender, WEFT_FOREVER, "send");
}
SCENARIO(bounds_twin_two_looks, .about = "as bounds_room, but the sender has dropped the lock before it joins the list",
         .setup = set_up_one, .threads = {send_0_in_two, take_1}, .finish = accepted, .flawed_in = CHK_ALL)

/* Asks the struct, without the lock, which process it has woken. */
static struct proc *which_now(const struct bounds_put *put) {
    (void)put;
    return bounds->proc;
}
static void queue_0_late(void) { queue_0(which_now); }
SCENARIO(bounds_twin_asks_late,
         .about = "as bounds_handed_off, but the sender looks for the receiver in the struct when it has dropped the lock",
         .setup = set_up_waiting, .threads = {queue_0_late, hand_off_1}, .finish = handed_off, .flawed_in = CHK_ALL)

/* Ends without a look at the senders. */
static void end_1_alone(void) {
    small_process(1);
    atom_swap_acqrel(&owner.box.head, MPSC_SHUT);
    lock_take(&bounds->lock);
    bounds->pid = WEFT_NOBODY;
    lock_drop(&bounds->lock);
    got[0]++;
}
SCENARIO(bounds_twin_forgotten, .about = "as bounds_end, but the receiver tells no sender that waits", .setup = set_up_one,
         .threads = {send_0, end_1_alone}, .finish = conserved, .flawed_in = CHK_ALL)

/* Wakes the receiver only if it had found nothing queued before the lock was taken. */
static void put_0_early(void) {
    small_process(0);
    bool first = atom_load_rlx(&bounds->detour.queued) == 0;
    lock_take(&bounds->lock);
    struct message *message = letter(1);
    message->node.next = NULL;
    *bounds->end = &message->node;
    bounds->end = &message->node.next;
    bounds->messages++, bounds->bytes++;
    atom_store_rlx(&bounds->detour.queued, atom_load_rlx(&bounds->detour.queued) + 1);
    lock_drop(&bounds->lock);
    sent[0] = 0;
    if (first && state_wake(&owner.state).verdict == STATE_ENQUEUE) enqueued++;
}
SCENARIO(bounds_twin_early_look, .about = "as bounds_wake, but the sender asks before it has the lock whether anything is queued",
         .setup = set_up_two, .threads = {put_0_early, park_1}, .finish = woken, .flawed_in = CHK_ALL)

/* Looks only whether its letter fits, and not whether another sender waits. */
static void send_0_past(void) {
    small_process(0);
    lock_take(&bounds->lock);
    bool fits = bounds->bytes + 1 <= bounds->limits.bytes;
    if (fits) {
        struct message *message = letter(1);
        message->node.next = NULL;
        *bounds->end = &message->node;
        bounds->end = &message->node.next;
        bounds->messages++, bounds->bytes++;
        atom_store_rlx(&bounds->detour.queued, atom_load_rlx(&bounds->detour.queued) + 1);
        sent[0] = 0;
    }
    lock_drop(&bounds->lock);
    if (!fits) send(0, 1, WEFT_FOREVER);
}
SCENARIO(bounds_twin_overtakes, .about = "as bounds_order, but the second sender does not look whether another waits",
         .setup = set_up_queue, .threads = {send_0_past, take_two_1}, .finish = in_order, .flawed_in = CHK_ALL)
