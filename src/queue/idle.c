/* The bits of sleeping workers and the count of searchers: see queue/idle.h. */
#include "queue/idle.h"

#include "base/assert.h"
#include "sys/sys.h"

/* Memory orders. Work travels through the queues' own release and acquire, the token through the parker's. What is
 * needed here is that a store comes before a later load, on both sides; the fences A and B give that between a worker
 * that goes to sleep and a submitter. The bits and the count are then relaxed but for I5; their read-modify-writes
 * make I1 and I2 true. The one exception has three parties: idle_found. */

static inline atom_u64 *idle_word(struct idle *idle, unsigned worker) { return &idle->sleeping[worker / IDLE_BITS]; }
static inline uint64_t idle_bit(unsigned worker) { return UINT64_C(1) << (worker % IDLE_BITS); }

void idle_init(struct idle *idle, unsigned workers) {
    WEFT_ENSURE(workers > 0 && workers <= IDLE_MAX, "idle_init with %u workers, at most %d", workers, IDLE_MAX);
    atom_store_rlx(&idle->words, 0); /* rlx: not shared yet */
    idle_resize(idle, workers);
    atom_store_rlx(&idle->searching, 0);
    for (unsigned i = 0; i < IDLE_WORDS; i++)
        atom_store_rlx(&idle->sleeping[i], 0);
}

void idle_resize(struct idle *idle, unsigned workers) {
    uint32_t words = (workers + IDLE_BITS - 1) / IDLE_BITS;
    /* rlx: a new worker's thread is started after this, so the store is before its fence A. If a submitter does not see the
     * worker's word after fence B, the worker's second look sees the submitter's work. */
    atom_store_rlx(&idle->workers, workers);
    if (words > atom_load_rlx(&idle->words)) atom_store_rlx(&idle->words, words);
}

__attribute__((noinline)) int idle_rouse(struct idle *idle) {
    /* rlx: a searcher that is seen here will do what the caller would have done (I3). */
    if (atom_load_rlx(&idle->searching) != 0) return IDLE_NOBODY;
    uint32_t words = atom_load_rlx(&idle->words); /* rlx: see idle_resize */
    for (unsigned i = 0; i < words; i++) {
        uint64_t seen = atom_load_rlx(&idle->sleeping[i]); /* rlx: behind fence B of both callers */
        while (seen) {
            uint64_t lowest = seen & -seen;
            seen = atom_and_acq(&idle->sleeping[i], ~lowest); /* acq: pairs with the rel in idle_enter (I5) */
            if (!(seen & lowest)) continue;                   /* it left, or another waker was faster (I1) */
            atom_add_rlx(&idle->searching, 1);                /* before the token, so before the worker can stop (I2) */
            return (int)(i * IDLE_BITS) + __builtin_ctzll(lowest);
        }
    }
    return IDLE_NOBODY;
}

bool idle_wake_one(struct idle *idle, unsigned worker) {
    atom_fence_light(); /* B */
    /* rlx: looks before it writes. */
    if (!(atom_load_rlx(idle_word(idle, worker)) & idle_bit(worker))) return false;
    /* acq: pairs with the rel in idle_enter (I5). */
    if (!(atom_and_acq(idle_word(idle, worker), ~idle_bit(worker)) & idle_bit(worker))) return false;
    atom_add_rlx(&idle->searching, 1); /* before the token, so before the worker can stop (I2) */
    return true;
}

bool idle_search(struct idle *idle) {
    uint32_t searching = atom_load_rlx(&idle->searching);
    uint32_t workers = atom_load_rlx(&idle->workers), sleepers = idle_sleepers(idle);
    /* A racy count: while the number of workers changes, more may sleep than `workers` says. */
    if (sleepers >= workers || 2 * searching >= workers - sleepers) return false;
    atom_add_rlx(&idle->searching, 1); /* two workers at once may make it one too many, which only wastes time */
    return true;
}

int idle_found(struct idle *idle) {
    /* sc, with the fence below: the count goes down before this worker looks for sleepers. A submitter that still saw the
     * count relies on this worker, so a worker that went to sleep before the submission must be seen here. The light fence
     * would not do: it only orders against the sleeper's heavy one, and this is between submitter and finder. */
    uint32_t before = atom_sub_sc(&idle->searching, 1);
    WEFT_ASSERT(before > 0, "a worker stopped searching that was not counted as searching");
    /* B: also orders the work that the finder itself published, by queueing more than it runs, before its look for sleepers. */
    atom_fence_light();
    /* The last searcher wakes another worker (I3). */
    if (before == 1) return idle_rouse(idle); /* recheck, without: (void)before; */
    return IDLE_NOBODY;
}

void idle_enter(struct idle *idle, unsigned worker, bool searching) {
    /* rel: pairs with the acq in idle_rouse and idle_wake_one (I5); without it the waker may not find a new worker's parker. */
    uint64_t before = atom_or_rel(idle_word(idle, worker), idle_bit(worker));
    WEFT_ASSERT(!(before & idle_bit(worker)), "worker %u goes to sleep twice", worker);
    (void)before;
    if (searching) {
        uint32_t searchers = atom_sub_rlx(&idle->searching, 1);
        WEFT_ASSERT(searchers > 0, "worker %u stopped searching and was not counted as searching", worker);
        (void)searchers;
    }
    sys_fence_heavy(); /* A: bit and count before the caller's second look; pairs with B */
}

bool idle_leave(struct idle *idle, unsigned worker, bool searching) {
    bool mine = (atom_and_rlx(idle_word(idle, worker), ~idle_bit(worker)) & idle_bit(worker)) != 0;
    if (mine && searching) atom_add_rlx(&idle->searching, 1);
    return mine;
}

bool idle_is_asleep(struct idle *idle, unsigned worker) { return (atom_load_rlx(idle_word(idle, worker)) & idle_bit(worker)) != 0; }

unsigned idle_sleepers(struct idle *idle) {
    unsigned count = 0;
    uint32_t words = atom_load_rlx(&idle->words);
    for (unsigned i = 0; i < words; i++)
        count += (unsigned)__builtin_popcountll(atom_load_rlx(&idle->sleeping[i]));
    return count;
}

unsigned idle_searchers(struct idle *idle) { return atom_load_rlx(&idle->searching); }
