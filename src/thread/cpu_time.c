/* Sampling the CPU time of processes: see thread/cpu_time.h. */
#include "thread/cpu_time.h"

#include "ctx/annotate.h"

/* Beside the block of a process. Sysmon writes it, any thread reads it. rlx, all: numbers. */
struct cpu_time {
    atom_u32 generation; /* of the process that it is about */
    atom_u64 ns;
};

__attribute__((no_sanitize("thread"))) struct proc *worker_current_racy(struct worker *worker) {
    return *(struct proc *volatile *)&worker->current;
}

/* The CPU time of the worker's thread since it was last asked for; 0: it is another thread, or there is none. */
static uint64_t cpu_time_passed(struct worker *worker) {
    uint32_t thread = atom_load_rlx(&worker->driver), before = worker->seen.timed; /* rlx: a number */
    uint64_t cpu = 0, cpu_before = worker->seen.timed_cpu;
    bool known = thread && sys->thread_time(thread, &cpu) == 0;
    worker->seen.timed = known ? thread : 0;
    worker->seen.timed_cpu = cpu;
    return known && thread == before ? cpu - cpu_before : 0;
}

static void cpu_time_add(struct cpu_time *time, uint32_t generation, uint64_t ns) {
    bool same = atom_load_rlx(&time->generation) == generation;
    atom_store_rlx(&time->ns, (same ? atom_load_rlx(&time->ns) : 0) + ns);
    if (!same) atom_store_rlx(&time->generation, generation);
}

/* The slot and generation of the process that runs on the worker. False: none runs. Not judged by the race detector: the pointer was read racily, but
 * is one of a control block; its slot never changes, and a generation that has just changed makes the sample the next process's. */
static __attribute__((no_sanitize("thread"))) bool cpu_time_runs(struct worker *worker, uint32_t *slot, uint32_t *generation) {
    struct proc *proc = worker_current_racy(worker);
    if (!proc) return false;
    annotate_unjudged_begin();
    weft_pid pid = proc_pid(proc);
    *slot = pid_slot(pid);
    *generation = pid_generation(pid);
    annotate_unjudged_end();
    return true;
}

void cpu_time_sample(struct worker *worker) {
    uint64_t ns = cpu_time_passed(worker);
    uint32_t slot, generation;
    bool runs = ns && cpu_time_runs(worker, &slot, &generation);
    struct cpu_time *time = runs ? side_of(&worker->runtime->sides.cpu_times, slot, sizeof *time, true) : NULL;
    if (time) cpu_time_add(time, generation, ns); /* without memory it is lost */
}

uint64_t cpu_time_of(struct runtime *runtime, struct proc *proc) {
    if (!runtime->measures_cpu) return UINT64_MAX;
    struct cpu_time *time = side_of(&runtime->sides.cpu_times, proc_slot(proc), sizeof *time, false);
    return time && atom_load_rlx(&time->generation) == proc_generation(proc) ? atom_load_rlx(&time->ns) : 0;
}

void cpu_times_destroy(struct runtime *runtime) { side_destroy(&runtime->sides.cpu_times, sizeof(struct cpu_time)); }
