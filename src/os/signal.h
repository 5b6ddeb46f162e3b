/* Signals as messages: what a runtime does about them when it is taken down. */
#ifndef WEFT_OS_SIGNAL_H
#define WEFT_OS_SIGNAL_H

#include "sched/runtime.h"

/* Its processes are told of no signal any more; the program's own handlers are as they were. */
void signal_forsake(struct runtime *runtime);

#endif
