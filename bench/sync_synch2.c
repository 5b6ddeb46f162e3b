/* synch2 beside what else two threads could use: a pthread mutex, a compare-and-swap spin lock, Peterson's lock.
 * All in one run, each both alone (one thread, no other comes) and contended (two threads, as fast as they can).
 * An operation is one enter and leave around one increment; contended, `turns` says how often the lock changed
 * hands per operation (1 is strict alternation), because a lock that lets one thread through many times in a row
 * looks fast and is unfair. */
#include "base/atom.h"
#include "base/spin.h"
#include "bench/bench.h"

#include <weft/synch2.h>

#include <pthread.h>
#include <stdio.h>

/* What the locks protect. */
static struct {
    _Alignas(64) uint64_t count;
    uint64_t changes;
    unsigned last;
} room;

static inline void visit(unsigned self) {
    room.count++;
    room.changes += room.last != self;
    room.last = self;
}

/* ---- synch2 ------------------------------------------------------------------------------------------------------ */

static weft_synch2 door;
static void synch2_turn(unsigned self) {
    weft_synch2_enter(&door, self);
    visit(self);
    weft_synch2_leave(&door, self);
}

/* ---- pthread_mutex ----------------------------------------------------------------------------------------------- */

static pthread_mutex_t mutex __attribute__((aligned(64))) = PTHREAD_MUTEX_INITIALIZER;
static void mutex_turn(unsigned self) {
    pthread_mutex_lock(&mutex);
    visit(self);
    pthread_mutex_unlock(&mutex);
}

/* ---- Test and compare-and-swap ----------------------------------------------------------------------------------- */

static struct { _Alignas(64) atom_u32 word; } lock;
static void cas_turn(unsigned self) {
    struct spin spin = spin_begin();
    uint32_t none = 0;
    while (atom_load_rlx(&lock.word) || !atom_cas_acq_rlx(&lock.word, &none, 1)) { /* acq: with the rel below */
        none = 0;
        spin_wait(&spin);
    }
    visit(self);
    atom_store_rel(&lock.word, 0); /* with the acq above */
}

/* ---- Peterson ---------------------------------------------------------------------------------------------------- */

static struct {
    struct {
        _Alignas(64) atom_u32 wants;
    } of[2];
    _Alignas(64) atom_u32 turn;
} peterson;
static void peterson_turn(unsigned self) {
    struct spin spin = spin_begin();
    atom_store_rlx(&peterson.of[self].wants, 1); /* ordered by the next one, which is a full fence too */
    /* sc, all of them: both stores before both loads, on both sides. */
    atom_store_sc(&peterson.turn, 1 - self);
    while (atom_load_sc(&peterson.of[1 - self].wants) && atom_load_sc(&peterson.turn) != self)
        spin_wait(&spin);
    visit(self);
    atom_store_rel(&peterson.of[self].wants, 0); /* with the load of `wants` */
}

/* ---- The runs ---------------------------------------------------------------------------------------------------- */

struct contest {
    void (*turn)(unsigned self);
    uint64_t n; /* each thread */
};

static void contest_body(unsigned self, void *arg) {
    const struct contest *contest = arg;
    for (uint64_t i = 0; i < contest->n; i++)
        contest->turn(self);
}

static void run_contest(const struct bench_args *args, struct bench_result *result, void (*turn)(unsigned), unsigned threads) {
    struct contest contest = {turn, args->n / threads};
    snprintf(result->kind, sizeof result->kind, threads == 1 ? "alone" : "contended");
    result->n = contest.n * threads;
    result->seconds = bench_parallel(result, threads, contest_body, &contest);
    if (room.count != result->n)
        snprintf(result->skipped, sizeof result->skipped, "BROKEN: %llu of %llu increments were lost",
                 (unsigned long long)(result->n - room.count), (unsigned long long)result->n);
    if (threads > 1) bench_extra(result, "turns", (double)room.changes / (double)result->n);
}

#define CONTEST(lock_name, text)                                                                                                           \
    static void run_##lock_name##_alone(const struct bench_args *args, struct bench_result *result) {                                      \
        run_contest(args, result, lock_name##_turn, 1);                                                                                    \
    }                                                                                                                                      \
    static void run_##lock_name##_contended(const struct bench_args *args, struct bench_result *result) {                                  \
        run_contest(args, result, lock_name##_turn, 2);                                                                                    \
    }                                                                                                                                      \
    BENCH(lock_name##_alone, .name = "sync.synch2." #lock_name "_alone", .about = text ", one thread alone", .n = 20000000,                \
          .run = run_##lock_name##_alone)                                                                                                  \
    BENCH(lock_name##_contended, .name = "sync.synch2." #lock_name "_contended", .about = text ", two threads at once", .n = 1000000,      \
          .run = run_##lock_name##_contended)

CONTEST(synch2, "synch2")
CONTEST(mutex, "pthread_mutex_t")
CONTEST(cas, "compare-and-swap spin lock")
CONTEST(peterson, "Peterson's lock")
