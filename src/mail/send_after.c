/* Messages that are sent later, once or again and again.
 *
 * A handle is an address and a serial number. The memory behind such addresses stays what it is until the runtime is taken down, so
 * that a handle of something long over can still be looked at: its number is not there any more. A handle of a former runtime is known by its
 * number, and its address is not looked at.
 *
 *   A1  All of a `struct after` but its timer is guarded by its own lock. Sending is under it too: after a cancel that returned 0
 *       nothing will be sent, and nothing is about to be.
 *   A2  While the timer is handed out (TAKEN), it is after_ring's, which waits for the lock and then looks whether it was cancelled. */
#include "sched/timer_event.h"
#include "mail/lane.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/rt_enter.h"

#include <weft/time.h>

#if WEFT_CHECK
enum { AFTER_CHUNK = 2 };
#else
enum { AFTER_CHUNK = 128 };
#endif

#define SERIALS (UINT64_MAX >> 8) /* the rest of a number is the instance of the runtime */

struct after {
    struct alarm alarm; /* first: its address is this one's */
    struct lock lock;
    bool cancelled;
    uint64_t serial; /* 0: nobody's */
    uint64_t period; /* 0: once */
    weft_pid to;
    atom_u64 *lane;          /* the receiver's: lane.h */
    struct message *message; /* what is sent, or with a period what copies of are sent */
    struct after *next;      /* in the list of free ones */
};

struct after_chunk {
    struct after_chunk *next;
    struct after afters[AFTER_CHUNK];
};

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Under the lock of all. */
static bool afters_grow(struct afters *all) {
    struct after_chunk *chunk = sys->alloc(sizeof *chunk);
    if (!chunk) return false;
    chunk->next = all->chunks;
    all->chunks = chunk;
    for (unsigned i = 0; i < AFTER_CHUNK; i++) {
        lock_init(&chunk->afters[i].lock);
        chunk->afters[i].next = all->free;
        all->free = &chunk->afters[i];
    }
    return true;
}

/* With a serial number of its own; NULL when there is no memory. */
static struct after *after_new(struct runtime *runtime, uint64_t *serial) {
    struct afters *all = &runtime->afters;
    struct after *after = NULL;
    lock_take(&all->lock);
    if (all->free || afters_grow(all)) {
        after = all->free;
        all->free = after->next;
        *serial = pid_make(runtime->instance, 0, 0) | (++all->serial & SERIALS);
    }
    lock_drop(&all->lock);
    return after;
}

static void after_free(struct runtime *runtime, struct after *after) {
    struct afters *all = &runtime->afters;
    lock_take(&all->lock);
    after->next = all->free;
    all->free = after;
    lock_drop(&all->lock);
}

void after_destroy_all(struct runtime *runtime) {
    for (struct after_chunk *chunk = runtime->afters.chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        for (unsigned i = 0; i < AFTER_CHUNK; i++)
            if (chunk->afters[i].serial) message_free(&runtime->foreign[0].cache, chunk->afters[i].message);
        sys->free(chunk, sizeof *chunk);
    }
}

/* ---- sending ------------------------------------------------------------------------------------------------------- */

/* Under its lock. False: there is nobody to send it to. */
static bool after_send(struct actor *actor, struct worker *self, struct after *after) {
    struct message *message = after->message;
    if (after->period) message = message_copy(&actor->cache, message->from, message->tag, message->data, message->size);
    else after->message = NULL;
    if (!message) return true; /* no memory: this time it is left out */
    return send_count(actor, message, send_message(actor, self, after->to, message)) == 0;
}

static void after_ring(struct actor *actor, struct worker *self, struct alarm *alarm) {
    struct after *after = (struct after *)alarm;
    lock_take(&after->lock);
    bool again = !after->cancelled && after_send(actor, self, after) && after->period; /* A2 */
    struct message *unsent = again ? NULL : after->message;
    uint64_t next = again ? timer_next_period(alarm->timer.when, after->period, sys->now()) : 0;
    if (!again) after->serial = 0;
    else lane_arm_again(actor->runtime, self, after->lane, alarm, next);
    lock_drop(&after->lock); /* armed again, it may ring elsewhere by now */
    if (again) return;
    lane_leave(after->lane);
    if (unsent) message_free(&actor->cache, unsent);
    after_free(actor->runtime, after);
}

/* ---- arming -------------------------------------------------------------------------------------------------------- */

static int after_arm(struct reach *reach, struct message *message, weft_pid to, uint64_t when, uint64_t period, weft_timer *timer) {
    struct runtime *runtime = reach->actor->runtime;
    uint64_t serial;
    atom_u64 *lane = lane_of(runtime, pid_slot(to));
    struct after *after = lane ? after_new(runtime, &serial) : NULL;
    if (!after) return WEFT_ENOMEM;
    alarm_init(&after->alarm, after_ring);
    after->alarm.disposes = true;
    lock_take(&after->lock); /* whoever has an old handle may be looking */
    after->cancelled = false;
    after->serial = serial;
    after->period = period;
    after->to = to;
    after->lane = lane;
    after->message = message;
    lock_drop(&after->lock);
    if (timer) *timer = (weft_timer){after, serial};
    lane_arm(runtime, reach->self, lane, &after->alarm, when);
    return 0;
}

static int after_begin(uint64_t nanoseconds, uint64_t period, weft_pid to, uint64_t tag, const void *data, size_t size,
                       weft_timer *timer) {
    struct reach reach;
    if (timer) *timer = (weft_timer){NULL, 0};
    uint64_t now = sys->now(), when = nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER;
    weft_pid from = weft_self();
    if (!reach_begin(&reach, to, "weft_after")) return WEFT_EFOREIGN;
    struct message *message = message_copy(&reach.actor->cache, from, tag, data, size);
    int error = message ? after_arm(&reach, message, to, when, period, timer) : WEFT_ENOMEM;
    if (error && message) message_free(&reach.actor->cache, message);
    reach_end(&reach);
    return error;
}

int weft_after(uint64_t nanoseconds, weft_pid to, uint64_t tag, const void *data, size_t size, weft_timer *timer) {
    return after_begin(nanoseconds, 0, to, tag, data, size, timer);
}

int weft_every(uint64_t period, weft_pid to, uint64_t tag, const void *data, size_t size, weft_timer *timer) {
    if (period == 0) return WEFT_EINVAL;
    return after_begin(period, period, to, tag, data, size, timer);
}

/* Under its lock: whether it is the caller's to free. */
static bool after_stop(struct after *after) {
    if (!timers_cancel(&after->alarm.timer)) {
        after->cancelled = true; /* after_ring is waiting for the lock (A2) */
        return false;
    }
    after->serial = 0;
    return true;
}

static int after_cancel(struct reach *reach, weft_timer timer) {
    struct after *after = timer.place;
    if ((timer.serial & SERIALS) <= reach->actor->runtime->afters.first) return WEFT_ENOENT;
    lock_take(&after->lock);
    bool there = after->serial == timer.serial && !after->cancelled;
    bool mine = there && after_stop(after);
    lock_drop(&after->lock);
    if (mine) {
        lane_leave(after->lane);
        message_free(&reach->actor->cache, after->message);
        after_free(reach->actor->runtime, after);
    }
    return there ? 0 : WEFT_ENOENT;
}

int weft_timer_cancel(weft_timer timer) {
    struct reach reach;
    if (!timer.place || !reach_begin(&reach, timer.serial, "weft_timer_cancel")) return WEFT_ENOENT;
    int error = after_cancel(&reach, timer);
    reach_end(&reach);
    return error;
}
