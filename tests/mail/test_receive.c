/* Receiving: in order, selectively, with deadlines, cancelled. */
#include "mailbox_helpers.h"

#include "fiber/fiber.h"

static void send_self(uint64_t tag) { EXPECT_EQ(weft_send(weft_self(), tag, NULL, 0), 0); }

/* ---- order ---------------------------------------------------------------------------------------------------------- */

static void picks_by_tag(void *unused) {
    (void)unused;
    for (uint64_t i = 0; i < 10; i++)
        send_self(i);
    expect_tag(7);
    expect_tag(3);
    expect_next(0);
    send_self(7);
    expect_tag(9);
    expect_tag(7);
    static const uint64_t rest[] = {1, 2, 4, 5, 6, 8};
    for (unsigned i = 0; i < 6; i++)
        expect_next(rest[i]);
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_recv_tag(1, &message, 0), WEFT_ETIMEDOUT);
}
static void picks_body(void) { EXPECT_EQ(run(picks_by_tag, NULL), 0); }
TEST(recv_tag_leaves_the_others_in_order) { rt_each(picks_body); }

/* Against a list kept by hand: random receives of all kinds, with messages coming in between. */
enum { MODEL_TAGS = 5, MODEL_STEPS = 4000 };

static bool is_even(const weft_msg *message, void *calls) {
    ++*(unsigned *)calls;
    return weft_msg_tag(message) % 2 == 0;
}

struct model {
    uint64_t tags[MODEL_STEPS], values[MODEL_STEPS];
    unsigned count;
};
static void model_take(struct model *model, unsigned at, weft_msg *message) {
    EXPECT_EQ(weft_msg_tag(message), model->tags[at]);
    EXPECT_EQ(msg_u64(message), model->values[at]);
    weft_msg_free(message);
    model->count--;
    memmove(&model->tags[at], &model->tags[at + 1], (model->count - at) * sizeof model->tags[0]);
    memmove(&model->values[at], &model->values[at + 1], (model->count - at) * sizeof model->values[0]);
}

static void against_a_model(void *unused) {
    static struct model model;
    struct rng rng;
    (void)unused;
    model.count = 0;
    rng_seed(&rng, 7, 0);
    for (unsigned i = 0; i < MODEL_STEPS / RT_SLOW; i++) {
        weft_msg *message;
        unsigned calls = 0, what = rng_below(&rng, 8), at = 0;
        uint64_t tag = rng_below(&rng, MODEL_TAGS), value = i;
        if (what < 4) {
            EXPECT_EQ(weft_send(weft_self(), tag, &value, sizeof value), 0);
            model.tags[model.count] = tag;
            model.values[model.count++] = value;
        } else if (what == 4) {
            int error = weft_recv(&message, 0);
            EXPECT_EQ(error, model.count ? 0 : WEFT_ETIMEDOUT);
            if (!error) model_take(&model, 0, message);
        } else if (what == 5) {
            while (at < model.count && model.tags[at] % 2)
                at++;
            int error = weft_recv_match(is_even, &calls, &message, 0);
            EXPECT_EQ(error, at < model.count ? 0 : WEFT_ETIMEDOUT);
            EXPECT_EQ(calls, at < model.count ? at + 1 : at);
            if (!error) model_take(&model, at, message);
        } else {
            while (at < model.count && model.tags[at] != tag)
                at++;
            int error = weft_recv_tag(tag, &message, 0);
            EXPECT_EQ(error, at < model.count ? 0 : WEFT_ETIMEDOUT);
            if (!error) model_take(&model, at, message);
        }
    }
}
static void model_body(void) { EXPECT_EQ(run(against_a_model, NULL), 0); }
TEST(recv_does_as_a_list_would) { rt_each(model_body); }

/* ---- waiting -------------------------------------------------------------------------------------------------------- */

struct feed {
    weft_pid to;
    uint64_t others; /* that come before the one that is waited for */
};

static void feeder(void *arg) {
    struct feed *feed = arg;
    for (uint64_t i = 0; i < feed->others; i++) {
        EXPECT_EQ(weft_send(feed->to, 1, &i, sizeof i), 0);
        if (i % 7 == 0) weft_yield();
    }
    EXPECT_EQ(weft_send(feed->to, 2, NULL, 0), 0);
}

static void waits_for_a_tag(void *unused) {
    struct feed feed = {weft_self(), 1000};
    (void)unused;
    for (unsigned round = 0; round < 3; round++) {
        weft_pid pid = weft_spawn(feeder, &feed);
        expect_tag(2);
        for (uint64_t i = 0; i < feed.others; i++) {
            weft_msg *message;
            EXPECT_EQ(weft_recv(&message, 0), 0);
            EXPECT_EQ(msg_u64(message), i);
            EXPECT(weft_msg_from(message) == pid);
            weft_msg_free(message);
        }
        run_join(pid);
    }
}
static void waits_body(void) { EXPECT_EQ(run(waits_for_a_tag, NULL), 0); }
TEST(recv_tag_waits_while_others_come) { rt_each(waits_body); }

/* What was put by when a tag was looked for is not looked at again for that tag: here it is given that very tag behind the receiver's back. */
static void retag_saved(uint64_t tag) {
    for (struct mpsc_node *node = fiber_of(worker_here()->current)->mailbox.saved; node; node = node->next)
        message_of(node)->tag = tag;
}
static void looks_once(void *unused) {
    enum { IN_THE_WAY = 1000, RECEIVES = 100 };
    weft_msg *message;
    (void)unused;
    for (unsigned i = 0; i < IN_THE_WAY; i++)
        send_self(1);
    for (uint64_t i = 0; i < RECEIVES; i++) {
        EXPECT_EQ(weft_recv_tag(2, &message, 0), WEFT_ETIMEDOUT);
        retag_saved(2);
        EXPECT_EQ(weft_send(weft_self(), 2, &i, sizeof i), 0);
        EXPECT_EQ(weft_recv_tag(2, &message, WEFT_FOREVER), 0);
        EXPECT_EQ(msg_u64(message), i);
        weft_msg_free(message);
        retag_saved(1);
        send_self(1);
    }
    for (unsigned i = 0; i < IN_THE_WAY + RECEIVES; i++)
        expect_next(1);
}
static void looks_once_body(void) { EXPECT_EQ(run(looks_once, NULL), 0); }
TEST(recv_tag_does_not_look_at_the_same_messages_again) { rt_each(looks_once_body); }

static void late(void *unused) {
    weft_msg *message;
    (void)unused;
    send_self(1);
    uint64_t begin = weft_now();
    EXPECT_EQ(weft_recv_tag(2, &message, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT(weft_now() - begin >= 5 * WEFT_MILLISECOND);
    expect_next(1);
    EXPECT_EQ(weft_recv(&message, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_recv_tag(2, &message, weft_now()), WEFT_ETIMEDOUT);
}
static void late_body(void) { EXPECT_EQ(run(late, NULL), 0); }
TEST(recv_keeps_its_deadline) { rt_each(late_body); }

static void is_cancelled(void *how) {
    weft_msg *message;
    unsigned calls = 0;
    switch ((uintptr_t)how) {
    case 0: EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), WEFT_ECANCELED); break;
    case 1: EXPECT_EQ(weft_recv_tag(2, &message, WEFT_FOREVER), WEFT_ECANCELED); break;
    case 2: EXPECT_EQ(weft_recv_tag(2, &message, weft_in(60 * WEFT_SECOND)), WEFT_ECANCELED); break;
    default: EXPECT_EQ(weft_recv_match(is_even, &calls, &message, WEFT_FOREVER), WEFT_ECANCELED); break;
    }
}
static void cancels(void *unused) {
    (void)unused;
    for (uintptr_t how = 0; how < 4; how++) {
        weft_pid pid = weft_spawn(is_cancelled, (void *)how);
        if (how > 0) weft_send(pid, 1, NULL, 0); /* not what it wants; it is freed with the process */
        run_others();
        EXPECT_EQ(weft_cancel(pid), 0);
        run_join(pid);
    }
}
static void cancels_body(void) { EXPECT_EQ(run(cancels, NULL), 0); }
TEST(recv_is_cancelled) { rt_each(cancels_body); }

/* ---- stress: everything that was sent is received once, in order for each sender and tag ---------------------------------- */

enum { SENDERS = 8, TAGS = 3 };
struct crowd {
    weft_pid to;
    uint64_t each;
};
static void crowd_member(void *arg) {
    struct crowd *crowd = arg;
    for (uint64_t i = 0; i < crowd->each; i++) {
        EXPECT_EQ(weft_send(crowd->to, i % TAGS, &i, sizeof i), 0);
        if (i % 16 == 0) weft_yield();
    }
}
static void picks_from_a_crowd(void *unused) {
    static uint64_t last[TAGS][SENDERS];
    struct crowd crowd = {weft_self(), 3000 / RT_SLOW * test_scale()};
    weft_pid members[SENDERS];
    (void)unused;
    memset(last, 0, sizeof last);
    for (unsigned i = 0; i < SENDERS; i++)
        members[i] = weft_spawn(crowd_member, &crowd);
    for (unsigned tag = TAGS; tag-- > 0;)
        for (uint64_t i = 0; i < (crowd.each + TAGS - 1 - tag) / TAGS * SENDERS; i++) {
            weft_msg *message;
            unsigned from = 0;
            EXPECT_EQ(weft_recv_tag(tag, &message, WEFT_FOREVER), 0);
            while (members[from] != weft_msg_from(message))
                from++;
            EXPECT_EQ(msg_u64(message), last[tag][from] * TAGS + tag);
            last[tag][from]++;
            weft_msg_free(message);
        }
    for (unsigned i = 0; i < SENDERS; i++)
        run_join(members[i]);
    weft_msg *none;
    EXPECT_EQ(weft_recv(&none, 0), WEFT_ETIMEDOUT);
}
static void crowd_body(void) { EXPECT_EQ(run(picks_from_a_crowd, NULL), 0); }
TEST(recv_tag_from_a_crowd) { rt_each(crowd_body); }

/* ---- into memory of one's own ----------------------------------------------------------------------------------------------- */

struct order {
    uint32_t number, amount;
    char note[8];
};
static atom_u64 releases;
static void counts_release(void *buffer, size_t size, void *user) {
    (void)buffer, (void)size, (void)user;
    atom_add_rel(&releases, 1);
}
static void asks_for_double(void *arg) {
    weft_msg *reply;
    uint32_t value = 21;
    EXPECT_EQ(weft_call(*(weft_pid *)arg, 9, &value, sizeof value, &reply, WEFT_FOREVER), 0);
    EXPECT_EQ(*(uint32_t *)weft_msg_data(reply), 42);
    weft_msg_free(reply);
}
static void receives_into(void *unused) {
    weft_pid self = weft_self();
    weft_envelope envelope;
    struct order sent = {7, 8, "apples"}, got = {0};
    uint32_t value = 5;
    (void)unused;
    EXPECT_EQ(weft_recv_into(&got, sizeof got, &envelope, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_send(self, 3, &sent, sizeof sent), 0);
    EXPECT_EQ(weft_recv_into(&got, sizeof got, &envelope, WEFT_FOREVER), 0);
    EXPECT(memcmp(&got, &sent, sizeof got) == 0);
    EXPECT(envelope.request.from == self && envelope.request.tag == 3 && envelope.request.reference == 0);
    EXPECT_EQ(envelope.size, sizeof sent);
    /* Cut off, and not an envelope; too short; nothing at all. */
    EXPECT_EQ(weft_send(self, 3, &sent, sizeof sent), 0);
    EXPECT_EQ(weft_recv_into(&value, sizeof value, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(value, 7);
    EXPECT_EQ(weft_send(self, 3, &sent, 4), 0);
    got.amount = 99;
    EXPECT_EQ(weft_recv_into(&got, sizeof got, &envelope, WEFT_FOREVER), 0);
    EXPECT(envelope.size == 4 && got.amount == 99);
    EXPECT_EQ(weft_send(self, 4, NULL, 0), 0);
    EXPECT_EQ(weft_recv_into(NULL, 0, &envelope, WEFT_FOREVER), 0);
    EXPECT(envelope.size == 0 && envelope.request.tag == 4);
    /* A buffer that was moved is released at once. */
    uint64_t before = atom_load_acq(&releases);
    EXPECT_EQ(weft_send_move(self, 5, &sent, sizeof sent, counts_release, NULL), 0);
    EXPECT_EQ(weft_recv_into(&got, sizeof got, &envelope, WEFT_FOREVER), 0);
    EXPECT(envelope.size == sizeof sent && got.amount == 8 && atom_load_acq(&releases) == before + 1);
    /* A request can be answered. */
    weft_pid asker = weft_spawn_joinable(asks_for_double, &self);
    EXPECT_EQ(weft_recv_into(&value, sizeof value, &envelope, WEFT_FOREVER), 0);
    value *= 2;
    EXPECT_EQ(weft_reply(envelope.request, &value, sizeof value), 0);
    EXPECT_EQ(weft_join(asker, NULL, WEFT_FOREVER), 0);
}
static void into_body(void) { run(receives_into, NULL); }
TEST(recv_into_memory_of_ones_own) { rt_each(into_body); }

/* ---- killed while it receives -------------------------------------------------------------------------------------------------- */

/* A process that never waits is made to yield inside of weft_recv. If it is killed there, what it has in hand is not the message. */
static weft_msg *in_hand;
static atom_u64 killed_in_hand;
static void has_nothing_in_hand(void *unused) {
    (void)unused;
    EXPECT(!in_hand);
    atom_add_rel(&killed_in_hand, 1);
}
static void takes_in_hand(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_defer(has_nothing_in_hand, NULL), 0);
    while (weft_recv(&in_hand, WEFT_FOREVER) == 0) {
        weft_msg_free(in_hand);
        in_hand = NULL;
    }
}
static void killed_receiving(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 20; i++) {
        weft_pid pid = weft_spawn_joinable(takes_in_hand, NULL);
        for (unsigned k = 0; k < 1000; k++)
            EXPECT_EQ(weft_send(pid, k, "some bytes", 10), 0);
        weft_yield(); /* with one worker: it receives 64, and gives way */
        EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    }
    EXPECT(atom_load_acq(&killed_in_hand) > 0); /* some may have been killed before they began */
}
TEST(recv_when_it_is_killed_leaves_nothing_in_hand) {
    rt_start("ring", 1);
    EXPECT_EQ(run(killed_receiving, NULL), 0);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
