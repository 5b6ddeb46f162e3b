/* The monitor: the thread that looks after workers which cannot look after themselves. */
#ifndef WEFT_THREAD_SYSMON_H
#define WEFT_THREAD_SYSMON_H

#include "sched/sched.h"

int monitor_start(struct runtime *runtime);
void monitor_stop(struct runtime *runtime);
/* It comes at once, if it would not have soon: by a thread that will be stuck, when nobody is idle. */
void monitor_hurry(struct runtime *runtime);

#endif
