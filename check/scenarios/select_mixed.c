/* Select over things of different kinds, the real sources: a message, a channel, a semaphore, a descriptor, the end of a process. Exactly one
 * case happens, and the one that lost has no effect: what it was for is still there. */
#include "select_cases.h"

#include "net/await.h"

#include <errno.h>
#include <poll.h>

/* ---- the others ------------------------------------------------------------------------------------------------------------ */

static void releases(void) {
    small_process(2);
    weft_sem_release(&sem, 1);
}
static void cancels(void) {
    small_thread();
    small_cancel(0);
}

/* ---- a message and a channel ----------------------------------------------------------------------------------------------- */

static void message_or_a(uint64_t deadline) {
    small_process(0);
    weft_case cases[] = {weft_case_message(&got), weft_case_recv(a, &in)};
    select_one(cases, 2, deadline);
}
static void message_or_a_forever(void) { message_or_a(WEFT_FOREVER); }
/* With a third case it goes the long way (select.c), and not that of two.c. */
static void message_or_a_long(void) {
    small_process(0);
    weft_case cases[] = {weft_case_message(&got), weft_case_recv(a, &in), weft_case_never()};
    select_one(cases, 3, WEFT_FOREVER);
}

static bool letter_is_there(void) { return !mpsc_is_empty(small_box(0)); }
static void message_or_element(void) {
    chk_assert(error == 0 && (got == (weft_msg *)&letter) == (chosen == 0), "the message, if that was chosen");
    small_process(0);
    chk_assert(letter_is_there() == (chosen != 0), "else the message is still there");
    element_if(1);
    weft_chan_free(a);
}
static void one_of_two(void) {
    chk_assert(chosen == 0 || chosen == 1, "one has happened");
    message_or_element();
}
static void one_or_cancelled(void) {
    chk_assert(chosen == 0 || chosen == 1 || chosen == WEFT_ECANCELED, "one has happened, or it was cancelled");
    message_or_element();
}
SCENARIO(select_message_channel, .about = "a select for a message and a channel || a message is sent || an element is sent",
         .setup = set_up, .threads = {message_or_a_forever, sends_letter, sends_on_a}, .finish = one_of_two)
SCENARIO(select_message_channel_long, .about = "the same for a select of three cases, one of them never ready", .setup = set_up,
         .threads = {message_or_a_long, sends_letter, sends_on_a}, .finish = one_of_two)
SCENARIO(select_message_channel_cancel, .about = "the same || a cancellation", .setup = set_up,
         .threads = {message_or_a_long, sends_letter, sends_on_a, cancels}, .finish = one_or_cancelled, .deep_in = CHK_ALL)

/* ---- a message and a semaphore --------------------------------------------------------------------------------------------- */

static void message_or_permit(void) {
    small_process(0);
    weft_case cases[] = {weft_case_message(&got), weft_case_acquire(&sem, 1)};
    select_one(cases, 2, WEFT_FOREVER);
}
static void message_or_permit_taken(void) {
    one_happened();
    small_process(0);
    chk_assert((got == (weft_msg *)&letter) == (chosen == 0) && letter_is_there() == (chosen != 0), "the message is taken, or still there");
    permit_if(1);
    weft_chan_free(a);
}
SCENARIO(select_message_semaphore, .about = "a select for a message and a permit || a message is sent || a permit is released",
         .setup = set_up, .threads = {message_or_permit, sends_letter, releases}, .finish = message_or_permit_taken)

/* ---- a descriptor and a message -------------------------------------------------------------------------------------------- */

enum { FD = 1 << DESC_NUMBER_BITS | 1 }; /* generation 1 */
static struct desc desc;
static atom_u64 generation; /* of the descriptor that is open */
static atom_u32 there;      /* the kernel: whether there is something to read, or room to write */

struct desc *desc_use(weft_fd handle) {
    return desc_generation(handle) == atom_load_acq(&generation) ? &desc : NULL;
}
struct desc *desc_place(weft_fd handle) {
    return desc_use(handle);
}
void desc_done(struct desc *used, int number) { (void)used, (void)number; }
int await_look(const struct desc *looked, int number, short events) {
    (void)looked, (void)number;
    return atom_load_acq(&there) ? events : -EAGAIN;
}

static void set_up_desc(void) {
    set_up();
    lock_init(&desc.readiness.lock);
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++) {
        desc.readiness.cells[side].waiters = (struct waiters){NULL, NULL};
        atom_store_rlx(&desc.readiness.cells[side].edges, 0);
    }
    readiness_open(&desc.readiness, 1);
    atom_store_rlx(&generation, 1);
    atom_store_rlx(&there, 0);
    chk_name(&desc.readiness.lock, "readiness.lock");
    chk_name(&desc.readiness.cells[READINESS_IN].edges, "edges");
    chk_name(&desc.readiness.cells[READINESS_OUT].edges, "edges out");
    chk_name(&desc.readiness.drained, "drained");
    chk_name(&generation, "generation");
    chk_name(&there, "there");
}
static void polls(void) {
    small_process(2);
    atom_store_rel(&there, 1);
    readiness_edge(&desc.readiness, 1, 1 << READINESS_IN, false, false);
}
static void polls_room(void) {
    small_process(2);
    atom_store_rel(&there, 1);
    readiness_edge(&desc.readiness, 1, 1 << READINESS_OUT, false, false);
}
static void closes(void) {
    small_process(2);
    readiness_shut(&desc.readiness);
}
static void readable_or_message(void) {
    small_process(0);
    weft_case cases[] = {weft_case_readable(FD), weft_case_message(&got)};
    select_one(cases, 2, WEFT_FOREVER);
}
static void writable_or_message(void) {
    small_process(0);
    weft_case cases[] = {weft_case_writable(FD), weft_case_message(&got)};
    select_one(cases, 2, WEFT_FOREVER);
}
static void no_waiter_at_desc(void) {
    for (unsigned side = READINESS_IN; side <= READINESS_OUT; side++)
        chk_assert(!desc.readiness.cells[side].waiters.first, "no waiter is left in a list");
    weft_chan_free(a);
}
static void read_or_message(void) {
    one_happened();
    small_process(0);
    chk_assert((got == (weft_msg *)&letter) == (chosen == 1) && letter_is_there() == (chosen != 1), "the message is taken, or still there");
    no_waiter_at_desc();
}
static void read_it(void) {
    chk_assert(chosen == 0 && error == 0, "it is readable");
    no_waiter_at_desc();
}
static void closed_or_message(void) {
    chk_assert((chosen == 0 && error == WEFT_ECLOSED) || (chosen == 1 && error == 0), "closed, or a message");
    no_waiter_at_desc();
}
SCENARIO(select_readable_message, .about = "a select for a descriptor and a message || it becomes readable || a message is sent",
         .setup = set_up_desc, .threads = {readable_or_message, polls, sends_letter}, .finish = read_or_message)
SCENARIO(select_readable, .about = "a select for a descriptor and a message || it becomes readable", .setup = set_up_desc,
         .threads = {readable_or_message, polls}, .finish = read_it)
/* A select before has asked the kernel, and there was nothing: this one asks only if there was an edge. */
static void set_up_asked(void) {
    set_up_desc();
    readiness_drain(&desc.readiness, 0);
}
SCENARIO(select_readable_asked_message,
         .about = "a select for a descriptor that was not readable, and a message || it becomes so || a message", .setup = set_up_asked,
         .threads = {readable_or_message, polls, sends_letter}, .finish = read_or_message)
SCENARIO(select_readable_asked, .about = "the same || it becomes readable", .setup = set_up_asked, .threads = {readable_or_message, polls},
         .finish = read_it)

/* The number is another descriptor's at once. Nothing comes there. */
static void closes_and_opens(void) {
    small_process(2);
    readiness_shut(&desc.readiness);
    atom_store_rel(&generation, 2);
    readiness_open(&desc.readiness, 2);
}
static void closed_meanwhile(void) {
    chk_assert(chosen == 0 && (error == WEFT_ECLOSED || error == WEFT_EBADF), "it was closed");
    no_waiter_at_desc();
}
SCENARIO(select_readable_reused, .about = "a select for a descriptor and a message || it is closed, and its number is another's",
         .setup = set_up_desc, .threads = {readable_or_message, closes_and_opens}, .finish = closed_meanwhile)

SCENARIO(select_readable_closed, .about = "a select for a descriptor and a message || it is closed || a message is sent",
         .setup = set_up_desc, .threads = {readable_or_message, closes, sends_letter}, .finish = closed_or_message)

SCENARIO(select_writable_message, .about = "a select for room in a descriptor and a message || there is room || a message is sent",
         .setup = set_up_desc, .threads = {writable_or_message, polls_room, sends_letter}, .finish = read_or_message)
SCENARIO(select_writable, .about = "a select for room in a descriptor and a message || there is room", .setup = set_up_desc,
         .threads = {writable_or_message, polls_room}, .finish = read_it)

/* ---- a channel and the end of a process -------------------------------------------------------------------------------------- */

/* The select is a thread's: its waits need no process. */
static void a_or_end(void) {
    small_thread();
    weft_case cases[] = {weft_case_recv(a, &in), weft_case_end(child, &reason)};
    select_one(cases, 2, WEFT_FOREVER);
}
static void element_or_end(void) {
    one_happened();
    element_if(0);
    end_if(1);
}
static void end_alone(void) { end_alone_if(1); }
/* The select stands in both lists. */
static struct waiter queued_waiter;
static void set_up_queued(void) {
    set_up_child();
    small_thread();
    queue_end(select_why(1));
    waiter_init(&queued_waiter, &queued_wait, select_why(0));
    queued_waiter.item = &in;
    waiters_add(&chan_of(a)->receivers, &queued_waiter);
}
static void queued_a_or_end(void) {
    small_thread();
    weft_case end = weft_case_end(child, &reason);
    chosen = (int)select_number(wait_for(&queued_wait, WEFT_FOREVER, "queued"));
    end_case_leave(child, &queued_end);
    waiter_leave(&queued_waiter, &chan_of(a)->lock);
    if (chosen == 1) error = end_case_take(&end, &queued_end);
}
SCENARIO(select_channel_end, .about = "a thread waits for a channel and the end of a process || that ends || an element is sent",
         .setup = set_up_queued, .threads = {queued_a_or_end, child_ends, sends_on_a}, .finish = element_or_end)
SCENARIO(select_end, .about = "a thread selects a channel and the end of a process || that ends", .setup = set_up_child,
         .threads = {a_or_end, child_ends}, .finish = end_alone)

/* ---- twins that are wrong ------------------------------------------------------------------------------------------------------ */

/* Takes the message and claims the wait afterwards. */
static uint32_t twin_takes_first(void *unused) {
    (void)unused;
    struct mpsc_node *node = mpsc_pop(small_box(0));
    if (node) got = (weft_msg *)message_of(node);
    return node ? select_why(0) : 0;
}
static void twin_message_first(void) {
    twin_join(&chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    int why = wait_for_any(&twin_wait, WEFT_FOREVER, "twin", twin_takes_first, NULL);
    twin_leave(&chan_of(a)->lock);
    chosen = (int)select_number(why);
}
SCENARIO(select_twin_message_first, .about = "a select that takes the message before it claims the wait: both happen", .setup = set_up,
         .threads = {twin_message_first, sends_letter, sends_on_a}, .finish = one_of_two, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* Looks into the mailbox once, and not before it sleeps. */
static void twin_looks_once(void) {
    if (letter_is_there()) {
        chosen = 0;
        return;
    }
    twin_join(&chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    chosen = wait_for(&twin_wait, WEFT_FOREVER, "twin");
    twin_leave(&chan_of(a)->lock);
}
static void twin_looks_once_first(void) {
    small_process(0);
    twin_looks_once();
}
static void message_came(void) { weft_chan_free(a); }
SCENARIO(select_twin_looks_once, .about = "a select that looks into the mailbox only before it stands in the list", .setup = set_up,
         .threads = {twin_looks_once_first, sends_letter}, .finish = message_came, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* Tries the channel, and drops the lock before it goes into the list. */
static void twin_tries_unlocked(void) {
    small_process(0);
    lock_take(&chan_of(a)->lock);
    bool ready = chan_of(a)->count > 0;
    lock_drop(&chan_of(a)->lock);
    chosen = 1;
    if (ready) return;
    twin_join(&chan_of(a)->receivers, &chan_of(a)->lock, select_why(1));
    wait_for(&twin_wait, WEFT_FOREVER, "twin");
    twin_leave(&chan_of(a)->lock);
}
SCENARIO(select_twin_tries_unlocked, .about = "a select that drops the lock between its try and the list: an element comes in between",
         .setup = set_up, .threads = {twin_tries_unlocked, sends_on_a}, .finish = message_came, .flawed_in = CHK_ALL,
         .flaw = CHK_LOST_WAKEUP)

/* Leaves the semaphore's list when it has found a message, and does not claim the wait: a permit may have been granted. */
static void twin_permit_lost(void) {
    chosen = 1;
    if (twin_takes_permit()) return;
    twin_join(&sem_of(&sem)->waiting, &sem_of(&sem)->lock, select_why(1));
    struct worker *worker = fiber_worker("twin");
    while (!letter_is_there() && atom_load_acq(&twin_wait.claimed) == WAIT_PENDING)
        worker = fiber_leave(worker, WEFT_STEP_IDLE);
    chosen = letter_is_there() ? 0 : 1;
    if (chosen == 0) got = (weft_msg *)message_of(mpsc_pop(small_box(0)));
    twin_leave(&sem_of(&sem)->lock);
}
SCENARIO(select_twin_permit_lost, .about = "a select that takes a message without a claim: the permit that it was granted is lost",
         .setup = set_up, .threads = {twin_permit_lost, sends_letter, releases}, .finish = message_or_permit_taken, .flawed_in = CHK_ALL,
         .flaw = CHK_NONE)

/* Goes into the descriptor's list without asking whether an edge has come since it looked. */
static void twin_misses_edge(void) {
    small_process(0);
    if (atom_load_acq(&there)) {
        chosen = 0;
        return;
    }
    twin_join(&desc.readiness.cells[READINESS_IN].waiters, &desc.readiness.lock, select_why(1));
    chosen = wait_for(&twin_wait, WEFT_FOREVER, "twin") > 0 ? 0 : NOT_YET;
    twin_leave(&desc.readiness.lock);
}
SCENARIO(select_twin_misses_edge, .about = "a select that does not ask for edges since it has looked", .setup = set_up_desc,
         .threads = {twin_misses_edge, polls}, .finish = read_it, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* Waits in whatever has the number, and does not use the descriptor. */
static void twin_any_generation(void) {
    small_process(0);
    uint64_t seen = readiness_seen(&desc.readiness, READINESS_IN);
    chosen = 0;
    error = WEFT_EBADF;
    if (!desc_use(FD)) return;
    wait_begin(&twin_wait);
    waiter_init(&twin_waiter, &twin_wait, select_why(0));
    lock_take(&desc.readiness.lock);
    bool waits = desc.readiness.open && atom_load_rlx(&desc.readiness.cells[READINESS_IN].edges) == seen;
    if (waits) waiters_add(&desc.readiness.cells[READINESS_IN].waiters, &twin_waiter);
    lock_drop(&desc.readiness.lock);
    if (waits) wait_for(&twin_wait, WEFT_FOREVER, "twin");
}
SCENARIO(select_twin_any_generation, .about = "a select that waits at a number, whatever descriptor has it", .setup = set_up_desc,
         .threads = {twin_any_generation, closes_and_opens}, .finish = closed_meanwhile, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Waits for room to write among those that wait for something to read. */
static void twin_wrong_side(void) {
    small_process(0);
    uint64_t seen = readiness_seen(&desc.readiness, READINESS_OUT);
    wait_begin(&twin_wait);
    waiter_init(&twin_waiter, &twin_wait, select_why(0));
    chosen = 0;
    if (atom_load_acq(&there) || readiness_join(&desc.readiness, 1, READINESS_IN, seen, &twin_waiter) != 0) return;
    wait_for(&twin_wait, WEFT_FOREVER, "twin");
    readiness_leave(&desc.readiness, &twin_waiter);
}
SCENARIO(select_twin_wrong_side, .about = "a select that waits for room to write in the list of readers", .setup = set_up_desc,
         .threads = {twin_wrong_side, polls_room}, .finish = read_it, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

static void set_up_twin_end(void) {
    set_up_queued();
    twin_queue_end();
}
SCENARIO(select_twin_result_lost, .about = "a select whose monitor takes the result of a process though the channel was first: it is lost",
         .setup = set_up_twin_end, .threads = {queued_a_or_end, child_ends, sends_on_a}, .finish = element_or_end, .flawed_in = CHK_ALL,
         .flaw = CHK_NONE)
