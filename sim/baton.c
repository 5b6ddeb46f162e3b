/* The baton: which thread runs, and what time it is. See sim.h. */
#include "base/sim_hooks.h"
#include "events.h"
#include "real.h"
#include "record.h"
#include "sim.h"
#include "starvation.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* What things take, in virtual nanoseconds. */
    BATON_ATOM_NS = 2,
    BATON_EFFECT_NS = 100,
    BATON_NOW_NS = 20,
    BATON_SPIN_NS = 200,
    BATON_SPIN_PATIENCE = 64,      /* rounds, after which only the passing of time can help */
    BATON_SPIN_MOST = 1 << 20,     /* rounds of all threads without any other point: a livelock */
    BATON_CHANCE_UNIT = 1 << 10,   /* of the chance to switch at an effect */
    BATON_COARSER_EVERY = 1 << 15, /* switches */
    BATON_COARSEST = 20,           /* doublings */
    BATON_STALL_DOUBLINGS = 24,    /* of the shortest stall: up to 8 s */
    BATON_KEY_ROUNDS = 3,          /* of destructors of thread-local values, before the thread gives the baton up */
};

#define BATON_STALL_LEAST UINT64_C(1000) /* ns */

/* How the seed behaves as a whole. */
static struct {
    bool priorities;     /* the thread with the highest priority runs; few changes. Otherwise all choices are equally likely */
    uint32_t chance;     /* to switch at an effect */
    uint64_t atoms_mean; /* atomic operations between two switches */
} strategy;

static struct {
    bool on, in_event;
    struct sim_thread *threads[SIM_THREADS_MOST];
    unsigned count;
    struct sim_thread *running;
    uint64_t now, due; /* due: nothing happens before by itself */
    uint64_t passes;   /* of the baton */
    uint64_t lowest;
    uint64_t spins; /* rounds without any other point */
    int64_t atoms_given;
} baton;

static _Thread_local struct sim_thread *baton_me;
static pthread_key_t baton_key;

struct sim_thread *sim_me(void) {
    return baton.in_event ? NULL : baton_me;
}
unsigned sim_thread_count(void) { return baton.count; }
struct sim_thread *sim_thread_at(unsigned index) {
    return baton.threads[index];
}

/* ---- time --------------------------------------------------------------------------------------------------------------- */

/* The running thread has made atomic operations: they take time. */
static void baton_account(uint64_t more) {
    struct sim_thread *me = baton.running;
    uint64_t atoms = (uint64_t)(baton.atoms_given - sim_atoms_left);
    uint64_t time = atoms * BATON_ATOM_NS + more;
    baton.atoms_given = sim_atoms_left;
    me->atoms += atoms;
    me->time += time;
    baton.now += time;
}

uint64_t sim_now(void) {
    if (baton.on && baton_me == baton.running && !baton.in_event) baton_account(BATON_NOW_NS);
    return baton.now;
}

static bool baton_is_gone(const struct sim_thread *thread) { return thread->crashed && thread->locks == 0; }

void baton_is_due(uint64_t moment) {
    if (moment < baton.due) baton.due = moment;
}

/* Deadlines that have passed, and events. */
static void baton_run_due(void) {
    if (baton.now < baton.due) return;
    baton.in_event = true;
    events_run(baton.now);
    baton.in_event = false;
    baton.due = events_next();
    for (unsigned i = 0; i < baton.count; i++) {
        struct sim_thread *thread = baton.threads[i];
        if (thread->state != SIM_BLOCKED || baton_is_gone(thread)) continue;
        if (thread->deadline <= baton.now) sim_unblock_thread(thread, -ETIMEDOUT);
        else baton_is_due(thread->deadline);
    }
}

/* ---- passing the baton --------------------------------------------------------------------------------------------------- */

static void baton_sleep(struct sim_thread *me) {
    int before = errno;
    while (__atomic_load_n(&me->go, __ATOMIC_ACQUIRE) == 0)
        syscall(SYS_futex, &me->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    me->go = 0;
    errno = before;
}

/* A long run is explored more coarsely the longer it lasts: it costs 2 us and more to pass the baton. */
static unsigned baton_coarseness(void) {
    uint64_t rounds = baton.passes / BATON_COARSER_EVERY;
    return rounds < BATON_COARSEST ? (unsigned)rounds : (unsigned)BATON_COARSEST;
}

/* How many atomic operations the thread may make before it reaches a point. */
static void baton_give_atoms(struct sim_thread *thread) {
    uint64_t number, value;
    int64_t atoms = INT64_MAX;
    if (!sim_is_scripted()) atoms = 1 + (int64_t)sim_pick(2 * strategy.atoms_mean << baton_coarseness());
    else if (sim_draw_scripted(SIM_ATOM, thread->index, thread->atoms, &number, &value)) atoms = (int64_t)(number - thread->atoms) - 1;
    sim_atoms_left = baton.atoms_given = atoms;
}

static void baton_hand_to(struct sim_thread *next) {
    int before = errno;
    baton.passes++;
    record_switch(baton.now, baton.running->index, next->index);
    baton.running = next;
    baton_give_atoms(next);
    __atomic_store_n(&next->go, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &next->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = before;
}

static void baton_pass(struct sim_thread *next) {
    struct sim_thread *me = baton.running;
    if (next == me) return;
    baton_hand_to(next);
    baton_sleep(me);
}

/* ---- choosing ------------------------------------------------------------------------------------------------------------ */

static bool baton_can_run(const struct sim_thread *thread) { return thread->state == SIM_RUNNABLE && !baton_is_gone(thread); }

/* The n-th thread that can run, counted from the one behind `me`, which itself comes last. *count: how many there are. */
static struct sim_thread *baton_nth(const struct sim_thread *me, uint64_t n, unsigned *count) {
    struct sim_thread *found = NULL;
    *count = 0;
    for (unsigned i = 1; i <= baton.count; i++) {
        struct sim_thread *thread = baton.threads[(me->index + i) % baton.count];
        if (baton_can_run(thread) && (*count)++ == n) found = thread;
    }
    return found;
}

static uint64_t baton_highest(const struct sim_thread *me) {
    uint64_t best = 0, n = 0, best_priority = 0;
    for (unsigned i = 1; i <= baton.count; i++) {
        struct sim_thread *thread = baton.threads[(me->index + i) % baton.count];
        if (!baton_can_run(thread)) continue;
        if (thread->priority > best_priority) best_priority = thread->priority, best = n;
        n++;
    }
    return best;
}

/* Which of `count` threads the seed's strategy runs, counted as in baton_nth. */
static uint64_t baton_by_strategy(const struct sim_thread *me, unsigned count) {
    return strategy.priorities ? baton_highest(me) : sim_pick(count);
}

/* The running thread cannot go on, or should not. NULL: no thread can run. */
static struct sim_thread *baton_choose(struct sim_thread *me) {
    unsigned count;
    uint64_t number, value = 0;
    baton_nth(me, 0, &count);
    if (count == 0) return NULL;
    me->choices++;
    if (sim_is_scripted()) {
        if (!sim_draw_scripted(SIM_NEXT, me->index, me->choices - 1, &number, &value) || number != me->choices || value >= count) value = 0;
    } else {
        value = baton_by_strategy(me, count);
    }
    if (value) sim_draw_record(SIM_NEXT, me->index, me->choices, value);
    return baton_nth(me, value, &count);
}

/* Time passes until a thread can run. */
static void baton_wait_for_time(void) {
    uint64_t next = events_next();
    for (unsigned i = 0; i < baton.count; i++) {
        struct sim_thread *thread = baton.threads[i];
        if (thread->state == SIM_BLOCKED && !baton_is_gone(thread) && thread->deadline < next) next = thread->deadline;
    }
    if (next == SIM_FOREVER) sim_deadlock();
    if (next > baton.now) baton.now = next;
    baton.due = 0;
    baton_run_due();
}

static struct sim_thread *baton_next(struct sim_thread *me) {
    struct sim_thread *next;
    baton_run_due();
    while (!(next = baton_choose(me)))
        baton_wait_for_time();
    return next;
}

/* A point at which the thread may go on, and goes on unless the seed decides otherwise. Named by `kind` and `number`. */
static void baton_may_switch(struct sim_thread *me, enum sim_draw_kind kind, uint64_t number, bool switches) {
    unsigned count;
    uint64_t found, value;
    struct sim_thread *next = me;
    baton_run_due();
    if (sim_is_scripted()) {
        if (sim_draw_scripted(kind, me->index, number - 1, &found, &value) && found == number && value <= baton.count && value > 0)
            next = baton.threads[value - 1];
    } else if (switches) {
        baton_nth(me, 0, &count);
        next = baton_nth(me, baton_by_strategy(me, count), &count);
    }
    if (!baton_can_run(next) || next == me) return;
    sim_draw_record(kind, me->index, number, next->index + 1);
    baton_pass(next);
}

/* ---- stalls --------------------------------------------------------------------------------------------------------------- */

static void baton_stall_over(void *thread) { sim_unblock_thread(thread, 0); }

/* The kernel may leave a thread that could run alone for any time. An event ends the stall, so threads that spin meanwhile see it come. */
static void baton_may_stall(struct sim_thread *me) {
    if (!sim_fault_is_on(SIM_FAULT_STALL) || !sim_fault(SIM_FAULT_STALL, SIM_STALL)) return;
    uint64_t least = BATON_STALL_LEAST << sim_draw(SIM_STALL, BATON_STALL_DOUBLINGS);
    me->stalled = true;
    sim_at(baton.now + least + sim_draw(SIM_STALL, least), baton_stall_over, me);
    sim_block("a stall", &me->stalled, SIM_FOREVER);
    me->stalled = false;
}

/* ---- points -------------------------------------------------------------------------------------------------------------- */

static bool baton_mine(void) {
    if (!baton.on || baton.in_event) return false;
    if (__builtin_expect(baton_me == baton.running, 1)) return true;
    if (baton_me && baton_me->state == SIM_ENDED) return false;
    sim_fail("thread", "a thread that the simulation does not know calls weft: start it with weft_sim_thread");
}

void sim_atom(void) {
    if (!baton_mine()) {
        sim_atoms_left = INT64_MAX;
        return;
    }
    struct sim_thread *me = baton.running;
    baton_account(0);
    if (strategy.priorities && !sim_is_scripted()) me->priority = --baton.lowest; /* a change */
    baton_give_atoms(me);
    baton_may_stall(me);
    baton_may_switch(me, SIM_ATOM, me->atoms, true);
}

void sim_note(const char *what, uint64_t detail) {
    record_event(baton.now, baton_me && !baton.in_event ? baton_me->index : UINT_MAX, what, detail);
}

void sim_effect(const char *what, uint64_t detail) {
    if (!baton_mine()) return;
    struct sim_thread *me = baton.running;
    baton_account(BATON_EFFECT_NS);
    me->spins = 0;
    baton.spins = 0;
    sim_note(what, detail);
    sim_promises();
    if (!strategy.priorities && !sim_fault_is_on(SIM_FAULT_STALL)) starvation_look(); /* the others starve threads */
    baton_may_stall(me);
    baton_may_switch(me, SIM_SWITCH, ++me->effects,
                     strategy.priorities || sim_pick(BATON_CHANCE_UNIT << baton_coarseness()) < strategy.chance);
}

void sim_spin(void) {
    if (!baton_mine()) return;
    struct sim_thread *me = baton.running;
    baton_account(BATON_SPIN_NS);
    if (strategy.priorities) me->priority = --baton.lowest;
    if (++baton.spins > BATON_SPIN_MOST) sim_fail("livelock", "threads wait for each other in loops without end");
    if (++me->spins % BATON_SPIN_PATIENCE == 0 && events_next() != SIM_FOREVER) baton_wait_for_time();
    baton_pass(baton_next(me));
}

int sim_block(const char *why, const void *on, uint64_t deadline) {
    if (!baton_mine()) return -EINVAL;
    struct sim_thread *me = baton.running;
    baton_account(0);
    me->state = SIM_BLOCKED;
    me->why = why;
    me->on = on;
    me->deadline = deadline;
    baton_is_due(deadline);
    baton_pass(baton_next(me));
    return me->result;
}

void sim_unblock_thread(struct sim_thread *thread, int result) {
    if (thread->state != SIM_BLOCKED) return;
    thread->state = SIM_RUNNABLE;
    thread->result = result;
    thread->on = NULL;
}

static struct sim_thread *baton_blocked_on(const void *on, uint64_t n, uint64_t *count) {
    struct sim_thread *found = NULL;
    *count = 0;
    for (unsigned i = 0; i < baton.count; i++) {
        struct sim_thread *thread = baton.threads[i];
        if (thread->state == SIM_BLOCKED && !baton_is_gone(thread) && thread->on == on && (*count)++ == n) found = thread;
    }
    return found;
}

unsigned sim_unblock(const void *on, unsigned count, int result) {
    unsigned woken = 0;
    uint64_t there;
    for (; woken < count; woken++) {
        if (!baton_blocked_on(on, 0, &there)) break;
        sim_unblock_thread(baton_blocked_on(on, there > 1 ? sim_draw(SIM_WAKE, there) : 0, &there), result);
    }
    return woken;
}

/* ---- threads ------------------------------------------------------------------------------------------------------------- */

static struct sim_thread *baton_thread(void *(*entry)(void *), void *arg) {
    if (baton.count == SIM_THREADS_MOST) return NULL;
    struct sim_thread *thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    thread->index = baton.count;
    thread->machine = baton_me ? baton_me->machine : 0;
    thread->entry = entry;
    thread->arg = arg;
    thread->priority = (UINT64_C(1) << 62) + (sim_is_scripted() ? 0 : sim_pick(UINT32_MAX));
    baton.threads[baton.count++] = thread;
    return thread;
}

static void baton_end(struct sim_thread *me) {
    baton_account(0);
    me->state = SIM_ENDED;
    sim_unblock(me, SIM_THREADS_MOST, 0);
    baton_hand_to(baton_next(me));
}

/* After the destructors of all other thread-local values, as far as that can be had. */
static void baton_key_gone(void *value) {
    struct sim_thread *me = value;
    if (me->rounds++ < BATON_KEY_ROUNDS) pthread_setspecific(baton_key, me);
    else baton_end(me);
}

static void *baton_thread_main(void *arg) {
    struct sim_thread *me = arg;
    baton_me = me;
    baton_sleep(me);
    pthread_setspecific(baton_key, me);
    return me->entry(me->arg);
}

int sim_thread_start(struct sim_thread **started, void *(*entry)(void *), void *arg) {
    return sim_thread_start_with(started, NULL, entry, arg);
}

int sim_thread_start_with(struct sim_thread **started, const void *attributes, void *(*entry)(void *), void *arg) {
    struct sim_thread *thread = baton_thread(entry, arg);
    if (!thread) return -EAGAIN;
    int error = real()->pthread_create((pthread_t *)&thread->handle, attributes, baton_thread_main, thread);
    if (error) thread->state = SIM_ENDED;
    *started = thread;
    return -error;
}

void sim_thread_wait(struct sim_thread *thread) {
    while (thread->state != SIM_ENDED)
        sim_block("the end of a thread", thread, SIM_FOREVER);
    thread->joined = true;
}

/* ---- machines that crash -------------------------------------------------------------------------------------------------- */

void sim_leave_for_ever(void) {
    struct sim_thread *me = baton.running;
    baton_account(0);
    baton_pass(baton_next(me));
}

void sim_lock_taken(void) {
    if (baton_me) baton_me->locks++;
}

void sim_lock_dropped(void) {
    struct sim_thread *me = baton_me;
    if (!me || --me->locks > 0 || !me->crashed) return;
    sim_machine_settle(me->machine);
    sim_leave_for_ever();
}

/* ---- the beginning and the end -------------------------------------------------------------------------------------------- */

void sim_begin(void) {
    strategy.priorities = sim_seed_random(2);
    strategy.chance = 1 + (uint32_t)sim_seed_random(BATON_CHANCE_UNIT / 2);
    strategy.atoms_mean = UINT64_C(8) << sim_seed_random(12);
    pthread_key_create(&baton_key, baton_key_gone);
    baton.now = SIM_EPOCH;
    baton.due = SIM_FOREVER;
    baton.lowest = UINT64_C(1) << 61;
    baton_me = baton.running = baton_thread(NULL, NULL);
    baton.on = true;
    baton_give_atoms(baton_me);
}

void sim_end(void) {
    for (unsigned i = 0; i < baton.count; i++)
        free(baton.threads[i]);
    memset(&baton, 0, sizeof baton);
    baton_me = NULL;
    sim_atoms_left = INT64_MAX;
    pthread_key_delete(baton_key);
}
