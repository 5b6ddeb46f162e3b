/* Delayed and periodic messages (weft_after, weft_every).
 *
 * A handle is an address and a serial number. The memory at such an address stays a `struct send_after` until the runtime is taken down, so
 * a stale handle can be checked safely: the serial number there is another. A handle of a former runtime is recognised by its number alone;
 * its address is not read.
 *
 *   A1  All of a `struct send_after` but its timer is guarded by its own lock. Sending happens under it too: after a cancel that returned
 *       0 nothing is sent any more.
 *   A2  While the timer is handed out (TAKEN), it belongs to send_after_ring, which takes the lock and then checks `cancelled`. */
#include "mail/lane.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"
#include "sched/timer_event.h"

#include <weft/time.h>

#if WEFT_CHECK
enum { SEND_AFTER_CHUNK = 2 };
#else
enum { SEND_AFTER_CHUNK = 128 };
#endif

#define SERIALS (UINT64_MAX >> 8) /* the upper 8 bits of a number are the runtime's instance */

struct send_after {
    struct timer_event timer; /* first: its address is this one's */
    struct lock lock;
    bool cancelled;
    uint64_t serial; /* 0: not in use */
    uint64_t period; /* 0: once */
    weft_pid to;
    atom_u64 *lane;          /* the receiver's: lane.h */
    struct message *message; /* to be sent; with a period, to be copied and sent */
    struct send_after *next; /* in the list of free ones */
};

struct send_after_chunk {
    struct send_after_chunk *next;
    struct send_after send_afters[SEND_AFTER_CHUNK];
};

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* Under the lock of `all`. */
static bool send_afters_grow(struct send_afters *all) {
    struct send_after_chunk *chunk = sys->alloc(sizeof *chunk);
    if (!chunk) return false;
    chunk->next = all->chunks;
    all->chunks = chunk;
    for (unsigned i = 0; i < SEND_AFTER_CHUNK; i++) {
        lock_init(&chunk->send_afters[i].lock);
        chunk->send_afters[i].next = all->free;
        all->free = &chunk->send_afters[i];
    }
    return true;
}

/* With a new serial number; NULL: there is no memory. */
static struct send_after *send_after_new(struct runtime *runtime, uint64_t *serial) {
    struct send_afters *all = &runtime->send_afters;
    struct send_after *after = NULL;
    lock_take(&all->lock);
    if (all->free || send_afters_grow(all)) {
        after = all->free;
        all->free = after->next;
        *serial = pid_make(runtime->instance, 0, 0) | (++all->serial & SERIALS);
    }
    lock_drop(&all->lock);
    return after;
}

static void send_after_free(struct runtime *runtime, struct send_after *after) {
    struct send_afters *all = &runtime->send_afters;
    lock_take(&all->lock);
    after->next = all->free;
    all->free = after;
    lock_drop(&all->lock);
}

void send_after_destroy_all(struct runtime *runtime) {
    for (struct send_after_chunk *chunk = runtime->send_afters.chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        for (unsigned i = 0; i < SEND_AFTER_CHUNK; i++)
            if (chunk->send_afters[i].serial) message_free(&runtime->doors[0].cache, chunk->send_afters[i].message);
        sys->free(chunk, sizeof *chunk);
    }
}

/* ---- sending ------------------------------------------------------------------------------------------------------- */

/* Under its lock. False: the receiver has ended. */
static bool send_after_send(struct local *local, struct worker *self, struct send_after *after) {
    struct message *message = after->message;
    if (after->period) message = message_copy(&local->cache, message->from, message->tag, message->data, message->size);
    else after->message = NULL;
    if (!message) return true; /* no memory: this period is skipped */
    enum bounds_how how = after->period ? BOUNDS_TICK : BOUNDS_PASS;
    return send_count(local, message, send_message_as(local, self, after->to, message, how)) != WEFT_ENOPROC;
}

static void send_after_ring(struct local *local, struct worker *self, struct timer_event *event) {
    struct send_after *after = (struct send_after *)event;
    lock_take(&after->lock);
    bool again = !after->cancelled && send_after_send(local, self, after) && after->period; /* A2 */
    struct message *unsent = again ? NULL : after->message;
    uint64_t next = again ? timer_next_period(event->timer.when, after->period, sys->now()) : 0;
    if (!again) after->serial = 0;
    else lane_arm_again(local->runtime, self, after->lane, event, next);
    lock_drop(&after->lock); /* if armed again, it may ring on another thread from here on */
    if (again) return;
    lane_leave(after->lane);
    if (unsent) message_free(&local->cache, unsent);
    send_after_free(local->runtime, after);
}

/* ---- arming -------------------------------------------------------------------------------------------------------- */

static int send_after_arm(struct rt_entry *entry, struct message *message, weft_pid to, uint64_t when, uint64_t period, weft_timer *timer) {
    struct runtime *runtime = entry->local->runtime;
    uint64_t serial;
    atom_u64 *lane = lane_of(runtime, pid_slot(to));
    struct send_after *after = lane ? send_after_new(runtime, &serial) : NULL;
    if (!after) return WEFT_ENOMEM;
    timer_event_init(&after->timer, send_after_ring);
    after->timer.disposes = true;
    lock_take(&after->lock); /* a thread with an old handle may be checking it */
    after->cancelled = false;
    after->serial = serial;
    after->period = period;
    after->to = to;
    after->lane = lane;
    after->message = message;
    lock_drop(&after->lock);
    if (timer) *timer = (weft_timer){after, serial};
    lane_arm(runtime, entry->self, lane, &after->timer, when);
    return 0;
}

static int send_after_begin(uint64_t nanoseconds, uint64_t period, weft_pid to, uint64_t tag, const void *data, size_t size,
                            weft_timer *timer) {
    struct rt_entry entry;
    heed(my_worker);
    if (timer) *timer = (weft_timer){NULL, 0};
    uint64_t now = sys->now(), when = nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER;
    weft_pid from = weft_self();
    if (!rt_enter(&entry, to, "weft_after")) return WEFT_EFOREIGN;
    struct message *message = message_copy(&entry.local->cache, from, tag, data, size);
    int error = message ? send_after_arm(&entry, message, to, when, period, timer) : message_refused(size);
    if (error && message) message_free(&entry.local->cache, message);
    rt_leave(&entry);
    return error;
}

int weft_after(uint64_t nanoseconds, weft_pid to, uint64_t tag, const void *data, size_t size, weft_timer *timer) {
    return send_after_begin(nanoseconds, 0, to, tag, data, size, timer);
}

int weft_every(uint64_t period, weft_pid to, uint64_t tag, const void *data, size_t size, weft_timer *timer) {
    heed(my_worker);
    if (period == 0) return WEFT_EINVAL;
    return send_after_begin(period, period, to, tag, data, size, timer);
}

/* Under its lock: stops it. True: the caller frees it. */
static bool send_after_stop(struct send_after *after) {
    if (!timers_cancel(&after->timer.timer)) {
        after->cancelled = true; /* send_after_ring is waiting for the lock (A2) */
        return false;
    }
    after->serial = 0;
    return true;
}

static int send_after_cancel(struct rt_entry *entry, weft_timer timer) {
    struct send_after *after = timer.place;
    if ((timer.serial & SERIALS) <= entry->local->runtime->send_afters.first) return WEFT_ENOENT;
    lock_take(&after->lock);
    bool there = after->serial == timer.serial && !after->cancelled;
    bool mine = there && send_after_stop(after);
    lock_drop(&after->lock);
    if (mine) {
        lane_leave(after->lane);
        message_free(&entry->local->cache, after->message);
        send_after_free(entry->local->runtime, after);
    }
    return there ? 0 : WEFT_ENOENT;
}

int weft_timer_cancel(weft_timer timer) {
    struct rt_entry entry;
    int error = WEFT_ENOENT;
    if (timer.place && rt_enter(&entry, timer.serial, "weft_timer_cancel")) {
        error = send_after_cancel(&entry, timer);
        rt_leave(&entry);
    }
    heed_after(my_worker);
    return error;
}
