/* Signals as messages: what a runtime does about them when it is taken down. */
#ifndef WEFT_OS_SIGNAL_H
#define WEFT_OS_SIGNAL_H

#include "sched/runtime.h"

/* Unregisters all signals that the runtime's processes watch; the program's former actions are restored. */
void signal_forsake(struct runtime *runtime);

#endif
