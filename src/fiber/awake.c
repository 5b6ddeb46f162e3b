/* Apart from wait.c, so that the model checker can have waits without run queues. */
#include "fiber/wait.h"

void wait_awake(struct runtime *runtime, struct worker *self, struct proc *proc) { send_awake(runtime, self, proc); }
