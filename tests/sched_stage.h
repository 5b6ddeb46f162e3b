/* A runtime without threads: the test plays every worker, one step at a time, so that order and counts are exact.
 *
 *     stage_begin(POLICY_RING, 2);
 *     stage_play(0);                            the test's thread is worker 0 now: it spawns and sends as from inside
 *     weft_pid a = stage_spawn(&behavior, 7);
 *     stage_step(0);                            worker 0 finds something and runs it; false when there is nothing
 *     stage_end();                              takes everything down; nothing may be left over
 *
 * All of it is the real code, from find_work on. A worker that would go to sleep is told to leave instead. */
#ifndef WEFT_TESTS_SCHED_STAGE_H
#define WEFT_TESTS_SCHED_STAGE_H

#include "life/cancel.h"
#include "life/spawn.h"
#include "runtime/stop.h"
#include "runtime_helpers.h"
#include "sched/sched.h"
#include "step/step.h"
#include "thread/worker.h"

static struct {
    struct runtime *runtime;
    struct sys sys;
    unsigned sleeps;
} stage;

static inline struct worker *stage_worker(unsigned index) { return atom_load_rlx(&stage.runtime->workers[index]); }

/* A worker sleeps: it is woken by being told to leave. */
static inline int stage_futex_wait(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    (void)expected, (void)deadline;
    for (unsigned i = 0; i < atom_load_rlx(&stage.runtime->made); i++) {
        struct worker *worker = stage_worker(i);
        if (&worker->parker.word != word) continue;
        stage.sleeps++;
        atom_store_rlx(&worker->leave, true);
        EXPECT(idle_wake_one(&stage.runtime->idle, i));
        parker_unpark(&worker->parker);
        return 0;
    }
    test_fail(__FILE__, __LINE__, "a thread waits that is not a worker");
}
static inline int stage_futex_wake(atom_u32 *word, uint32_t count) {
    (void)word, (void)count;
    return 0;
}

static inline void stage_play(int index) { my_worker = index < 0 ? NULL : stage_worker((unsigned)index); }

static inline void stage_fence(void) {} /* there is one thread */

static inline void stage_begin_with(enum policy_name policy, unsigned workers, uint32_t slots) {
    sys_scripted_install();
    stage.sys = *sys;
    stage.sys.futex_wait = stage_futex_wait;
    stage.sys.futex_wake = stage_futex_wake;
    stage.sys.fence_heavy = stage_fence;
    sys = &stage.sys;
    stage.sleeps = 0;
    stage.runtime = sys->alloc(sizeof *stage.runtime);
    EXPECT(stage.runtime);
    stage.runtime->policy = policy;
    stage.runtime->seed = 1;
    EXPECT_EQ(runtime_init(stage.runtime, slots), 0);
    for (unsigned i = 0; i < workers; i++)
        EXPECT(worker_new(stage.runtime, i));
    idle_resize(&stage.runtime->idle, workers);
    atom_store_rlx(&stage.runtime->wanted, workers);
    rt.runtime = (weft_runtime *)stage.runtime;
}

static inline void stage_begin(enum policy_name policy, unsigned workers) { stage_begin_with(policy, workers, PID_SLOTS - 1); }

/* The worker can run stackful processes, from the test's own stack. */
static inline void stage_stacks(unsigned index) {
    static struct loop loops[4];
    EXPECT(index < 4);
    loops[index].error_number = &errno;
    annotate_thread(&loops[index].annotate);
    worker_driven_by(stage_worker(index), &loops[index]);
}

/* Something to run, claimed, or NULL. */
static inline struct proc *stage_find(unsigned index) {
    struct worker *worker = stage_worker(index);
    my_worker = worker;
    struct proc *proc = find_work(worker);
    if (proc) return proc;
    atom_store_rlx(&worker->leave, false);
    if (worker->searching) {
        worker->searching = false;
        EXPECT_EQ(idle_found(&stage.runtime->idle), IDLE_NOBODY);
    }
    EXPECT_EQ(idle_searchers(&stage.runtime->idle), 0);
    EXPECT_EQ(idle_sleepers(&stage.runtime->idle), 0);
    return NULL;
}

/* Finds a process and runs it, and the process that it hands over to. */
static inline bool stage_step(unsigned index) {
    struct proc *proc = stage_find(index);
    if (proc) step_run(stage_worker(index), proc);
    return proc != NULL;
}
static inline void stage_run(unsigned index) {
    while (stage_step(index)) {}
}

static inline void stage_close(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    (void)pid, (void)user;
    atom_store_rlx(&proc->state.word, state_with(atom_load_rlx(&proc->state.word), STATE_RUNNING));
    proc_end(&runtime->doors[0], proc, WEFT_EKILLED);
}

static inline void stage_end(void) {
    my_worker = NULL;
    each_process(stage.runtime, stage_close, NULL);
    runtime_destroy(stage.runtime);
    EXPECT_EQ(sys_scripted_live(), 0);
    sys_scripted_reset();
}

/* ---- processes that leave a trace -------------------------------------------------------------------------------------- */

enum { STAGE_TRACE = 1 << 16 };
static struct {
    uint32_t ran[STAGE_TRACE];
    unsigned count, depth;
} trace;

/* What an local does in a step besides leaving its trace; NULL: nothing, it waits. */
struct part;
typedef enum weft_status part_play(struct part *part, const weft_event *events, size_t count, weft_out *out);
struct part {
    uint32_t number;
    weft_pid other;
    part_play *play;
};

static inline int part_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(self, input, size);
    return 0;
}
static inline int part_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct part *part = self;
    EXPECT_EQ(trace.depth, 0); /* steps never nest */
    trace.depth++;
    if (trace.count < STAGE_TRACE) trace.ran[trace.count++] = part->number;
    weft_out_status(out, part->play ? part->play(part, events, count, out) : WEFT_STEP_IDLE);
    trace.depth--;
    return 0;
}
static const weft_behavior part_behavior = {.name = "part", .state_size = sizeof(struct part), .init = part_init, .step = part_step};

/* As from the worker that is being played, or as a foreign thread. */
static inline weft_pid stage_spawn(uint32_t number, part_play *play, weft_pid other) {
    struct part part = {number, other, play};
    weft_pid pid;
    weft_spawn_options options = {.runtime = rt.runtime, .input = &part, .input_size = sizeof part};
    EXPECT_EQ(weft_spawn_step(&part_behavior, &options, &pid), 0);
    return pid;
}
static inline struct proc *stage_proc(weft_pid pid) { return table_at(&stage.runtime->table, pid_slot(pid)); }
static inline struct part *stage_part(weft_pid pid) { return stage_proc(pid)->self; }
static inline enum state_name stage_state(weft_pid pid) { return state_of(atom_load_rlx(&stage_proc(pid)->state.word)); }

/* Spawns and lets its first step pass, so that it waits. Only while no other is ready. */
static inline weft_pid stage_spawn_idle(unsigned index, uint32_t number, part_play *play, weft_pid other) {
    stage_play((int)index);
    weft_pid pid = stage_spawn(number, NULL, other);
    EXPECT(stage_step(index) && stage_state(pid) == STATE_IDLE);
    EXPECT(!stage_step(index));
    stage_part(pid)->play = play;
    trace.count = 0;
    return pid;
}

#define stage_for_each_policy(policy) for (enum policy_name policy = POLICY_RING; policy <= POLICY_LINE; policy++)

#endif
