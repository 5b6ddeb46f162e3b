/* How synch2 waits when one of the two, or both, are processes: the process parks (in role[r].bed) and its thread runs other processes.
 *
 *     the sleeper                                      the waker (synch2_wake)
 *     1  bell = 1, and checks again                    1  bell = 0
 *     2  under bed_lock: bell still 1?                 2  under bed_lock: claims the waiter in `bed`
 *        then adds itself to `bed`, and parks          3  none: the sleeper is a thread, asleep on the bell, or not asleep yet
 *
 * The second to take the lock sees the first: the sleeper sees the bell down, or the waker sees the sleeper. */
#include "sync/synch2.h"

#include "sys/sys.h"

#include <errno.h>

static struct synch2_role *synch2_role_of(atom_u32 *bell) {
    return (struct synch2_role *)(void *)((unsigned char *)bell - offsetof(struct synch2_role, bell));
}

static bool synch2_parks(void) { return worker_here() != NULL; }

static void synch2_shield_process(bool on) {
    struct worker *self = worker_here();
    if (!self || !self->current || !self->current->stackful) return;
    struct fiber *fiber = fiber_of(self->current);
    if (on) fiber->shields += FIBER_KEPT;
    else fiber->shields -= FIBER_KEPT;
}

/* Step processes, and tasks of a fork/join region, must not wait. Waiting to enter is their own mistake, and wait_for says so. But leaving
 * may take a moment too, until the other role, which is awake then, has answered: for that time they keep their thread. */
static bool synch2_keeps_thread(struct worker *self, struct synch2_role *at) {
    if (!self) return true;
    const struct proc *proc = self->current;
    bool may_wait = proc && proc->stackful && !(proc->extras & PROC_TASKS);
    return !may_wait && atom_load_rlx(&at->place) != SYNCH2_WAITING; /* rlx: this role's own */
}

static int synch2_park(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell, uint64_t deadline) {
    struct synch2_role *at = synch2_role_of(bell);
    if (synch2_keeps_thread(worker_here(), at)) return synch2_thread_waiter.sleep(waiter, role, bell, deadline);
    struct turn turn;
    int why = 1;
    lock_take(&at->bed_lock);
    if (atom_load_rlx(bell)) { /* recheck */ /* rlx: bed_lock orders it with the waker's store */
        turn_begin(&turn, NULL, 1);
        why = waiters_wait(&at->bed, &turn.waiter, &at->bed_lock, deadline,
                           deadline == WEFT_FOREVER ? "weft_synch2_enter" : "weft_synch2_enter_until");
        if (why > 0) return 0;
    }
    lock_drop(&at->bed_lock);
    return why > 0 ? 0 : why;
}

static void synch2_unpark(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell) {
    struct synch2_role *at = synch2_role_of(bell);
    lock_take(&at->bed_lock);
    struct waiter *sleeper = waiters_claim(&at->bed);
    lock_drop(&at->bed_lock);
    if (sleeper) waiter_wake(sleeper);
    else synch2_thread_waiter.wake(waiter, role, bell);
}

const struct synch2_waiter synch2_any_waiter = {
    .sleep = synch2_park,
    .wake = synch2_unpark,
    .rounds = {SYNCH2_ROUNDS, SYNCH2_ROUNDS},
    .parks = synch2_parks,
    .shield = synch2_shield_process,
};
