/* Birth and end of processes. */
#ifndef WEFT_LIFE_SPAWN_H
#define WEFT_LIFE_SPAWN_H

#include "sched/sched.h"

/* Within a section: the block that has this PID, or NULL: then the PID may be another runtime's. With an even generation it has no process, and is not IDLE. */
static inline struct proc *proc_named(struct runtime *runtime, weft_pid to) {
    struct proc *proc = table_at(&runtime->table, pid_slot(to));
    /* acq: pairs with the rel in proc_end_pid, so that a sender that sees the end sees what led to it, and with that in magazine_take. */
    return __builtin_expect(proc && atom_is_acq(&proc->pid, to), 1) ? proc : NULL;
}
/* Within a section: the living process of a PID, or NULL. Outside a section the block may have another process the next moment. */
static inline struct proc *proc_find(struct runtime *runtime, weft_pid to) {
    struct proc *proc = proc_named(runtime, to);
    /* No living process has an even generation, but a block that was never used has 0, and an open mailbox. */
    return __builtin_expect(pid_generation(to) % 2 == 1, 1) ? proc : NULL;
}
/* Whether the PID is of a process that lives, and takes messages: not of one that is just being spawned. Needs no section. */
static inline bool pid_is_open(struct runtime *runtime, weft_pid pid) {
    struct proc *proc = proc_find(runtime, pid);
    return proc && state_lives(&proc->state);
}
/* Makes a process ready whose block (block.h) the spawner has set up, and which is born by that. Returns the ticket of its first queue
 * entry. */
uint16_t spawn_make_ready(struct local *local, struct worker *self, struct proc *proc, bool monitored);
struct monitor;
/* Spawns a process that is monitored from its birth on: its monitor is told of its end, whenever that is. From a worker's own thread.
 * *ticket is that of its first queue entry. Otherwise as weft_spawn_step. */
int spawn_monitored(struct worker *self, weft_pid *pid, const weft_behavior *behavior, const weft_spawn_options *options,
                    struct monitor *monitor, uint16_t *ticket);
/* Flags of weft_spawn_options that are not for users. LATE: spawned even while the runtime stops; the process that it is spawned for
 * still lives, so the thread that stops the runtime waits for both. INIT_NEVER_WAITS: init is weft's own. */
enum { SPAWN_LATE = 1 << 30, SPAWN_INIT_NEVER_WAITS = 1 << 29 };
/* As a reason: that for which the process was condemned. */
enum { REASON_CONDEMNED = INT32_MIN };
/* The process has ended: calls its `close`, empties its mailbox, tells its monitors, retires its block. By the thread that owns the
 * process. */
void proc_end(struct local *local, struct proc *proc, int reason);

#endif
