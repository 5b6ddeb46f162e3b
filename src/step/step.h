/* Running a process once. */
#ifndef WEFT_STEP_STEP_H
#define WEFT_STEP_STEP_H

#include "sched/sched.h"

/* Runs a claimed process and then whatever it handed over to. False: the thread has lost its worker, and must not touch it. */
bool step_run(struct worker *worker, struct proc *proc);

#endif
