/* What is written for a person: dumps, deadlocks, hogs. */
#ifndef WEFT_RUNTIME_REPORT_H
#define WEFT_RUNTIME_REPORT_H

#include "sched/sched.h"

/* Who it is: name and entry function. */
void report_name(struct runtime *runtime, struct proc *proc, char *text, size_t size);
/* What it waits for and since when, as ", in weft_recv, for 3.2 s"; "" when it does not wait, or is gone. From any thread, at any time. */
void report_wait(struct runtime *runtime, struct proc *proc, char *text, size_t size);

/* Every worker is held by a process that does not give way: names them on standard error. By sysmon. */
void report_hogs(struct runtime *runtime, uint64_t now);

/* Those who were asked to end so long ago, and have not: names them on standard error. */
void report_left(struct runtime *runtime, uint64_t asked);

/* ---- deadlock.c ---------------------------------------------------------------------------------------------------- */

/* By sysmon, when everybody has been asleep for a while. */
void deadlock_check(struct runtime *runtime, uint64_t now);
/* By sysmon: whether the time is up for those who were asked to end because of one. Then the program ends here. */
void deadlock_hurry(struct runtime *runtime, uint64_t now);

#endif
