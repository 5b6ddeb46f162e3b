/* Channels, the real source: every element that was sent is received once, with all that came before it; a waiter is woken. */
#include "small_fiber.h"
#include "sync/chan.h"

static weft_chan *chan;
SHARED int sent[SMALL_FIBERS], received[SMALL_FIBERS]; /* answers, each written by its own thread; 1: none yet */
SHARED uint64_t got[SMALL_FIBERS];

static void set_up(size_t capacity) {
    small_fibers(3);
    int error = weft_chan_new(sizeof(uint64_t), capacity, &chan);
    chk_assert(error == 0, "made");
    chk_name(&chan_of(chan)->lock, "lock");
    for (unsigned i = 0; i < SMALL_FIBERS; i++)
        sent[i] = received[i] = 1;
}
static void unbuffered(void) { set_up(0); }
static void buffered(void) { set_up(1); }

static void send(unsigned number, uint64_t value, uint64_t deadline) {
    uint64_t element = value;
    sent[number] = weft_chan_send(chan, &element, deadline);
}
static void receive(unsigned number, uint64_t deadline) {
    uint64_t element = 7;
    received[number] = weft_chan_recv(chan, &element, deadline);
    if (received[number] == 0) got[number] = element;
    else chk_assert(element == 7, "nothing came");
}

static void send_0(void) {
    small_process(0);
    send(0, 42, WEFT_FOREVER);
}
static void send_0_twice(void) {
    small_process(0);
    send(0, 42, WEFT_FOREVER);
    send(0, 43, WEFT_FOREVER);
}
static void thread_sends(void) {
    small_thread();
    send(0, 42, WEFT_FOREVER);
}
static void try_send_0(void) {
    small_process(0);
    send(0, 42, 0);
}
static void receive_1(void) {
    small_process(1);
    receive(1, WEFT_FOREVER);
}
static void receive_1_soon(void) {
    small_process(1);
    receive(1, SMALL_SOON);
}
static void receive_1_twice(void) {
    small_process(1);
    receive(1, WEFT_FOREVER);
    chk_assert(got[1] == 42, "the first comes first");
    receive(1, WEFT_FOREVER);
    chk_assert(got[1] == 43, "the second comes second");
}
static void thread_receives_soon(void) {
    small_thread();
    receive(1, SMALL_SOON);
}
static void close_2(void) {
    small_process(2);
    weft_chan_close(chan);
}
static void cancel_1(void) {
    small_thread();
    small_cancel(1);
}
static void clock_1(void) { small_clock(1); }

/* What was sent and what was received, and what is in the channel still, are the same. */
static void conserved(void) {
    uint64_t in = 0, out = 0, left;
    for (unsigned i = 0; i < SMALL_FIBERS; i++) {
        if (sent[i] == 0) in += i == 0 ? 42 : 43;
        if (received[i] == 0) out += got[i];
    }
    struct chan *inner = chan_of(chan);
    chk_assert(!inner->senders.first && !inner->receivers.first, "no waiter is left in a list");
    while (weft_chan_recv(chan, &left, 0) == 0)
        out += left;
    chk_assert(in == out, "what was sent was received once");
    weft_chan_free(chan);
}
static void all_arrived(void) {
    for (unsigned i = 0; i < SMALL_FIBERS; i++)
        chk_assert(sent[i] >= 0 && received[i] >= 0, "no call was refused");
    chk_assert(weft_chan_len(chan) == 0, "nothing is left");
    chk_assert(got[1] == 42, "it has arrived");
    conserved();
}
static void in_order(void) { weft_chan_free(chan); }

SCENARIO(channel_unbuffered, .about = "send || receive, from hand to hand (C2)", .setup = unbuffered, .threads = {send_0, receive_1},
         .finish = all_arrived)
SCENARIO(channel_buffered, .about = "send || receive, by the ring", .setup = buffered, .threads = {send_0, receive_1},
         .finish = all_arrived)
SCENARIO(channel_thread, .about = "a thread sends || a process receives", .setup = unbuffered, .threads = {thread_sends, receive_1},
         .finish = all_arrived)
SCENARIO(channel_order, .about = "two elements through a ring of one: the sender waits, and moves up", .setup = buffered,
         .threads = {send_0_twice, receive_1_twice}, .finish = in_order)
SCENARIO(channel_order_unbuffered, .about = "two elements from hand to hand", .setup = unbuffered,
         .threads = {send_0_twice, receive_1_twice}, .finish = in_order)
SCENARIO(channel_close, .about = "send || receive || close", .setup = unbuffered, .threads = {send_0, receive_1, close_2},
         .finish = conserved, .deep_in = CHK_SC | CHK_TSO)
SCENARIO(channel_close_buffered, .about = "send || receive || close, by the ring: it is drained", .setup = buffered,
         .threads = {send_0, receive_1, close_2}, .finish = conserved)
SCENARIO(channel_cancel, .about = "a try to send || receive || the receiver is cancelled", .setup = unbuffered,
         .threads = {try_send_0, receive_1, cancel_1}, .finish = conserved)
SCENARIO(channel_deadline, .about = "send || receive || the receiver's deadline passes", .setup = buffered,
         .threads = {send_0, receive_1_soon, clock_1}, .finish = conserved)
SCENARIO(channel_thread_timeout, .about = "a try to send || a thread receives, its deadline may pass at any moment", .setup = unbuffered,
         .threads = {try_send_0, thread_receives_soon}, .finish = conserved)

/* One receiver stands in the list when the others begin. */
static struct wait queued_wait;
static struct waiter queued_waiter;
static uint64_t queued_element;
static void receiver_waits(void) {
    set_up(0);
    small_process(1);
    wait_begin(&queued_wait);
    waiter_init(&queued_waiter, &queued_wait, chan_why(0));
    queued_element = 7;
    queued_waiter.item = &queued_element;
    waiters_add(&chan_of(chan)->receivers, &queued_waiter);
    small_thread();
    chk_name(&queued_wait.claimed, "claimed");
}
static void queued_1(void) {
    small_process(1);
    int why = wait_for(&queued_wait, WEFT_FOREVER, "queued");
    received[1] = why < 0 ? why : why & CHAN_SHUT ? WEFT_ECLOSED : 0;
    got[1] = queued_element;
    if (why >= 0) return;
    lock_take(&chan_of(chan)->lock);
    if (queued_waiter.in) waiters_remove(&queued_waiter);
    lock_drop(&chan_of(chan)->lock);
}
static void try_send_2(void) {
    small_process(2);
    send(2, 43, 0);
}
static void one_arrived(void) {
    chk_assert((sent[0] == 0) + (sent[2] == 0) == 1 && received[1] == 0, "one of the two");
    conserved();
}
SCENARIO(channel_two_senders, .about = "one waits to receive || two try to send: one of them can", .setup = receiver_waits,
         .threads = {try_send_0, queued_1, try_send_2}, .finish = one_arrived)
SCENARIO(channel_close_cancel, .about = "one waits to receive || a try to send || close || a cancellation", .setup = receiver_waits,
         .threads = {try_send_0, queued_1, close_2, cancel_1}, .finish = conserved, .deep_in = CHK_SC | CHK_TSO)

/* chan.h, C3: the receiver of the last element frees the channel. */
static void receive_and_free(void) {
    small_process(1);
    weft_chan *mine = chan;
    uint64_t element;
    chk_assert(weft_chan_recv(mine, &element, WEFT_FOREVER) == 0 && element == 42, "it has arrived");
    weft_chan_free(mine);
}
SCENARIO(channel_freed, .about = "send || receive and free, from hand to hand", .setup = unbuffered, .threads = {send_0, receive_and_free})
SCENARIO(channel_freed_buffered, .about = "send || receive and free, by the ring", .setup = buffered, .threads = {send_0, receive_and_free})

/* ---- twins that are wrong -------------------------------------------------------------------------------------------- */

/* Finds nothing, drops the lock, and then goes to wait. */
static void twin_receives(void) {
    small_process(1);
    struct chan *at = chan_of(chan);
    struct waiter *other;
    uint64_t element = 7;
    lock_take(&at->lock);
    received[1] = chan_recv_now(at, &element, &other);
    lock_drop(&at->lock);
    if (other) waiter_wake(other);
    if (received[1] == WEFT_EAGAIN) {
        struct wait wait;
        struct waiter waiter;
        wait_begin(&wait);
        waiter_init(&waiter, &wait, chan_why(0));
        waiter.item = &element;
        lock_take(&at->lock);
        received[1] = waiters_wait(&at->receivers, &waiter, &at->lock, WEFT_FOREVER, "twin") > 0 ? 0 : 1;
    }
    got[1] = element;
}
SCENARIO(channel_twin_late, .about = "a receiver that drops the lock between looking and waiting sleeps beside the element",
         .setup = buffered, .threads = {send_0, twin_receives}, .finish = all_arrived, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Hands the element over when it has woken the receiver. */
static void twin_sends(void) {
    small_process(0);
    struct chan *at = chan_of(chan);
    lock_take(&at->lock);
    struct waiter *other = waiters_claim(&at->receivers);
    lock_drop(&at->lock);
    if (!other) chk_stop();
    uint64_t *to = other->item;
    waiter_wake(other);
    *to = 42;
    sent[0] = 0;
}
SCENARIO(channel_twin_after, .about = "a sender that copies after the wake-up", .setup = unbuffered, .threads = {twin_sends, receive_1},
         .finish = all_arrived, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* Closes, and leaves the waiters where they are. */
static void twin_closes(void) {
    small_process(2);
    struct chan *at = chan_of(chan);
    lock_take(&at->lock);
    at->closed = true;
    lock_drop(&at->lock);
}
SCENARIO(channel_twin_close, .about = "a close that forgets the waiters", .setup = unbuffered, .threads = {receive_1, twin_closes},
         .finish = conserved, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* ---- beside a send ------------------------------------------------------------------------------------------------------ */

SHARED size_t length;
static void looks(void) { length = weft_chan_len(chan); }
static void one_or_none(void) {
    chk_assert(sent[0] == 0 && length <= 1 && weft_chan_len(chan) == 1, "before, or after");
    weft_chan_free(chan);
}
SCENARIO(channel_len, .about = "one sends || one looks how many there are", .setup = buffered, .threads = {send_0, looks},
         .finish = one_or_none)
