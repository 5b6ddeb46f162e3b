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
/* The short way of spawning, in two halves, for a process whose state is in its block and that inherits nothing. Between them the caller fills that state
 * in. spawn_plain_begin: a block; NULL: there is none, and *error says why. spawn_plain_end: the process is born. */
static inline bool spawner_is_plain(const struct worker *self) { return self && self->current && !self->current->member; }
struct proc *spawn_plain_begin(struct worker *self, const weft_behavior *behavior, int *error);
weft_pid spawn_plain_end(struct worker *self, struct proc *proc);
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
/* The same for one that has no `close`, or whose has nothing to do, and whose `self` is in its block. */
void proc_end_closed(struct local *local, struct proc *proc, int reason);

#endif
