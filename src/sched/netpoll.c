#include "sched/netpoll.h"

#include "sched/parts.h"

#include <errno.h>

enum {
    POLL_NEGLECTED = 10000000, /* ns without anybody polling, before the monitor does */
    POLL_SLEEPERS = 100000,    /* the same while there is a worker that could */
};

/* ---- being used ------------------------------------------------------------------------------------------------------------ */

int poll_join(struct runtime *runtime, struct worker *self) {
    struct poll *poll = &runtime->poll;
    lock_take(&runtime->lock);
    int error = poll->made ? 0 : poll_make(poll);
    lock_drop(&runtime->lock);
    if (error) return error;
    /* rel: pairs with the acq in poll_is_used. A worker that calls this comes by before it sleeps; other threads do not, and all
     * workers may be asleep, none of them in the poll (B3). */
    if (atom_add_rel(&poll->used, 1) == 0 && !self) ready_wake(runtime, NULL);
    return 0;
}

void poll_left(struct runtime *runtime) { atom_sub_rlx(&runtime->poll.used, 1); } /* rlx: a count */

/* ---- holding it ----------------------------------------------------------------------------------------------------------- */

static inline void poll_begin(struct poll *poll) {
    atom_store_rlx(&poll->rounds, atom_load_rlx(&poll->rounds) + 1); /* rlx: the holder's; the monitor looks at it in passing */
}
static inline void poll_drop(struct poll *poll) { atom_store_rlx(&poll->held, 0); } /* rlx: as in poll_take */

void poll_deliver(struct runtime *runtime, const struct poll_catch *catch) {
    (void)runtime;
    for (int i = 0; i < catch->count; i++)
        parts.deliver(&catch->events[i]);
}

__attribute__((noinline)) bool poll_now(struct runtime *runtime, unsigned most) {
    struct poll_catch catch;
    catch.most = most < POLL_BATCH ? (int)most : POLL_BATCH;
    if (!poll_take(runtime)) return false;
    poll_begin(&runtime->poll);
    catch.count = poll_wait(&runtime->poll, &catch, 0);
    poll_drop(&runtime->poll);
    if (catch.count <= 0) return false;
    poll_deliver(runtime, &catch);
    return true;
}

int poll_sleep(struct worker *own, uint64_t deadline, struct poll_catch *catch) {
    struct poll *poll = &own->runtime->poll;
    bool token = true;
    catch->most = POLL_BATCH;
    catch->count = 0;
    poll_begin(poll);
    if (parker_away(&own->parker)) {
        int n = poll_wait(poll, catch, deadline ? deadline : 1); /* 0 would mean not to wait */
        catch->count = n > 0 ? n : 0;                            /* a signal, or nothing: looks round and comes again */
        token = parker_back(&own->parker);
    }
    poll_drop(poll);
    return token ? 0 : -ETIMEDOUT;
}

/* ---- nobody holds it -------------------------------------------------------------------------------------------------------- */

void poll_unattended(struct runtime *runtime) {
    if (poll_is_used(runtime)) ready_wake(runtime, NULL);
}

bool poll_watch(struct runtime *runtime, uint64_t now) {
    struct poll *poll = &runtime->poll;
    if (!poll_is_used(runtime)) return false;
    uint64_t rounds = atom_load_rlx(&poll->rounds); /* rlx, both: in passing */
    if (rounds != poll->seen.rounds || atom_load_rlx(&poll->held)) {
        poll->seen.rounds = rounds;
        poll->seen.since = now;
        return false;
    }
    bool sleepers = idle_sleepers(&runtime->idle) > 0;
    if (now - poll->seen.since < (sleepers ? POLL_SLEEPERS : POLL_NEGLECTED)) return false;
    poll->seen.since = now;
    if (!sleepers) poll_now(runtime, POLL_BATCH);
    /* Behind its fence: whoever goes to sleep while the monitor holds the poll is seen, and comes to hold it (B3). */
    ready_wake(runtime, NULL);
    return true;
}
