/* The slow paths of WEFT_RUN, WEFT_FORK and WEFT_JOIN, on the process's own stack. */
#include "forkjoin/regions.h"
#include "wait/wait.h"

/* ---- regions of a process ----------------------------------------------------------------------------------------- */

void tasks_enter(struct proc *proc, struct region *region, struct proc *root, const char *name) {
    struct fiber *fiber = fiber_of(proc);
    region->outer = proc->extras & PROC_TASKS ? fiber->tasks : NULL;
    region->root = root;
    region->name = name;
    region->stack_class = proc->stack_class;
    fiber->tasks = region;
    proc->extras |= PROC_TASKS;
}

void tasks_leave(struct proc *proc, struct region *region) {
    struct fiber *fiber = fiber_of(proc);
    if (!region_end(region) || fiber->tasks != region)
        WEFT_MISUSE(region->name, "a task returned and had not joined all that it had forked", "let every WEFT_FORK have its WEFT_JOIN");
    fiber->tasks = region->outer;
    if (!region->outer) proc->extras &= (uint8_t)~PROC_TASKS;
}

weft_task *weft_tasks_open(const char *name) {
    struct worker *worker = fiber_worker("WEFT_RUN");
    struct proc *proc = worker->current;
    struct region *region = regions_take(worker->runtime);
    if (!region) WEFT_PANIC("no address space for the tasks of %s", name);
    tasks_enter(proc, region, proc->extras & PROC_TASKS ? fiber_of(proc)->tasks->root : proc, name);
    return region_task(region, REGION_FIRST);
}

void weft_tasks_close(weft_task **at) {
    struct region *region = region_of(*at);
    tasks_leave(worker_here()->current, region);
    regions_give(region);
}

/* Thieves look at a region from its first open task on. */
static void tasks_show(struct region *region) {
    if (atom_load_rlx(&region->active)) return; /* rlx: the owner's */
    /* rlx: ordered by the fence in ready_wake. */
    atom_add_rlx(&region->runtime->fork_regions, 1);
    atom_store_rlx(&region->active, true);
}

/* There is a task to steal: clears an earlier refusal, and wakes a worker that sleeps. */
static void tasks_offer(struct runtime *runtime) {
    struct regions *regions = atom_load_rlx(&runtime->regions);                     /* rlx: seen when the region was taken */
    if (atom_load_rlx(&regions->refused)) atom_store_rlx(&regions->refused, false); /* rlx: a hint */
    ready_wake(runtime, worker_here());
}

/* ---- fork --------------------------------------------------------------------------------------------------------- */

/* Opens the older half of the private tasks below `end`. */
static void tasks_open(struct region *region, weft_task *end) {
    tasks_show(region);
    region_open(region, end, region->grown ? REGION_PLACES - 1 : REGION_SOFT);
    tasks_offer(region->runtime);
}

void weft_task_share(weft_task *at) {
    struct region *region = region_of(at);
    if (region_is_full(region, at))
        WEFT_MISUSE("WEFT_FORK", "a process has more than 1,048,570 tasks that are not joined", "join some, or fork a tree");
    if (region_place(region, at) >= REGION_SOFT) region->grown = true;
    tasks_open(region, at + 1);
}

void weft_task_not_joined(weft_task *at) {
    WEFT_MISUSE(region_of(at)->name, "a task returned and had not joined all that it had forked", "let every WEFT_FORK have its WEFT_JOIN");
}

/* ---- join --------------------------------------------------------------------------------------------------------- */

static void tasks_wait(struct region *region, weft_task *at) {
    struct wait wait;
    wait_begin(&wait);
    if (!task_await(at, &wait)) return;
    struct fiber *fiber = fiber_of(wait.proc);
    fiber->shields += FIBER_KEPT; /* a cancelled process waits for its tasks, too: they use its memory */
    region->may_wait++;
    wait_for(&wait, WEFT_FOREVER, "WEFT_JOIN");
    region->may_wait--;
    fiber->shields -= FIBER_KEPT;
}

bool weft_task_settle(weft_task *at, weft_task_run *run) {
    struct region *region = region_of(at);
    if (at->run == run) { /* still private: a thief asked for older ones, and the caller runs this one */
        if (region_place(region, at) > region->split) tasks_open(region, at);
        return true;
    }
    uint64_t word = atom_load_rlx(task_cell(at)); /* rlx: only to report misuse */
    if (at->run || task_state_of(word) == TASK_IDLE || (task_state_of(word) == TASK_OPEN && task_address(word) != (uintptr_t)run))
        WEFT_MISUSE(region->name, "WEFT_JOIN of another task than was forked last, or of none",
                    "join the newest first, by the name that it was forked by");
    switch (region_take_back(region, at)) {
    case REGION_MINE: return true;
    case REGION_DONE: return false;
    case REGION_STOLEN: break;
    }
    tasks_wait(region, at);
    task_joined(region, at);
    return false;
}

/* ---- waiting in a task -------------------------------------------------------------------------------------------- */

void weft_task_wait_begin(weft_task *at) {
    struct region *region = region_of(at);
    region->may_wait++;
    /* While it waits this process could not answer a thief. */
    if (region_open_all(region, at) == 0) return;
    tasks_show(region);
    tasks_offer(region->runtime);
}

void weft_task_wait_end(weft_task *at) {
    struct region *region = region_of(at);
    if (region->may_wait == 0) WEFT_MISUSE("WEFT_TASK_WAIT_END", "there was no WEFT_TASK_WAIT_BEGIN", "pair them");
    region->may_wait--;
}

void tasks_may_wait(struct proc *proc, const char *call) {
    if (fiber_of(proc)->tasks->may_wait == 0)
        WEFT_MISUSE(call, "it would have to wait, in a task", "put it between WEFT_TASK_WAIT_BEGIN and WEFT_TASK_WAIT_END");
}

bool weft_fork_cancelled(void) {
    struct proc *proc = fiber_worker("weft_fork_cancelled")->current;
    if (!(proc->extras & PROC_TASKS)) return fiber_is_cancelled(proc);
    return state_is_cancelled(&fiber_of(proc)->tasks->root->state);
}
