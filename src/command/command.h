/* Commands that processes yield, and their completions. */
#ifndef WEFT_COMMAND_COMMAND_H
#define WEFT_COMMAND_COMMAND_H

#include "sched/sched.h"

/* Begins the command that a step has yielded; its completion may come later. Takes the message. */
void command_begin(struct worker *worker, struct proc *proc, struct message *yield);
void command_destroy_all(struct runtime *runtime);

#endif
