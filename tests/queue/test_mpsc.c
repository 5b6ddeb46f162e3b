#include "queue/mpsc.h"

#include "crew.h"
#include "queue/parker.h"

struct message {
    struct mpsc_node node; /* first, so that a node's address is the message's */
    uint64_t number;
};

static struct mpsc box;

static uint64_t number_of(struct mpsc_node *node) { return ((struct message *)node)->number; }

/* ---- One thread ------------------------------------------------------------------------------------------------ */

TEST(mpsc_is_two_pointers) { EXPECT_EQ(sizeof(struct mpsc), 2 * sizeof(void *)); }

TEST(mpsc_is_first_in_first_out) {
    struct message m[5];
    mpsc_init(&box);
    EXPECT(mpsc_is_empty(&box));
    EXPECT(mpsc_pop(&box) == NULL);
    EXPECT_EQ(mpsc_push(&box, &m[0].node), MPSC_PUSHED_FIRST);
    EXPECT_EQ(mpsc_push(&box, &m[1].node), MPSC_PUSHED);
    EXPECT(!mpsc_is_empty(&box));
    EXPECT(mpsc_pop(&box) == &m[0].node);
    EXPECT(!mpsc_is_empty(&box));
    EXPECT_EQ(mpsc_push(&box, &m[2].node), MPSC_PUSHED_FIRST); /* since the consumer last took all */
    EXPECT_EQ(mpsc_push(&box, &m[3].node), MPSC_PUSHED);
    EXPECT(mpsc_pop(&box) == &m[1].node);
    EXPECT(mpsc_pop(&box) == &m[2].node);
    EXPECT_EQ(mpsc_push(&box, &m[4].node), MPSC_PUSHED_FIRST);
    EXPECT(mpsc_pop(&box) == &m[3].node);
    EXPECT(mpsc_pop(&box) == &m[4].node);
    EXPECT(mpsc_is_empty(&box));
    EXPECT(mpsc_pop(&box) == NULL);
}

TEST(mpsc_unheard_pushes_leave_the_wake_up_to_the_next) {
    struct message m[5];
    mpsc_init(&box);
    EXPECT_EQ(mpsc_push_unheard(&box, &m[0].node), MPSC_PUSHED);
    EXPECT(!mpsc_is_empty(&box));
    EXPECT_EQ(mpsc_push_unheard(&box, &m[1].node), MPSC_PUSHED);
    EXPECT_EQ(mpsc_push(&box, &m[2].node), MPSC_PUSHED_FIRST);
    EXPECT_EQ(mpsc_push_unheard(&box, &m[3].node), MPSC_PUSHED);
    EXPECT_EQ(mpsc_push(&box, &m[4].node), MPSC_PUSHED); /* the consumer has been woken */
    for (unsigned i = 0; i < 5; i++)
        EXPECT(mpsc_pop(&box) == &m[i].node);
    EXPECT(mpsc_pop(&box) == NULL);
    EXPECT_EQ(mpsc_push_unheard(&box, &m[0].node), MPSC_PUSHED);
    EXPECT(mpsc_close(&box) == &m[0].node && m[0].node.next == NULL);
    EXPECT_EQ(mpsc_push_unheard(&box, &m[1].node), MPSC_CLOSED);
}

TEST(mpsc_close_returns_the_rest_in_order) {
    struct message m[6];
    mpsc_init(&box);
    for (unsigned i = 0; i < 3; i++)
        mpsc_push(&box, &m[i].node);
    EXPECT(mpsc_pop(&box) == &m[0].node);
    mpsc_push(&box, &m[3].node);
    mpsc_push(&box, &m[4].node);
    EXPECT(!mpsc_is_closed(&box));
    struct mpsc_node *rest = mpsc_close(&box);
    for (unsigned i = 1; i < 5; i++, rest = rest->next)
        EXPECT(rest == &m[i].node);
    EXPECT(rest == NULL);
    EXPECT(mpsc_is_closed(&box) && mpsc_is_empty(&box));
    m[5].number = 5;
    EXPECT_EQ(mpsc_push(&box, &m[5].node), MPSC_CLOSED);
    EXPECT_EQ(m[5].number, 5);
    EXPECT(mpsc_pop(&box) == NULL);
    EXPECT(mpsc_close(&box) == NULL);
    EXPECT(mpsc_is_closed(&box));
}

TEST(mpsc_take_all_and_put_back) {
    struct message m[5];
    mpsc_init(&box);
    EXPECT(mpsc_take_all(&box) == NULL);
    for (unsigned i = 0; i < 3; i++)
        mpsc_push(&box, &m[i].node);
    struct mpsc_node *list = mpsc_take_all(&box);
    EXPECT(list == &m[0].node && list->next == &m[1].node && m[1].node.next == &m[2].node && !m[2].node.next);
    EXPECT(mpsc_is_empty(&box));
    mpsc_put_back(&box, &m[1].node); /* the first was used */
    EXPECT(!mpsc_is_empty(&box));
    EXPECT_EQ(mpsc_push(&box, &m[3].node), MPSC_PUSHED_FIRST);
    list = mpsc_take_all(&box); /* what was put back comes first, alone */
    EXPECT(list == &m[1].node && !m[2].node.next);
    EXPECT(mpsc_take_all(&box) == &m[3].node);
    mpsc_put_back(&box, NULL);
    EXPECT(mpsc_take_all(&box) == NULL && mpsc_is_empty(&box));
    mpsc_push(&box, &m[4].node);
    EXPECT(mpsc_close(&box) == &m[4].node);
    EXPECT(mpsc_take_all(&box) == NULL);
}

/* Hints (M9) are seen in no list that is taken out, wherever the messages lie: near each other, and farther away than a hint can say. */
static void expect_in_order(struct mpsc_node *list, struct message *const *pushed, unsigned count) {
    for (unsigned i = 0; i < count; i++, list = list->next)
        EXPECT(list == &pushed[i]->node);
    EXPECT(list == NULL);
}
static void count_message(struct mpsc_node *node, void *user) {
    unsigned *count = user;
    EXPECT((uintptr_t)node >> 48 == 0);
    ++*count;
}
TEST(mpsc_hints_are_seen_by_none) {
    enum { MESSAGES = 100, APART = 1 << 22 };
    struct ahead_trail trail = {0};
    struct message *pushed[MESSAGES];
    unsigned char *memory = malloc((size_t)MESSAGES * APART);
    struct rng rng;
    rng_seed(&rng, test_seed(1), 0);
    EXPECT(memory);
    for (unsigned round = 0; round < 30; round++) {
        unsigned count = 1 + rng_below(&rng, MESSAGES), visited = 0;
        size_t apart = round % 3 == 0 ? 64 : round % 3 == 1 ? 4096 : APART;
        mpsc_init(&box);
        for (unsigned i = 0; i < count; i++) {
            unsigned at = rng_below(&rng, i + 1);
            pushed[i] = pushed[at];
            pushed[at] = (struct message *)(memory + i * apart);
        }
        for (unsigned i = 0; i < count; i++)
            EXPECT_EQ(mpsc_push_trailing(&box, &pushed[i]->node, i % 7 == 3 ? NULL : &trail), i == 0 ? MPSC_PUSHED_FIRST : MPSC_PUSHED);
        mpsc_each(&box, count_message, &visited);
        EXPECT_EQ(visited, count);
        expect_in_order(round % 2 ? mpsc_take_all(&box) : mpsc_close(&box), pushed, count);
    }
    free(memory);
}
TEST(mpsc_hints_say_where_an_earlier_one_lies) {
    static _Alignas(64) unsigned char memory[64 * 64];
    struct ahead_trail trail = {0};
    for (unsigned i = 0; i < 64; i++)
        if (i < AHEAD_FAR) ahead_hint(&trail, memory + (63 - i) * 64);
        else EXPECT_EQ(ahead_hint(&trail, memory + (63 - i) * 64), AHEAD_FAR);
    ahead_hint(&trail, (void *)(UINT64_C(1) << 46)); /* too far for a hint, and then so are those that it went before */
    for (unsigned i = 1; i < AHEAD_FAR; i++)
        ahead_hint(&trail, memory);
    EXPECT_EQ(ahead_hint(&trail, memory), 0);
}

TEST(mpsc_handed_over_comes_first) {
    struct message m[3];
    mpsc_init(&box);
    EXPECT(mpsc_is_clear(&box));
    mpsc_hand_over(&box, &m[0].node);
    EXPECT(mpsc_is_clear(&box) && !mpsc_is_empty(&box));
    EXPECT_EQ(mpsc_push(&box, &m[1].node), MPSC_PUSHED_FIRST);
    EXPECT_EQ(mpsc_push(&box, &m[2].node), MPSC_PUSHED);
    EXPECT(!mpsc_is_clear(&box));
    struct mpsc_node *list = mpsc_take_all(&box); /* a single message and all that came since */
    EXPECT(list == &m[0].node && list->next == &m[1].node && m[1].node.next == &m[2].node && !m[2].node.next);
    mpsc_hand_over(&box, &m[0].node);
    EXPECT(mpsc_pop(&box) == &m[0].node && mpsc_pop(&box) == NULL);
    mpsc_hand_over(&box, &m[1].node);
    EXPECT(mpsc_close(&box) == &m[1].node && !mpsc_is_clear(&box));
}

/* A detour that keeps one message, and takes none but `wanted`. */
static struct message *wanted, *kept;
static enum mpsc_pushed detour_push(struct mpsc_detour *detour, struct mpsc *of, struct mpsc_node *node) {
    EXPECT(of == &box);
    if (node != &wanted->node) return MPSC_DIVERTED;
    kept = wanted;
    atom_store_rlx(&detour->queued, 1);
    return MPSC_PUSHED_FIRST;
}
static struct mpsc_node *detour_take(struct mpsc_detour *detour, unsigned most) {
    struct message *taken = kept;
    EXPECT(most == 1 || most == MPSC_DETOUR_MOST);
    kept = NULL;
    atom_store_rlx(&detour->queued, 0);
    if (taken) taken->node.next = NULL;
    return taken ? &taken->node : NULL;
}
static struct mpsc_node *detour_close(struct mpsc_detour *detour) { return detour_take(detour, 1); }

TEST(mpsc_diverted) {
    static struct message m[3];
    struct mpsc_detour detour = {.push = detour_push, .take = detour_take, .close = detour_close};
    mpsc_divert(&box, &detour);
    wanted = &m[1];
    EXPECT(mpsc_detour(&box) == &detour && !mpsc_is_closed(&box) && mpsc_is_empty(&box));
    EXPECT_EQ(mpsc_push(&box, &m[0].node), MPSC_DIVERTED);
    EXPECT_EQ(mpsc_push(&box, &m[1].node), MPSC_PUSHED_FIRST);
    EXPECT(!mpsc_is_empty(&box));
    EXPECT(mpsc_pop(&box) == &m[1].node && mpsc_pop(&box) == NULL && mpsc_is_empty(&box));
    EXPECT_EQ(mpsc_push(&box, &m[1].node), MPSC_PUSHED_FIRST);
    EXPECT(mpsc_take_all(&box) == &m[1].node);
    mpsc_put_back(&box, &m[1].node); /* comes before what the detour has */
    wanted = &m[2];
    EXPECT_EQ(mpsc_push_unheard(&box, &m[2].node), MPSC_PUSHED_FIRST);
    EXPECT(mpsc_close(&box) == &m[1].node && m[1].node.next == &m[2].node && m[2].node.next == NULL);
    EXPECT(mpsc_is_closed(&box) && mpsc_detour(&box) == NULL);
    EXPECT_EQ(mpsc_push(&box, &m[2].node), MPSC_CLOSED);
    EXPECT(mpsc_close(&box) == NULL);
}

TEST(mpsc_close_of_an_empty_box) {
    mpsc_init(&box);
    EXPECT(mpsc_close(&box) == NULL);
    EXPECT(mpsc_is_closed(&box) && mpsc_is_empty(&box));
    mpsc_init(&box);
    EXPECT(!mpsc_is_closed(&box));
}

/* ---- Threads: every message is received, returned or refused, in each producer's order; the consumer sleeps through none
 * ---- */

enum { PRODUCERS = 3 };

static struct message *stress_messages;
static uint64_t stress_each, stress_seed, stress_close_after;
static struct parker parker;
static atom_u64 refused[PRODUCERS]; /* number of the first message refused */

static void stress_produce(unsigned self) {
    struct rng rng;
    struct ahead_trail trail = {0};
    unsigned producer = self - 1;
    rng_seed(&rng, stress_seed, self);
    atom_store_rlx(&refused[producer], stress_each);
    for (uint64_t i = 0; i < stress_each; i++) {
        struct message *message = &stress_messages[producer * stress_each + i];
        message->number = i;
        switch (mpsc_push_trailing(&box, &message->node, &trail)) {
        case MPSC_PUSHED_FIRST: parker_unpark(&parker); break;
        case MPSC_PUSHED: break;
        case MPSC_DIVERTED:
        case MPSC_CLOSED: atom_store_rlx(&refused[producer], i); return;
        }
        crew_stumble(&rng, 256);
    }
}

static uint64_t expected[PRODUCERS]; /* the number of the next message of each */

static void stress_got(struct mpsc_node *node) {
    uint64_t producer = (uint64_t)((struct message *)node - stress_messages) / stress_each;
    EXPECT(producer < PRODUCERS);
    EXPECT_EQ(number_of(node), expected[producer]);
    expected[producer]++;
}

static void stress_consume(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    for (uint64_t received = 0; received < stress_close_after; received++) {
        struct mpsc_node *node;
        while (!(node = mpsc_pop(&box)))
            EXPECT_EQ(parker_park(&parker, SYS_FOREVER), 0);
        stress_got(node);
        crew_stumble(&rng, 256);
    }
    for (struct mpsc_node *rest = mpsc_close(&box), *next; rest; rest = next) {
        next = rest->next;
        stress_got(rest);
    }
}

static void stress(uint64_t each, uint64_t close_after) {
    stress_each = each;
    stress_close_after = close_after;
    stress_messages = calloc(PRODUCERS * each, sizeof *stress_messages);
    EXPECT(stress_messages != NULL);
    mpsc_init(&box);
    parker_init(&parker);
    for (unsigned i = 0; i < PRODUCERS; i++)
        expected[i] = 0;
    crew_run(PRODUCERS + 1, stress_consume, stress_produce);
    for (unsigned i = 0; i < PRODUCERS; i++)
        EXPECT_EQ(expected[i], atom_load_rlx(&refused[i]));
    free(stress_messages);
}

TEST_WITHIN(mpsc_stress, 120) {
    stress_seed = test_seed(20240505);
    uint64_t each = UINT64_C(1000000) * test_scale();
    stress(each, PRODUCERS * each);
}

TEST_WITHIN(mpsc_stress_close, 120) {
    stress_seed = test_seed(20240506);
    for (unsigned i = 0; i < 300 * test_scale(); i++)
        stress(100, 1 + stress_seed++ % 250);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
