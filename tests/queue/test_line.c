#include "queue/line.h"

#include "crew.h"

struct thing {
    struct line_node node; /* first, so that a node's address is the thing's */
    unsigned payload;      /* plain: belongs to the thread that got the node */
};

static struct line line, other;

static struct thing *thing_of(struct line_node *node) { return (struct thing *)node; }

/* ---- One thread ------------------------------------------------------------------------------------------------ */

enum { THINGS = 5 };
static struct thing things[THINGS];

/* A line of things[0] ... things[count - 1]. */
static void begin(unsigned count) {
    line_init(&line);
    line_init(&other);
    for (unsigned i = 0; i < THINGS; i++)
        line_node_init(&things[i].node);
    for (unsigned i = 0; i < count; i++) {
        struct line_enqueued result = line_try_enqueue(&line, &things[i].node);
        EXPECT(result.success && result.was_empty == (i == 0));
    }
}

/* The line holds exactly these, in this order: checked along both directions. */
static void expect_line(unsigned count, const unsigned *ids) {
    struct line_node *node = atom_load_rlx(&line.head), *last = NULL;
    for (unsigned i = 0; i < count; i++) {
        EXPECT(node == &things[ids[i]].node);
        EXPECT(node->prev == last);
        EXPECT(line_node_owner(node) == &line);
        last = node;
        node = node->next;
    }
    EXPECT(node == NULL);
    EXPECT(line.tail == last);
    EXPECT(line_is_empty(&line) == (count == 0));
}
#define EXPECT_LINE(...) expect_line(sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (unsigned[]){__VA_ARGS__})

static void expect_out(unsigned id) {
    EXPECT(line_node_is_free(&things[id].node));
    EXPECT(things[id].node.next == NULL && things[id].node.prev == NULL);
}

TEST(line_is_first_in_first_out) {
    begin(3);
    EXPECT_LINE(0, 1, 2);
    for (unsigned i = 0; i < 3; i++) {
        struct line_dequeued result = line_try_dequeue(&line);
        EXPECT(result.success && result.node == &things[i].node);
        expect_out(i);
    }
    struct line_dequeued result = line_try_dequeue(&line);
    EXPECT(result.success && result.node == NULL);
    expect_line(0, NULL);
}

TEST(line_tells_the_enqueue_that_found_it_empty) {
    begin(1);
    EXPECT(line_try_dequeue(&line).node == &things[0].node);
    EXPECT(line_try_enqueue(&line, &things[1].node).was_empty);
    EXPECT(!line_try_enqueue(&line, &things[0].node).was_empty);
    EXPECT_LINE(1, 0);
}

TEST(line_entry_is_the_only_one) {
    begin(1);
    EXPECT(line_try_dequeue_entry(&line, &things[0].node));
    expect_out(0);
    expect_line(0, NULL);
    EXPECT(line_try_enqueue(&line, &things[0].node).was_empty);
    EXPECT_LINE(0);
}

TEST(line_entry_is_the_head) {
    begin(3);
    EXPECT(line_try_dequeue_entry(&line, &things[0].node));
    expect_out(0);
    EXPECT_LINE(1, 2);
}

TEST(line_entry_is_in_the_middle) {
    begin(4);
    EXPECT(line_try_dequeue_entry(&line, &things[2].node));
    expect_out(2);
    EXPECT_LINE(0, 1, 3);
    EXPECT(line_try_dequeue_entry(&line, &things[1].node));
    EXPECT_LINE(0, 3);
}

TEST(line_entry_is_the_tail) {
    begin(3);
    EXPECT(line_try_dequeue_entry(&line, &things[2].node));
    expect_out(2);
    EXPECT_LINE(0, 1);
    EXPECT(line_try_enqueue(&line, &things[2].node).success);
    EXPECT_LINE(0, 1, 2);
}

TEST(line_entry_that_is_not_there) {
    begin(2);
    EXPECT(!line_try_dequeue_entry(&line, &things[2].node)); /* in no line */
    EXPECT(line_try_enqueue(&other, &things[2].node).was_empty);
    EXPECT(!line_try_dequeue_entry(&line, &things[2].node)); /* in another line */
    EXPECT(line_node_owner(&things[2].node) == &other);
    EXPECT_LINE(0, 1);
}

TEST(line_operations_fail_while_it_is_locked) {
    begin(3);
    struct line_node *head = atom_load_rlx(&line.head);
    atom_store_rlx(&line.head, &line_sentinel); /* as if a thread had stopped in the middle */
    EXPECT(!line_try_enqueue(&line, &things[4].node).success);
    EXPECT(!line_try_dequeue(&line).success);
    EXPECT(!line_try_dequeue_entry(&line, &things[1].node));
    EXPECT(!line_is_empty(&line));
    EXPECT(line_node_is_free(&things[4].node));
    atom_store_rlx(&line.head, head);
    EXPECT_LINE(0, 1, 2);
}

/* ---- Threads: every process is run by one at a time, and none gets lost ---------------------------------------- */

enum { CREW = 4, LINES = 3, PROCESSES = 40 };

static struct line lines[LINES];
static struct thing processes[PROCESSES];
static uint64_t stress_seed, stress_runs;
static atom_u64 stress_run_count;

static void stress_enqueue(struct rng *rng, struct thing *thing) {
    unsigned at = rng_below(rng, LINES);
    struct spin spin = spin_begin();
    while (!line_try_enqueue(&lines[at], &thing->node).success) {
        at = (at + 1) % LINES;
        spin_wait(&spin);
    }
}

/* One of the two ways to get a process, or NULL. */
static struct thing *stress_take(struct rng *rng) {
    struct line_node *node = &processes[rng_below(rng, PROCESSES)].node;
    if (rng_below(rng, 2) == 0) { /* this very one */
        struct line *owner = line_node_owner(node);
        return owner && line_try_dequeue_entry(owner, node) ? thing_of(node) : NULL;
    }
    return thing_of(line_try_dequeue(&lines[rng_below(rng, LINES)]).node);
}

static void stress_work(unsigned self) {
    struct rng rng;
    rng_seed(&rng, stress_seed, self);
    while (atom_load_rlx(&stress_run_count) < stress_runs) {
        struct thing *thing = stress_take(&rng);
        crew_stumble(&rng, 128);
        if (!thing) continue;
        EXPECT(line_node_is_free(&thing->node));
        thing->payload++; /* a race, and with it a wrong sum, if two run it at once */
        atom_add_rlx(&stress_run_count, 1);
        stress_enqueue(&rng, thing);
    }
}

TEST_WITHIN(line_stress, 120) {
    struct rng rng;
    stress_seed = test_seed(20240503);
    stress_runs = UINT64_C(2000000) * test_scale();
    rng_seed(&rng, stress_seed, CREW);
    for (unsigned i = 0; i < LINES; i++)
        line_init(&lines[i]);
    for (unsigned i = 0; i < PROCESSES; i++) {
        line_node_init(&processes[i].node);
        stress_enqueue(&rng, &processes[i]);
    }
    crew_run(CREW, stress_work, stress_work);
    uint64_t sum = 0, found = 0;
    for (unsigned i = 0; i < LINES; i++) {
        struct line_node *node;
        while ((node = line_try_dequeue(&lines[i]).node)) {
            sum += thing_of(node)->payload;
            found++;
        }
    }
    EXPECT_EQ(found, PROCESSES);
    EXPECT_EQ(sum, atom_load_rlx(&stress_run_count));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
