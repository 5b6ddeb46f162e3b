/* The operations of region.h: opening, joining and stealing tasks.
 *
 * Relaxed here: `limit` and `bottom` carry nothing but themselves; `limit` is ordered by the fences of its users (T5), `bottom` is a hint
 * (T4). A state that is IDLE is written and read by the owner alone; what a thief loads decides nothing before its compare-and-swap. */
#include "forkjoin/region.h"

#include "base/assert.h"

_Static_assert(sizeof(weft_task) == 64, "a task is a cache line");
_Static_assert(offsetof(struct region, limit) == 0, "forks read the first word");
_Static_assert(sizeof(atom_u64) == sizeof(uintptr_t), "limit is an address");

void region_init(struct region *region) {
    atom_store_rlx(&region->active, false);
    region_begin(region);
}

void region_begin(struct region *region) {
    atom_store_rlx(&region->limit, 0);
    atom_store_rlx(&region->bottom, REGION_FIRST);
    region->split = REGION_FIRST;
    region->may_wait = 0;
}

bool region_end(struct region *region) {
    weft_task *first = region_task(region, REGION_FIRST);
    return !first->run && atom_load_rlx(task_cell(first)) == TASK_IDLE && region->split == REGION_FIRST;
}

/* ---- the owner ---------------------------------------------------------------------------------------------------- */

static void region_open_one(struct region *own, weft_task *task) {
    WEFT_ENSURE(atom_load_rlx(task_cell(task)) == TASK_IDLE, "a task was forked over one that was not joined");
    weft_task_run *run = task->run;
    task->run = NULL;
    /* rel: pairs with the acq in region_steal; without it the thief could read stale arguments (T2). */
    atom_store_rel(task_cell(task), task_word((uintptr_t)run, own->stack_class, TASK_OPEN));
}

/* Places [split, end). */
static void region_open_below(struct region *region, uint32_t end) {
    if (atom_load_rlx(&region->bottom) > region->split) atom_store_rlx(&region->bottom, region->split);
    while (region->split < end)
        region_open_one(region, region_task(region, region->split++));
}

void region_open(struct region *region, weft_task *end, uint32_t limit) {
    uint32_t count = region_place(region, end) - region->split, half = count - count / 2;
    /* Before the caller's fence, like the opening: if this store overwrites a thief's 0, the owner sees that thief asleep (T5). */
    atom_store_rlx(&region->limit, (uint64_t)(uintptr_t)region_task(region, limit));
    region_open_below(region, region->split + (half < REGION_OPENS ? half : REGION_OPENS));
}

uint32_t region_open_all(struct region *region, weft_task *end) {
    uint32_t place = region_place(region, end), count = place - region->split;
    region_open_below(region, place);
    return count;
}

/* The place is the owner's again. */
static void region_close(struct region *own, weft_task *at) {
    own->split = region_place(own, at);
    if (atom_load_rlx(&own->bottom) > own->split) atom_store_rlx(&own->bottom, own->split);
}

enum region_taken region_take_back(struct region *own, weft_task *at) {
    uint64_t word = atom_load_rlx(task_cell(at));
    if (task_state_of(word) == TASK_OPEN) {
        /* rlx: the owner wrote the task itself. */
        if (atom_cas_rlx_rlx(task_cell(at), &word, TASK_IDLE)) {
            region_close(own, at);
            return REGION_MINE;
        }
    }
    /* acq: pairs with the swap in task_complete; without it the owner could read a stale result (T2). */
    if (task_state_of(atom_load_acq(task_cell(at))) != TASK_DONE) return REGION_STOLEN;
    task_joined(own, at);
    return REGION_DONE;
}

bool task_await(weft_task *at, void *waiter) {
    uint64_t word = atom_load_rlx(task_cell(at));
    if (task_state_of(word) == TASK_TAKEN) {
        /* rel: pairs with the swap in task_complete, which then uses the waiter. */
        if (atom_cas_rel_rlx(task_cell(at), &word, task_word((uintptr_t)waiter, 0, TASK_WAITED))) return true;
    }
    word = atom_load_acq(task_cell(at)); /* acq: as in region_take_back */
    WEFT_ASSERT(task_state_of(word) == TASK_DONE, "a task that was taken is neither being run nor done");
    (void)word;
    return false;
}

void task_joined(struct region *own, weft_task *at) {
    atom_store_rlx(task_cell(at), TASK_IDLE); /* rlx: the thief has done with it */
    region_close(own, at);
}

/* ---- thieves ------------------------------------------------------------------------------------------------------ */

weft_task *region_steal(struct region *victim, unsigned class, weft_task_run **run) {
    uint32_t bottom = atom_load_rlx(&victim->bottom);
    for (uint32_t place = bottom; place < bottom + REGION_LOOKS && place < REGION_PLACES; place++) {
        weft_task *task = region_task(victim, place);
        uint64_t word = atom_load_rlx(task_cell(task));
        if (task_state_of(word) == TASK_IDLE) return NULL;
        if (task_state_of(word) != TASK_OPEN || task_class(word) > class) continue;
        /* acq: pairs with the rel in region_open_one (T2). The place may have been joined, used again and opened again since the load:
         * then this takes the new task. */
        if (!atom_cas_acq_rlx(task_cell(task), &word, TASK_TAKEN)) continue;
        *run = (weft_task_run *)task_address(word);
        if (atom_load_rlx(&victim->bottom) == bottom) atom_store_rlx(&victim->bottom, place + 1);
        return task;
    }
    return NULL;
}

int region_has_open(struct region *victim) {
    uint32_t bottom = atom_load_rlx(&victim->bottom);
    for (uint32_t place = bottom; place < bottom + REGION_LOOKS && place < REGION_PLACES; place++) {
        uint64_t word = atom_load_rlx(task_cell(region_task(victim, place)));
        if (task_state_of(word) == TASK_OPEN) return (int)task_class(word);
        if (task_state_of(word) == TASK_IDLE) break;
    }
    return REGION_NONE;
}

void region_ask(struct region *victim) {
    if (atom_load_rlx(&victim->limit) != 0) atom_store_rlx(&victim->limit, 0);
}

void *task_complete(weft_task *task) {
    /* rel: pairs with the acq in region_take_back and task_await (T2). acq: pairs with the rel in task_await, so that the waiter is
     * seen as its owner set it up. */
    uint64_t word = atom_swap_acqrel(task_cell(task), TASK_DONE);
    return task_state_of(word) == TASK_WAITED ? (void *)task_address(word) : NULL;
}
