/* Delayed and periodic messages (weft_after, weft_every).
 *
 * A handle is an address and a serial number. The memory at such an address stays a `struct send_after` until the runtime is taken down, so
 * a stale handle can be checked safely: the serial number there is another. A handle of a former runtime is recognised by its number alone;
 * its address is not read.
 *
 *   A1  The serial number is the handle's word, which decides between cancelling and sending (time/handle.h). All else belongs to one thread at a time: the
 *       one that makes it, until the timer is armed; then the one that rings the timer, or has cancelled it.
 *   A2  After a cancel that returned 0 nothing is sent any more. One that returns WEFT_ENOENT because it came too late finds the message sent. */
#include "mail/lane.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"
#include "sched/timer_event.h"
#include "time/handle.h"

#include <weft/time.h>

/* How many are made at once; are moved between a thread's cache and the others at once; serial numbers that a thread takes at once. */
#if WEFT_CHECK
enum { SEND_AFTER_CHUNK = 2, SEND_AFTER_BATCH = 1, SEND_AFTER_SERIALS = 2 };
#else
enum { SEND_AFTER_CHUNK = 128, SEND_AFTER_BATCH = 64, SEND_AFTER_SERIALS = 4096 };
#endif

#define SERIALS (UINT64_MAX >> 10) /* the upper 8 bits of a number are the runtime's instance, the next two the handle's flags */
_Static_assert((SERIALS & HANDLE_FLAGS) == 0, "serial numbers and flags");

struct send_after {
    struct timer_event timer; /* first: its address is this one's */
    struct handle handle;     /* 0: not in use */
    uint64_t period;          /* 0: once */
    weft_pid to;
    atom_u64 *lane;          /* the receiver's: lane.h */
    struct message *message; /* to be sent; with a period, to be copied and sent */
    struct send_after *next; /* in a list of free ones */
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
        chunk->send_afters[i].next = all->free;
        all->free = &chunk->send_afters[i];
    }
    return true;
}

static void send_after_put(struct send_after **list, struct send_after *after) {
    after->next = *list;
    *list = after;
}
static struct send_after *send_after_get(struct send_after **list) {
    struct send_after *after = *list;
    if (after) *list = after->next;
    return after;
}

/* Under the lock of `all`. Afterwards the cache has a free one, if there is memory, and a serial number. */
static void send_afters_fill(struct send_afters *all, struct send_after_cache *cache) {
    struct send_after *after;
    if (cache->serial == cache->last) {
        cache->serial = all->serial;
        cache->last = all->serial += SEND_AFTER_SERIALS;
    }
    if (cache->free || (!all->free && !send_afters_grow(all))) return;
    for (; cache->count < SEND_AFTER_BATCH && (after = send_after_get(&all->free)); cache->count++)
        send_after_put(&cache->free, after);
}

static __attribute__((noinline, cold)) void send_after_refill(struct local *local) {
    struct send_afters *all = &local->runtime->send_afters;
    lock_take(&all->lock);
    send_afters_fill(all, &local->send_afters);
    lock_drop(&all->lock);
}

static __attribute__((noinline, cold)) void send_after_spill(struct local *local) {
    struct send_afters *all = &local->runtime->send_afters;
    struct send_after_cache *cache = &local->send_afters;
    lock_take(&all->lock);
    for (; cache->count > SEND_AFTER_BATCH; cache->count--)
        send_after_put(&all->free, send_after_get(&cache->free));
    lock_drop(&all->lock);
}

/* With a new serial number; NULL: there is no memory. */
static inline struct send_after *send_after_new(struct local *local, uint64_t *serial) {
    struct send_after_cache *cache = &local->send_afters;
    if (__builtin_expect(!cache->free || cache->serial == cache->last, 0)) send_after_refill(local);
    struct send_after *after = send_after_get(&cache->free);
    if (__builtin_expect(!after, 0)) return NULL;
    cache->count--;
    *serial = pid_make(local->runtime->instance, 0, 0) | (++cache->serial & SERIALS);
    return after;
}

static void send_after_free(struct local *local, struct send_after *after) {
    send_after_put(&local->send_afters.free, after);
    if (__builtin_expect(++local->send_afters.count == 2 * SEND_AFTER_BATCH, 0)) send_after_spill(local);
}

void send_after_destroy_all(struct runtime *runtime) {
    for (struct send_after_chunk *chunk = runtime->send_afters.chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        for (unsigned i = 0; i < SEND_AFTER_CHUNK; i++) /* rlx: no other thread is left */
            if (atom_load_rlx(&chunk->send_afters[i].handle.word)) message_free(&runtime->doors[0].cache, chunk->send_afters[i].message);
        sys->free(chunk, sizeof *chunk);
    }
}

/* ---- sending ------------------------------------------------------------------------------------------------------- */

/* False: the receiver has ended. */
static bool send_after_send(struct local *local, struct worker *self, struct send_after *after) {
    struct message *message = after->message;
    if (after->period) message = message_copy(&local->cache, message->from, message->tag, message->data, message->size);
    else after->message = NULL;
    if (!message) return true; /* no memory: this period is skipped */
    enum bounds_how how = after->period ? BOUNDS_TICK : BOUNDS_PASS;
    return send_count(local, message, send_message_as(local, self, after->to, message, how)) != WEFT_ENOPROC;
}

/* Its timer is in no wheel, and never will be. */
static inline __attribute__((always_inline)) void send_after_over(struct local *local, struct send_after *after) {
    lane_leave(after->lane);
    if (after->message) message_free(&local->cache, after->message);
    send_after_free(local, after);
}

static void send_after_ring(struct local *local, struct worker *self, struct timer_event *event) {
    struct send_after *after = (struct send_after *)event;
    if (handle_ring(&after->handle) && send_after_send(local, self, after) && after->period) {
        lane_arm_again(local->runtime, self, after->lane, event, timer_next_period(event->timer.when, after->period, sys->now()));
        handle_again(&after->handle); /* it may ring on another thread from here on */
        return;
    }
    handle_end(&after->handle);
    send_after_over(local, after);
}

/* ---- arming -------------------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) int send_after_arm(struct rt_entry *entry, struct message *message, weft_pid to, uint64_t when,
                                                                uint64_t period, weft_timer *timer) {
    struct runtime *runtime = entry->local->runtime;
    uint64_t serial;
    atom_u64 *lane = lane_of(runtime, pid_slot(to));
    struct send_after *after = lane ? send_after_new(entry->local, &serial) : NULL;
    if (!after) return WEFT_ENOMEM;
    timer_event_init(&after->timer, send_after_ring);
    after->timer.disposes = true;
    after->period = period;
    after->to = to;
    after->lane = lane;
    after->message = message;
    handle_begin(&after->handle, serial);
    if (timer) *timer = (weft_timer){after, serial};
    lane_arm(runtime, entry->self, lane, &after->timer, when);
    return 0;
}

static inline __attribute__((always_inline)) int send_after_begin(uint64_t nanoseconds, uint64_t period, weft_pid to, uint64_t tag,
                                                                  const void *data, size_t size, weft_timer *timer) {
    struct rt_entry entry;
    struct worker *worker = my_worker;
    heed(worker);
    weft_pid from = worker ? worker_pid(worker) : WEFT_NOBODY;
    uint64_t now = sys->now(), when = nanoseconds < WEFT_FOREVER - now ? now + nanoseconds : WEFT_FOREVER;
    int error = WEFT_EFOREIGN;
    if (rt_enter(&entry, to, "weft_after")) {
        struct message *message = message_copy(&entry.local->cache, from, tag, data, size);
        error = message ? send_after_arm(&entry, message, to, when, period, timer) : message_refused(size);
        if (__builtin_expect(error && message, 0)) message_free(&entry.local->cache, message);
        rt_leave(&entry);
    }
    if (__builtin_expect(error && timer, 0)) *timer = (weft_timer){NULL, 0};
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

static int send_after_cancel(struct rt_entry *entry, weft_timer timer) {
    struct send_after *after = timer.place;
    if ((timer.serial & SERIALS) <= entry->local->runtime->send_afters.first) return WEFT_ENOENT;
    enum handle_cancelled how = handle_cancel(&after->handle, &after->timer.timer, timer.serial);
    if (how == HANDLE_MINE) send_after_over(entry->local, after);
    return how == HANDLE_GONE ? WEFT_ENOENT : 0;
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
