/* Trees of processes are walked in depth, and no newborn waits for ever. Counted in steps, on one worker that the test plays. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "runtime/stop.h"
#include "sched/newborn.h"
#include "step/step.h"
#include "thread/worker.h"

/* ---- a tree --------------------------------------------------------------------------------------------------------- */

enum { CHILDREN = 10, LEVELS = RT_SLOW > 1 ? 4 : 5 };

static struct { uint64_t begun, most, ended; } tree;

/* `number` is how many levels are below it; `other` its parent. It waits until all its children have told it that they are done. */
static enum weft_status grows(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)out;
    uint32_t levels = part->number & 0xff, told = part->number >> 8;
    if (count == 0) { /* the first step */
        tree.begun++;
        if (tree.begun - tree.ended > tree.most) tree.most = tree.begun - tree.ended;
        for (unsigned i = 0; levels > 0 && i < CHILDREN; i++)
            stage_spawn(levels - 1, grows, weft_self());
    }
    told += (uint32_t)count;
    part->number = levels | told << 8;
    if (levels > 0 && told < CHILDREN) return WEFT_STEP_IDLE;
    tree.ended++;
    if (part->other != WEFT_NOBODY) EXPECT_EQ(weft_send(part->other, 1, NULL, 0), 0);
    return WEFT_STEP_DONE;
}

/* In breadth, a whole level would be begun: ten thousand. */
TEST(newborn_walks_a_tree_in_depth) {
    stage_begin(POLICY_RING, 1);
    stage_play(0);
    tree.begun = tree.most = tree.ended = 0;
    stage_spawn(LEVELS, grows, WEFT_NOBODY);
    stage_run(0);
    uint64_t all = 0;
    for (uint64_t level = 1, i = 0; i <= LEVELS; i++, level *= CHILDREN)
        all += level;
    EXPECT_EQ(tree.ended, all);
    printf("%lu processes, %lu begun and not ended at a time\n", (unsigned long)all, (unsigned long)tree.most);
    if (LEVELS == 5) EXPECT(tree.most < 5000);
    stage_end();
}

/* ---- no newborn is forgotten----------------------------------------------------------------------------------------- */

static struct { uint64_t steps, begun[2 * RING_SHORT]; } wait_;

/* Spawns two of its kind and ends: there are more and more of them. */
static enum weft_status breeds(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count, (void)out;
    if (part->number < 2 * RING_SHORT) wait_.begun[part->number] = wait_.steps;
    if (part->number == UINT32_MAX)
        for (unsigned i = 0; i < 2; i++)
            stage_spawn(UINT32_MAX, breeds, WEFT_NOBODY);
    return WEFT_STEP_DONE;
}

/* The first are buried below the newer ones, which never end. Every look round is one of GLOBAL_TICK steps, and one of 32 looks is for the
 * eldest. */
TEST(newborn_the_eldest_have_their_turn) {
    enum { ELDEST = 20 };
    stage_begin(POLICY_RING, 1);
    stage_play(0);
    wait_.steps = 0;
    memset(wait_.begun, 0xff, sizeof wait_.begun);
    for (uint32_t i = 0; i < 2 * RING_SHORT; i++)
        stage_spawn(i, breeds, WEFT_NOBODY);
    EXPECT(inject_size(&stage_worker(0)->newborn) > ELDEST);
    stage_spawn(UINT32_MAX, breeds, WEFT_NOBODY);
    for (; wait_.steps < (ELDEST + 1) * 32 * (GLOBAL_TICK + 1); wait_.steps++)
        EXPECT(stage_step(0));
    for (unsigned i = 0; i < ELDEST; i++)
        EXPECT(wait_.begun[i] < (i + 2) * 32 * (GLOBAL_TICK + 1));
    stage_end();
}

/* The ring never runs dry: after a while the newborn get their share. */
static enum weft_status goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_CONTINUE;
}
TEST(newborn_beside_those_that_always_go_on) {
    enum { NEWBORN = 2 * RING_SHORT };
    stage_begin(POLICY_RING, 1);
    stage_play(0);
    wait_.steps = 0;
    memset(wait_.begun, 0xff, sizeof wait_.begun);
    for (uint32_t i = 0; i < RING_SHORT / 2; i++)
        stage_spawn(i, goes_on, WEFT_NOBODY);
    for (unsigned i = 0; i < 2 * RING_SHORT; i++)
        EXPECT(stage_step(0));
    for (uint32_t i = 0; i < NEWBORN; i++)
        stage_spawn(i, breeds, WEFT_NOBODY);
    uint64_t bound = (GLOBAL_PATIENCE + 2) * GLOBAL_TICK + NEWBORN * (GLOBAL_TICK + 1);
    for (; wait_.steps < bound; wait_.steps++)
        EXPECT(stage_step(0));
    for (unsigned i = 0; i < NEWBORN; i++)
        EXPECT(wait_.begun[i] < bound);
    stage_end();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
