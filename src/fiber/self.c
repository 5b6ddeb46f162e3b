/* What a stackful process does to itself: yield, exit, shield itself, see that it was cancelled. */
#include "fiber/ending.h"
#include "fiber/exceptions.h"
#include "fiber/ret_jump.h"
#include "sched/atfork.h"
#include "sched/newborn.h"

struct worker *fiber_worker_leaving(const char *call) {
    struct worker *worker = my_worker;
    struct proc *proc = worker ? worker->current : NULL;
    if (__builtin_expect(proc && proc->stackful == PROC_STACKFUL, 1)) return worker;
    atfork_check(call);
    if (proc && proc->stackful)
        WEFT_MISUSE(call, "called in a function that weft has called and that must not wait: the predicate of weft_recv_match",
                    "call it before or afterwards");
    WEFT_MISUSE(call, "called outside of a stackful process", "spawn one with weft_spawn and call it there");
}

struct worker *fiber_worker(const char *call) {
    struct worker *worker = my_worker;
    if (worker) local_check(&worker->local, call); /* first: a signal handler may find a current process without a stack */
    return fiber_worker_leaving(call);
}

/* A process yields, and its worker's queue is empty: whether it goes on at once. Not while other processes are in a queue that the worker
 * serves only when it looks round: then it looks round now. (Policy deque: all processes that yield are in the global queue.) */
static inline bool fiber_stays(struct worker *worker) {
    if (tick_is_up(worker) || !newborn_is_empty(worker)) return false;
    bool queued = inject_size(&worker->runtime->inject) > 0;
    if (__builtin_expect((queued && worker->policy != POLICY_DEQUE) || find_orphans_wait(worker->runtime), 0)) tick_begin(worker, 1);
    return !queued && !tick_is_up(worker);
}

FIBER_SLOW void weft_yield_slow(struct worker *worker, struct proc *next);
FIBER_RET_JUMP(weft_yield_jump, weft_yield_slow);
FIBER_SLOW void weft_yield_slow(struct worker *worker, struct proc *next) { fiber_leave_inside(worker, WEFT_STEP_CONTINUE, next); }

__attribute__((flatten)) void weft_yield(void) {
    struct worker *worker = fiber_worker_leaving("weft_yield");
    if (__builtin_expect(state_is_cancelled(&worker->current->state), 0)) fiber_heed(worker);
    fiber_leaving(worker);
    struct proc *next = fiber_next(worker);
    if (!next && fiber_stays(worker)) local_leave(&worker->local);
    else weft_yield_jump(worker, next);
}

__attribute__((noinline, cold)) void fiber_give_way(void) {
    struct worker *worker = fiber_worker("weft_checkpoint");
    fiber_heed(worker);
    if (worker_shall_give_way(worker)) {
        fiber_heed(fiber_leave(worker, WEFT_STEP_CONTINUE));
        return;
    }
    fiber_leaving(worker);
    struct proc *next = fiber_next(worker);
    if (next || !fiber_stays(worker)) fiber_heed(fiber_leave_inside(worker, WEFT_STEP_CONTINUE, next));
    else local_leave(&worker->local);
}

/* In a program with C++ the call may come from a destructor, of a process that is ending late but as asked. Unwinding out of a destructor
 * would be std::terminate, so the process is spared. A process that makes more than HEEDS_MOST such calls is not ending. */
enum { HEEDS_MOST = 100 };
static bool fiber_keeps_calling(struct fiber *fiber) { return !exceptions_are_known() || ++fiber->heeds > HEEDS_MOST; }

/* Not in a fork/join region: thieves may be using its frames. rlx: a request. */
void fiber_heed(struct worker *worker) {
    struct proc *proc = worker->current;
    bool shall = atom_load_rlx(&worker->runtime->forcing) && fiber_is_cancelled(proc) && !(proc->extras & PROC_TASKS);
    if (shall && fiber_keeps_calling(fiber_of(proc))) fiber_quit(WEFT_EKILLED);
}

__attribute__((noinline, cold)) void fiber_take_turns_slow(struct worker *worker, uint64_t deadline) {
    struct proc *proc = worker->current;
    if (!proc || proc->stackful != PROC_STACKFUL) return;
    bool may = deadline != 0 && fiber_of(proc)->held_locks == 0; /* else at the first call with a deadline, or after it has unlocked them */
    if (may || worker_shall_give_way(worker)) fiber_give_way();
}

void weft_checkpoint(void) { fiber_take_turns(my_worker); }

void fiber_quit_here(int reason) {
    struct proc *proc = worker_here()->current;
    if (proc->extras & PROC_FAREWELL) cleanup_run(proc, false);
    fiber_exit(worker_here(), reason);
}

void fiber_quit(int reason) {
    if (exceptions_are_known()) ending_unwind(worker_here(), reason);
    fiber_quit_here(reason);
}

void weft_exit(int reason) {
    struct proc *proc = fiber_worker("weft_exit")->current;
    if (__builtin_expect(proc->extras & PROC_TASKS, 0))
        WEFT_MISUSE("weft_exit", "called in a task, whose result its parent waits for", "return from the task");
    fiber_quit(reason);
}

bool weft_cancelled(void) { return fiber_is_cancelled(fiber_worker("weft_cancelled")->current); }
void weft_shield_begin(void) { fiber_of(fiber_worker("weft_shield_begin")->current)->shields++; }
void weft_shield_end(void) {
    struct fiber *fiber = fiber_of(fiber_worker("weft_shield_end")->current);
    if (fiber->shields == 0) WEFT_MISUSE("weft_shield_end", "there was no weft_shield_begin", "pair them");
    fiber->shields--;
}
