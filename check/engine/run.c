#include "run.h"

#include "fiber.h"
#include "loops.h"
#include "memory.h"
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct run run;

static void *host_sp;
static jmp_buf host_jump; /* a violation outside any thread */
enum { STACK_SIZE = 128 * 1024 };
static unsigned char *stacks;

const char *const flaw_name[] = {
    [CHK_NONE] = "none",
    [CHK_ASSERT] = "assertion",
    [CHK_RACE] = "data-race",
    [CHK_DEADLOCK] = "deadlock",
    [CHK_LOST_WAKEUP] = "lost-wakeup",
    [CHK_LIVELOCK] = "livelock",
    [CHK_USE_AFTER_FREE] = "use-after-free",
    [CHK_DOUBLE_FREE] = "double-free",
    [CHK_LEAK] = "leak",
    [CHK_CRASH] = "crash",
};

/* ---- switching -------------------------------------------------------------------------------------------------- */

static void to_host(void) {
    struct run_thread *self = &run.thread[run.current];
    fiber_switch(&self->sp, host_sp);
}

static void resume(unsigned t) {
    run.current = t;
    run.thread[t].state = RUN_READY;
    fiber_switch(&host_sp, run.thread[t].sp);
    run.current = 0;
}

static void leave_run(enum run_end end) {
    run.end = end;
    run.stop = true;
    if (run.current == 0) longjmp(host_jump, 1);
    to_host();
    abort();
}

void run_discard(void) {
    leave_run(RUN_DISCARDED);
    abort();
}

void run_restart(void) {
    leave_run(RUN_RESTART);
    abort();
}

void run_place(const char *what, unsigned thread, uintptr_t pc) {
    for (unsigned i = 0; i < RUN_PLACES; i++)
        if (!run.place[i].what) {
            run.place[i] = (struct place){what, thread, pc};
            return;
        }
}

void run_violation(enum chk_flaw flaw, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run.what, sizeof run.what, format, arguments);
    va_end(arguments);
    run.flaw = flaw;
    run.violator = run.current;
    leave_run(RUN_VIOLATION);
    abort();
}

static void thread_entry(void) {
    run.scenario->threads[run.current - 1]();
    run.thread[run.current].state = RUN_DONE;
    to_host();
    abort();
}

/* ---- passing events --------------------------------------------------------------------------------------------- */

static bool passed(eid e) { return eid_thread(e) == 0 || run.thread[eid_thread(e)].at > eid_index(e); }

/* A scenario that does something else the second time cannot be explored; better to say so than to be wrong. */
static void check_same(const struct event *e, enum kind kind, unsigned cell) {
    if (e->kind == kind && (kind > K_WRITE || e->cell == cell)) return;
    fprintf(stderr,
            "weft check: %s is not deterministic: thread %u does something else at its event %u when run again\n"
            "  (no clocks, no addresses in decisions, no state kept from run to run; data that threads share is SHARED "
            "or set in setup)\n",
            run.scenario->name, run.current - 1, run_at());
    exit(3);
}

/* The next event of this thread if the graph has it, else NULL when it is this thread's turn to add one. */
static struct event *next_recorded(enum kind kind, unsigned cell, bool same_step, uintptr_t pc) {
    struct graph *g = run.graph;
    unsigned t = run.current;
    struct run_thread *self = &run.thread[t];
    run.operations++;
    if (self->at < g->count[t]) {
        struct event *e = &g->event[t][self->at];
        check_same(e, kind, cell);
        while (kind == K_READ && !passed(e->rf)) {
            self->state = RUN_NEEDS_WRITE;
            to_host();
        }
        run.pc = pc;
        if (kind <= K_WRITE) memory_touch(cells[cell].address);
        self->at++;
        return e;
    }
    if (run.extending != t || (run.strategy->every_event && !same_step)) {
        self->state = RUN_AT_EDGE;
        to_host();
        run.extending = t;
    }
    run.pc = pc;
    if (kind <= K_WRITE) memory_touch(cells[cell].address); /* only now: others may have run since the thread got here */
    if (g->count[t] >= E_MAX - 1) {
        run_place("the last of its operations", t, pc);
        leave_run(RUN_TOO_LONG);
    }
    return NULL;
}

static eid append(enum kind kind, enum order order, unsigned cell, uintptr_t pc) {
    eid name = graph_append(run.graph, run.current, kind, order, cell);
    graph_at(run.graph, name)->pc = (uint32_t)pc;
    return name;
}

uint64_t run_load(unsigned cell, enum order order, uintptr_t pc) {
    struct event *e = next_recorded(K_READ, cell, false, pc);
    if (!e) {
        eid name = append(K_READ, order, cell, pc);
        run.strategy->read(run.graph, name);
        run.thread[run.current].at++;
        e = graph_at(run.graph, name);
    }
    return e->value;
}

static void store(unsigned cell, enum order order, uint64_t value, bool rmw, uintptr_t pc) {
    struct event *e = next_recorded(K_WRITE, cell, rmw, pc);
    if (e) return;
    eid name = append(K_WRITE, order, cell, pc);
    e = graph_at(run.graph, name);
    e->flags = (uint8_t)((rmw ? F_RMW : 0) | (rmw || order == O_SC ? F_FENCED : 0));
    model_write(run.graph, name, value);
    run.strategy->write(run.graph, name);
    run.thread[run.current].at++;
}

void run_store(unsigned cell, enum order order, uint64_t value, uintptr_t pc) {
    loops_wrote();
    store(cell, order, value, false, pc);
}

uint64_t run_rmw(unsigned cell, enum op op, uint64_t operand, uint64_t expected, enum order success, enum order failure, uintptr_t pc) {
    struct event *e = next_recorded(K_READ, cell, false, pc);
    if (!e) {
        eid name = append(K_READ, success, cell, pc);
        e = graph_at(run.graph, name);
        e->op = (uint8_t)op;
        e->size = cells[cell].size;
        e->operand = operand;
        e->expected = expected;
        e->order_success = (uint8_t)success;
        e->order_failure = (uint8_t)failure;
        run.strategy->read(run.graph, name);
        run.thread[run.current].at++;
    }
    uint64_t old = e->value;
    if (!(e->flags & F_RMW)) return old;
    uint64_t new = model_rmw_value(e);
    if (new != old) loops_wrote();
    store(cell, success, new, true, pc);
    return old;
}

void run_fence(enum order order, uintptr_t pc) {
    if (next_recorded(K_FENCE, 0, false, pc)) return;
    eid name = append(K_FENCE, order, 0, pc);
    model_fence(run.graph, name);
    if (run.strategy->fence) run.strategy->fence(run.graph, name);
    run.thread[run.current].at++;
}

unsigned run_choose(unsigned n, uintptr_t pc) {
    loops_wrote();
    struct event *e = next_recorded(K_CHOICE, 0, false, pc);
    if (!e) {
        eid name = append(K_CHOICE, O_RLX, 0, pc);
        run.strategy->choose(run.graph, name, n);
        run.thread[run.current].at++;
        e = graph_at(run.graph, name);
    }
    return (unsigned)e->value;
}

/* A write that another thread may have read stays. */
static bool round_wrote(unsigned from) {
    for (unsigned i = from; i < run_at(); i++)
        if (run.graph->event[run.current][i].kind == K_WRITE) return true;
    return false;
}

void run_block(enum wait wait, unsigned from) {
    struct run_thread *self = &run.thread[run.current];
    self->state = RUN_BLOCKED_HERE;
    self->wait = wait;
    self->wait_from = (uint16_t)from;
    to_host();
    if (round_wrote(from)) return;
    while (self->at > from) {
        graph_retract(run.graph, run.current);
        self->at--;
    }
}

vclock run_clock(void) {
    unsigned at = run_at();
    return at > 0 ? run.graph->event[run.current][at - 1].hb : (vclock){0};
}

bool run_has_more(void) { return run_at() < run.graph->count[run.current]; }

bool run_on_stack(uintptr_t address) { return address - (uintptr_t)(stacks + (size_t)STACK_SIZE * run.current) < STACK_SIZE; }

const uint64_t *run_stack_top(void) { return (const uint64_t *)(stacks + (size_t)STACK_SIZE * (run.current + 1)); }

/* ---- a whole run ------------------------------------------------------------------------------------------------ */

static void replay(void) {
    for (bool progress = true; progress && !run.stop;) {
        progress = false;
        for (unsigned t = 1; t <= run.threads && !run.stop; t++) {
            struct run_thread *thread = &run.thread[t];
            bool can = thread->state == RUN_READY || (thread->state == RUN_NEEDS_WRITE && passed(run.graph->event[t][thread->at].rf));
            if (!can) continue;
            resume(t);
            progress = true;
        }
    }
}

/* A write in the last round of a thread that was stopped for going round: it would have come in the next round of the others. */
static bool in_last_round(eid write) {
    const struct run_thread *thread = &run.thread[eid_thread(write)];
    return thread->state == RUN_BLOCKED_HERE && thread->wait == WAIT_ROUNDS && eid_index(write) >= thread->wait_from;
}

/* A read-modify-write that left the value as it was: whether it was seen makes no difference to a thread that waits. */
static bool silent(const struct event *write) {
    return (write->flags & F_RMW) && write->value == graph_at(run.graph, write->mo_prev)->value;
}

/* A thread that waits although it saw the newest value of everything it looked at waits for ever. */
static bool saw_newest(unsigned t) {
    for (unsigned i = run.thread[t].wait_from; i < run.thread[t].at; i++) {
        const struct event *e = &run.graph->event[t][i];
        if (e->kind != K_READ) continue;
        for (eid w = graph_at(run.graph, e->rf)->mo_next; w != EID_NONE; w = graph_at(run.graph, w)->mo_next)
            if (eid_thread(w) != t && !in_last_round(w) && !silent(graph_at(run.graph, w))) return false;
    }
    return true;
}

static bool may_retry(unsigned t) {
    const struct run_thread *thread = &run.thread[t];
    return run.strategy->retry && thread->state == RUN_BLOCKED_HERE && thread->wait < WAIT_ROUNDS && !saw_newest(t);
}

static void extend(void) {
    while (!run.stop) {
        unsigned ready = 0;
        for (unsigned t = 1; t <= run.threads; t++)
            if (run.thread[t].state == RUN_AT_EDGE || may_retry(t)) ready |= 1u << t;
        if (ready == 0) return;
        unsigned t = run.strategy->pick(run.graph, ready);
        if (t == 0) {
            run.end = RUN_DISCARDED;
            run.stop = true;
            return;
        }
        resume(t);
    }
}

static void judge_waiting(void) {
    unsigned waiting = 0;
    bool futex = false, rounds = false, deadline = false;
    for (unsigned t = 1; t <= run.threads; t++) {
        if (run.thread[t].state != RUN_BLOCKED_HERE) continue;
        if (run.thread[t].wait == WAIT_STOP) {
            run.end = RUN_DISCARDED;
            return;
        }
        waiting |= 1u << t;
        futex |= run.thread[t].wait == WAIT_FUTEX;
        deadline |= run.thread[t].wait == WAIT_DEADLINE;
        rounds |= run.thread[t].wait == WAIT_ROUNDS;
    }
    if (!waiting) return;
    run.end = rounds ? RUN_CUT : RUN_BLOCKED;
    if (deadline) return;
    for (unsigned t = 1; t <= run.threads; t++)
        if ((waiting & 1u << t) && !saw_newest(t)) return;
    int length = 0;
    static const char *const how[] = {[WAIT_SPIN] = "in a loop that only reads",
                                      [WAIT_LOCK] = "for a lock",
                                      [WAIT_FUTEX] = "asleep on a futex",
                                      [WAIT_ROUNDS] = "going round without progress"};
    for (unsigned t = 1; t <= run.threads; t++)
        if (waiting & 1u << t)
            length += snprintf(run.what + length, sizeof run.what - (size_t)length, "%sthread %u waits for ever, %s", length ? "; " : "",
                               t - 1, how[run.thread[t].wait]);
    run.flaw = rounds ? CHK_LIVELOCK : futex ? CHK_LOST_WAKEUP : CHK_DEADLOCK;
    run.end = RUN_VIOLATION;
}

static void finish(void) {
    memory_flush(run.graph);
    if (run.scenario->finish) run.scenario->finish();
    memory_leaks();
}

/* With a page at the end of each that nothing may touch. */
static void make_stacks(void) {
    stacks = mmap(NULL, STACK_SIZE * T_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool good = stacks != MAP_FAILED;
    for (unsigned t = 0; good && t < T_MAX; t++)
        good = mprotect(stacks + STACK_SIZE * t, 4096, PROT_NONE) == 0;
    if (good) return;
    perror("weft check: no memory for thread stacks");
    exit(3);
}

static void whole_run(void) {
    chk_clock(NULL);
    if (run.scenario->setup) run.scenario->setup();
    for (unsigned t = 1; t < T_MAX && run.scenario->threads[t - 1]; t++) {
        run.thread[t].sp = fiber_prepare(stacks + STACK_SIZE * t, STACK_SIZE, thread_entry);
        run.threads = t;
    }
    replay();
    extend();
    if (!run.stop) judge_waiting();
    if (run.end == RUN_COMPLETE) finish();
}

enum run_end run_once(const struct chk_scenario *scenario, struct graph *g, const struct strategy *strategy) {
    if (!stacks) make_stacks();
    run.scenario = scenario;
    run.graph = g;
    run.strategy = strategy;
    run.current = run.extending = 0;
    run.pc = 0;
    run.stop = false;
    run.end = RUN_COMPLETE;
    run.flaw = CHK_NONE;
    run.what[0] = 0;
    memset(run.place, 0, sizeof run.place);
    run.violator = 0;
    run.threads = 0;
    memset(run.thread, 0, sizeof run.thread);
    memory_new_run();
    loops_forget();
    run.active = true;
    if (!setjmp(host_jump)) whole_run();
    run.active = false;
    return run.end;
}
