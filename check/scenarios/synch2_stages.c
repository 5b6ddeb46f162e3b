/* synch2, stage by stage, as its design grew (docs/synch2.md): what each stage promises and where it breaks. The
 * finished part, src/sync/synch2.c, is in synch2.c; here the protocols are written as they are told, every access
 * seq_cst where the scenario does not say otherwise.
 *
 * Oracles: `room` is plain data that only a selected thread touches, so two at once are a data race; `role` is
 * plain data that only the acting waker touches, so that the waker's role is exclusive exactly if that never races
 * either. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"

SHARED atom_u32 active[2], wait[2], waker, waker_change;
SHARED atom_u32 guarded[2]; /* in the guard; only for the internal properties */
SHARED uint64_t room;
SHARED uint64_t role;
SHARED unsigned passed[2]; /* inside: how often the other was selected since this one began to wait */
SHARED unsigned served[2]; /* inside: how often each was selected */

static void set_up(void) {
    chk_name(&active[0], "active[0]");
    chk_name(&active[1], "active[1]");
    chk_name(&wait[0], "wait[0]");
    chk_name(&wait[1], "wait[1]");
    chk_name(&waker, "waker");
    chk_name(&waker_change, "waker_change");
    chk_name(&guarded[0], "guarded[0]");
    chk_name(&guarded[1], "guarded[1]");
    chk_name(&room, "room");
    chk_name(&role, "role");
}

static void be_selected(void) { room++; }

/* ---- The simplest: nothing is guarded ---------------------------------------------------------------------------- */

static void simplest(void) { be_selected(); }
SCENARIO(synch2_simplest, .about = "no protocol at all: both are selected at once", .setup = set_up, .threads = {simplest, simplest},
         .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* ---- The safe: wait while the other is active -------------------------------------------------------------------- */

static void safe(unsigned i) {
    atom_store_sc(&active[i], 1);
    struct spin spin = spin_begin();
    while (atom_load_sc(&active[1 - i]))
        spin_wait(&spin);
    be_selected();
    atom_store_sc(&active[i], 0);
}
static void safe_0(void) { safe(0); }
static void safe_1(void) { safe(1); }
SCENARIO(synch2_safe, .about = "wait while the other is active: both can wait for ever", .setup = set_up, .threads = {safe_0, safe_1},
         .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

/* Exclusion holds all the same: the same without the behaviours in which both see each other. */
static void safe_or_stop(unsigned i) {
    atom_store_sc(&active[i], 1);
    chk_assume(!atom_load_sc(&active[1 - i]));
    be_selected();
    atom_store_sc(&active[i], 0);
}
static void safe_or_stop_0(void) { safe_or_stop(0); }
static void safe_or_stop_1(void) { safe_or_stop(1); }
SCENARIO(synch2_safe_excludes, .about = "... but the thread that gets in is alone", .setup = set_up,
         .threads = {safe_or_stop_0, safe_or_stop_1})

/* ---- The almost wait-free: thread 0 always is the waker ---------------------------------------------------------- */

/* `marked`: the thread that is marked as waiting. As printed it is thread 0, which never waits for the mark: thread 1 then
 * finds no mark and walks in beside thread 0. It must be thread 1. */
static void almost(unsigned i, unsigned marked) {
    atom_store_sc(&active[i], 1);
    if (atom_load_sc(&active[1 - i])) {
        if (i == marked) atom_store_sc(&wait[1], 1);
        struct spin spin = spin_begin();
        while (atom_load_sc(&active[1 - i]) && (i == 0 || atom_load_sc(&wait[1]))) {
            if (i == 0 && atom_load_sc(&wait[1])) atom_store_sc(&wait[1], 0);
            spin_wait(&spin);
        }
    }
    /* Selected from here on. */
    bool other_waits = atom_load_sc(&active[1 - i]);
    be_selected();
    passed[1 - i] = other_waits ? passed[1 - i] + 1 : 0;
    passed[i] = 0;
    chk_assert(passed[0] <= 2, "thread 0 is passed at most twice");
    atom_store_sc(&active[i], 0);
}
static void almost_printed_0(void) { almost(0, 0); }
static void almost_printed_1(void) { almost(1, 0); }
SCENARIO(synch2_almost_printed, .about = "a fixed waker, as printed: the wrong thread is marked, both are selected at once",
         .setup = set_up, .threads = {almost_printed_0, almost_printed_1}, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

static void almost_0(void) { almost(0, 1); }
static void almost_1(void) { almost(1, 1); }
static void almost_1_twice(void) {
    almost(1, 1);
    almost(1, 1);
}
static void almost_1_thrice(void) {
    almost_1_twice();
    almost(1, 1);
}
SCENARIO(synch2_almost, .about = "a fixed waker, the right thread marked: safe", .setup = set_up, .threads = {almost_0, almost_1})
SCENARIO(synch2_almost_twice, .about = "... and so when thread 1 comes back", .setup = set_up, .threads = {almost_0, almost_1_twice})
/* Three stands for any number: spin shows that it can go on for ever. */
SCENARIO(synch2_almost_starves, .about = "... but thread 1 can pass thread 0 more than twice", .setup = set_up,
         .threads = {almost_0, almost_1_thrice}, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* ---- From here on the waker's role moves ------------------------------------------------------------------------- */

/* Acting as the waker: the other thread may not at the same time. */
static void wake_other(unsigned i) {
    role++;
    if (atom_load_sc(&wait[1 - i])) atom_store_sc(&wait[1 - i], 0);
}

typedef void answer_fn(unsigned i);
typedef void finish_fn(unsigned i);

/* Start, guard and selection are the same in all of them; `answer` is what is done in the guard, `finish` what
 * after it. */
static void turn(unsigned i, answer_fn *answer, finish_fn *finish) {
    atom_store_sc(&active[i], 1);
    if (atom_load_sc(&active[1 - i])) {
        atom_store_sc(&wait[i], 1);
        struct spin spin = spin_begin();
        while (atom_load_sc(&active[1 - i]) && atom_load_sc(&wait[i])) {
            answer(i);
            spin_wait(&spin);
        }
    }
    be_selected();
    if (atom_load_sc(&waker) != i) finish(i);
    atom_store_sc(&active[i], 0);
}

/* ---- The dynamic waker, no handshake ----------------------------------------------------------------------------- */

static void dynamic_answer(unsigned i) {
    if (atom_load_sc(&waker) == i && atom_load_sc(&wait[1 - i])) atom_store_sc(&wait[1 - i], 0);
}
static void dynamic_finish(unsigned i) { atom_store_sc(&waker, i); }
static void dynamic_0(void) { turn(0, dynamic_answer, dynamic_finish); }
static void dynamic_1_twice(void) {
    turn(1, dynamic_answer, dynamic_finish);
    turn(1, dynamic_answer, dynamic_finish);
}
SCENARIO(synch2_dynamic, .about = "the waker's role moves without a handshake: two wakers in the guard wake each other", .setup = set_up,
         .threads = {dynamic_0, dynamic_1_twice}, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

static void dynamic_roles_answer(unsigned i) {
    if (atom_load_sc(&waker) == i) wake_other(i);
}
static void dynamic_roles_0(void) { turn(0, dynamic_roles_answer, dynamic_finish); }
static void dynamic_roles_1_twice(void) {
    turn(1, dynamic_roles_answer, dynamic_finish);
    turn(1, dynamic_roles_answer, dynamic_finish);
}
SCENARIO(synch2_dynamic_roles, .about = "... that is, the waker's role is not exclusive", .setup = set_up,
         .threads = {dynamic_roles_0, dynamic_roles_1_twice}, .flawed_in = CHK_ALL, .flaw = CHK_RACE)

/* ---- The final protocol, as printed ------------------------------------------------------------------------------ */

/* The changer has written `waker` already, so the old waker does not come to the acknowledgement any more. */
static void printed_answer(unsigned i) {
    if (atom_load_sc(&waker) != i) return;
    if (!atom_load_sc(&waker_change)) wake_other(i);
    else atom_store_sc(&waker_change, 0);
}
static void printed_finish(unsigned i) {
    atom_store_sc(&waker, i);
    if (!atom_load_sc(&active[1 - i])) return;
    atom_store_sc(&waker_change, 1);
    struct spin spin = spin_begin();
    while (atom_load_sc(&waker_change))
        spin_wait(&spin);
    atom_store_sc(&waker_change, 0);
}
static void printed_0(void) { turn(0, printed_answer, printed_finish); }
static void printed_1(void) { turn(1, printed_answer, printed_finish); }
SCENARIO(synch2_final_printed, .about = "the final protocol as printed: the change of the waker is never acknowledged", .setup = set_up,
         .threads = {printed_0, printed_1}, .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

static void printed_active_finish(unsigned i) {
    atom_store_sc(&waker, i);
    if (!atom_load_sc(&active[1 - i])) return;
    atom_store_sc(&waker_change, 1);
    struct spin spin = spin_begin();
    while (atom_load_sc(&active[1 - i]) && atom_load_sc(&waker_change))
        spin_wait(&spin);
    atom_store_sc(&waker_change, 0);
}
static void printed_active_0(void) { turn(0, printed_answer, printed_active_finish); }
static void printed_active_1(void) { turn(1, printed_answer, printed_active_finish); }
SCENARIO(synch2_final_active, .about = "the final protocol, the changer also looks whether the other is active: likewise", .setup = set_up,
         .threads = {printed_active_0, printed_active_1}, .flawed_in = CHK_ALL, .flaw = CHK_DEADLOCK)

/* ---- The corrected protocol -------------------------------------------------------------------------------------- */

/* The acknowledgement does not depend on which thread is the waker. */
static void corrected_answer(unsigned i) {
    if (atom_load_sc(&waker_change)) atom_store_sc(&waker_change, 0);
    else if (atom_load_sc(&waker) == i) wake_other(i);
}
static void corrected_0(void) { turn(0, corrected_answer, printed_active_finish); }
static void corrected_1(void) { turn(1, corrected_answer, printed_active_finish); }
static void corrected_0_twice(void) {
    corrected_0();
    corrected_0();
}
static void corrected_1_twice(void) {
    corrected_1();
    corrected_1();
}
SCENARIO(synch2_corrected, .about = "corrected: safe, neither thread waits for ever, one waker at a time", .setup = set_up,
         .threads = {corrected_0, corrected_1})
SCENARIO(synch2_corrected_1x2, .about = "corrected, thread 1 comes back", .setup = set_up, .threads = {corrected_0, corrected_1_twice})
SCENARIO(synch2_corrected_2x2, .about = "corrected, two turns each", .setup = set_up, .threads = {corrected_0_twice, corrected_1_twice})

/* ---- Its internal properties ------------------------------------------------------------------------------------- */

/* The guard once more, with what has to hold on the way. True if it is left because the other said so. */
static bool checked_guard(unsigned i) {
    bool woke = false; /* the other, in its present turn */
    atom_store_sc(&wait[i], 1);
    atom_store_sc(&guarded[i], 1);
    struct spin spin = spin_begin();
    while (atom_load_sc(&active[1 - i])) {
        if (!atom_load_sc(&wait[i])) {
            chk_assert(!woke, "a thread that leaves the guard while the other is active has not woken it");
            return true;
        }
        if (atom_load_sc(&waker_change)) {
            atom_store_sc(&waker_change, 0);
            woke = false; /* that turn of the other is over, and so is being the waker */
        } else if (atom_load_sc(&waker) == i) {
            chk_assert(atom_load_sc(&guarded[i]), "one wakes only in the guard");
            woke |= atom_load_sc(&wait[1 - i]);
            wake_other(i); /* only the other's flag; exclusive, or `role` races */
        }
        spin_wait(&spin);
    }
    return false;
}

static void checked_turn(unsigned i, bool *other_was_active, unsigned *other_served) {
    const unsigned j = 1 - i;
    atom_store_sc(&active[i], 1);
    bool met = atom_load_sc(&active[j]);
    if (met) {
        if (checked_guard(i)) {
            chk_assert(atom_load_sc(&waker) == j, "a thread that leaves the guard while the other is active is not the waker");
            chk_assert(atom_load_sc(&guarded[j]) && atom_load_sc(&active[j]), "and leaves the waker in the guard");
        }
        atom_store_sc(&guarded[i], 0);
    }
    be_selected();
    if (!met && *other_was_active)
        chk_assert(served[j] != *other_served, "a thread that stayed active when this one left was seen, or served since");
    served[i]++;
    if (atom_load_sc(&waker) != i) printed_active_finish(i);
    chk_assert(atom_load_sc(&waker) == i, "a thread is the waker when it becomes inactive");
    *other_was_active = atom_load_sc(&active[j]);
    *other_served = served[j];
    atom_store_sc(&active[i], 0);
}
static void checked(unsigned i, unsigned turns) {
    bool other_was_active = false;
    unsigned other_served = 0;
    while (turns-- > 0)
        checked_turn(i, &other_was_active, &other_served);
}
static void checked_0(void) { checked(0, 1); }
static void checked_1(void) { checked(1, 1); }
static void checked_1_twice(void) { checked(1, 2); }
SCENARIO(synch2_internal, .about = "corrected: which thread wakes which, and what holds when the guard is left", .setup = set_up,
         .threads = {checked_0, checked_1})
SCENARIO(synch2_internal_1x2, .about = "... and when thread 1 comes back", .setup = set_up, .threads = {checked_0, checked_1_twice})
