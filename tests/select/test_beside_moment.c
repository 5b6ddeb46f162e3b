/* One case beside a moment: the case happens, the moment does, the deadline passes, the process is cancelled; with each kind that has a call of its own. */
#include "mailbox_helpers.h"

#include <weft/channel.h>
#include <weft/select.h>
#include <weft/sync.h>

enum { TAG = 7, KINDS = 5 };
#define SOON (2 * WEFT_MILLISECOND)
#define LATE (20 * WEFT_SECOND)

struct things {
    weft_chan *full, *empty; /* one cannot be sent to, from the other nothing is received */
    weft_sem sem;
    weft_msg *message;
    uint64_t element;
};

static void things_begin(struct things *things) {
    uint64_t element = 5;
    *things = (struct things){.element = 3};
    EXPECT_EQ(weft_chan_new(sizeof element, 1, &things->full), 0);
    EXPECT_EQ(weft_chan_new(sizeof element, 1, &things->empty), 0);
    EXPECT_EQ(weft_chan_send(things->full, &element, 0), 0);
    weft_sem_init(&things->sem, 0);
}
static void things_end(struct things *things) {
    weft_chan_free(things->full);
    weft_chan_free(things->empty);
}

static weft_case of_kind(struct things *things, unsigned kind) {
    switch (kind) {
    case 0: return weft_case_send(things->full, &things->element);
    case 1: return weft_case_recv(things->empty, &things->element);
    case 2: return weft_case_acquire(&things->sem, 1);
    case 3: return weft_case_message(&things->message);
    default: return weft_case_tag(TAG, &things->message);
    }
}
/* What the case waits for. */
static void happen(struct things *things, unsigned kind, weft_pid to) {
    uint64_t element = 9;
    if (kind == 0) EXPECT_EQ(weft_chan_recv(things->full, &element, WEFT_FOREVER), 0);
    if (kind == 1) EXPECT_EQ(weft_chan_send(things->empty, &element, WEFT_FOREVER), 0);
    if (kind == 2) weft_sem_release(&things->sem, 1);
    if (kind > 2) EXPECT_EQ(weft_send(to, TAG, "x", 1), 0);
}
/* It has happened once, and to this case. */
static void undo(struct things *things, unsigned kind) {
    uint64_t element = 5;
    EXPECT(kind != 1 || things->element == 9);
    if (kind == 0) EXPECT_EQ(weft_chan_recv(things->full, &element, 0), 0);
    EXPECT(kind != 0 || element == 3);
    if (kind == 0) EXPECT_EQ(weft_chan_send(things->full, &element, 0), 0);
    if (kind == 2) EXPECT_EQ(weft_sem_acquire(&things->sem, 1, 0), WEFT_ETIMEDOUT);
    if (kind > 2) weft_msg_free(things->message);
    things->element = 3;
}

struct later {
    struct things *things;
    unsigned kind;
    weft_pid to;
};
static void happens_later(void *arg) {
    struct later *later = arg;
    weft_sleep(SOON);
    happen(later->things, later->kind, later->to);
}

/* The moment is the case with the number `place`. */
static int beside(struct things *things, unsigned kind, unsigned place, uint64_t moment, uint64_t deadline) {
    weft_case cases[2];
    cases[place] = weft_case_moment(moment);
    cases[place ^ 1] = of_kind(things, kind);
    cases[0].error = cases[1].error = 99;
    int which = weft_select(cases, 2, deadline);
    if (which >= 0) EXPECT_EQ(cases[which].error, 0);
    return which;
}

static void each_way(struct things *things, unsigned kind, unsigned place) {
    weft_pid self = weft_self(), helper;
    struct later later = {things, kind, self};
    int other = (int)(place ^ 1), moment = (int)place;
    EXPECT_EQ(beside(things, kind, place, weft_in(SOON), WEFT_FOREVER), moment);
    EXPECT_EQ(beside(things, kind, place, weft_in(SOON), weft_in(LATE)), moment);
    EXPECT_EQ(beside(things, kind, place, weft_in(LATE), weft_in(SOON)), WEFT_ETIMEDOUT);
    EXPECT_EQ(beside(things, kind, place, WEFT_FOREVER, weft_in(SOON)), WEFT_ETIMEDOUT);
    EXPECT_EQ(beside(things, kind, place, weft_in(LATE), 0), WEFT_ETIMEDOUT);
    happen(things, kind, self); /* there already */
    EXPECT_EQ(beside(things, kind, place, weft_in(LATE), WEFT_FOREVER), other);
    undo(things, kind);
    EXPECT_EQ(weft_spawn_with(happens_later, &later, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, &helper), 0);
    EXPECT_EQ(beside(things, kind, place, weft_in(LATE), WEFT_FOREVER), other);
    EXPECT_EQ(weft_join(helper, NULL, WEFT_FOREVER), 0);
    undo(things, kind);
}

static void in_a_process(void *unused) {
    struct things things;
    (void)unused;
    things_begin(&things);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned place = 0; place < 2; place++)
            each_way(&things, kind, place);
    weft_chan_close(things.empty);
    weft_case cases[] = {weft_case_moment(weft_in(LATE)), weft_case_recv(things.empty, &things.element)};
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 1);
    EXPECT_EQ(cases[1].error, WEFT_ECLOSED);
    cases[1] = weft_case_never();
    cases[0] = weft_case_moment(weft_in(SOON));
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 0);
    things_end(&things);
}
static void in_a_process_body(void) { EXPECT_EQ(run(in_a_process, NULL), 0); }
TEST(beside_a_moment) { rt_each(in_a_process_body); }

/* A message that the tag does not fit stays where it is. */
static void passes_over(void *unused) {
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_send(weft_self(), TAG + 1, "y", 1), 0);
    weft_case cases[] = {weft_case_tag(TAG, &message), weft_case_moment(weft_in(SOON))};
    EXPECT_EQ(weft_select(cases, 2, WEFT_FOREVER), 1);
    EXPECT_EQ(weft_recv(&message, 0), 0);
    EXPECT_EQ(weft_msg_tag(message), TAG + 1);
    weft_msg_free(message);
}
static void passes_over_body(void) { EXPECT_EQ(run(passes_over, NULL), 0); }
TEST(beside_a_moment_other_messages_stay) { rt_each(passes_over_body); }

static void is_cancelled(void *arg) {
    struct things things;
    things_begin(&things);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        EXPECT_EQ(beside(&things, kind, kind % 2, weft_in(LATE), WEFT_FOREVER), WEFT_ECANCELED);
        EXPECT_EQ(beside(&things, kind, kind % 2, weft_now(), WEFT_FOREVER), kind % 2); /* what is ready happens */
    }
    things_end(&things);
    *(bool *)arg = true;
}
static void cancelled_body(void) {
    bool done = false;
    weft_pid pid = run_flags(is_cancelled, &done, WEFT_SPAWN_JOINABLE);
    rt_pause(2 * RT_MS);
    weft_cancel(pid);
    EXPECT_EQ(run_join(pid), 0);
    EXPECT(done);
}
TEST(beside_a_moment_cancelled) { rt_each(cancelled_body); }

/* Channels and permits are for threads too. */
TEST(beside_a_moment_in_a_thread) {
    struct things things;
    rt_start("ring", 2);
    things_begin(&things);
    for (unsigned kind = 0; kind < 3; kind++) {
        EXPECT_EQ(beside(&things, kind, 1, weft_in(SOON), WEFT_FOREVER), 1);
        EXPECT_EQ(beside(&things, kind, 0, weft_in(LATE), weft_in(SOON)), WEFT_ETIMEDOUT);
        happen(&things, kind, WEFT_NOBODY);
        EXPECT_EQ(beside(&things, kind, 1, weft_in(LATE), WEFT_FOREVER), 0);
        undo(&things, kind);
    }
    things_end(&things);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
