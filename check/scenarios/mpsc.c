/* The mailbox: every message is received once, or returned by close, or refused and still the producer's; the messages
 * of one producer come in order; a consumer that parks is woken. */
#include "queue/mpsc.h"
#include "base/spin.h"
#include "chk.h"
#include "queue/parker.h"
#include "sys/sys.h"

#include <string.h>

enum { MESSAGES = 4 };

struct message {
    _Alignas(AHEAD_LINE) struct mpsc_node
        node; /* first, so that a node's address is the message's; in lines of their own, so that hints are not 0 */
    unsigned payload;
};

static struct message messages[MESSAGES];
static struct mpsc box;
static struct ahead_trail trails[CHK_THREADS]; /* of each thread; one of them in set_up too, where chk_self is none of theirs */
static struct parker parker;
static atom_u32 token; /* in place of the parker */
static bool use_token;

SHARED unsigned char received[MESSAGES], returned[MESSAGES], refused[MESSAGES];
SHARED unsigned char order[MESSAGES]; /* ids in the order in which they came */
SHARED unsigned received_count;

static void set_up(void) {
    mpsc_init(&box);
    memset(trails, 0, sizeof trails);
    parker_init(&parker);
    atom_store_rlx(&token, 0);
    use_token = false;
    chk_name(&box.head, "box");
}

static unsigned id_of(struct mpsc_node *node) { return (unsigned)((struct message *)node - messages); }

static void wake(void) {
    if (use_token) atom_swap_rel(&token, 1);
    else parker_unpark(&parker);
}
static void wait(void) {
    if (!use_token) {
        parker_park(&parker, SYS_FOREVER);
        return;
    }
    struct spin spin = spin_begin();
    while (!atom_load_rlx(&token))
        spin_wait(&spin);
    atom_swap_acq(&token, 0);
}

static void send(unsigned id) {
    messages[id].payload = id + 100;
    enum mpsc_pushed pushed = mpsc_push_trailing(&box, &messages[id].node, &trails[chk_self() % CHK_THREADS]);
    if (pushed == MPSC_CLOSED) {
        refused[id] = 1;
        messages[id].payload = 0; /* still ours */
    } else if (pushed == MPSC_PUSHED_FIRST) {
        wake();
    }
}

static void got(struct mpsc_node *node, unsigned char *how) {
    unsigned id = id_of(node);
    chk_assert(id < MESSAGES && messages[id].payload == id + 100, "a message arrives as it was sent");
    messages[id].payload = 0; /* ours now */
    how[id]++;
}

static void receive_one(void) {
    struct mpsc_node *node;
    while (!(node = mpsc_pop(&box))) {
        chk_assert(mpsc_is_empty(&box) || !mpsc_is_closed(&box), "only the consumer closes");
        wait();
    }
    order[received_count++] = (unsigned char)id_of(node);
    got(node, received);
}

static void close_box(void) {
    struct mpsc_node *rest = mpsc_close(&box);
    chk_assert(mpsc_is_closed(&box) && mpsc_is_empty(&box), "closed and empty");
    chk_assert(mpsc_pop(&box) == NULL && mpsc_close(&box) == NULL, "nothing comes after the close");
    while (rest) {
        struct mpsc_node *next = rest->next;
        order[received_count++] = (unsigned char)id_of(rest);
        got(rest, returned);
        rest = next;
    }
}

static int position(unsigned id) {
    for (unsigned i = 0; i < received_count; i++)
        if (order[i] == id) return (int)i;
    return MESSAGES;
}

static void finish(unsigned count) {
    for (unsigned id = 0; id < count; id++)
        chk_assert(received[id] + returned[id] + refused[id] == 1, "received, returned or refused, and only once");
}
static void in_order(unsigned older, unsigned newer) {
    chk_assert(position(older) <= position(newer), "one producer's messages come in order");
}

static void send_0_1(void) {
    send(0);
    send(1);
}
static void send_2_3(void) {
    send(2);
    send(3);
}
static void send_0(void) { send(0); }
static void send_1(void) { send(1); }
static void send_2(void) { send(2); }

/* ---- Every message wakes a consumer that parks ----------------------------------------------------------------- */

static void finish_2x2(void) {
    finish(4);
    in_order(0, 1);
    in_order(2, 3);
}
static void receive_three(void) {
    for (unsigned i = 0; i < 3; i++)
        receive_one();
}
static void receive_two(void) {
    receive_one();
    receive_one();
}
static void finish_2x1(void) { finish(2); }
SCENARIO(mpsc_2x1, .about = "2 producers of one message, a consumer that parks", .setup = set_up, .threads = {receive_two, send_0, send_1},
         .finish = finish_2x1)

static void finish_3(void) { finish(3); }
SCENARIO(mpsc_3x1, .about = "3 producers of one message, a consumer that parks", .setup = set_up,
         .threads = {receive_three, send_0, send_1, send_2}, .finish = finish_3, .deep_in = CHK_ALL)

static void finish_2x2_three(void) {
    chk_assert(received_count == 3, "three were received");
    receive_one(); /* what is left is there without waiting */
    finish_2x2();
}
SCENARIO(mpsc_2x2, .about = "2 producers of 2 messages, a consumer that parks for three of them", .setup = set_up,
         .threads = {receive_three, send_0_1, send_2_3}, .finish = finish_2x2_three, .deep_in = CHK_ALL)

/* For all four the parker, which has scenarios of its own, is replaced by what it promises: a token, and a loop that
 * waits for it. With the parker the search takes minutes. */
static void set_up_token(void) {
    set_up();
    use_token = true;
}
static void receive_four(void) {
    receive_three();
    receive_one();
    chk_assert(mpsc_is_empty(&box), "all received");
}
SCENARIO(mpsc_2x2_all, .about = "2 producers of 2 messages, a consumer that waits for each of them", .setup = set_up_token,
         .threads = {receive_four, send_0_1, send_2_3}, .finish = finish_2x2, .deep_in = CHK_SC | CHK_TSO)

/* ---- Close ----------------------------------------------------------------------------------------------------- */

static void receive_one_and_close(void) {
    receive_one();
    close_box();
}
SCENARIO(mpsc_close_2x2, .about = "2 producers of 2 messages, one is received, then the box is closed", .setup = set_up,
         .threads = {receive_one_and_close, send_0_1, send_2_3}, .finish = finish_2x2)
SCENARIO(mpsc_close_3x1, .about = "3 producers of one message, one is received, then the box is closed", .setup = set_up,
         .threads = {receive_one_and_close, send_0, send_1, send_2}, .finish = finish_3)
SCENARIO(mpsc_close, .about = "close against 3 pushes", .setup = set_up, .threads = {close_box, send_0, send_1, send_2}, .finish = finish_3)

/* A producer that is refused goes on using its message; the consumer must be out of it. */
static void finish_2(void) {
    finish(2);
    in_order(0, 1);
    chk_assert(!refused[0] || refused[1], "once closed, always closed");
}
SCENARIO(mpsc_close_stays, .about = "close against two pushes of one producer", .setup = set_up, .threads = {close_box, send_0_1},
         .finish = finish_2)

/* What is popped already, what is taken but not popped, and what is still on the stack. */
static void set_up_two(void) {
    set_up();
    send(0);
    send(1);
}
static void pop_and_close(void) {
    receive_one();
    close_box();
}
static void send_2_then_3(void) {
    send(2);
    send(3);
}
static void finish_rest(void) {
    finish(4);
    chk_assert(received[0] && returned[1], "the rest of what was taken is returned");
    in_order(1, 2);
    in_order(2, 3);
}
SCENARIO(mpsc_close_rest, .about = "close returns what was taken and not popped, and what came later, in order", .setup = set_up_two,
         .threads = {pop_and_close, send_2_then_3}, .finish = finish_rest)

/* The consumer looks at all messages, those that it has taken and those still on the stack, and takes none. */
static void look_at(struct mpsc_node *node, void *user) {
    unsigned id = id_of(node);
    chk_assert(id < MESSAGES && messages[id].payload == id + 100, "a message that is looked at is as it was sent");
    ++*(unsigned *)user;
}
static void pop_look_and_close(void) {
    unsigned seen = 0;
    got(mpsc_pop(&box), received);
    mpsc_each(&box, look_at, &seen);
    chk_assert(seen >= 1 && seen <= 3, "what was pushed before is looked at, once");
    close_box();
}
static void finish_looked(void) { finish(4); }
SCENARIO(mpsc_each, .about = "the consumer looks at its messages against two pushes", .setup = set_up_two,
         .threads = {pop_look_and_close, send_2_then_3}, .finish = finish_looked)

/* The consumer takes all at once: what was there, and what has come while it turned that round. */
static void set_up_first(void) {
    set_up();
    send(0);
}
static void take_all(void) {
    for (struct mpsc_node *node = mpsc_take_all(&box), *next; node; node = next) {
        next = node->next;
        order[received_count++] = (unsigned char)id_of(node);
        got(node, received);
    }
}
static void send_1_2(void) {
    send(1);
    send(2);
}
static void finish_all(void) {
    close_box();
    finish(3);
    in_order(0, 1);
    in_order(1, 2);
}
SCENARIO(mpsc_take_all, .about = "the consumer takes all, and what has come meanwhile, against two pushes", .setup = set_up_first,
         .threads = {take_all, send_1_2}, .finish = finish_all)

/* M6, by asking. */
SHARED unsigned last_word; /* plain: the consumer's until it has closed the box */
static void speak_and_close(void) {
    last_word = 7;
    close_box();
}
static void ask(void) {
    if (mpsc_is_closed(&box)) chk_assert(last_word == 7, "what the consumer did before it closed the box is seen");
}
static void nothing(void) { last_word = 0; }
SCENARIO(mpsc_closed_asked, .about = "the consumer closes the box || a thread asks whether it is closed (M6)", .setup = set_up,
         .threads = {speak_and_close, ask}, .finish = nothing)

/* ---- Unheard pushes -------------------------------------------------------------------------------------------- */

SHARED unsigned firsts[CHK_THREADS];

static void leave(unsigned id) {
    messages[id].payload = id + 100;
    enum mpsc_pushed pushed = mpsc_push_unheard(&box, &messages[id].node);
    chk_assert(pushed != MPSC_PUSHED_FIRST, "no wake-up is left to a push that is unheard");
    if (pushed == MPSC_CLOSED) refused[id] = 1;
}
static void leave_0(void) { leave(0); }

/* The producer of message 0 wakes no worker, for as long as this lasts. */
static void receive_until_1(void) {
    while (!received[1])
        receive_one();
}
static void finish_until_1(void) {
    if (!received[0]) receive_one();
    finish(2);
}
SCENARIO(mpsc_unheard, .about = "an unheard push || another || a consumer that parks for the other (M4)", .setup = set_up,
         .threads = {receive_until_1, leave_0, send_1}, .finish = finish_until_1)

/* No thread takes, so one of the two that are heard is the first, wherever the unheard one lies. */
static void send_counted(unsigned id) {
    messages[id].payload = id + 100;
    if (mpsc_push(&box, &messages[id].node) == MPSC_PUSHED_FIRST) firsts[chk_self()]++;
}
static void send_counted_1(void) { send_counted(1); }
static void send_counted_2(void) { send_counted(2); }
static void one_was_first(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < CHK_THREADS; i++)
        count += firsts[i];
    chk_assert(count == 1, "one push is told that it is the first");
    close_box();
    finish(3);
}
SCENARIO(mpsc_unheard_between, .about = "an unheard push || two others, of which one is the first (M4)", .setup = set_up,
         .threads = {leave_0, send_counted_1, send_counted_2}, .finish = one_was_first)
static void finish_2_any(void) { finish(2); }
SCENARIO(mpsc_unheard_close, .about = "close against an unheard push and another (M5)", .setup = set_up,
         .threads = {close_box, leave_0, send_1}, .finish = finish_2_any)

static void leave_0_by_push(void) {
    messages[0].payload = 100;
    mpsc_push(&box, &messages[0].node);
}
SCENARIO(mpsc_twin_deaf, .about = "as mpsc_unheard, but the producer that wakes later is told that it is the first", .setup = set_up,
         .threads = {receive_until_1, leave_0_by_push, send_1}, .finish = finish_until_1, .flawed_in = CHK_ALL)
