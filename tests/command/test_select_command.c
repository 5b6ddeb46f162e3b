/* Step processes that ask, join and select: the answers are completions, with the tags that the process chose. */
#include "runtime_helpers.h"

#include <weft/channel.h>
#include <weft/life.h>
#include <weft/stackful.h>

static atom_u64 done;
static weft_chan *chan, *spare;
static weft_sem sem;
static weft_pid server, child;

static const weft_event *only(const weft_event *events, size_t count, uint64_t tag) {
    EXPECT_EQ(count, 1);
    EXPECT_EQ(events->type, WEFT_EVENT_COMPLETION);
    EXPECT_EQ(events->tag, tag);
    return events;
}
static bool is_cancelled(const weft_event *events, size_t count, weft_out *out) {
    bool cancelled = count > 0 && events->type == WEFT_EVENT_CANCEL;
    if (cancelled) weft_out_status(out, WEFT_STEP_DONE);
    return cancelled;
}
static int is_done(weft_out *out) {
    atom_add_rel(&done, 1);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
struct progress {
    unsigned step;
};

/* ---- asking ------------------------------------------------------------------------------------------------------------------ */

enum { DOUBLE = 5, IGNORE = 6, END = 7 };
static void doubles(void *unused) {
    weft_msg *request;
    (void)unused;
    while (weft_recv(&request, WEFT_FOREVER) == 0) {
        uint64_t number = 0, tag = weft_msg_tag(request);
        if (tag == DOUBLE) {
            memcpy(&number, weft_msg_data(request), sizeof number);
            number *= 2;
            EXPECT_EQ(weft_reply(weft_msg_request(request), &number, sizeof number), 0);
        }
        weft_msg_free(request);
        if (tag == END) weft_exit(0);
    }
}
static int asks_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct progress *self = state;
    uint64_t number = 21, doubled;
    if (is_cancelled(events, count, out)) return 0;
    switch (self->step++) {
    case 0: EXPECT_EQ(weft_out_ask(out, 1, server, DOUBLE, &number, sizeof number, WEFT_FOREVER), 0); break;
    case 1:
        EXPECT_EQ(only(events, count, 1)->error, 0);
        EXPECT_EQ(events->size, sizeof doubled);
        memcpy(&doubled, events->data, sizeof doubled);
        EXPECT_EQ(doubled, 42);
        EXPECT_EQ(weft_out_ask(out, 2, server, IGNORE, NULL, 0, weft_in(WEFT_MILLISECOND)), 0);
        break;
    case 2:
        EXPECT_EQ(only(events, count, 2)->error, WEFT_ETIMEDOUT);
        EXPECT_EQ(weft_out_ask(out, 3, server, END, NULL, 0, WEFT_FOREVER), 0);
        break;
    case 3:
        EXPECT_EQ(only(events, count, 3)->error, WEFT_ENOPROC);
        EXPECT_EQ(weft_out_ask(out, 4, server, DOUBLE, &number, sizeof number, WEFT_FOREVER), 0);
        break;
    default: EXPECT_EQ(only(events, count, 4)->error, WEFT_ENOPROC); return is_done(out);
    }
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior asks = {.name = "asks", .state_size = sizeof(struct progress), .step = asks_step};
static void spawn_stackful(weft_entry entry, unsigned flags, weft_pid *pid) {
    EXPECT_EQ(weft_spawn_with(entry, NULL, &(weft_stackful_options){.runtime = rt.runtime, .flags = flags}, pid), 0);
}
static void asks_body(void) {
    atom_store_rlx(&done, 0);
    spawn_stackful(doubles, 0, &server);
    rt_spawn(&asks);
    rt_wait(&done, 1);
    rt_wait_until_none_lives();
}

/* A step process is asked by another, natively, and answers by the event. */
static int answers_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    (void)state;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_REQUEST) EXPECT_EQ(weft_reply(weft_event_request(&events[i]), "yes", 4), 0);
        else if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior answers = {.name = "answers", .step = answers_step};
static int many_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    enum { MANY = 30 };
    struct progress *self = state;
    if (is_cancelled(events, count, out)) return 0;
    for (uint64_t i = 0; count == 0 && i < MANY; i++)
        EXPECT_EQ(weft_out_ask(out, 100 + i, server, i, NULL, 0, WEFT_FOREVER), 0);
    for (size_t i = 0; i < count; i++) {
        EXPECT(events[i].tag >= 100 && events[i].tag < 100 + MANY && events[i].error == 0);
        EXPECT_EQ(strcmp(events[i].data, "yes"), 0);
        self->step++;
    }
    return self->step == MANY ? is_done(out) : 0;
}
static const weft_behavior many = {.name = "many", .state_size = sizeof(struct progress), .step = many_step};
static void many_body(void) {
    atom_store_rlx(&done, 0);
    server = rt_spawn(&answers);
    for (unsigned i = 0; i < 4; i++)
        rt_spawn(&many);
    rt_wait(&done, 4);
}
TEST(step_asks) { rt_each(asks_body); }
TEST(step_asks_many) { rt_each(many_body); }

/* It ends while it waits for the answer: the helper gives up. */
static int leaves_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    (void)state, (void)events, (void)count;
    weft_case cases[] = {{.chan = chan, .kind = WEFT_CASE_RECV}};
    EXPECT_EQ(weft_out_ask(out, 1, server, IGNORE, NULL, 0, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_out_join(out, 2, server, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_out_select(out, 3, cases, 1, 0, WEFT_FOREVER), 0);
    return is_done(out);
}
static const weft_behavior leaves = {.name = "leaves", .step = leaves_step};
static void ignores(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
}
static void leaves_body(void) {
    atom_store_rlx(&done, 0);
    EXPECT_EQ(weft_chan_new(8, 0, &chan), 0);
    spawn_stackful(ignores, 0, &server);
    for (unsigned i = 0; i < 20; i++)
        rt_spawn(&leaves);
    rt_wait(&done, 20);
    while (rt_stats().processes > 1) /* the helpers have gone */
        usleep(100);
    EXPECT_EQ(weft_cancel(server), 0);
    rt_wait_until_none_lives();
    weft_chan_free(chan);
}
TEST(step_leaves_while_it_waits) { rt_each(leaves_body); }

/* ---- joining, and being told ---------------------------------------------------------------------------------------------------- */

static void ends_with_9(void *unused) {
    (void)unused;
    weft_exit(9);
}
static int joins_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct progress *self = state;
    if (is_cancelled(events, count, out)) return 0;
    if (count == 0) {
        EXPECT_EQ(weft_monitor(child, 8, NULL), 0);
        EXPECT_EQ(weft_out_join(out, 7, child, WEFT_FOREVER), 0);
    }
    for (size_t i = 0; i < count; i++) {
        const weft_notice *notice = weft_event_notice(&events[i]);
        int reason = 0;
        EXPECT_EQ(events[i].error, 0);
        if (!notice) memcpy(&reason, events[i].data, sizeof reason);
        EXPECT_EQ(events[i].tag, notice ? 8 : 7);
        EXPECT_EQ(notice ? notice->reason.code : reason, 9);
        if (notice) EXPECT_EQ(notice->pid, child);
        self->step++;
    }
    return self->step == 2 ? is_done(out) : 0;
}
static const weft_behavior joins = {.name = "joins", .state_size = sizeof(struct progress), .step = joins_step};
static void waits_for_a_message(void *unused) {
    weft_msg *message;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
    ends_with_9(unused);
}
static void joins_body(void) {
    atom_store_rlx(&done, 0);
    spawn_stackful(waits_for_a_message, WEFT_SPAWN_JOINABLE, &child);
    rt_spawn(&joins);
    while (rt_stats().processes < 3) /* the helper waits, or is about to */
        usleep(100);
    EXPECT_EQ(weft_send(child, 1, NULL, 0), 0);
    rt_wait(&done, 1);
    rt_wait_until_none_lives();
}
TEST(step_joins) { rt_each(joins_body); }

/* ---- selecting --------------------------------------------------------------------------------------------------------------------- */

static const weft_selected *selected(const weft_event *events, size_t count, uint64_t tag, int number, size_t more) {
    EXPECT_EQ(only(events, count, tag)->error, 0);
    EXPECT_EQ(events->size, sizeof(weft_selected) + more);
    const weft_selected *selected = events->data;
    EXPECT_EQ(selected->number, number);
    EXPECT_EQ(selected->error, 0);
    return selected;
}
static int selects_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct progress *self = state;
    uint64_t element = 0, sent = 31;
    int reason = 0;
    weft_msg *message;
    if (is_cancelled(events, count, out)) return 0;
    weft_case cases[] = {weft_case_recv(chan, NULL), weft_case_acquire(&sem, 1), weft_case_end(child, NULL), weft_case_send(spare, &sent)};
    switch (self->step++) {
    case 0: EXPECT_EQ(weft_chan_send(chan, &(uint64_t){77}, 0), 0); break;
    case 1:
        memcpy(&element, weft_selected_data(selected(events, count, 0, 0, sizeof element)), sizeof element);
        EXPECT_EQ(element, 77);
        weft_sem_release(&sem, 1);
        break;
    case 2:
        selected(events, count, 1, 1, 0);
        EXPECT_EQ(weft_send(child, 1, NULL, 0), 0);
        break;
    case 3:
        memcpy(&reason, weft_selected_data(selected(events, count, 2, 2, sizeof reason)), sizeof reason);
        EXPECT_EQ(reason, 9);
        cases[2] = weft_case_never();
        EXPECT_EQ(weft_chan_recv(spare, &element, 0), 0); /* room for the send */
        break;
    case 4:
        selected(events, count, 3, 3, 0);
        EXPECT_EQ(weft_chan_recv(spare, &element, 0), 0);
        EXPECT_EQ(element, 31);
        EXPECT_EQ(weft_chan_send(spare, &element, 0), 0);
        cases[2] = weft_case_moment(weft_in(WEFT_MILLISECOND));
        break;
    case 5:
        selected(events, count, 4, 2, 0);
        EXPECT_EQ(weft_out_select(out, 5, cases, 2, 0, weft_in(WEFT_MILLISECOND)), 0);
        return 0;
    case 6:
        EXPECT_EQ(only(events, count, 5)->error, WEFT_ETIMEDOUT);
        cases[0] = weft_case_message(&message);
        EXPECT_EQ(weft_out_select(out, 6, cases, 1, 0, WEFT_FOREVER), 0);
        return 0;
    default: EXPECT_EQ(only(events, count, 6)->error, WEFT_EINVAL); return is_done(out);
    }
    EXPECT_EQ(weft_out_select(out, self->step - 1, cases, 4, WEFT_SELECT_IN_ORDER, WEFT_FOREVER), 0);
    return 0;
}
static const weft_behavior selects = {.name = "selects", .state_size = sizeof(struct progress), .step = selects_step};
static void selects_body(void) {
    uint64_t full = 1;
    atom_store_rlx(&done, 0);
    weft_sem_init(&sem, 0);
    EXPECT_EQ(weft_chan_new(sizeof full, 1, &chan), 0);
    EXPECT_EQ(weft_chan_new(sizeof full, 1, &spare), 0);
    EXPECT_EQ(weft_chan_send(spare, &full, 0), 0);
    spawn_stackful(waits_for_a_message, WEFT_SPAWN_JOINABLE, &child);
    rt_spawn(&selects);
    rt_wait(&done, 1);
    rt_wait_until_none_lives();
    weft_chan_free(chan);
    weft_chan_free(spare);
}
TEST(step_selects) { rt_each(selects_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
