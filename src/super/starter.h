/* A process is spawned, and its spawner waits until it says that it is up, or that it cannot be.
 *
 *   starter_new, _wait, _let_go    the spawner: a stackful process, or a thread of the program's own
 *   starter_answer                 the new process; if it does not begin, its `discard`
 *
 *   G1  Both hold it, and each gives it up once: the spawner by starter_let_go, the process with its answer. The last frees it. If no process
 *       was spawned, the spawner gives up both holds.
 *   G2  A process that is taken down with its runtime never answers. The spawner looks for that now and then: it may not be a process, so that
 *       no notice could reach it. */
#ifndef WEFT_SUPER_STARTER_H
#define WEFT_SUPER_STARTER_H

#include "base/atom.h"

#include <weft/stackful.h>
#include <weft/sync.h>

struct starter {
    weft_sem answered;
    atom_u32 holders;
    int error;
};

/* NULL: there is no memory. */
struct starter *starter_new(void);
/* Gives up the spawner's hold; the process's too, if none was spawned. NULL: nothing, as for the next. */
void starter_let_go(struct starter *starter, bool spawned);
void starter_answer(struct starter *starter, int error);

/* The answer; or WEFT_ETIMEDOUT, WEFT_ECANCELED, and WEFT_EKILLED when the process has ended without one. Messages about misuse name `call`, as those
 * of the next. */
int starter_wait(struct starter *starter, weft_pid pid, uint64_t deadline, const char *call);

/* Cancels a process and waits for its end. 0, or WEFT_ENOPROC when it had ended before, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
int cancel_and_wait(weft_pid pid, uint64_t deadline, const char *call);

#endif
