/* The baton: which thread runs, and what time it is. See sim.h. */
#include "base/sim_hooks.h"
#include "events.h"
#include "real.h"
#include "record.h"
#include "roster.h"
#include "sim.h"
#include "starvation.h"
#include "strategy.h"

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
    BATON_SPIN_PATIENCE = 64,       /* rounds, after which only the passing of time can help */
    BATON_SPIN_MOST = 1 << 20,      /* rounds of all threads in the same loops, without any other point: a livelock */
    BATON_SPIN_MOST_EVER = 1 << 23, /* rounds without any other point, though threads leave their loops and come back */
    BATON_COARSER_EVERY = 1 << 15,  /* switches */
    BATON_COARSEST = 20,            /* doublings */
    BATON_TURN_ATOMS = 1 << 18,     /* that a thread makes at most before another may run, whatever the seed or the script says */
    BATON_TURN_EFFECTS = 1 << 12,   /* the same */
    BATON_STALL_DOUBLINGS = 24,     /* of the shortest stall: up to 8 s, */
    BATON_STALL_STEPS = 16,         /* in so many steps to the next: 16 s */
    BATON_KEY_ROUNDS = 3,           /* of destructors of thread-local values, before the thread gives the baton up */
};
enum { BATON_GO = 1, BATON_GONE = 2 }; /* sim_thread.go */

#define BATON_STALL_LEAST UINT64_C(1000) /* ns */

static struct {
    bool on, in_event;
    struct sim_thread *running;
    uint64_t now, due; /* due: nothing happens before by itself */
    uint64_t passes;   /* of the baton */
    uint64_t lowest;
    uint64_t spins;  /* rounds without any other point */
    uint64_t rounds; /* the same, since the last time that a thread has begun a loop */
    int64_t atoms_given;
    uint64_t turn_atoms, turn_effects; /* of the running thread: its turn is over then */
} baton;

static _Thread_local struct sim_thread *baton_me;
static pthread_key_t baton_key;

struct sim_thread *sim_me(void) {
    return baton.in_event ? NULL : baton_me;
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

uint64_t sim_clock(void) { return baton.now; }

uint64_t sim_in(uint64_t ns) {
    uint64_t now = sim_now();
    return ns < SIM_FOREVER - now ? now + ns : SIM_FOREVER;
}

void baton_is_due(uint64_t moment) {
    if (moment < baton.due) baton.due = moment;
}

/* Deadlines that have passed, and events. False: there were none. */
static bool baton_run_due(void) {
    if (baton.now < baton.due) return false;
    baton.in_event = true;
    events_run(baton.now);
    baton.in_event = false;
    baton.due = events_next();
    for (unsigned i = 0; i < roster.alive; i++) {
        struct sim_thread *thread = roster.living[i];
        if (thread->state != SIM_BLOCKED) continue;
        if (thread->deadline <= baton.now) sim_unblock_thread(thread, -ETIMEDOUT);
        else baton_is_due(thread->deadline);
    }
    return true;
}

/* ---- passing the baton --------------------------------------------------------------------------------------------------- */

/* The thread of a machine that has crashed is no more. Its stack stays: other threads may have pointers into it. */
static void baton_exit(void) { syscall(SYS_exit, 0); }

static void baton_sleep(struct sim_thread *me) {
    int before = errno;
    uint32_t go;
    while ((go = __atomic_load_n(&me->go, __ATOMIC_ACQUIRE)) == 0)
        syscall(SYS_futex, &me->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    if (go == BATON_GONE) baton_exit();
    me->go = 0;
    errno = before;
}

static void baton_wake(struct sim_thread *thread, uint32_t go) {
    int before = errno;
    __atomic_store_n(&thread->go, go, __ATOMIC_RELEASE);
    syscall(SYS_futex, &thread->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = before;
}

/* A long run is explored more coarsely the longer it lasts: it costs 2 us and more to pass the baton. */
static unsigned baton_coarseness(void) {
    uint64_t rounds = baton.passes / BATON_COARSER_EVERY;
    return rounds < BATON_COARSEST ? (unsigned)rounds : (unsigned)BATON_COARSEST;
}

static void baton_begin_turn(const struct sim_thread *thread) {
    baton.turn_atoms = thread->atoms + BATON_TURN_ATOMS;
    baton.turn_effects = thread->effects + BATON_TURN_EFFECTS;
}

/* Up to the next one that the script names. */
static int64_t baton_scripted_atoms(const struct sim_thread *thread) {
    static const enum sim_draw_kind kinds[] = {SIM_ATOM, SIM_STALL_ATOM};
    uint64_t number, value, next = INT64_MAX;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (sim_draw_scripted(kinds[i], thread->index, thread->atoms, &number, &value) && number < next) next = number;
    return (int64_t)(next - thread->atoms) - 1;
}

/* How many atomic operations the thread may make before it reaches a point. */
static void baton_give_atoms(struct sim_thread *thread) {
    int64_t atoms = sim_is_scripted() ? baton_scripted_atoms(thread) : strategy_atoms(baton_coarseness());
    int64_t turn = (int64_t)(baton.turn_atoms - thread->atoms) - 1;
    sim_atoms_left = baton.atoms_given = atoms < turn ? atoms : turn;
}

static struct record_place baton_place(const struct sim_thread *thread) { return (struct record_place){thread->index, thread->machine}; }

static void baton_hand_to(struct sim_thread *next) {
    baton.passes++;
    record_switch(baton.now, baton_place(baton.running), next->index);
    baton.running = next;
    baton_begin_turn(next);
    baton_give_atoms(next);
    baton_wake(next, BATON_GO);
}

static void baton_pass(struct sim_thread *next) {
    struct sim_thread *me = baton.running;
    if (next == me) return;
    baton_hand_to(next);
    baton_sleep(me);
}

/* ---- choosing ------------------------------------------------------------------------------------------------------------ */

/* The running thread cannot go on, or should not. NULL: no thread can run. */
static struct sim_thread *baton_choose(struct sim_thread *me) {
    unsigned count;
    uint64_t number, value = 0;
    roster_nth(me, 0, &count);
    if (count == 0) return NULL;
    me->choices++;
    if (sim_is_scripted()) {
        if (!sim_draw_scripted(SIM_NEXT, me->index, me->choices - 1, &number, &value) || number != me->choices || value >= count) value = 0;
    } else {
        value = strategy_next(me, count);
    }
    if (value) sim_draw_record(SIM_NEXT, me->index, me->choices, value);
    return roster_nth(me, value, &count);
}

/* Time passes until a thread can run. */
static void baton_wait_for_time(void) {
    uint64_t next = events_next();
    for (unsigned i = 0; i < roster.alive; i++) {
        struct sim_thread *thread = roster.living[i];
        if (thread->state == SIM_BLOCKED && thread->deadline < next) next = thread->deadline;
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

/* A point at which the thread may go on, and goes on unless the seed decides otherwise. Named by `kind` and `number`. At an atomic operation where
 * something has happened that was due, "to itself" is recorded: a script comes to this operation too. */
static void baton_may_switch(struct sim_thread *me, enum sim_draw_kind kind, uint64_t number, bool switches) {
    unsigned count;
    uint64_t found, value;
    struct sim_thread *next = me;
    bool happened = baton_run_due() && kind == SIM_ATOM;
    if (sim_is_scripted()) {
        if (sim_draw_scripted(kind, me->index, number - 1, &found, &value) && found == number && value <= roster.count && value > 0)
            next = roster.all[value - 1];
    } else if (switches) {
        roster_nth(me, 0, &count);
        next = roster_nth(me, strategy_next(me, count), &count);
    }
    if (!roster_can_run(next)) next = me;
    if (next == me && !happened) return;
    sim_draw_record(kind, me->index, number, next->index + 1);
    baton_pass(next);
}

/* Fairness. A thread may wait in a loop that the simulation does not see, of weft_yield say: what it waits for needs time, or another thread. */
static bool baton_turn_is_over(const struct sim_thread *me) { return me->atoms >= baton.turn_atoms || me->effects >= baton.turn_effects; }

static void baton_end_turn(struct sim_thread *me) {
    if (strategy_has_priorities()) me->priority = --baton.lowest;
    baton_begin_turn(me);
    baton_give_atoms(me);
    baton_pass(baton_next(me));
}

/* ---- stalls --------------------------------------------------------------------------------------------------------------- */

static void baton_stall_over(void *thread) { sim_unblock_thread(thread, 0); }

/* The kernel may leave a thread that could run alone for any time. An event ends the stall, so threads that spin meanwhile see it come. */
static void baton_may_stall(struct sim_thread *me, enum sim_draw_kind kind, uint64_t number) {
    if (!sim_fault_is_on(SIM_FAULT_STALL)) return;
    uint64_t length = sim_fault_numbered(SIM_FAULT_STALL, kind, number, 1 + BATON_STALL_DOUBLINGS * BATON_STALL_STEPS);
    if (!length) return;
    uint64_t least = BATON_STALL_LEAST << (length - 1) / BATON_STALL_STEPS;
    me->stalled = true;
    sim_at(baton.now + least + least / BATON_STALL_STEPS * ((length - 1) % BATON_STALL_STEPS), baton_stall_over, me);
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
    if (baton_turn_is_over(me)) {
        baton_end_turn(me);
        return;
    }
    if (strategy_has_priorities() && !sim_is_scripted()) me->priority = --baton.lowest; /* a change */
    baton_give_atoms(me);
    baton_may_stall(me, SIM_STALL_ATOM, me->atoms);
    baton_may_switch(me, SIM_ATOM, me->atoms, true);
}

void sim_note(const char *what, uint64_t detail) {
    if (baton.on && baton_me == baton.running && !baton.in_event) baton_account(0);
    record_event(baton.now, sim_me() ? baton_place(sim_me()) : (struct record_place){UINT_MAX, UINT_MAX}, what, detail);
}

void sim_effect(const char *what, uint64_t detail) {
    if (!baton_mine()) return;
    struct sim_thread *me = baton.running;
    baton_account(BATON_EFFECT_NS);
    me->spins = 0;
    baton.spins = baton.rounds = 0;
    sim_note(what, detail);
    sim_promises();
    if (strategy_is_fair() && !sim_fault_is_on(SIM_FAULT_STALL)) starvation_look();
    baton_may_stall(me, SIM_STALL, ++me->effects);
    baton_may_switch(me, SIM_SWITCH, me->effects, strategy_switches(baton_coarseness()));
    if (baton_turn_is_over(me)) baton_end_turn(me);
}

void sim_spin_begin(void) { baton.rounds = 0; }

void sim_spin(void) {
    if (!baton_mine()) return;
    struct sim_thread *me = baton.running;
    baton_account(BATON_SPIN_NS);
    if (strategy_has_priorities()) me->priority = --baton.lowest;
    if (++baton.rounds > BATON_SPIN_MOST || ++baton.spins > BATON_SPIN_MOST_EVER)
        sim_fail("livelock", "threads wait for each other in loops without end");
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

/* ---- threads ------------------------------------------------------------------------------------------------------------- */

static struct sim_thread *baton_thread(void *(*entry)(void *), void *arg) {
    struct sim_thread *thread = roster_add();
    thread->machine = baton_me ? baton_me->machine : 0;
    thread->crashed = baton_me && baton_me->crashed;
    thread->entry = entry;
    thread->arg = arg;
    thread->priority = (UINT64_C(1) << 62) + (sim_is_scripted() ? 0 : sim_pick(UINT32_MAX));
    return thread;
}

static void baton_end(struct sim_thread *me) {
    baton_account(0);
    me->state = SIM_ENDED;
    roster_leave(me);
    sim_unblock(me, SIM_ALL, 0);
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
    int error = real()->pthread_create((pthread_t *)&thread->handle, attributes, baton_thread_main, thread);
    if (error == EAGAIN) sim_fail("limit", "the system itself refuses thread %u: %s", thread->index, strerror(error));
    if (error) {
        thread->state = SIM_ENDED;
        roster_leave(thread);
    }
    if (!error && thread->crashed) sim_thread_gone(thread);
    *started = thread;
    return -error;
}

void sim_thread_wait(struct sim_thread *thread) {
    while (thread->state != SIM_ENDED)
        sim_block("the end of a thread", thread, SIM_FOREVER);
    thread->joined = true;
}

/* ---- machines that crash -------------------------------------------------------------------------------------------------- */

void sim_thread_gone(struct sim_thread *thread) {
    if (thread->left) return;
    roster_leave(thread);
    if (thread != baton.running) baton_wake(thread, BATON_GONE);
}

void sim_leave_for_ever(void) {
    struct sim_thread *me = baton.running;
    baton_account(0);
    baton_hand_to(baton_next(me));
    baton_exit();
}

void sim_lock_taken(void) {
    if (baton_me) baton_me->locks++;
}

void sim_lock_dropped(void) {
    struct sim_thread *me = baton_me;
    if (!me || --me->locks > 0 || !me->crashed) return;
    sim_thread_gone(me);
    sim_machine_settle(me->machine);
    sim_leave_for_ever();
}

/* ---- the beginning and the end -------------------------------------------------------------------------------------------- */

void sim_begin(void) {
    strategy_setup();
    pthread_key_create(&baton_key, baton_key_gone);
    baton.now = SIM_EPOCH;
    baton.due = SIM_FOREVER;
    baton.lowest = UINT64_C(1) << 61;
    baton_me = baton.running = baton_thread(NULL, NULL);
    baton.on = true;
    baton_begin_turn(baton_me);
    baton_give_atoms(baton_me);
}

void sim_leave_to_kernel(void) {
    if (!baton.on || roster.alive == 1) return;
    baton.on = false;
    baton_me = NULL;
    sim_atoms_left = INT64_MAX;
}

void sim_end(void) {
    roster_clear();
    memset(&baton, 0, sizeof baton);
    baton_me = NULL;
    sim_atoms_left = INT64_MAX;
    pthread_key_delete(baton_key);
}
