/* Which workers sleep and which search: how a worker without work goes to sleep, and how a thread that publishes work (the
 * submitter) finds a worker to wake, so that no wake-up is lost.
 *
 *   operation                  caller
 *   idle_init                  one thread, before it is shared
 *   idle_resize                one thread at a time
 *   idle_wake, idle_wake_one   any thread, after publishing work (idle_wake_one: for one particular worker)
 *   idle_search                an awake worker that is not searching
 *   idle_found                 a searching worker
 *   idle_enter                 an awake worker, searching or not
 *   idle_leave                 a worker between its idle_enter and its waking up
 *
 * The two recipes, which meet at the fences A and B:
 *
 *   a worker without work                                 a submitter
 *   1  idle_enter: set my bit                             1  publish the work
 *                  stop searching                         2  idle_wake: fence B (light)
 *                  fence A (heavy)                                      a worker searches: leave the work to it
 *   2  look once more at *every* source                                 else clear a sleeper's bit
 *      found:   idle_leave, work                                        and count it as searching
 *      nothing: sleep on my parker                        3  unpark the worker that idle_wake names
 *
 * Either the worker's second look finds the work, or the submitter sees the worker's bit or a searcher. All state is
 * bits and a count: nothing to be freed, no pointer that could mean two things. (A stack of sleepers, as in the
 * thread-queue scheduler, has ABA and can hold a sleeper twice.)
 *
 * I1  A worker's bit is set by that worker only. It is cleared by one fetch-and, which says whether it was set. If it was
 *     and the worker itself cleared it, the worker is awake; any other thread that cleared it owes it exactly one unpark.
 * I2  A waker that clears a worker's bit counts the worker as searching, before the unpark. The worker inherits the
 *     count with the token.
 * I3  A submitter that sees a searcher need wake no worker, because no searcher stops without making up for it. In
 *     idle_enter: fence A and the second look at everything; if that finds something, the worker searches again. In
 *     idle_found: the last searcher wakes another worker.
 * I4  A submission wakes one worker at most, and none while a worker searches. An idle runtime causes no wake-ups.
 * I5  The thread told to unpark a worker sees what that worker did, and how it was set up, before it went to sleep.
 *
 * The sleeper with the lowest number is woken first, which keeps those workers' caches warm. */
#ifndef WEFT_QUEUE_IDLE_H
#define WEFT_QUEUE_IDLE_H

#include "base/atom.h"
#include "base/config.h"

#if WEFT_CHECK
enum { IDLE_BITS = 2, IDLE_MAX = 4 }; /* so that three workers need two words */
#else
enum { IDLE_BITS = 64, IDLE_MAX = 1152 };
#endif

enum { IDLE_WORDS = IDLE_MAX / IDLE_BITS, IDLE_NOBODY = -1 };

struct idle {
    atom_u32 workers; /* idle_resize */
    atom_u32 words;   /* how many of `sleeping` were ever used; only grows */
    /* Written by all threads. */
    atom_u32 searching;
    atom_u64 sleeping[IDLE_WORDS]; /* worker w is bit w % IDLE_BITS of word w / IDLE_BITS */
};

/* 1 … IDLE_MAX workers, all awake. */
void idle_init(struct idle *idle, unsigned workers);

/* Another number of workers, by one thread at a time; for more, before the threads of the new ones are started. */
void idle_resize(struct idle *idle, unsigned workers);

/* Work was published: returns the worker that the caller must unpark, or IDLE_NOBODY. */
static inline int idle_wake(struct idle *idle);
/* The same for one worker, whether or not another worker searches (its own pinned queue, shutdown): true when the caller must
 * unpark it; false when it is awake, or another thread is waking it. */
bool idle_wake_one(struct idle *idle, unsigned worker);

/* May this worker, which has no work, search through the other workers' queues? True: it now counts as searching. Only
 * while twice the searchers are fewer than the awake workers, so that many workers do not search for little work. */
bool idle_search(struct idle *idle);
/* A searching worker has found work and stops searching. Returns the worker that the caller must unpark in its place,
 * or IDLE_NOBODY. */
int idle_found(struct idle *idle);

/* The worker is about to sleep; `searching` says whether it counts as such, and it no longer does. The caller then
 * looks at every source once more, and either calls idle_leave or parks. When the park returns 0, the worker is awake
 * and searching; when it timed out, idle_leave. */
void idle_enter(struct idle *idle, unsigned worker, bool searching);

/* The worker wakes by itself. True: it is awake, and searching if `searching` says so: a worker that entered
 * searching and leaves because its second look saw work must go on searching (I3). False: another thread is waking it
 * already; it must take the token (park without a deadline, the token is coming) and is then awake and searching. */
bool idle_leave(struct idle *idle, unsigned worker, bool searching);

/* Whether the worker sleeps, or is about to; a hint. */
bool idle_is_asleep(struct idle *idle, unsigned worker);
/* How many workers sleep or search at the moment; hints. */
unsigned idle_sleepers(struct idle *idle);
unsigned idle_searchers(struct idle *idle);

/* ---- inline: every submission comes through here, and mostly finds no worker asleep ---------------------------- */

/* Makes one sleeper a searcher, unless there is a searcher already: its number, or IDLE_NOBODY. */
int idle_rouse(struct idle *idle);

/* Whether idle_rouse may find one: the fence and the first look of idle_wake. */
static inline bool idle_may_wake(struct idle *idle) {
    atom_fence_light(); /* B: what the caller published, before the loads that look for a searcher or sleeper */
    /* rlx, all: fence B is before them. A searcher that is seen will do what the caller would have done (I3). */
    bool some_sleep = atom_load_rlx(&idle->words) != 1 || atom_load_rlx(&idle->sleeping[0]) != 0;
    return __builtin_expect(some_sleep, 0) && atom_load_rlx(&idle->searching) == 0;
}

static inline int idle_wake(struct idle *idle) { return idle_may_wake(idle) ? idle_rouse(idle) : IDLE_NOBODY; }

#endif
