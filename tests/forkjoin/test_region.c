/* A region step by step, and under real thieves. */
#include "forkjoin/region.h"

#include "base/rng.h"
#include "queue/parker.h"
#include "sys/sys.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

static struct region *region;
static void *memory;

static void region_up(void) {
    memory = sys->vm_map(2 * WEFT_TASKS_BYTES);
    EXPECT(memory);
    region = (struct region *)(((uintptr_t)memory + WEFT_TASKS_BYTES - 1) & ~(WEFT_TASKS_BYTES - 1));
    region_init(region);
    region->stack_class = 3;
}
static void region_down(void) { sys->vm_unmap(memory, 2 * WEFT_TASKS_BYTES); }

static weft_task *at(uint32_t index) { return region_task(region, REGION_FIRST + index); }
static void dummy(weft_task *task, weft_task *unused) { (void)task, (void)unused; }
static void other(weft_task *task, weft_task *unused) { (void)task, (void)unused; }
static void push(uint32_t index, weft_task_run *run) { at(index)->run = run; }

/* ---- step by step ------------------------------------------------------------------------------------------------------------ */

TEST(region_geometry) {
    region_up();
    EXPECT_EQ(sizeof(weft_task), 64);
    EXPECT_EQ(sizeof(struct region) % 64, 0);
    EXPECT(region_of(at(0)) == region && region_of(region_task(region, REGION_PLACES - 1)) == region);
    EXPECT_EQ(region_place(region, at(5)), REGION_FIRST + 5);
    EXPECT(!region_is_full(region, region_task(region, REGION_PLACES - 2)));
    EXPECT(region_is_full(region, region_task(region, REGION_PLACES - 1)));
    EXPECT(region_end(region));
    region_down();
}

TEST(region_opens_half) {
    region_up();
    weft_task_run *run;
    EXPECT_EQ(atom_load_rlx(&region->limit), 0); /* the first fork asks */
    EXPECT(!region_steal(region, 9, &run));
    for (uint32_t i = 0; i < 5; i++)
        push(i, i == 1 ? other : dummy);
    EXPECT_EQ(region_has_open(region), REGION_NONE);
    region_open(region, at(5), 100);
    EXPECT_EQ(atom_load_rlx(&region->limit), (uint64_t)(uintptr_t)region_task(region, 100));
    EXPECT_EQ(region->split, REGION_FIRST + 3); /* three of five */
    EXPECT(!at(2)->run && at(3)->run == dummy);
    EXPECT_EQ(region_has_open(region), 3);
    EXPECT(!region_steal(region, 2, &run)); /* its stack is too small */
    EXPECT(region_steal(region, 3, &run) == at(0) && run == dummy);
    EXPECT(region_steal(region, 7, &run) == at(1) && run == other);
    EXPECT(!region_end(region));
    region_ask(region);
    EXPECT_EQ(atom_load_rlx(&region->limit), 0);
    region_open(region, at(5), 100);
    EXPECT_EQ(region->split, REGION_FIRST + 4);
    EXPECT_EQ(region_open_all(region, at(5)), 1);
    EXPECT_EQ(region_open_all(region, at(5)), 0);
    EXPECT_EQ(region_take_back(region, at(4)), REGION_MINE);
    EXPECT_EQ(region_take_back(region, at(3)), REGION_MINE);
    EXPECT_EQ(region_take_back(region, at(2)), REGION_MINE);
    EXPECT_EQ(region->split, REGION_FIRST + 2);
    EXPECT_EQ(region_take_back(region, at(1)), REGION_STOLEN);
    EXPECT(!task_complete(at(1)));
    EXPECT_EQ(region_take_back(region, at(1)), REGION_DONE);
    EXPECT_EQ(region_take_back(region, at(0)), REGION_STOLEN);
    EXPECT(task_await(at(0), &region_up));
    EXPECT(task_complete(at(0)) == (void *)&region_up);
    task_joined(region, at(0));
    EXPECT(region_end(region));
    EXPECT_EQ(atom_load_rlx(&region->bottom), REGION_FIRST);
    region_down();
}

TEST(region_waits_for_what_is_done) {
    region_up();
    weft_task_run *run;
    push(0, dummy);
    region_open(region, at(1), 100);
    EXPECT(region_steal(region, 3, &run) == at(0));
    EXPECT_EQ(region_take_back(region, at(0)), REGION_STOLEN);
    EXPECT(!task_complete(at(0)));
    EXPECT(!task_await(at(0), &region_up)); /* the thief was faster */
    task_joined(region, at(0));
    EXPECT(region_end(region));
    region_down();
}

/* A thief that looked long ago finds the place used again: what it takes is what is there. */
TEST(region_hint_goes_back) {
    region_up();
    weft_task_run *run;
    for (uint32_t round = 0; round < 3; round++) {
        push(0, dummy);
        push(1, other);
        region_open_all(region, at(2));
        EXPECT(region_steal(region, 3, &run) == at(0) && run == dummy);
        EXPECT_EQ(region_take_back(region, at(1)), REGION_MINE);
        EXPECT(!region_steal(region, 3, &run));
        push(1, dummy);
        region_open_all(region, at(2));
        EXPECT(region_steal(region, 3, &run) == at(1) && run == dummy);
        EXPECT(!task_complete(at(1)) && !task_complete(at(0)));
        EXPECT_EQ(region_take_back(region, at(1)), REGION_DONE);
        EXPECT_EQ(region_take_back(region, at(0)), REGION_DONE);
        EXPECT(region_end(region));
    }
    region_down();
}

/* ---- stress: a tree of tasks, thieves in threads -------------------------------------------------------------------------------- */

enum { THIEVES = 3, STRESS_DEPTH = 9 };
static atom_bool over;
static atom_u64 stolen;

/* The owner, with the protocol but without the macros: depth first, two children each. */
struct node {
    uint32_t depth, result;
};
static struct node *node_of(weft_task *task) { return (struct node *)&task->data; }

static uint32_t leaves_alone(uint32_t depth) { return depth == 0 ? 1 : 2 * leaves_alone(depth - 1); }
static void node_run(weft_task *task, weft_task *unused) {
    (void)unused;
    node_of(task)->result = leaves_alone(node_of(task)->depth);
}

static uint32_t leaves(uint32_t place, uint32_t depth);

static uint32_t join(uint32_t place) {
    weft_task *task = at(place);
    if (task->run) {
        task->run = NULL;
        return leaves(place, node_of(task)->depth);
    }
    enum region_taken taken = region_take_back(region, task);
    if (taken == REGION_MINE) return leaves(place, node_of(task)->depth);
    if (taken == REGION_STOLEN) {
        struct parker parker;
        parker_init(&parker);
        if (task_await(task, &parker)) EXPECT_EQ(parker_park(&parker, SYS_FOREVER), 0);
        task_joined(region, task);
    }
    return node_of(task)->result;
}

static uint32_t leaves(uint32_t place, uint32_t depth) {
    if (depth == 0) return 1;
    weft_task *task = at(place);
    EXPECT(!task->run);
    node_of(task)->depth = depth - 1;
    task->run = node_run;
    if ((uint64_t)(uintptr_t)task >= atom_load_rlx(&region->limit)) region_open(region, task + 1, 1000);
    if (depth == STRESS_DEPTH - 2) sched_yield(); /* on one core thieves have their turn here */
    uint32_t one = leaves(place + 1, depth - 1);
    return one + join(place);
}

static void *thief(void *unused) {
    (void)unused;
    weft_task_run *run;
    while (!atom_load_acq(&over)) {
        weft_task *task = region_steal(region, 3, &run);
        if (!task) {
            region_ask(region);
            sched_yield();
            continue;
        }
        run(task, NULL);
        atom_add_rlx(&stolen, 1);
        struct parker *waiter = task_complete(task);
        if (waiter) parker_unpark(waiter);
    }
    return NULL;
}

TEST(region_stress) {
    pthread_t threads[THIEVES];
    region_up();
    for (unsigned i = 0; i < THIEVES; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, thief, NULL), 0);
    for (unsigned i = 0; i < 300 * test_scale(); i++) {
        EXPECT_EQ(leaves(0, STRESS_DEPTH), 1u << STRESS_DEPTH);
        EXPECT(region_end(region));
    }
    while (atom_load_rlx(&stolen) == 0) /* they may have had no turn yet */
        EXPECT_EQ(leaves(0, STRESS_DEPTH), 1u << STRESS_DEPTH);
    atom_store_rel(&over, true);
    for (unsigned i = 0; i < THIEVES; i++)
        pthread_join(threads[i], NULL);
    region_down();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
