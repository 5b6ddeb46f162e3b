/* The smallest programs, on every policy: a message, a ring, a tree. */
#include "runtime_helpers.h"

static atom_u64 done, total;

/* ---- one message --------------------------------------------------------------------------------------------------- */

static int once_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            EXPECT_EQ(events[i].tag, 7);
            EXPECT_EQ(events[i].size, 6);
            EXPECT(strcmp(events[i].data, "hello") == 0);
            EXPECT_EQ(events[i].from, WEFT_NOBODY);
            atom_add_rel(&done, 1);
        }
    weft_out_status(out, count > 0 ? WEFT_STEP_DONE : WEFT_STEP_IDLE);
    return 0;
}
static const weft_behavior once = {.name = "once", .step = once_step};

static void one_message(void) {
    atom_store_rlx(&done, 0);
    weft_pid pid = rt_spawn(&once);
    EXPECT_EQ(weft_send(pid, 7, "hello", 6), 0);
    rt_wait(&done, 1);
    rt_wait_until_none_lives();
    EXPECT(!weft_alive(pid));
    EXPECT_EQ(weft_send(pid, 7, "hello", 6), WEFT_ENOPROC);
}
TEST(smoke_one_message) { rt_each(one_message); }

/* ---- a ring ---------------------------------------------------------------------------------------------------------- */

struct link {
    weft_pid next;
};
static int link_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    EXPECT_EQ(size, sizeof(weft_pid));
    memcpy(&((struct link *)self)->next, input, size);
    return 0;
}
static int link_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct link *link = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        if (link->next == WEFT_NOBODY) memcpy(&link->next, events[i].data, sizeof link->next); /* closes the ring */
        else if (events[i].tag == 0) atom_add_rel(&done, 1);
        else EXPECT_EQ(weft_send(link->next, events[i].tag - 1, NULL, 0), 0);
    }
    return 0;
}
static const weft_behavior link_behavior = {.name = "link", .state_size = sizeof(struct link), .init = link_init, .step = link_step};

static void ring_of_processes(void) {
    enum { LINKS = 100, HOPS = 20000 };
    weft_pid first, pid = WEFT_NOBODY;
    atom_store_rlx(&done, 0);
    first = pid = rt_spawn_with(&link_behavior, &pid, sizeof pid);
    for (unsigned i = 1; i < LINKS; i++)
        pid = rt_spawn_with(&link_behavior, &pid, sizeof pid);
    EXPECT_EQ(weft_send(first, 1, &pid, sizeof pid), 0);
    EXPECT_EQ(weft_send(pid, HOPS / RT_SLOW, NULL, 0), 0);
    rt_wait(&done, 1);
    rt_expect_sent(HOPS / RT_SLOW + 2);
}
TEST(smoke_ring) { rt_each(ring_of_processes); }

/* ---- a tree: ten children each, the leaves are summed up ---------------------------------------------------------------- */

struct node {
    weft_pid parent;
    uint64_t number, leaves, sum;
    uint32_t waiting;
};
struct node_input {
    weft_pid parent;
    uint64_t number, leaves;
};
static const weft_behavior node_behavior;

static int node_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    const struct node_input *from = input;
    *(struct node *)self = (struct node){.parent = from->parent, .number = from->number, .leaves = from->leaves};
    return 0;
}
static void node_report(struct node *node, weft_out *out) {
    weft_out_status(out, WEFT_STEP_DONE);
    if (node->parent != WEFT_NOBODY) {
        EXPECT_EQ(weft_send(node->parent, node->sum, NULL, 0), 0);
    } else {
        atom_store_rlx(&total, node->sum);
        atom_add_rel(&done, 1);
    }
}
static int node_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct node *node = self;
    if (node->leaves == 1) {
        node->sum = node->number;
        node_report(node, out);
        return 0;
    }
    if (count == 0) {
        for (unsigned i = 0; i < 10; i++) {
            struct node_input input = {weft_self(), node->number + i * node->leaves / 10, node->leaves / 10};
            weft_pid child;
            EXPECT_EQ(weft_spawn_step(&node_behavior, &(weft_spawn_options){.input = &input, .input_size = sizeof input}, &child), 0);
        }
        node->waiting = 10;
    }
    for (size_t i = 0; i < count; i++) {
        node->sum += events[i].tag;
        node->waiting--;
    }
    if (node->waiting == 0) node_report(node, out);
    return 0;
}
static const weft_behavior node_behavior = {.name = "node", .state_size = sizeof(struct node), .init = node_init, .step = node_step};

static void tree_of_processes(void) {
    uint64_t leaves = 10000 / (RT_SLOW > 1 ? 10 : 1);
    struct node_input input = {WEFT_NOBODY, 0, leaves};
    atom_store_rlx(&done, 0);
    rt_spawn_with(&node_behavior, &input, sizeof input);
    rt_wait(&done, 1);
    EXPECT_EQ(atom_load_rlx(&total), leaves * (leaves - 1) / 2);
    rt_wait_until_none_lives();
    EXPECT_EQ(rt_stats().spawned, rt_stats().ended);
}
TEST(smoke_tree) { rt_each(tree_of_processes); }

int main(int argc, char **argv) { return test_main(argc, argv); }
