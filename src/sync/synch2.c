/* The protocol of synch2, and how a thread sleeps in it (a process: synch2_park.c). State and invariants are in synch2.h. */
#include "sync/synch2.h"
#include "sys/deadline.h"

#include "base/assert.h"
#include "base/spin.h"
#include "sys/sys.h"

#include <errno.h>
#include <stdio.h>

/* The steps are named as in docs/synch2.md:
 *
 *   A1  active[me] = 1                       F1  waker is not me?
 *   G1  is the other active?                 F2  waker = me
 *   G2  wait[me] = 1                         F3  is the other active? and awake?
 *   G3  is the other still active?           F4  waker_change = 1
 *   G4  do I still have to wait?             F5  still unanswered, and the other active?
 *   G5  has the waker changed?               F6  waker_change = 0
 *   G6  waker_change = 0                     F7  active[me] = 0
 *   G7  am I the waker, and does it wait?    B1  bell[me] = 1
 *   G8  wait[other] = 0                      B0  bell[me] = 0
 */

/* ---- Sleeping ---------------------------------------------------------------------------------------------------- */

static int synch2_futex_sleep(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell, uint64_t deadline) {
    (void)waiter, (void)role;
    return sys->futex_wait(bell, 1, deadline);
}

static void synch2_futex_wake(const struct synch2_waiter *waiter, unsigned role, atom_u32 *bell) {
    (void)waiter, (void)role;
    sys->futex_wake(bell, 1);
}

const struct synch2_waiter synch2_thread_waiter = {
    .sleep = synch2_futex_sleep, .wake = synch2_futex_wake, .rounds = {SYNCH2_ROUNDS, SYNCH2_ROUNDS}};

static const struct synch2_waiter *synch2_waiter(struct synch2 *s) { return s->waiter ? s->waiter : &synch2_any_waiter; }

static void __attribute__((noinline, cold)) synch2_wake(struct synch2 *s, unsigned role) {
    const struct synch2_waiter *waiter = synch2_waiter(s);
    atom_store_rlx(&s->role[role].bell, 0); /* rlx: see synch2_ring */
    waiter->wake(waiter, role, &s->role[role].bell);
}

/* Wakes the role if it sleeps: something was written that it may be waiting for (S6). */
static inline void synch2_ring(struct synch2 *s, unsigned role) {
    /* Orders the write before the load of the bell; pairs with the heavy fence in synch2_raise. Without it the load
     * could come first and find the bell down, and the sleeper then miss the write. The bell itself needs no order: it
     * carries nothing but the wake-up, and a 0 too many only makes the sleeper check again. */
    atom_fence_light();
    if (atom_load_rlx(&s->role[role].bell)) synch2_wake(s, role);
}

/* One wait, in its rounds: spin, yield, put the bell up and check once more, sleep. */
struct synch2_rest {
    struct spin spin;
    uint32_t rounds;
    bool up; /* the bell */
};

/* At the start of a wait, and again whenever something happened. */
static void synch2_rest_begin(struct synch2_rest *rest) {
    rest->spin = spin_begin();
    rest->rounds = 0;
}

static void synch2_raise(struct synch2 *s, unsigned me, struct synch2_rest *rest) {
    /* B1. rel: pairs with F3's load of the bell: what this role wrote before (G8) is before what the other does once it
     * has seen the bell up (S3). */
    atom_store_rel(&s->role[me].bell, 1);
    sys_fence_heavy(); /* the bell before the check that follows; pairs with the light fence in synch2_ring (S6) */
    rest->up = true;
}

static void synch2_lower(struct synch2 *s, unsigned me, struct synch2_rest *rest) {
    /* B0. sc: before the next G7; pairs with F2 and F3's load of the bell. Without it this role could still take itself
     * for the waker after the other, seeing the bell up, has become the waker without asking. */
    atom_store_sc(&s->role[me].bell, 0);
    rest->up = false;
}

/* For a loop that found nothing to do. The caller checks again whenever this returns; -ETIMEDOUT or -ECANCELED say that
 * it is time to stop. */
static int synch2_rest(struct synch2 *s, unsigned me, struct synch2_rest *rest, uint64_t deadline) {
    enum { CLOCK_EVERY = 16 };
    const struct synch2_waiter *waiter = synch2_waiter(s);
    uint32_t most = waiter->rounds[me];
    if (rest->rounds >= SYNCH2_PROCESS_ROUNDS && waiter->parks && waiter->parks()) most = SYNCH2_PROCESS_ROUNDS;
    if (rest->rounds < most) {
        if (deadline != SYS_FOREVER && rest->rounds % CLOCK_EVERY == 0 && sys->now() >= deadline) return -ETIMEDOUT;
        rest->rounds++;
        spin_wait(&rest->spin);
        return 0;
    }
    if (!rest->up) { /* recheck */
        synch2_raise(s, me, rest);
        return 0;
    }
    int error = waiter->sleep(waiter, me, &s->role[me].bell, deadline);
    synch2_lower(s, me, rest);
    synch2_rest_begin(rest);
    return error;
}

/* ---- The protocol ------------------------------------------------------------------------------------------------ */

/* True: the other role is inactive, and the caller may enter. */
static inline bool synch2_activate(struct synch2 *s, unsigned me) {
    /* A1, G1. sc, both: the store before the load, on both sides: if both roles arrive at once at least one sees the
     * other (S1). The store also pairs with F3 (see there); as a release with the other's G1, G3: what was done
     * inside the last time. */
    atom_store_sc(&s->role[me].active, 1);
    return !atom_load_sc(&s->role[1 - me].active);
}

static inline void synch2_deactivate(struct synch2 *s, unsigned me) {
    /* F7. rel: pairs with G1, G3, F3: all that was done here happens before the other enters or goes on. */
    atom_store_rel(&s->role[me].active, 0);
    synch2_ring(s, 1 - me);
}

/* What this role has to do for the other while it waits itself. True if it did something. */
static bool synch2_answer(struct synch2 *s, unsigned me, struct synch2_rest *rest) {
    const unsigned other = 1 - me;
    /* G5. acq: pairs with F4: from now on `waker` is seen as the changer left it. */
    if (atom_load_acq(&s->waker_change)) {
        /* G6. rel: pairs with F5: an earlier G8 happens before whatever the changer does next (S3). */
        atom_store_rel(&s->waker_change, 0);
        synch2_ring(s, other);
        return true;
    }
    /* G7. sc: after A1, and after B0; pairs with F2. Without it this role could act as the waker after the other
     * became the waker and saw this one inactive, or its bell up. rlx on `wait`: only to write no more often than needed;
     * what is missed now is seen in the next round. */
    if (atom_load_sc(&s->waker) != me || !atom_load_rlx(&s->wait[other])) return false;
    if (rest->up) { /* a role does not act as the waker with its bell up (S5); checks once more */
        synch2_lower(s, me, rest);
        return true;
    }
    /* G8. rel: pairs with G4: what this role did inside happens before the woken role enters. */
    atom_store_rel(&s->wait[other], 0);
    synch2_ring(s, other);
    return true;
}

/* The other role is active: waits until it is not, or until it wakes this one. 0: this role may enter. */
static int __attribute__((noinline)) synch2_guard(struct synch2 *s, unsigned me, uint64_t deadline) {
    const unsigned other = 1 - me;
    struct synch2_rest rest = {.up = false};
    int late = 0, error = 0;
    atom_store_rlx(&s->role[me].place, SYNCH2_WAITING); /* rlx: see synch2_check */
    if (atom_load_rlx(&s->role[me].gave_up)) {
        /* A1 before G2; pairs with the light fence between the other's G8 and its next G3. The other may have woken
         * this role and then entered, because it saw that this role had given up. Either it sees this role active
         * again, or that G8 is before G2. Without the fence G2 could come first, and be undone (S2). */
        atom_store_rlx(&s->role[me].gave_up, 0); /* rlx: this role's own */
        sys_fence_heavy();
    }
    atom_store_rlx(&s->wait[me], 1); /* G2. rlx: a 0 of an earlier round is before it already (S3) */
    synch2_ring(s, other);
    synch2_rest_begin(&rest);
    /* G3, G4. acq: pair with F7 and with G8. */
    while (atom_load_acq(&s->role[other].active) && atom_load_acq(&s->wait[me])) {
        if (synch2_answer(s, me, &rest)) {
            synch2_rest_begin(&rest);
            continue;
        }
        if (late) { /* and has checked once more */
            error = late;
            break;
        }
        late = synch2_rest(s, me, &rest, deadline);
        if (late != -ETIMEDOUT && late != -ECANCELED) late = 0; /* a sleep may end for any reason */
    }
    if (rest.up) synch2_lower(s, me, &rest);
    return error;
}

/* Around waits that must not be cancelled. */
static void synch2_shield(struct synch2 *s, bool on) {
    const struct synch2_waiter *waiter = synch2_waiter(s);
    if (waiter->shield) waiter->shield(on);
}

/* Inside: becomes the waker, and makes sure that the other does not act as the waker any more (S3). */
static void __attribute__((noinline)) synch2_take_waker(struct synch2 *s, unsigned me) {
    const unsigned other = 1 - me;
    struct synch2_rest rest = {.up = false};
    /* F2, F3. sc, all three: the store before the loads; pairs with A1, and with B0, before G7. If the other is inactive,
     * or has its bell up, it will read the new waker at its next G7; otherwise it may just be about to act as the old
     * waker. */
    atom_store_sc(&s->waker, me);
    if (!atom_load_sc(&s->role[other].active)) return;
    if (atom_load_sc(&s->role[other].bell)) return;
    atom_store_rel(&s->waker_change, 1); /* F4. rel: pairs with G5, passes F2 on */
    synch2_ring(s, other);
    synch2_rest_begin(&rest);
    synch2_shield(s, true);
    /* F5. acq: pairs with G6: the other's G8 is before this role's next G2. rlx on `active`: if the other gave up, this
     * role's next G1 acquires that. */
    while (atom_load_acq(&s->waker_change) && atom_load_rlx(&s->role[other].active))
        synch2_rest(s, me, &rest, SYS_FOREVER);
    synch2_shield(s, false);
    if (rest.up) synch2_lower(s, me, &rest);
    /* F6. rlx, both: the next role to set it does so inside, after this. */
    if (atom_load_rlx(&s->waker_change)) atom_store_rlx(&s->waker_change, 0);
}

/* ---- The public side --------------------------------------------------------------------------------------------- */

static void __attribute__((noreturn, noinline, cold)) synch2_misuse(const char *function, unsigned role, enum synch2_place place) {
    static const char *const what[2][3] = {
        {"role 0 is not inside", "role 0 is still waiting to enter", "role 0 is inside already"},
        {"role 1 is not inside", "role 1 is still waiting to enter", "role 1 is inside already"},
    };
    if (role > 1) {
        char text[48];
        snprintf(text, sizeof text, "there is no role %u", role);
        WEFT_MISUSE(function, text, "the two parties are role 0 and role 1");
    }
    switch (place) {
    case SYNCH2_OUT: WEFT_MISUSE(function, what[role][place], "enter before you leave, and leave once only");
    case SYNCH2_WAITING: WEFT_MISUSE(function, what[role][place], "give each of the two threads a role of its own");
    case SYNCH2_IN: WEFT_MISUSE(function, what[role][place], "leave first, and give each thread a role of its own");
    }
    WEFT_PANIC("%s: role %u is in no known place (%u); the memory is damaged", function, role, place);
}

/* Every call begins here. The place is the role's own. rlx: this finds mistakes and synchronises nothing; a second thread
 * that uses the same role at the same moment may go unnoticed. */
static inline struct synch2 *synch2_check(weft_synch2 *synch2, unsigned role, enum synch2_place expected, const char *function) {
    struct synch2 *s = synch2_of(synch2);
    if (__builtin_expect(role > 1, 0)) synch2_misuse(function, role, SYNCH2_OUT);
    enum synch2_place place = (enum synch2_place)atom_load_rlx(&s->role[role].place);
    if (__builtin_expect(place != expected, 0)) synch2_misuse(function, role, place);
    return s;
}

static inline int synch2_inside(struct synch2 *s, unsigned me) {
    atom_store_rlx(&s->role[me].place, SYNCH2_IN);
    return 0;
}

static int synch2_give_up(struct synch2 *s, unsigned me, int error) {
    atom_store_rlx(&s->role[me].place, SYNCH2_OUT);
    atom_store_rlx(&s->role[me].gave_up, 1); /* this role may have been woken without having noticed; see synch2_guard */
    /* A changer that waits for this role's answer sees it inactive and goes on. */
    synch2_deactivate(s, me);
    return error;
}

void weft_synch2_init(weft_synch2 *synch2) {
    struct synch2 *s = synch2_of(synch2);
    if ((uintptr_t)synch2 % _Alignof(struct synch2) != 0)
        WEFT_MISUSE("weft_synch2_init", "the memory is not aligned to 64 bytes", "use a variable, or aligned_alloc");
    /* rlx: not shared yet. */
    for (unsigned role = 0; role < 2; role++) {
        atom_store_rlx(&s->role[role].active, 0);
        atom_store_rlx(&s->role[role].bell, 0);
        atom_store_rlx(&s->role[role].place, SYNCH2_OUT);
        atom_store_rlx(&s->role[role].gave_up, 0);
        atom_store_rlx(&s->wait[role], 0);
        lock_init(&s->role[role].bed_lock);
        s->role[role].bed.first = s->role[role].bed.last = NULL;
    }
    atom_store_rlx(&s->waker, 0);
    atom_store_rlx(&s->waker_change, 0);
    s->waiter = NULL;
}

/* Only entering ends it: no deadline, no cancellation. */
static void __attribute__((noinline)) synch2_guard_shielded(struct synch2 *s, unsigned role) {
    synch2_shield(s, true);
    synch2_guard(s, role, SYS_FOREVER);
    synch2_shield(s, false);
}

void weft_synch2_enter(weft_synch2 *synch2, unsigned role) {
    fiber_spend(worker_here(), WEFT_FOREVER);
    struct synch2 *s = synch2_check(synch2, role, SYNCH2_OUT, "weft_synch2_enter");
    if (!synch2_activate(s, role)) synch2_guard_shielded(s, role);
    synch2_inside(s, role);
}

int weft_synch2_enter_until(weft_synch2 *synch2, unsigned role, uint64_t deadline) {
    fiber_spend(worker_here(), deadline);
    struct synch2 *s = synch2_check(synch2, role, SYNCH2_OUT, "weft_synch2_enter_until");
    int error = synch2_activate(s, role) ? 0 : synch2_guard(s, role, deadline);
    if (error == -ETIMEDOUT) deadline_check(deadline, "weft_synch2_enter_until"), error = wait_late();
    return error ? synch2_give_up(s, role, error) : synch2_inside(s, role);
}

int weft_synch2_try(weft_synch2 *synch2, unsigned role) {
    struct synch2 *s = synch2_check(synch2, role, SYNCH2_OUT, "weft_synch2_try");
    /* rlx: a read without A1 first, so that a role that tries again and again does not keep a changer from seeing it
     * inactive; synch2_activate decides. */
    if (atom_load_rlx(&s->role[1 - role].active)) return WEFT_EBUSY;
    return synch2_activate(s, role) ? synch2_inside(s, role) : synch2_give_up(s, role, WEFT_EBUSY);
}

void weft_synch2_leave(weft_synch2 *synch2, unsigned role) {
    struct synch2 *s = synch2_check(synch2, role, SYNCH2_IN, "weft_synch2_leave");
    atom_store_rlx(&s->role[role].place, SYNCH2_OUT);
    if (atom_load_rlx(&s->waker) != role) synch2_take_waker(s, role); /* F1. rlx: written inside only */
    synch2_deactivate(s, role);
}
