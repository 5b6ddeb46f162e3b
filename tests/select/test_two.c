/* A select of two cases that are both ready: each has the same chance, whatever kinds they are and however the mailbox is kept. */
#include "mailbox_helpers.h"
#include "select/select.h"

#include <weft/net.h>

enum { KINDS = WEFT_CASE_END + 1, DRAWS = 240, ASIDE = 77, SOUGHT = 78 };
static const char *const kind_name[KINDS] = {"send", "recv", "message", "tag", "reply", "readable", "writable", "acquire", "moment", "end"};

/* One case of the two, and its object, which is ready again after each draw. */
struct lot {
    enum weft_case_kind kind;
    uint64_t tag; /* of its message */
    weft_chan *chan;
    weft_sem sem;
    uint64_t element, reference;
    weft_pid pid;
    weft_msg *message;
};
struct pair {
    struct lot side[2];
    const char *mailbox;
};

static weft_fd fds[2]; /* the first can be read from and written to */
static weft_pid server;
static atom_u64 answered;

static bool is_mail(enum weft_case_kind kind) { return kind == WEFT_CASE_MESSAGE || kind == WEFT_CASE_TAG || kind == WEFT_CASE_REPLY; }
static void ends(void *unused) { (void)unused; }
static void send_self(uint64_t tag) { EXPECT_EQ(weft_send(weft_self(), tag, NULL, 0), 0); }
static void pause_here(void) {
    if (weft_self() == WEFT_NOBODY) sched_yield();
    else weft_yield();
}

static void answers(void *unused) {
    weft_msg *request;
    (void)unused;
    while (weft_recv(&request, WEFT_FOREVER) == 0) {
        EXPECT_EQ(weft_reply(weft_msg_request(request), NULL, 0), 0);
        weft_msg_free(request);
        atom_add_rel(&answered, 1);
    }
}

/* ---- making a case ready --------------------------------------------------------------------------------------------------------- */

static void ask_again(struct lot *side) {
    uint64_t before = atom_load_acq(&answered);
    EXPECT_EQ(weft_ask(server, 1, NULL, 0, &side->reference), 0);
    while (atom_load_acq(&answered) == before)
        pause_here();
}
static void end_again(struct lot *side) {
    side->pid = run_flags(ends, NULL, WEFT_SPAWN_JOINABLE);
    while (!end_case_look(side->pid)) /* weft_alive says so a little earlier */
        pause_here();
}
static void channel_again(struct lot *side) {
    if (side->kind == WEFT_CASE_RECV) EXPECT_EQ(weft_chan_send(side->chan, &side->element, 0), 0);
    else if (weft_chan_len(side->chan) > 0) EXPECT_EQ(weft_chan_recv(side->chan, &side->element, 0), 0);
}
static void make_ready(struct lot *side) {
    switch (side->kind) {
    case WEFT_CASE_SEND:
    case WEFT_CASE_RECV: channel_again(side); break;
    case WEFT_CASE_MESSAGE:
    case WEFT_CASE_TAG: send_self(side->tag); break;
    case WEFT_CASE_REPLY: ask_again(side); break;
    case WEFT_CASE_ACQUIRE: weft_sem_release(&side->sem, 1); break;
    case WEFT_CASE_END: end_again(side); break;
    default: break; /* it stays ready */
    }
}
/* The message that was chosen may be the other side's, or the one that was put aside: the same comes again. */
static void make_ready_again(struct lot *side) {
    if (!is_mail(side->kind)) return make_ready(side);
    uint64_t tag = weft_msg_tag(side->message);
    weft_msg_free(side->message);
    if (side->kind == WEFT_CASE_REPLY) make_ready(side);
    else send_self(tag);
}

static weft_case case_of(struct lot *side) {
    switch (side->kind) {
    case WEFT_CASE_SEND: return weft_case_send(side->chan, &side->element);
    case WEFT_CASE_RECV: return weft_case_recv(side->chan, &side->element);
    case WEFT_CASE_MESSAGE: return weft_case_message(&side->message);
    case WEFT_CASE_TAG: return weft_case_tag(side->tag, &side->message);
    case WEFT_CASE_REPLY: return weft_case_reply(side->reference, &side->message);
    case WEFT_CASE_READABLE: return weft_case_readable(fds[0]);
    case WEFT_CASE_WRITABLE: return weft_case_writable(fds[0]);
    case WEFT_CASE_ACQUIRE: return weft_case_acquire(&side->sem, 1);
    case WEFT_CASE_MOMENT: return weft_case_moment(weft_now());
    default: return weft_case_end(side->pid, NULL);
    }
}

/* ---- drawing ---------------------------------------------------------------------------------------------------------------------- */

static void side_begin(struct lot *side) {
    if (side->kind <= WEFT_CASE_RECV) EXPECT_EQ(weft_chan_new(sizeof side->element, 1, &side->chan), 0);
    weft_sem_init(&side->sem, 0);
    make_ready(side);
}
static void side_end(struct lot *side) {
    if (side->chan) weft_chan_free(side->chan);
    if (side->pid) EXPECT_EQ(weft_join(side->pid, NULL, WEFT_FOREVER), 0);
}

static void draw(void *arg) {
    struct pair *pair = arg;
    struct lot *side = pair->side;
    unsigned first = 0;
    side_begin(&side[0]);
    side_begin(&side[1]);
    for (unsigned i = 0; i < DRAWS; i++) {
        weft_case cases[] = {case_of(&side[0]), case_of(&side[1])};
        int chosen = weft_select(cases, 2, i % 2 ? WEFT_FOREVER : 0);
        EXPECT(chosen == 0 || chosen == 1);
        EXPECT_EQ(cases[chosen].error, 0);
        first += chosen == 0;
        make_ready_again(&side[chosen]);
    }
    side_end(&side[0]);
    side_end(&side[1]);
    /* 120, standard deviation 8. */
    if (first <= 60 || first >= 180)
        printf("%s and %s, %s: %u of %u\n", kind_name[side[0].kind], kind_name[side[1].kind], pair->mailbox, first, DRAWS);
    EXPECT(first > 60 && first < 180);
}
static void draw_aside(void *pair) {
    weft_msg *message;
    send_self(ASIDE);
    send_self(SOUGHT);
    EXPECT_EQ(weft_recv_tag(SOUGHT, &message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    draw(pair);
}

static struct pair pair_of(unsigned a, unsigned b, const char *mailbox) {
    return (struct pair){.side = {{.kind = (enum weft_case_kind)a, .tag = 1}, {.kind = (enum weft_case_kind)b, .tag = 2}},
                         .mailbox = mailbox};
}
/* Each pair in a process of its own: a selective receive leaves its marks on a mailbox. */
static void draw_all(weft_entry entry, const weft_mailbox *bounds, const char *mailbox) {
    for (unsigned a = 0; a < KINDS; a++)
        for (unsigned b = 0; b < KINDS; b++) {
            struct pair pair = pair_of(a, b, mailbox);
            weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .mailbox = bounds};
            weft_pid pid;
            int reason = 1;
            if (a > b && !is_mail((enum weft_case_kind)a)) continue; /* beside the mailbox in both orders, else in one */
            EXPECT_EQ(weft_spawn_with(entry, &pair, &options, &pid), 0);
            EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
            EXPECT_EQ(reason, 0);
        }
}
static void draw_in_the_thread(void) {
    for (unsigned a = 0; a < KINDS; a++)
        for (unsigned b = a; b < KINDS; b++) {
            struct pair pair = pair_of(a, b, "in a thread");
            if (!is_mail((enum weft_case_kind)a) && !is_mail((enum weft_case_kind)b)) draw(&pair);
        }
}

static void open_pair(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_net_pair(fds), 0);
    EXPECT_EQ(weft_fd_write_all(fds[1], "x", 1, NULL, WEFT_FOREVER), 0);
}
static void close_pair(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_fd_close(fds[0]), 0);
    EXPECT_EQ(weft_fd_close(fds[1]), 0);
}
static void begin(void) {
    rt_start("ring", 2);
    server = run_spawn(answers, NULL);
    EXPECT_EQ(run(open_pair, NULL), 0);
}
static void end(void) {
    EXPECT_EQ(run(close_pair, NULL), 0);
    EXPECT_EQ(weft_cancel(server), 0);
    rt_wait_until_none_lives();
    rt_stop();
}

TEST_WITHIN(two_are_drawn_alike, 60) {
    begin();
    draw_all(draw, NULL, "plain");
    end();
}
TEST_WITHIN(two_are_drawn_alike_beside_messages_put_aside, 60) {
    begin();
    draw_all(draw_aside, NULL, "one message put aside");
    end();
}
TEST_WITHIN(two_are_drawn_alike_with_a_bounded_mailbox, 60) {
    begin();
    draw_all(draw, &(weft_mailbox){.messages = 100}, "bounded");
    end();
}
TEST_WITHIN(two_are_drawn_alike_in_a_thread, 60) {
    begin();
    draw_in_the_thread();
    end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
