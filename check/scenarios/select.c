/* Select, the real source, against two channels at once: exactly one case happens, and no process waits for ever. */
#include "select/select.h"
#include "small_fiber.h"

static weft_chan *a, *b;
SHARED int chosen[SMALL_FIBERS]; /* each written by its own thread */
SHARED int error[SMALL_FIBERS];
SHARED uint64_t in[SMALL_FIBERS][2], out[SMALL_FIBERS][2];
enum { NOT_YET = 99 };

static void set_up(size_t capacity) {
    small_fibers(3);
    chk_assert(weft_chan_new(sizeof(uint64_t), capacity, &a) == 0 && weft_chan_new(sizeof(uint64_t), capacity, &b) == 0, "made");
    chk_name(&chan_of(a)->lock, "a.lock");
    chk_name(&chan_of(b)->lock, "b.lock");
    for (unsigned i = 0; i < SMALL_FIBERS; i++)
        chosen[i] = NOT_YET;
}
static void unbuffered(void) { set_up(0); }
static void empty(void) {
    chk_assert(!chan_of(a)->senders.first && !chan_of(a)->receivers.first && !chan_of(b)->senders.first && !chan_of(b)->receivers.first,
               "no waiter is left in a list");
    weft_chan_free(a);
    weft_chan_free(b);
}

/* ---- two selects that cross ------------------------------------------------------------------------------------------ */

static void cross(unsigned number, weft_chan *to, weft_chan *from, bool turned) {
    small_process(number);
    out[number][0] = 40 + number;
    weft_case cases[2];
    cases[turned] = weft_case_send(to, &out[number][0]);
    cases[!turned] = weft_case_recv(from, &in[number][0]);
    int done = weft_select(cases, 2, WEFT_FOREVER);
    chk_assert(done >= 0 && cases[done].error == 0, "one has happened");
    chosen[number] = done ^ turned; /* 0: sent */
}
static void cross_0(void) { cross(0, a, b, false); }
static void cross_1(void) { cross(1, b, a, true); }
static void one_each(void) {
    chk_assert(chosen[0] + chosen[1] == 1, "one has sent, the other received");
    unsigned receiver = chosen[0] == 1 ? 0 : 1;
    chk_assert(in[receiver][0] == 40 + (1 - receiver) && in[1 - receiver][0] == 0, "and it has arrived there, and only there");
    empty();
}
SCENARIO(select_cross, .about = "two selects, each sends where the other receives: no deadlock, one case each", .setup = unbuffered,
         .threads = {cross_0, cross_1}, .finish = one_each)

/* ---- a select and two others ----------------------------------------------------------------------------------------- */

static void receive_either(unsigned number, uint64_t deadline) {
    weft_case cases[] = {weft_case_recv(a, &in[number][0]), weft_case_recv(b, &in[number][1])};
    chosen[number] = weft_select(cases, 2, deadline);
    if (chosen[number] >= 0) error[number] = cases[chosen[number]].error;
}
static void thread_receives_either_soon(void) {
    small_thread();
    receive_either(0, SMALL_SOON);
}
static void receives_either(void) {
    small_process(0);
    receive_either(0, WEFT_FOREVER);
}
static void try_send(unsigned number, weft_chan *to) {
    uint64_t element = 40 + number;
    small_process(number);
    chosen[number] = weft_chan_send(to, &element, 0);
}
static void try_send_a_1(void) { try_send(1, a); }
static void try_send_b_2(void) { try_send(2, b); }
static void cancel_0(void) {
    small_thread();
    small_cancel(0);
}
static void close_b_2(void) {
    small_process(2);
    weft_chan_close(b);
}

static void at_most_one(void) {
    unsigned sent = (chosen[1] == 0) + (chosen[2] == 0);
    chk_assert(sent <= 1 && sent == (chosen[0] >= 0 && error[0] == 0), "what was sent was received, and it was one");
    chk_assert(in[0][0] == (chosen[1] == 0 ? 41 : 0) && in[0][1] == (chosen[2] == 0 ? 42 : 0), "and that alone has arrived");
    empty();
}
SCENARIO(select_timeout, .about = "a thread selects, its deadline may pass at any moment || two try to send, one on each channel",
         .setup = unbuffered, .threads = {thread_receives_either_soon, try_send_a_1, try_send_b_2}, .finish = at_most_one,
         .deep_in = CHK_SC | CHK_TSO)

/* The select stands in both lists when the others begin: fewer orders, so that there is room for one more. */
struct queued {
    struct wait wait;
    struct waiter waiter[2];
} queued;
static void select_waits(void) {
    set_up(0);
    small_process(0);
    wait_begin(&queued.wait);
    for (unsigned i = 0; i < 2; i++) {
        waiter_init(&queued.waiter[i], &queued.wait, select_why(i));
        queued.waiter[i].item = &in[0][i];
        waiters_add(&chan_of(i ? b : a)->receivers, &queued.waiter[i]);
    }
    small_thread();
    chk_name(&queued.wait.claimed, "claimed");
}
static void queued_0(void) {
    small_process(0);
    int why = wait_for(&queued.wait, WEFT_FOREVER, "queued");
    chosen[0] = why > 0 ? (int)select_number(why) : why;
    error[0] = why > 0 && why & CHAN_SHUT ? WEFT_ECLOSED : 0;
    for (int i = 0; i < 2; i++) {
        if (i == chosen[0]) continue;
        struct chan *chan = chan_of(i ? b : a);
        lock_take(&chan->lock);
        if (queued.waiter[i].in) waiters_remove(&queued.waiter[i]);
        lock_drop(&chan->lock);
    }
}
static void exactly_one(void) {
    chk_assert((chosen[1] == 0) + (chosen[2] == 0) == 1, "one of the two could send");
    at_most_one();
}
SCENARIO(select_two, .about = "a select waits || two try to send, one on each channel: one can", .setup = select_waits,
         .threads = {queued_0, try_send_a_1, try_send_b_2}, .finish = exactly_one)
SCENARIO(select_cancel, .about = "a select waits || two try to send || a cancellation", .setup = select_waits,
         .threads = {queued_0, try_send_a_1, try_send_b_2, cancel_0}, .finish = at_most_one)
SCENARIO(select_close, .about = "a select waits || one tries to send || the other channel is closed || a cancellation",
         .setup = select_waits, .threads = {queued_0, try_send_a_1, close_b_2, cancel_0}, .finish = at_most_one)

/* And the whole of it, with one other. */
static void send_a_1(void) {
    uint64_t element = 41;
    small_process(1);
    chosen[1] = weft_chan_send(a, &element, WEFT_FOREVER);
}
static void received_from_a(void) {
    chk_assert(chosen[0] == 0 && chosen[1] == 0 && in[0][0] == 41 && in[0][1] == 0, "it has arrived");
    empty();
}
SCENARIO(select_send, .about = "a select for two channels || one sends", .setup = unbuffered, .threads = {receives_either, send_a_1},
         .finish = received_from_a)
static void close_a_1(void) {
    small_process(1);
    weft_chan_close(a);
}
static void closed_a(void) {
    chk_assert(chosen[0] == 0 && error[0] == WEFT_ECLOSED && in[0][0] == 0, "the one that is closed");
    empty();
}
SCENARIO(select_closed, .about = "a select for two channels || one is closed", .setup = unbuffered, .threads = {receives_either, close_a_1},
         .finish = closed_a)

/* Sending and receiving on one channel, and twice: not to itself, and each lock once. */
static void same_0(void) {
    small_process(0);
    out[0][0] = 40;
    weft_case cases[] = {weft_case_send(a, &out[0][0]), weft_case_recv(a, &in[0][0]), weft_case_recv(a, &in[0][1])};
    chosen[0] = weft_select(cases, 3, WEFT_FOREVER);
}
static void receive_a_1(void) {
    small_process(1);
    chosen[1] = weft_chan_recv(a, &in[1][0], WEFT_FOREVER);
}
static void sent_to_the_other(void) {
    chk_assert(chosen[0] == 0 && chosen[1] == 0 && in[1][0] == 40 && in[0][0] + in[0][1] == 0, "sent to the other");
    empty();
}
SCENARIO(select_same, .about = "a select that sends and receives twice on one channel || one receives", .setup = unbuffered,
         .threads = {same_0, receive_a_1}, .finish = sent_to_the_other)

/* ---- twins that are wrong -------------------------------------------------------------------------------------------- */

/* Locks in the order of the cases. */
static void twin_locks(weft_chan *first, weft_chan *second) {
    lock_take(&chan_of(first)->lock);
    lock_take(&chan_of(second)->lock);
    lock_drop(&chan_of(second)->lock);
    lock_drop(&chan_of(first)->lock);
}
static void twin_locks_a_b(void) {
    small_process(0);
    twin_locks(a, b);
}
static void twin_locks_b_a(void) {
    small_process(1);
    twin_locks(b, a);
}
SCENARIO(select_twin_locks, .about = "two selects that lock in the order of their cases", .setup = unbuffered,
         .threads = {twin_locks_a_b, twin_locks_b_a}, .finish = empty, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* A wait for each case: two can be claimed. */
static struct wait other_wait;
static void twin_waits(void) {
    select_waits();
    small_process(0);
    wait_begin(&other_wait);
    queued.waiter[1].wait = &other_wait;
    small_thread();
}
SCENARIO(select_twin_two_waits, .about = "a select with a wait for each case: both happen", .setup = twin_waits,
         .threads = {queued_0, try_send_a_1, try_send_b_2}, .finish = exactly_one, .flawed_in = CHK_ALL, .flaw = CHK_NONE)
