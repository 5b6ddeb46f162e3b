/* Commands that processes yield, and their completions. */
#ifndef WEFT_COMMAND_COMMAND_H
#define WEFT_COMMAND_COMMAND_H

#include "sched/sched.h"

/* Carries out what a step has yielded. Takes the message. */
void command_dispatch(struct worker *worker, struct proc *proc, struct message *yield);
void command_destroy_all(struct runtime *runtime);

#endif
