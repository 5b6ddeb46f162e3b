/* A process ends while others begin to watch it, and cease to: real watch, state word, end of a process.
 *
 * A monitor that was added is told once, with the reason, unless it was removed before; one that was refused is not told. After
 * monitor_remove the monitor's memory may go: it is plain here, so being told too late is a race. */
#include "mortal.h"

#include "life/spawn.h"
#include "life/zombie.h"
#include "step/step.h"

enum { MONITORS = 2 };

SHARED struct listener listeners[MONITORS];
SHARED int added[MONITORS];
SHARED bool taken_back[MONITORS];
static weft_pid pid;
static struct proc *proc;

/* ---- setup and finish ------------------------------------------------------------------------------------------------ */

static void begin(unsigned slots) {
    small_begin(POLICY_RING, 3, slots);
    for (unsigned i = 0; i < MONITORS; i++) {
        listeners[i].monitor.tell = hear;
        added[i] = WEFT_ENOPROC;
    }
    chk_name(&small->monitor_locks[1 % MONITOR_LOCKS], "watch.lock");
}
static void set_up(void) { begin(4); }
static void running(void) {
    set_up();
    pid = small_spawn(&mortal);
    proc = policy_pop(small_worker(0));
    chk_assert(proc == small_proc(pid), "it can be claimed");
}
static void running_watched(void) {
    running();
    added[0] = monitor_add(&small_play(1)->local, pid, &listeners[0].monitor);
    chk_assert(added[0] == 0, "watched in setup");
}

static void each_once(void) {
    for (unsigned i = 0; i < MONITORS; i++) {
        unsigned due = added[i] == 0 && !taken_back[i];
        chk_assert(listeners[i].told == due, "each monitor is told once, and no other");
        chk_assert(!due || listeners[i].reason == REASON, "with the reason");
    }
    small_end();
}

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

static void ends(void) { step_run(small_play(0), proc); }
static void watch(unsigned worker, unsigned i) {
    added[i] = monitor_add(&small_play(worker)->local, pid, &listeners[i].monitor);
    chk_assert(added[i] == 0 || added[i] == WEFT_ENOPROC, "it lives, or has ended");
}
static void take_back(unsigned worker, unsigned i) {
    if (added[i]) return;
    taken_back[i] = monitor_remove(&small_play(worker)->local, pid, &listeners[i].monitor);
    if (taken_back[i]) chk_assert(listeners[i].told == 0, "taken back in time");
}
static void watches_0(void) { watch(1, 0); }
static void watches_1(void) { watch(2, 1); }
static void takes_back_0(void) { take_back(1, 0); }
static void watches_and_takes_back_1(void) {
    watch(2, 1);
    take_back(2, 1);
}

SCENARIO(monitor_add, .about = "a process ends || is watched", .setup = running, .threads = {ends, watches_0}, .finish = each_once)
SCENARIO(monitor_add_two, .about = "a process ends || is watched || is watched", .setup = running, .threads = {ends, watches_0, watches_1},
         .finish = each_once, .deep_in = CHK_ALL)
SCENARIO(monitor_remove, .about = "a watched process ends || its monitor is taken back", .setup = running_watched,
         .threads = {ends, takes_back_0}, .finish = each_once)
SCENARIO(monitor_add_remove, .about = "a process ends || is watched, and no more", .setup = running,
         .threads = {ends, watches_and_takes_back_1}, .finish = each_once)
SCENARIO(watch_all, .about = "a watched process ends || its monitor is taken back || another is added", .setup = running_watched,
         .threads = {ends, takes_back_0, watches_1}, .finish = each_once, .deep_in = CHK_SC | CHK_TSO)

/* ---- watched from birth ---------------------------------------------------------------------------------------------------- */

static void spawns_watched(void) {
    struct worker *worker = small_play(0);
    uint16_t ticket;
    added[0] = spawn_monitored(worker, &pid, &mortal, &(weft_spawn_options){.method = NULL}, &listeners[0].monitor, &ticket);
    chk_assert(added[0] == 0, "spawned");
}
static void steals(void) {
    struct worker *worker = small_play(1);
    bool busy = false;
    struct proc *stolen = policy_steal(worker, small_worker(0), true, &busy);
    if (stolen) step_run(worker, stolen);
}
static void each_once_after_all(void) {
    small_run_own(small_play(0));
    small_run_own(small_play(1));
    each_once();
}
SCENARIO(monitor_newborn, .about = "a process is born watched || a thief runs it at once", .setup = set_up,
         .threads = {spawns_watched, steals}, .finish = each_once_after_all)

/* A thread that guesses the slot, which is the only one, looks into its list. */
static void set_up_one(void) { begin(1); }
static void detaches_a_guess(void) {
    chk_assert(zombie_forget(&small_play(1)->local, pid_make(small->instance, 77, 1)) == WEFT_ENOPROC, "no process has that PID");
}
SCENARIO(monitor_newborn_guessed, .about = "a process is born watched || a PID of the same slot is detached", .setup = set_up_one,
         .threads = {spawns_watched, detaches_a_guess}, .finish = each_once_after_all)

/* ---- twins that are wrong: the two words alone -------------------------------------------------------------------------------- */

SHARED struct state word;
SHARED struct lock twin_lock;
SHARED struct listener *listed;

static void twin_set_up(void) {
    state_init(&word);
    chk_assert(state_claim_any(&word), "it runs");
    lock_init(&twin_lock);
    chk_name(&word.word, "state");
    chk_name(&word.asked, "asked");
    listeners[0].monitor.tell = hear;
}
static void twin_tell(void) {
    lock_take(&twin_lock);
    if (listed) hear(NULL, NULL, &listed->monitor, &(struct reason){REASON, NULL});
    listed = NULL;
    lock_drop(&twin_lock);
}
static void twin_once(void) { chk_assert(listeners[0].told == (added[0] == 0), "each monitor is told once, and no other"); }

static void twin_ends(void) {
    if (state_complete(&word)) twin_tell();
}
static void twin_watches(void) {
    lock_take(&twin_lock);
    listed = &listeners[0];
    added[0] = state_monitor(&word) ? 0 : WEFT_ENOPROC;
    if (added[0]) listed = NULL;
    lock_drop(&twin_lock);
}
SCENARIO(monitor_words, .about = "the two words alone: COMPLETE, then MONITORED? || MONITORED, then COMPLETE?", .setup = twin_set_up,
         .threads = {twin_ends, twin_watches}, .finish = twin_once)

/* Neither may be less than seq_cst. */
static void ends_weakly(void) {
    uint64_t now = atom_load_rlx(&word.word);
    atom_swap_acqrel(&word.word, state_with(now, STATE_COMPLETE));
    if (atom_load_acq(&word.asked) & STATE_MONITORED) twin_tell();
}
static void watches_weakly(void) {
    lock_take(&twin_lock);
    listed = &listeners[0];
    atom_or_acqrel(&word.asked, STATE_MONITORED);
    added[0] = state_of(atom_load_acq(&word.word)) != STATE_COMPLETE ? 0 : WEFT_ENOPROC;
    if (added[0]) listed = NULL;
    lock_drop(&twin_lock);
}
SCENARIO(monitor_ends_weakly, .about = "broken: the end is acquire and release only", .setup = twin_set_up,
         .threads = {ends_weakly, twin_watches}, .finish = twin_once, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
SCENARIO(monitor_watches_weakly, .about = "broken: the monitor is acquire and release only", .setup = twin_set_up,
         .threads = {twin_ends, watches_weakly}, .finish = twin_once, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Looks first and marks then. */
static void watches_too_late(void) {
    lock_take(&twin_lock);
    added[0] = state_of(atom_load_sc(&word.word)) != STATE_COMPLETE ? 0 : WEFT_ENOPROC;
    if (!added[0]) {
        listed = &listeners[0];
        atom_or_sc(&word.asked, STATE_MONITORED);
    }
    lock_drop(&twin_lock);
}
SCENARIO(monitor_too_late, .about = "broken: COMPLETE? then MONITORED", .setup = twin_set_up, .threads = {twin_ends, watches_too_late},
         .finish = twin_once, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* Taken back without the lock. */
static void twin_set_up_watched(void) {
    twin_set_up();
    twin_watches();
}
static void takes_back_unlocked(void) {
    listed = NULL;
    listeners[0].told = 7; /* the memory has another use */
}
static void nothing(void) {}
SCENARIO(monitor_remove_unlocked, .about = "broken: taken back without the lock", .setup = twin_set_up_watched,
         .threads = {twin_ends, takes_back_unlocked}, .finish = nothing, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
