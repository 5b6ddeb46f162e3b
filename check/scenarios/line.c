/* The sentinel-locked FIFO: every shape of enqueue, dequeue and dequeue-entry at once. Each node is handed out exactly
 * once or is still in the line, the links agree at the end, and the owner field is null exactly for those that are out.
 * The payload is plain data and belongs to the thread that got the node: two at once are a race. */
#include "queue/line.h"
#include "chk.h"

#include "base/spin.h"

enum { NODES = 4 };

struct thing {
    struct line_node node; /* first, so that a node's address is the thing's */
    unsigned payload;
};

static struct thing things[NODES];
static struct line line, other_line;
SHARED unsigned char got[CHK_THREADS][NODES], in_finish[NODES];
SHARED unsigned char firsts[CHK_THREADS]; /* enqueues that were told that the line had been empty */

static unsigned id_of(struct line_node *node) { return (unsigned)((struct thing *)node - things); }

static void set_up(void) {
    line_init(&line);
    line_init(&other_line);
    for (unsigned i = 0; i < NODES; i++) {
        line_node_init(&things[i].node);
        things[i].payload = 0;
    }
    chk_name(&line.head, "head");
}

static void set_up_some(unsigned count) {
    set_up();
    for (unsigned id = 0; id < count; id++)
        line_try_enqueue(&line, &things[id].node);
}
static void set_up_1(void) { set_up_some(1); }
static void set_up_2(void) { set_up_some(2); }
static void set_up_3(void) { set_up_some(3); }

static void won(struct line_node *node) {
    chk_assert(line_node_is_free(node), "a node that is out has no owner");
    things[id_of(node)].payload++;
    got[chk_self()][id_of(node)]++;
}

/* What a scheduler's caller does when a line is locked: tries again. (It would go to another line first.) */
static void enqueue(unsigned id) {
    struct spin spin = spin_begin();
    struct line_enqueued result;
    things[id].payload++;
    while (!(result = line_try_enqueue(&line, &things[id].node)).success)
        spin_wait(&spin);
    firsts[chk_self()] += result.was_empty;
}
static void dequeue(void) {
    struct spin spin = spin_begin();
    struct line_dequeued result;
    while (!(result = line_try_dequeue(&line)).success)
        spin_wait(&spin);
    if (result.node) won(result.node);
}
static void dequeue_entry(unsigned id) {
    if (line_try_dequeue_entry(&line, &things[id].node)) won(&things[id].node);
}

/* Walks a line that no other thread touches any more. */
static void check_links(struct line *at) {
    struct line_node *prev = NULL, *node = atom_load_rlx(&at->head);
    while (node) {
        unsigned id = id_of(node);
        chk_assert(id < NODES, "the line is unlocked and holds nodes");
        chk_assert(node->prev == prev && line_node_owner(node) == at, "links and owner agree");
        chk_assert(++in_finish[id] == 1, "a node is linked once");
        prev = node;
        node = node->next;
    }
    chk_assert(at->tail == prev, "tail is the last one");
}

/* `count` nodes were linked in all, each once. */
static void finish(unsigned count) {
    check_links(&line);
    check_links(&other_line);
    for (unsigned id = 0; id < NODES; id++) {
        unsigned times = in_finish[id];
        chk_assert(line_node_is_free(&things[id].node) == !in_finish[id], "owner says whether it is in a line");
        for (unsigned i = 0; i < CHK_THREADS; i++)
            times += got[i][id];
        chk_assert(times == (id < count), "every node is handed out once or still there");
    }
}
static void finish_2(void) { finish(2); }
static void finish_3(void) { finish(3); }
static void finish_4(void) { finish(4); }

static void enqueue_0(void) { enqueue(0); }
static void enqueue_1(void) { enqueue(1); }
static void enqueue_2(void) { enqueue(2); }
static void enqueue_3(void) { enqueue(3); }
static void entry_0(void) { dequeue_entry(0); }
static void entry_1(void) { dequeue_entry(1); }
static void entry_2(void) { dequeue_entry(2); }

/* ---- enqueue || dequeue || dequeue-entry, the wanted one being ... --------------------------------------------- */

SCENARIO(line_entry_sole, .about = "the wanted node is the only one", .setup = set_up_1, .threads = {enqueue_1, dequeue, entry_0},
         .finish = finish_2)
SCENARIO(line_entry_head, .about = "the wanted node is the head of two", .setup = set_up_2, .threads = {enqueue_2, dequeue, entry_0},
         .finish = finish_3)
SCENARIO(line_entry_tail, .about = "the wanted node is the tail of two", .setup = set_up_2, .threads = {enqueue_2, dequeue, entry_1},
         .finish = finish_3)
SCENARIO(line_entry_middle, .about = "the wanted node is in the middle of three", .setup = set_up_3,
         .threads = {enqueue_3, dequeue, entry_1}, .finish = finish_4)
SCENARIO(line_entry_coming, .about = "the wanted node is just being enqueued", .setup = set_up_1, .threads = {enqueue_1, dequeue, entry_1},
         .finish = finish_2)

/* ---- More of the same kind ------------------------------------------------------------------------------------- */

SCENARIO(line_two_entries, .about = "neighbours are wanted by two threads, a third dequeues", .setup = set_up_3,
         .threads = {entry_1, entry_2, dequeue}, .finish = finish_3)
SCENARIO(line_same_entry, .about = "two threads want the same node", .setup = set_up_2, .threads = {entry_1, entry_1, enqueue_2},
         .finish = finish_3)
/* A thread that insists gets it in the end, if no other does. */
static void insist_on_1(void) {
    struct spin spin = spin_begin();
    struct line_node *node = &things[1].node;
    while (!line_node_is_free(node)) {
        if (line_try_dequeue_entry(&line, node)) {
            won(node);
            return;
        }
        spin_wait(&spin);
    }
}
SCENARIO(line_entry_insists, .about = "a thread tries until the wanted node is out", .setup = set_up_2,
         .threads = {insist_on_1, enqueue_2, dequeue}, .finish = finish_3)
static void dequeue_twice(void) {
    dequeue();
    dequeue();
}
SCENARIO(line_two_dequeuers, .about = "two enqueuers, two dequeuers, one node to begin with", .setup = set_up_1,
         .threads = {enqueue_1, enqueue_2, dequeue, dequeue}, .finish = finish_3)

/* ---- was_empty: L5 --------------------------------------------------------------------------------------------- */

static void finish_was_empty(void) {
    unsigned told = 0, emptied = 0;
    for (unsigned i = 0; i < CHK_THREADS; i++)
        told += firsts[i];
    for (unsigned id = 0; id < NODES; id++)
        for (unsigned i = 0; i < CHK_THREADS; i++)
            emptied += got[i][id];
    chk_assert(told >= 1, "an enqueue that finds the line empty is told so");
    chk_assert(told <= 1 + emptied, "no other thread is told so");
    finish(2);
}
SCENARIO(line_was_empty, .about = "two enqueues on an empty line, and a dequeuer", .setup = set_up,
         .threads = {enqueue_0, enqueue_1, dequeue}, .finish = finish_was_empty)

/* Without a dequeuer exactly one of them is told. */
static void finish_was_empty_once(void) {
    chk_assert(firsts[0] + firsts[1] == 1, "exactly one enqueue made the line non-empty");
    finish(2);
}
SCENARIO(line_was_empty_once, .about = "two enqueues on an empty line", .setup = set_up, .threads = {enqueue_0, enqueue_1},
         .finish = finish_was_empty_once)

/* ---- FIFO ------------------------------------------------------------------------------------------------------ */

static void enqueue_0_then_1(void) {
    enqueue(0);
    enqueue(1);
}
static void dequeue_in_order(void) {
    dequeue_twice();
    chk_assert(got[1][0] >= got[1][1], "one enqueuer's nodes come out in order");
}
SCENARIO(line_fifo, .about = "two nodes by one enqueuer come out in order", .setup = set_up,
         .threads = {enqueue_0_then_1, dequeue_in_order}, .finish = finish_2)

/* ---- The owner field: L3 --------------------------------------------------------------------------------------- */

/* Thread 1 watches nothing but the owner field and links the node elsewhere as soon as it is null. */
static void relink_elsewhere(void) {
    struct spin spin = spin_begin();
    while (!line_node_is_free(&things[0].node))
        spin_wait(&spin);
    chk_assert(line_try_enqueue(&other_line, &things[0].node).success, "the other line is not contended");
}
static void take_0_for_the_other(void) {
    struct line_dequeued result = line_try_dequeue(&line);
    chk_assert(result.success && result.node == &things[0].node, "only this thread takes from the line");
    /* no look at the node from here on: it may be linked again */
}
static void finish_relinked(void) {
    check_links(&line);
    check_links(&other_line);
    chk_assert(line_node_owner(&things[0].node) == &other_line && in_finish[0] == 1, "the node is in the other line");
    chk_assert(in_finish[1] == 1, "the rest of the line is as it was");
}
SCENARIO(line_relink, .about = "a node goes to another line as soon as its owner field is null", .setup = set_up_2,
         .threads = {take_0_for_the_other, relink_elsewhere}, .finish = finish_relinked)

/* Dequeue and enqueue again, on the same line, while another thread wants that node. */
static void requeue(void) {
    struct line_dequeued result = line_try_dequeue(&line);
    if (result.success && result.node) {
        ((struct thing *)result.node)->payload++;
        struct spin spin = spin_begin();
        while (!line_try_enqueue(&line, result.node).success)
            spin_wait(&spin);
    }
}
SCENARIO(line_requeue, .about = "nodes go round while others want them", .setup = set_up_2, .threads = {requeue, entry_0, entry_1},
         .finish = finish_2)
