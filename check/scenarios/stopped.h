/* A process that is stopped with its thread, and the threads that take its worker over and resume it: for scenarios of thread/stopped.h.
 *
 * `kept` stands for everything that belongs to a worker and is not locked, `own` for what is the process's: two threads that drive the one
 * or run the other at once show as a race. */
#ifndef WEFT_CHECK_SCENARIOS_STOPPED_H
#define WEFT_CHECK_SCENARIOS_STOPPED_H

#include "small_runtime.h"

#include "thread/stopped.h"
#include "thread/thread.h"

SHARED unsigned kept[2], own;
SHARED struct thread sleeper, heir;
static struct proc *proc;
static atom_u32 resumed;

/* The thread that a stopped process keeps; preempt/preempt.c has it in the process's `fiber`. */
static inline struct thread **keeper(struct proc *of) { return (struct thread **)of->inline_state; }

/* As fiber_step, of a stopped process. */
static int stopped_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    stopped_resume(out->worker, *keeper(proc));
    return 0;
}
static const weft_behavior computes = {.name = "computes", .step = stopped_step};

/* ---- setup -------------------------------------------------------------------------------------------------------- */

static inline void set_up(void) {
    small_begin(POLICY_RING, 2, 2);
    small_has_begun(0);
    small_has_begun(1);
    small_preempt();
    small->preempt.most = 1;
    atom_store_rlx(&resumed, 0);
    weft_pid pid = small_spawn(&computes);
    proc = policy_pop(small_worker(0));
    chk_assert(proc == small_proc(pid), "it runs");
    proc->stackful = true;
    sleeper.runtime = heir.runtime = small;
    parker_init(&sleeper.parker);
    parker_init(&heir.parker);
    chk_name(&small->preempt.lock, "preempt.lock");
    chk_name(&small->preempt.waiting, "waiting");
    chk_name(&small->preempt.stopped, "stopped");
    chk_name(&small->threads.away, "away");
    chk_name(&sleeper.parker.word, "sleeper's parker");
    chk_name(&heir.parker.word, "heir's parker");
    chk_name(&resumed, "resumed");
}
static inline void went_on(void) {
    chk_assert(atom_load_rlx(&resumed) == 1 && own == 2, "it goes on, once");
    chk_assert(atom_load_rlx(&small->preempt.stopped) == 0 && atom_load_rlx(&small->preempt.waiting) == 0,
               "no process is stopped any more");
    chk_assert(!small->preempt.first && !small->preempt.last, "nor in the list");
    chk_assert(atom_load_rlx(&small->threads.away) == 0, "nor away");
    chk_assert(idle_searchers(&small->idle) == 0, "no worker is counted that does not search");
    small_end();
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static inline void drive(struct worker *worker) { kept[worker->index]++; }

static inline void goes_on(struct worker *worker) {
    my_worker = worker;
    stopped_took(worker, 1);
    drive(worker);
    own++;
    atom_add_rlx(&resumed, 1);
}
static inline struct worker *wakes_up(void) {
    parker_park(&heir.parker, SYS_FOREVER);
    return my_worker = heir.given;
}
static inline void resumes_with(struct worker *worker) {
    struct proc *next = stopped_take(worker);
    if (!next) return;
    drive(worker);
    stopped_hand_back(worker, *keeper(next));
}

#endif
