/* Reports for a person: dumps, deadlocks, hogs, processes that do not end. */
#ifndef WEFT_RUNTIME_REPORT_H
#define WEFT_RUNTIME_REPORT_H

#include "runtime/info.h"

/* The process's name and entry function. */
void report_name(struct runtime *runtime, struct proc *proc, char *text, size_t size);
/* What it waits for and since when, as ", in weft_recv, for 3.2 s"; "" when it does not wait, or is gone. From any thread, at any time. */
void report_wait(struct runtime *runtime, struct proc *proc, char *text, size_t size);
/* The same of what info_read has answered. */
void report_wait_of(const weft_process_info *info, enum state_name state, char *text, size_t size);

/* Every worker is held by a process that does not yield: lists those processes on standard error. By sysmon. */
void report_hogs(struct runtime *runtime, uint64_t now);

/* Lists on standard error the processes that were asked to end so long ago, and have not. */
void report_left(struct runtime *runtime, uint64_t asked);

/* ---- dump.c -------------------------------------------------------------------------------------------------------- */

/* The most processes of a runtime that a dump without a person waiting for it shows. */
enum { DUMP_MOST = 10000 };
/* As weft_dump; shows at most so many processes. */
void dump_runtime(struct runtime *runtime, int descriptor, unsigned most);
/* All runtimes, that of the fault first; without the heap and without waiting for a lock, since the fault may have hit either. */
void dump_after_fault(weft_runtime *opaque, int descriptor);

/* ---- deadlock.c ---------------------------------------------------------------------------------------------------- */

/* By sysmon, when all workers have been asleep for a while. */
void deadlock_check(struct runtime *runtime, uint64_t now);
/* By sysmon: after a deadlock processes were asked to end; when the grace period is over, forces them, and in the end exits the program. */
void deadlock_hurry(struct runtime *runtime, uint64_t now);

#endif
