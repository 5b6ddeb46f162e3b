/* SIGQUIT: prints all workers and processes of all runtimes of the program, which goes on.
 *
 * The handler leaves an entry with each runtime (mail/post.h), and that runtime's sysmon prints it: a handler may have interrupted anything. So
 * a runtime without sysmon is not printed.
 *
 *   Q1  The handler is installed with the first runtime that wants it and removed with the last, if the signal's action was the default, and
 *       is this handler still. An action of the program's own, or that it is ignored, stays.
 *   Q2  An entry is in at most one list: `queued`. */
#ifndef WEFT_RUNTIME_QUIT_H
#define WEFT_RUNTIME_QUIT_H

#include "sched/runtime.h"

/* A runtime that wants it has started, and has a sysmon; it is about to be taken down. */
void quit_begin(struct runtime *runtime);
void quit_finish(struct runtime *runtime);

#endif
