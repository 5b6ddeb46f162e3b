/* Counting ties: see life/tally.h. */
#include "life/tally.h"

#include "life/spawn.h"
#include "life/tie.h"
#include "life/zombie.h"

/* False: it is held, and is not waited for. */
static bool tally_lock(struct lock *lock, bool waits, struct tally *tally) {
    if (waits) lock_take(lock);
    else if (!lock_try(lock)) return !(tally->locked = true);
    return true; /* it is the caller's, whatever an earlier one was */
}

static void tally_own(struct runtime *runtime, uint32_t slot, bool waits, struct tally *tally) {
    struct ties *ties = ties_of(runtime, slot, false);
    if (!ties || !tally_lock(ties_lock(runtime, slot), waits, tally)) return;
    for (const struct tie *tie = ties->ties; tie; tie = tie->next)
        if (tie->kind == WEFT_NOTICE_EXIT) tally->links++;
        else tally->monitors++;
    lock_drop(ties_lock(runtime, slot));
}

/* The process in the owner's slot: its end takes the record away, so it lives, or is just ending. */
static weft_pid tally_owner(struct runtime *runtime, uint32_t owner) {
    struct proc *proc = owner ? table_at(&runtime->table, owner) : NULL;
    weft_pid pid = proc ? proc_pid(proc) : WEFT_NOBODY;
    return pid_generation(pid) % 2 == 1 ? pid : WEFT_NOBODY;
}

static void tally_watchers(struct runtime *runtime, uint32_t slot, bool waits, struct tally *tally) {
    struct monitor **list = monitor_list(runtime, slot, false);
    if (!list || !tally_lock(monitor_lock(runtime, slot), waits, tally)) return;
    for (const struct monitor *monitor = *list; monitor; monitor = monitor->next) {
        if (!monitor->is_zombie) tally->watchers++;
        else tally->owner = tally_owner(runtime, ((const struct zombie *)monitor)->owner);
    }
    lock_drop(monitor_lock(runtime, slot));
}

struct tally tally_of(struct runtime *runtime, uint32_t slot, bool waits) {
    struct tally tally = {0};
    tally_own(runtime, slot, waits, &tally);
    tally_watchers(runtime, slot, waits, &tally);
    return tally;
}
