/* Sleepers and searchers: no item is left while a worker that could run it sleeps.
 *
 * The small scenarios use the real parker. In the larger ones a bed is a bare token cell that its worker watches:
 * that the parker is as good is shown by its own scenarios, and by I1 there is never more than one token under way.
 *
 * Where work comes from is reduced to one cell an item: published by a plain release store, as the owner of a run
 * queue does, and taken by a compare-and-swap. A worker that has taken its share ends: it stands for one that is busy
 * for ever. So with as many shares as items, an item that is left means a worker asleep for ever, which the checker
 * reports as a lost wake-up. */
#include "queue/idle.h"
#include "base/spin.h"
#include "chk.h"
#include "queue/parker.h"
#include "sys/sys.h"

enum { ITEMS = 2, WORKERS = 3, SOON = 1 };
enum { ABSENT, THERE, TAKEN };

static struct idle idle;
static struct parker beds[WORKERS];
static atom_u32 tokens[WORKERS];
static bool real_beds;
static atom_u32 item[ITEMS], stop;
static unsigned items;
SHARED unsigned payload[ITEMS];
SHARED unsigned made[WORKERS]; /* what a worker is made of: its waker looks at that before it has got the token (I5) */

static void set_up(unsigned workers, unsigned count, bool with_parkers) {
    static const char *const item_names[] = {"item[0]", "item[1]"};
    static const char *const bed_names[] = {"bed[0]", "bed[1]", "bed[2]"};
    items = count;
    real_beds = with_parkers;
    atom_store_rlx(&stop, 0);
    chk_name(&stop, "stop");
    idle_init(&idle, workers);
    chk_name(&idle.searching, "searching");
    for (unsigned i = 0; i < IDLE_WORDS; i++)
        chk_name(&idle.sleeping[i], i ? "sleeping[1]" : "sleeping[0]");
    for (unsigned i = 0; i < workers; i++) {
        parker_init(&beds[i]);
        atom_store_rlx(&tokens[i], 0);
        chk_name(with_parkers ? &beds[i].word : &tokens[i], bed_names[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        atom_store_rlx(&item[i], ABSENT);
        chk_name(&item[i], item_names[i]);
    }
}
static void set_up_1_1(void) { set_up(1, 1, true); }
static void set_up_1_2(void) { set_up(1, 2, true); }
static void set_up_2_2(void) { set_up(2, 2, false); }
static void set_up_3_2(void) { set_up(3, 2, false); }
static void set_up_2_0(void) { set_up(2, 0, false); }
static void set_up_2_2_searcher(void) {
    set_up_2_2();
    chk_assert(idle_search(&idle), "worker 0 searches");
}
static void set_up_2_2_there(void) {
    set_up_2_2_searcher();
    payload[1] = 101;
    atom_store_rlx(&item[1], THERE); /* and the searcher answers for it */
}

static void unpark(int worker) {
    if (worker == IDLE_NOBODY) return;
    chk_assert(made[worker] > 0, "the worker that is woken is known (I5)");
    if (real_beds) parker_unpark(&beds[worker]);
    else chk_assert(atom_swap_rel(&tokens[worker], 1) == 0, "one token at a time (I1)");
}

/* 0: with the token. */
static int park(unsigned me, uint64_t deadline) {
    if (real_beds) return parker_park(&beds[me], deadline);
    struct spin spin = spin_begin();
    for (uint32_t token = 1; !atom_cas_acq_rlx(&tokens[me], &token, 0); token = 1)
        spin_wait(&spin);
    return 0;
}

/* ---- bringing work
 * ------------------------------------------------------------------------------------------------ */

static void submit(unsigned i) {
    payload[i] = i + 100;
    atom_store_rel(&item[i], THERE);
    unpark(idle_wake(&idle));
}
static void submit_0(void) { submit(0); }
static void submit_1(void) { submit(1); }
static void submit_both(void) {
    submit(0);
    submit(1);
}

/* Shutdown: every worker is told in person. */
static void stop_all(void) {
    atom_store_rel(&stop, 1);
    for (unsigned i = 0; i < atom_load_rlx(&idle.workers); i++)
        if (idle_wake_one(&idle, i)) unpark((int)i);
}

/* ---- workers
 * ------------------------------------------------------------------------------------------------------- */

static bool take(void) {
    for (unsigned i = 0; i < items; i++) {
        uint32_t seen = atom_load_rlx(&item[i]);
        if (seen == THERE && atom_cas_acq_rlx(&item[i], &seen, TAKEN)) {
            chk_assert(payload[i] == i + 100, "the item is whole");
            return true;
        }
    }
    return false;
}

static bool look(bool stoppable) {
    for (unsigned i = 0; i < items; i++)
        if (atom_load_rlx(&item[i]) == THERE) return true;
    return stoppable && atom_load_rlx(&stop) != 0;
}

/* Goes to sleep and comes back; returns whether the worker now searches. */
static bool sleep_once(unsigned me, bool searching, uint64_t deadline, bool stoppable) {
    made[me]++;
    idle_enter(&idle, me, searching);
    if (!look(stoppable)) { /* recheck */
        if (park(me, deadline) == 0) return true;
        searching = false;
    }
    if (idle_leave(&idle, me, searching)) return searching;
    chk_assert(park(me, SYS_FOREVER) == 0, "the token comes");
    return true;
}

/* A worker that has found nothing goes to sleep, and then takes `share` items. `deadline`: of the first sleep. */
static void work(unsigned me, unsigned share, bool searching, uint64_t deadline) {
    for (;;) {
        searching = sleep_once(me, searching, deadline, false);
        deadline = SYS_FOREVER;
        while (take()) {
            if (searching) unpark(idle_found(&idle));
            searching = false;
            if (--share == 0) return;
        }
    }
}
static void works_once(void) { work(chk_self(), 1, false, SYS_FOREVER); }
static void works_twice(void) { work(chk_self(), 2, false, SYS_FOREVER); }
static void naps_once(void) { work(chk_self(), 1, false, SOON); }
static void naps_twice(void) { work(chk_self(), 2, false, SOON); }
static void searcher_works_once(void) { work(chk_self(), 1, true, SYS_FOREVER); }
static void works_in_other_word(void) { work(2, 1, false, SYS_FOREVER); }
static void asks_and_works_once(void) { work(chk_self(), 1, idle_search(&idle), SYS_FOREVER); }
static void asks_and_works_twice(void) { work(chk_self(), 2, idle_search(&idle), SYS_FOREVER); }

static void works_until_stopped(void) {
    bool searching = false;
    while (atom_load_rlx(&stop) == 0)
        searching = sleep_once(chk_self(), searching, SYS_FOREVER, true);
    if (searching) unpark(idle_found(&idle));
}

static void all_done(void) {
    for (unsigned i = 0; i < items; i++)
        chk_assert(atom_load_rlx(&item[i]) == TAKEN, "every item was taken");
    chk_assert(idle_searchers(&idle) == 0, "no worker is counted as searching (I2)");
    chk_assert(idle_sleepers(&idle) == 0, "no worker is counted as sleeping (I1)");
}

/* Threads that work come first, so that their number is their worker's. */
SCENARIO(idle_one_one, .about = "a worker goes to sleep || an item is brought", .setup = set_up_1_1, .threads = {works_once, submit_0},
         .finish = all_done)
SCENARIO(idle_one_one_search, .about = "a worker becomes a searcher, goes to sleep || an item is brought", .setup = set_up_1_1,
         .threads = {asks_and_works_once, submit_0}, .finish = all_done)
SCENARIO(idle_one_one_nap, .about = "a worker sleeps with a deadline that may pass || an item is brought", .setup = set_up_1_1,
         .threads = {naps_once, submit_0}, .finish = all_done)

SCENARIO(idle_reuse, .about = "a worker sleeps, leaves, sleeps again || two bring an item each (no ABA)", .setup = set_up_1_2,
         .threads = {works_twice, submit_0, submit_1}, .finish = all_done)
SCENARIO(idle_reuse_search, .about = "the same with a worker that searches before its first sleep", .setup = set_up_1_2,
         .threads = {asks_and_works_twice, submit_0, submit_1}, .finish = all_done)
SCENARIO(idle_reuse_nap, .about = "the same with a worker whose first sleep may time out", .setup = set_up_1_2,
         .threads = {naps_twice, submit_0, submit_1}, .finish = all_done)

SCENARIO(idle_chain, .about = "two workers go to sleep || one brings two items: the one that is woken wakes the other", .setup = set_up_2_2,
         .threads = {works_once, works_once, submit_both}, .finish = all_done)
SCENARIO(idle_chain_search, .about = "the same, one worker is searching when it goes to sleep (I3)", .setup = set_up_2_2_searcher,
         .threads = {searcher_works_once, works_once, submit_both}, .finish = all_done, .deep_in = CHK_ALL)
SCENARIO(idle_chain_there,
         .about = "two workers go to sleep, one of them searching for an item that is there || another item is brought (I3)",
         .setup = set_up_2_2_there, .threads = {searcher_works_once, works_once, submit_0}, .finish = all_done)
SCENARIO(idle_chain_words, .about = "the same, the workers' bits are in two words", .setup = set_up_3_2,
         .threads = {works_once, works_in_other_word, submit_both}, .finish = all_done)

SCENARIO(idle_two_two, .about = "two workers go to sleep || two bring an item each", .setup = set_up_2_2,
         .threads = {works_once, works_once, submit_0, submit_1}, .finish = all_done, .deep_in = CHK_ALL)
SCENARIO(idle_stop, .about = "two workers go to sleep || both are told to stop", .setup = set_up_2_0,
         .threads = {works_until_stopped, works_until_stopped, stop_all}, .finish = all_done)
