/* What is known of a process, by racy reads from any thread: weft_info, dumps and reports. */
#ifndef WEFT_RUNTIME_INFO_H
#define WEFT_RUNTIME_INFO_H

#include "sched/sched.h"

#include <weft/info.h>

/* Fills *info with what the process in this block does now, all but its PID and its ties. Returns its state; that of a process that has ended meanwhile, or
 * of the block's next one, may be among the answers: the caller compares the generation before and after. From any thread, at any time. */
enum state_name info_read(struct runtime *runtime, struct proc *proc, weft_process_info *info);
/* Adds its ties and a name. Not `waits`: what can be had without waiting for a lock; false: that was not all. */
bool info_read_ties(struct runtime *runtime, struct proc *proc, bool waits, weft_process_info *info);

/* When sysmon has first seen the worker's present step. */
uint64_t info_step_since(struct worker *worker);
bool info_is_stackful(struct proc *proc);

#endif
