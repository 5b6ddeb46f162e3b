/* What a stackful process does to itself: yield, exit, shield itself, see that it was cancelled. */
#include "fiber/ending.h"
#include "fiber/exceptions.h"
#include "fiber/ret_jump.h"
#include "life/spawn.h"
#include "life/ties.h"
#include "sched/atfork.h"
#include "sched/heed.h"
#include "sched/newborn.h"

struct worker *fiber_worker_leaving(const char *call) {
    struct worker *worker = my_worker;
    struct proc *proc = worker ? worker->current : NULL;
    if (__builtin_expect(proc && proc->stackful == PROC_STACKFUL, 1)) return worker;
    if (worker) local_check(&worker->local, call); /* a signal handler may find a process that has no stack yet */
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

struct worker *fiber_caller(const char *call) {
    struct worker *worker = fiber_worker(call);
    heed(worker);
    return worker;
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

/* fiber_worker: a signal handler may have interrupted the end of a process, which has no stack any more. */
static __attribute__((noinline, cold)) void weft_yield_heeds(void) { fiber_heed(fiber_worker("weft_yield")); }

__attribute__((flatten)) void weft_yield(void) {
    struct worker *worker = fiber_worker_leaving("weft_yield");
    if (__builtin_expect(state_is_cancelled(&worker->current->state), 0)) weft_yield_heeds();
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
 * would be std::terminate, so the process is spared. One that has made 100 such calls, or a million that only give something back, as
 * destructors do, is not ending. The two are counted apart, in one word: after 100 calls it is the next call that ends the process, and not
 * the destructor that gives something back before that. */
enum { HEEDS_GIVES = 1, HEEDS_CALL = 1 << 20, HEEDS_GIVES_MOST = 1000000, HEEDS_CALLS_MOST = 100 };
_Static_assert(HEEDS_GIVES_MOST < HEEDS_CALL && (HEEDS_CALLS_MOST + 1) < FIBER_WHOLE / HEEDS_CALL, "each count has room");
static bool fiber_keeps_calling(struct fiber *fiber, uint32_t cost) {
    if (!exceptions_are_known()) return true;
    bool most = cost == HEEDS_CALL ? fiber->heeds / HEEDS_CALL >= HEEDS_CALLS_MOST : fiber->heeds % HEEDS_CALL >= HEEDS_GIVES_MOST;
    if (!most) fiber->heeds += cost;
    return most;
}

/* Not in a fork/join region: thieves may be using its frames. rlx: a request. */
static void fiber_heed_at(struct worker *worker, uint32_t cost) {
    struct proc *proc = worker->current;
    if (!fiber_is_cancelled(proc) || proc->extras & PROC_TASKS) return;
    bool condemned = state_condemned(&proc->state);
    if (!condemned && !atom_load_rlx(&worker->runtime->forcing)) return;
    if (fiber_of(proc)->heeds >= FIBER_WHOLE) return;
    if (fiber_keeps_calling(fiber_of(proc), cost)) fiber_quit(condemned ? REASON_CONDEMNED : WEFT_EKILLED);
}

void fiber_heed(struct worker *worker) { fiber_heed_at(worker, HEEDS_CALL); }

void fiber_refused(struct worker *worker) {
    struct fiber *fiber = fiber_of(worker->current);
    if (!fiber_is_condemned(worker->current) || fiber->heeds >= FIBER_WHOLE) return;
    if (fiber->heeds / HEEDS_CALL < BUDGET_CALLS) fiber->heeds += HEEDS_CALL;
    else fiber_heed(worker);
}

/* In a signal handler: the call itself refuses that, or it is one of those that a handler may make. */
static bool fiber_in_handler(const struct worker *worker) { return ctx_sp() - worker->local.closed < worker->local.closed_size; }

void fiber_heed_call(struct worker *worker, bool after) {
    if (worker->current->stackful == PROC_STACKFUL && !fiber_in_handler(worker)) fiber_heed_at(worker, after ? HEEDS_GIVES : HEEDS_CALL);
}

void fiber_keep(struct proc *proc, bool on) {
    if (proc) fiber_of(proc)->shields += on ? FIBER_KEPT : -(unsigned)FIBER_KEPT;
}

__attribute__((noinline, cold)) void fiber_take_turns_slow(struct worker *worker, uint64_t deadline) {
    struct proc *proc = worker->current;
    if (!proc || proc->stackful != PROC_STACKFUL) return;
    local_check(&worker->local, "a call that may wait"); /* a signal handler may find a current process without a stack */
    if (state_condemned(&proc->state)) fiber_heed(worker);
    bool may = deadline != 0 && fiber_of(proc)->held_locks == 0; /* else at the first call with a deadline, or after it has unlocked them */
    if (may || worker_shall_give_way(worker)) fiber_give_way();
}

void weft_checkpoint(void) { fiber_take_turns(my_worker); }

void fiber_quit_here(int reason) {
    struct proc *proc = worker_here()->current;
    fiber_of(proc)->ending = reason;
    if (proc->extras & PROC_FAREWELL) cleanup_run(proc, false);
    fiber_exit(worker_here(), reason);
}

void fiber_quit(int reason) {
    if (exceptions_are_known()) ending_unwind(worker_here(), reason);
    fiber_quit_here(reason);
}

/* The worker of the calling process, which may end here. */
static struct worker *fiber_worker_ending(const char *call) {
    struct worker *worker = fiber_worker(call);
    if (__builtin_expect(worker->current->extras & PROC_TASKS, 0))
        WEFT_MISUSE(call, "called in a task, whose result its parent waits for", "return from the task");
    return worker;
}

/* A process that was killed, or whose link has ended, has that as its reason, and not what it makes of it; in a deferred function neither,
 * where it is shielded. */
static int fiber_reason(struct worker *worker, int code) {
    struct fiber *fiber = fiber_of(worker->current);
    bool condemned = fiber->shields >= FIBER_DYING ? fiber->ending == REASON_CONDEMNED : fiber_is_condemned(worker->current);
    return condemned ? REASON_CONDEMNED : code;
}

void weft_exit(int reason) { fiber_quit(fiber_reason(fiber_worker_ending("weft_exit"), reason)); }

void weft_exit_with(int code, const void *data, size_t size) {
    struct worker *worker = fiber_worker_ending("weft_exit_with");
    ties_leave_detail(worker->runtime, worker->current, data && size > 0 ? reason_detail_new(code, 0, NULL, data, size) : NULL);
    fiber_quit(fiber_reason(worker, code));
}

bool weft_cancelled(void) { return fiber_is_cancelled(fiber_caller("weft_cancelled")->current); }
void weft_shield_begin(void) { fiber_of(fiber_caller("weft_shield_begin")->current)->shields++; }
void weft_shield_end(void) {
    struct fiber *fiber = fiber_of(fiber_worker("weft_shield_end")->current);
    if (fiber->shields % FIBER_KEPT == 0) WEFT_REFUSE("weft_shield_end", "there was no weft_shield_begin", "pair them");
    fiber->shields--;
    fiber_was_cancelled(worker_here(), fiber->proc); /* a link may have condemned it meanwhile */
}
