/* The wait group behind weft/sync.h.
 *
 * The word is the count, doubled, and QUEUE.
 *
 *   G1  With QUEUE the count reaches 0 under the lock only.
 *   G2  A waiter sets QUEUE and enters the list in one critical section of the lock, so the caller that brings the count to 0 finds it.
 *   G3  A waiter that finds the count 0 takes the lock and drops it before it goes on. So the caller that brought it to 0 is done with the
 *       memory. */
#include "fiber/ret_jump.h"
#include "sched/heed.h"
#include "wait/waiters.h"

#include <weft/sync.h>

enum { GROUP_QUEUE = 1, GROUP_ONE = 2 };

struct group {
    atom_u32 word;
    struct lock lock;
    struct waiters waiting;
};
_Static_assert(sizeof(struct group) <= sizeof(weft_waitgroup), "the public struct has room");

static inline struct group *group_of(weft_waitgroup *group) { return (struct group *)(void *)group; }

void weft_waitgroup_add(weft_waitgroup *opaque, uint32_t count) {
    heed(my_worker);
    /* rlx: a process that is started afterwards sees it by being started. */
    uint32_t found = count > WEFT_WAITGROUP_MAX ? UINT32_MAX : atom_add_rlx(&group_of(opaque)->word, count * GROUP_ONE);
    if (__builtin_expect((uint64_t)(found >> 1) + count > WEFT_WAITGROUP_MAX, 0))
        WEFT_MISUSE("weft_waitgroup_add", "the count is above WEFT_WAITGROUP_MAX", "call weft_waitgroup_done as often as was added");
}

static __attribute__((noinline)) void group_done_slow(struct group *group) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&group->lock);
    /* acq: the waiters get what all other callers did from this one's wake-up; a later waiter takes the lock (G3). */
    uint32_t found = atom_sub_acq(&group->word, GROUP_ONE);
    if (found >> 1 == 1) {
        atom_and_rlx(&group->word, ~(uint32_t)GROUP_QUEUE); /* rlx: the count is not touched */
        for (struct waiter *waiter; (waiter = waiters_claim(&group->waiting)) != NULL;)
            wakes_add(&wakes, waiter);
    }
    lock_drop(&group->lock);
    wakes_run(&wakes, wait_wake);
}

void weft_waitgroup_done(weft_waitgroup *opaque) {
    struct group *group = group_of(opaque);
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint32_t found = atom_load_rlx(&group->word); /* rlx: the exchange decides */
        if (found == (GROUP_ONE | GROUP_QUEUE)) break;
        if (__builtin_expect(found >> 1 == 0, 0))
            WEFT_REFUSE("weft_waitgroup_done", "the count is 0", "call it as often as was added, after weft_waitgroup_add");
        /* rel: pairs with the acq in group_is_done and group_done_slow. */
        if (atom_cas_rel_rlx(&group->word, &found, found - GROUP_ONE)) return;
    }
    group_done_slow(group);
}

/* Under the lock: true if there is nothing to wait for; else QUEUE is set. */
static bool group_is_done(struct group *group) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint32_t found = atom_load_acq(&group->word); /* acq: pairs with the rel in weft_waitgroup_done */
        if (found >> 1 == 0) return true;
        /* rlx: the wake-up orders what was done before it. */
        if (found & GROUP_QUEUE || atom_cas_rlx_rlx(&group->word, &found, found | GROUP_QUEUE)) return false;
    }
}

FIBER_SLOW int group_wait_slow(struct group *group, uint64_t deadline);
FIBER_RET_JUMP(group_wait_jump, group_wait_slow);
/* With the lock held and QUEUE set. */
FIBER_SLOW int group_wait_slow(struct group *group, uint64_t deadline) {
    struct turn turn;
    turn_begin(&turn, group, 1);
    int why = waiters_wait(&group->waiting, &turn.waiter, &group->lock, deadline, "weft_waitgroup_wait");
    if (__builtin_expect(why > 0, 1)) return 0;
    if (!group->waiting.first) atom_and_rlx(&group->word, ~(uint32_t)GROUP_QUEUE); /* rlx: the count is not touched */
    lock_drop(&group->lock);
    return why;
}

int weft_waitgroup_wait(weft_waitgroup *opaque, uint64_t deadline) {
    struct group *group = group_of(opaque);
    fiber_spend(my_worker, deadline);
    if (deadline == 0 && atom_load_rlx(&group->word) >> 1 != 0) return wait_late(); /* rlx: a 0 is read again under the lock */
    lock_take(&group->lock);
    bool done = group_is_done(group);
    if (!done && deadline != 0) return group_wait_jump(group, deadline);
    lock_drop(&group->lock); /* G3 */
    return done ? 0 : wait_late();
}
