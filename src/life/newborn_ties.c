/* Ties that begin with a birth: see newborn_ties.h. */
#include "life/newborn_ties.h"

#include "life/spawn.h"
#include "sched/parts.h"

static int newborn_ties_make(struct worker *self, struct newborn_ties *tied, const weft_spawn_options *options) {
    struct local *local = &self->local;
    if (link_reserve(self->runtime, proc_slot(self->current))) return WEFT_ENOMEM;
    if (options->flags & WEFT_SPAWN_MONITOR) {
        tied->down = tie_new(local, self->runtime, self->current, WEFT_NOBODY, WEFT_NOTICE_DOWN);
        if (!tied->down) return WEFT_ENOMEM;
        tied->down->message.tag = options->monitor.tag;
        tied->down->reference = tie_reference(self);
        tied->reference = options->monitor.reference;
    }
    return options->flags & WEFT_SPAWN_LINK ? link_new(local, self, NULL, NULL, WEFT_NOBODY, &tied->halves) : 0;
}

struct newborn_ties newborn_announced(const weft_spawn_options *options) {
    bool told = options->flags & WEFT_SPAWN_ANNOUNCE;
    if (told && !options->announcement.tell)
        WEFT_REFUSE("weft_spawn", "WEFT_SPAWN_ANNOUNCE without a function", "set announcement.tell of the options");
    return (struct newborn_ties){.announcement = told ? options->announcement : (weft_spawn_announcement){.tell = NULL}};
}

int newborn_ties_prepare(struct newborn_ties *tied, const weft_spawn_options *options) {
    struct worker *self = worker_here();
    *tied = newborn_announced(options);
    if (!(options->flags & SPAWN_TIED)) return 0;
    if (!self || !self->current) return WEFT_ENOTINSIDE;
    local_enter(&self->local, "weft_spawn");
    int error = newborn_ties_make(self, tied, options);
    local_leave(&self->local);
    if (error) newborn_ties_drop(tied);
    return error;
}

void newborn_ties_drop(void *argument) {
    struct newborn_ties *tied = argument;
    if (!newborn_ties_any(tied)) return; /* a spawner that only announces may be no worker */
    struct local *local = &worker_here()->local;
    local_enter(local, "weft_spawn");
    if (tied->down) tie_free(local, tied->down);
    link_free(local, &tied->halves);
    local_leave(local);
}

void newborn_ties_attach(struct local *local, struct proc *proc, struct newborn_ties *tied) {
    weft_pid pid = proc_pid(proc);
    if (tied->announcement.tell) {
        struct proc *spawner = guard_process(my_worker);
        local_leave(local); /* it is the program's, and may call weft */
        parts.keep(spawner, true);
        tied->announcement.tell(pid, tied->announcement.user);
        parts.keep(spawner, false);
        local_begin(local);
    }
    if (tied->down) {
        if (tied->reference) *tied->reference = tied->down->reference;
        tied->down->message.from = pid;
        state_owns(&tied->down->owner->state);
        tie_own(tied->down);
        int error = monitor_newborn(local, pid, &tied->down->monitor);
        WEFT_ENSURE(error == 0, "no memory that was reserved: %d", error);
    }
    if (tied->halves.mine) link_newborn(local->runtime, proc, &tied->halves);
}
