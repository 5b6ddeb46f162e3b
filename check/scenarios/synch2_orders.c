/* synch2, the corrected protocol with its orders as weak as they may be, and with each of its two full fences taken
 * away: the fence after `active = true` and the one after `waker = i` are both needed, under C11 as on plain x86.
 * One that may give up needs a third one. The finished part is in synch2.c, where `make mutants` weakens every
 * order in turn. */
#include "base/atom.h"
#include "base/spin.h"
#include "chk.h"
#include "sys/sys.h"

SHARED atom_u32 active[2], wait[2], waker, waker_change;
SHARED unsigned room;

/* The two stores that must come before the load that follows them; and, after giving up, activation before wait =
 * true. */
static struct { bool active, waker, again; } fenced;

static void set_up_fences(bool active_fenced, bool waker_fenced) {
    fenced.active = active_fenced;
    fenced.waker = waker_fenced;
    fenced.again = true;
    chk_name(&active[0], "active[0]");
    chk_name(&active[1], "active[1]");
    chk_name(&wait[0], "wait[0]");
    chk_name(&wait[1], "wait[1]");
    chk_name(&waker, "waker");
    chk_name(&waker_change, "waker_change");
    chk_name(&room, "room");
}
static void both(void) { set_up_fences(true, true); }
static void only_active(void) { set_up_fences(true, false); }
static void only_waker(void) { set_up_fences(false, true); }
static void neither(void) { set_up_fences(false, false); }
static void not_again(void) {
    set_up_fences(true, true);
    fenced.again = false;
}

/* seq_cst, a store and a full fence on x86; or release, a plain store. */
static void store(atom_u32 *cell, unsigned value, bool full) {
    if (full) atom_store_sc(cell, value);
    else atom_store_rel(cell, value);
}

static void answer(unsigned i) {
    if (atom_load_acq(&waker_change)) {
        atom_store_rel(&waker_change, 0);
    } else if (atom_load_sc(&waker) == i && atom_load_rlx(&wait[1 - i])) {
        atom_store_rel(&wait[1 - i], 0);
        atom_fence_light(); /* pairs with the heavy one in turn_again_0 */
    }
}

static void guard(unsigned i) {
    atom_store_rlx(&wait[i], 1);
    struct spin spin = spin_begin();
    while (atom_load_acq(&active[1 - i]) && atom_load_acq(&wait[i])) {
        answer(i);
        spin_wait(&spin);
    }
}

static void take_waker(unsigned i) {
    store(&waker, i, fenced.waker);
    if (!atom_load_sc(&active[1 - i])) return;
    atom_store_rel(&waker_change, 1);
    struct spin spin = spin_begin();
    while (atom_load_acq(&waker_change) && atom_load_rlx(&active[1 - i]))
        spin_wait(&spin);
    if (atom_load_rlx(&waker_change)) atom_store_rlx(&waker_change, 0); /* the other gave up */
}

static void be_selected(unsigned i) {
    room++;
    if (atom_load_rlx(&waker) != i) take_waker(i);
    atom_store_rel(&active[i], 0);
}
static void turn(unsigned i) {
    store(&active[i], 1, fenced.active);
    if (atom_load_sc(&active[1 - i])) guard(i);
    be_selected(i);
}
static void turn_0(void) { turn(0); }
static void turn_1(void) { turn(1); }
static void turn_1_twice(void) {
    turn(1);
    turn(1);
}

SCENARIO(synch2_fences_both, .about = "a full fence after active = true and one after waker = i: safe", .setup = both,
         .threads = {turn_0, turn_1_twice})
SCENARIO(synch2_fences_only_active, .about = "no full fence after waker = i: the other acts as the waker unseen", .setup = only_active,
         .threads = {turn_0, turn_1_twice}, .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_RACE)
SCENARIO(synch2_fences_only_waker, .about = "no full fence after active = true: neither sees the other", .setup = only_waker,
         .threads = {turn_0, turn_1}, .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_RACE)
SCENARIO(synch2_fences_neither, .about = "plain x86 stores, release in C: likewise", .setup = neither, .threads = {turn_0, turn_1},
         .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_RACE)

/* Thread 0 gives up its first turn if it cannot have it at once. It may have been woken by then, and not know it;
 * the thread that woke it goes in, because it sees thread 0 inactive. The wake-up must not come in thread 0's second
 * turn. */
static void give_up_0(void) {
    atom_store_sc(&active[0], 1);
    chk_assume(atom_load_sc(&active[1]));
    atom_store_rlx(&wait[0], 1);
    answer(0);
    answer(0);
    atom_store_rel(&active[0], 0);
}
static void turn_again_0(void) {
    give_up_0();
    atom_store_sc(&active[0], 1);
    if (atom_load_sc(&active[1])) {
        if (fenced.again) sys_fence_heavy();
        guard(0);
    }
    be_selected(0);
}
SCENARIO(synch2_gave_up_fenced, .about = "one that gave up comes back, with a fence before it waits: safe", .setup = both,
         .threads = {turn_again_0, turn_1_twice})
SCENARIO(synch2_gave_up_unfenced, .about = "... without: it takes a wake-up for its own that was meant for the turn before",
         .setup = not_again, .threads = {turn_again_0, turn_1_twice}, .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_RACE)
