/* The CPU time of processes, sampled by sysmon if weft_config.cpu_times asks for it: switches cost nothing.
 *
 *   cpu_time_sample       sysmon, for each worker, at every round
 *   cpu_time_of           any thread
 *
 * At each round sysmon asks the kernel how much CPU time a worker's thread has had since the last one, and counts it for the process that runs on
 * the worker now. The times of all processes together are those of the threads; that of one process is right on average. */
#ifndef WEFT_THREAD_CPU_TIME_H
#define WEFT_THREAD_CPU_TIME_H

#include "sched/sched.h"

void cpu_time_sample(struct worker *worker);
/* Nanoseconds; UINT64_MAX: it is not measured. */
uint64_t cpu_time_of(struct runtime *runtime, struct proc *proc);
void cpu_times_destroy(struct runtime *runtime);

/* The process that runs on a worker, or NULL: it may be another the next moment; the memory always is a control block. */
struct proc *worker_current_racy(struct worker *worker);

#endif
