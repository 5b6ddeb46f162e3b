/* synch2: mutual exclusion for two threads from loads and stores alone, in every stage of its design.
 *
 * One step is one shared read or one shared write; memory is sequentially consistent (the C model checker looks at the
 * weaker ones). A thread asks again and again and may stop asking at any time, for ever. docs/synch2.md tells the story;
 * tools/spin-models runs every stage with every property and compares the verdicts with the expected ones.
 *
 * STAGE picks the protocol; the rest are 0 or 1 but for the two that count.
 *
 *     SAFE       the two are never selected together
 *     INTERNAL   the properties of guard and waker role that the proof stands on (P1 ... P7 below)
 *     BYPASS     n: while one waits, the other is selected at most n times; 9: not looked at
 *     GIVE_UP    n: a waiting thread may give up, and a try fail, n times in all; 9: as often as it likes
 *     SPURIOUS   a sleep may end for no reason; not with the formulas, where it would hide a lost wake-up
 *     FORGOTTEN  a flaw: the waker, asleep, is not told that the other begins to wait
 *     LATE       a flaw: a thread looks for a reason to stay awake before it puts up its bell, not after
 *
 * and the formulas at the end say what comes about in the long run:
 *
 *     moves      whenever a thread wants in, one gets in
 *     served     each one that wants in gets in, and comes out again */
#define SIMPLEST 1
#define SAFE_ONLY 2
#define ALMOST_PRINTED 3
#define ALMOST 4
#define DYNAMIC 5
#define FINAL_PRINTED 6
#define FINAL_ACTIVE 7
#define CORRECTED 8
#define SLEEPING 9 /* the corrected one as src/sync/synch2.c has it: a waiter may go to sleep */

#define DYNAMIC_WAKER (STAGE >= DYNAMIC)

bool is_active[2];
bool wait[2];
byte waker = 0;
bool waker_change;
bool bell[2];   /* SLEEPING: this thread sleeps or is about to */
bool asleep[2]; /* ... and this is the kernel's queue */

/* What the properties talk about; no thread decides by it. */
bool wants[2];    /* from `active = true` until selected */
bool selected[2];
bool guarded[2];  /* in the guard */
bool acting[2];   /* in the guard, has read that it is the waker and not yet written */
bool changing[2]; /* from `waker = i` until inactive */
bool woken[2];    /* has been woken since it last began to wait */
bool stayed[2];   /* has been active without a break since the other became inactive */
byte passed[2];   /* how often the other was selected since this one wants */
byte give_ups;

#define may_give_up (GIVE_UP == 9 || give_ups < GIVE_UP)

#if INTERNAL
#define claim(what) assert(what)
#else
#define claim(what) skip
#endif

/* ---- Sleeping. The fences between a store and a look at the bell, and between the bell and a look, are implied. ---- */

#if STAGE == SLEEPING
inline ring(who) {
    if
    :: bell[who] ->
        bell[who] = false;
        asleep[who] = false /* the futex */
    :: else
    fi
}

inline raise() {
    bell[i] = true;
    up = true
}

inline lower() {
    if
    :: up ->
        bell[i] = false;
        up = false
    :: else
    fi
}

#if SPURIOUS
#define or_spurious :: asleep[i] = false
#else
#define or_spurious
#endif

/* The kernel compares the bell and queues in one step. */
inline sleep() {
    atomic {
        if
        :: bell[i] -> asleep[i] = true
        :: else
        fi
    };
    if
    :: !asleep[i]
    or_spurious
    fi;
    lower()
}

/* Nothing to do: spins, or puts the bell up, in order to look once more; with the bell up it sleeps. */
inline rest() {
    if
    :: up -> sleep()
    :: !up
    :: !up ->
        raise();
#if LATE
        sleep()
#endif
    fi
}
#else
inline ring(who) { skip }
inline lower() { skip }
inline rest() { skip }
#endif

/* ---- Steps that the properties watch. ---- */

inline activate() {
    d_step {
        is_active[i] = true;
        wants[i] = true;
        passed[i] = 0
    }
}

/* Leaves the guard or never was in it. `by_wake`: because the other said so, not because the other is inactive. */
inline pass_guard(by_wake) {
    /* P5: leaving while the other is active means: not the waker, and the other stays in the guard as the waker
     * (unless it gives up). */
    claim(!(by_wake) || waker == j);
    claim(!(by_wake) || GIVE_UP || (guarded[j] && is_active[j]));
    /* P6: a thread that leaves or avoids the guard has not woken the other. */
    claim(!(woken[j] && is_active[j]));
    guarded[i] = false
}

inline be_selected() {
    d_step {
        wants[i] = false;
        selected[i] = true;
        if
        :: wants[j] && passed[j] < 8 -> passed[j]++
        :: else
        fi;
#if SAFE
        assert(!selected[j]);
#endif
#if BYPASS < 9
        assert(passed[j] <= BYPASS);
#endif
        skip
    }
    d_step { selected[i] = false }
}

inline deactivate() {
    d_step {
        /* P4: after being selected a thread is the waker when it becomes inactive. */
        claim(given_up || !DYNAMIC_WAKER || waker == i);
        is_active[i] = false;
        wants[i] = false;
        if
        :: given_up && GIVE_UP < 9 -> give_ups++
        :: else
        fi;
        changing[i] = false;
        woken[i] = false;
        stayed[i] = false;
        stayed[j] = is_active[j]
    };
    ring(j)
}

inline wake_other() {
    d_step {
        /* P1: only the other's flag, and only in the guard. */
        claim(guarded[i]);
        /* P2: only the waker wakes, or the one who just ceases to be while the new waker waits for it. */
        claim(waker == i || changing[j]);
        /* P3: the role is exclusive: nobody acts as the waker beside another one in the guard. */
        claim(!acting[j]);
        claim(!(guarded[j] && waker == j));
        wait[j] = false;
        woken[j] = is_active[j];
        acting[i] = false
    };
    ring(j)
}

/* ---- The stages. ---- */

#if STAGE == SIMPLEST
inline guard() { skip }
inline finish() { skip }
#endif

#if STAGE == SAFE_ONLY
inline guard() {
    do
    :: is_active[j]
    :: else -> break
    od
}
inline finish() { skip }
#endif

#if STAGE == ALMOST_PRINTED || STAGE == ALMOST
#define SLEEPER (STAGE == ALMOST)
inline guard() {
    if
    :: is_active[j] ->
        if
        :: i == SLEEPER -> wait[1] = true
        :: else
        fi;
        do
        :: if
           :: is_active[j]
           :: else -> break
           fi;
           if
           :: i == 1 -> if :: wait[1] :: else -> break fi
           :: else -> wait[1] = false
           fi
        od
    :: else
    fi
}
inline finish() { skip }
#endif

#if STAGE == DYNAMIC
inline answer() {
    if
    :: d_step { waker == i -> acting[i] = true };
       wake_other()
    :: else
    fi
}
inline finish() {
    if
    :: waker != i -> waker = i
    :: else
    fi
}
#endif

#if STAGE == FINAL_PRINTED || STAGE == FINAL_ACTIVE
inline answer() {
    if
    :: waker == i ->
        if
        :: d_step { !waker_change -> acting[i] = true };
           wake_other()
        :: else -> waker_change = false
        fi
    :: else
    fi
}
inline finish() {
    if
    :: d_step { waker != i -> changing[i] = true };
       waker = i;
       if
       :: is_active[j] ->
           waker_change = true;
           do
           :: waker_change ->
#if STAGE == FINAL_ACTIVE
               if :: is_active[j] :: else -> break fi
#else
               skip
#endif
           :: else -> break
           od;
           waker_change = false
       :: else
       fi
    :: else
    fi
}
#endif

#if STAGE == CORRECTED || STAGE == SLEEPING
inline answer() {
    if
    :: waker_change ->
        waker_change = false;
        ring(j)
    :: else ->
        if
        :: d_step { waker == i -> acting[i] = !up };
           if
           :: wait[j] ->
               if
               :: up -> lower() /* and looks once more */
               :: else -> wake_other()
               fi
           :: else ->
               acting[i] = false;
               rest()
           fi
        :: else -> rest()
        fi
    fi
}

/* With SLEEPING the changer need not ask one that has its bell up: it reads `waker` afresh before it acts. */
#if STAGE == SLEEPING
#define must_ask() (!bell[j])
#else
#define must_ask() true
#endif
inline finish() {
    if
    :: d_step { waker != i -> changing[i] = true };
       waker = i;
       if
       :: is_active[j] ->
           if
           :: must_ask() ->
               waker_change = true;
               ring(j);
               do
               :: waker_change ->
                   if
                   :: is_active[j]
                   :: else -> break
                   fi;
                   rest()
               :: else -> break
               od;
               lower();
               waker_change = false
           :: else
           fi
       :: else
       fi
    :: else
    fi
}
#endif

#if DYNAMIC_WAKER
inline guard() {
    if
    :: is_active[j] ->
        /* Nobody has woken it since: what was set before is overwritten. */
        d_step { wait[i] = true; guarded[i] = true; woken[i] = false };
#if !FORGOTTEN
        ring(j);
#endif
        do
        :: if
           :: is_active[j]
           :: d_step { !is_active[j] -> pass_guard(false) }; break
           fi;
           if
           :: wait[i]
           :: d_step { !wait[i] -> pass_guard(true) }; break
           fi;
           answer();
#if GIVE_UP
           if
           :: may_give_up -> guarded[i] = false; given_up = true; break
           :: skip
           fi
#endif
        od;
        lower()
    :: d_step {
        !is_active[j] ->
        /* P7: the other was active when this one became inactive and has been so ever since: then it was seen. */
        claim(!stayed[j]);
        pass_guard(false)
       }
#if GIVE_UP
    :: is_active[j] && may_give_up -> given_up = true /* a try that fails */
#endif
    fi
}
#endif

proctype thread(byte i) {
    byte j = 1 - i;
    bool given_up;
    bool up; /* this thread's bell */
    do
    :: break
    :: given_up = false;
       activate();
       guard();
       if
       :: given_up
       :: else ->
           be_selected();
           finish()
       fi;
       deactivate()
    od
}

init { atomic { run thread(0); run thread(1) } }

#define wants0 (wants[0])
#define wants1 (wants[1])
#define active0 (is_active[0])
#define active1 (is_active[1])
#define inside (selected[0] || selected[1])

ltl moves { [] ((wants0 || wants1) -> (<> (inside || (!wants0 && !wants1)))) }
ltl served0 { [] ((wants0 -> (<> (!wants0))) && (active0 -> (<> (!active0)))) }
ltl served1 { [] ((wants1 -> (<> (!wants1))) && (active1 -> (<> (!active1)))) }
