/* Sysmon falls asleep while a worker wakes up: it is told, or sees that a worker is awake. Otherwise no thread would look after
 * the hogs and lasting calls to come. */
#include "small_runtime.h"

#include "thread/worker.h"

static void set_up(void) {
    small_begin(POLICY_RING, 1, 2);
    small_has_begun(0);
    parker_init(&small->sysmon.parker);
    atom_store_rlx(&small->sysmon.asleep, false);
    atom_store_rlx(&small->sysmon.over, false);
    chk_name(&small->sysmon.asleep, "asleep");
    chk_name(&small->sysmon.parker.word, "sysmon's parker");
    idle_enter(&small->idle, 0, false);
}
static void awake(void) {
    chk_assert(!atom_load_rlx(&small->sysmon.asleep), "sysmon is up");
    small_end();
}

static void falls_asleep(void) { sysmon_sleep(small); }
static void rouses(void) { ready_wake(small, NULL); }
static void wakes_up(void) {
    struct worker *worker = small_play(0);
    parker_park(&worker->parker, SYS_FOREVER);
    sysmon_wake(small);
    idle_found(&small->idle);
}
SCENARIO(sysmon_sleep, .about = "sysmon falls asleep || a worker is woken || and wakes up", .setup = set_up,
         .threads = {falls_asleep, rouses, wakes_up}, .finish = awake)

/* A timer: the worker was not woken, so it takes back its own bit. */
static void gets_up(void) {
    struct worker *worker = small_play(0);
    idle_leave(&small->idle, worker->index, false);
    sysmon_wake(small);
}
SCENARIO(sysmon_sleep_timer, .about = "sysmon falls asleep || a worker gets up by itself", .setup = set_up,
         .threads = {falls_asleep, gets_up}, .finish = awake)

/* A new worker, which has slept and got up: a thread that looks at all workers finds it whole, or not at all. */
static void begins(void) {
    struct worker *worker = worker_new(small, 1);
    chk_assert(worker != NULL, "there is memory");
    atom_store_rlx(&worker->driven, true);
    idle_resize(&small->idle, 2);
    sysmon_wake(small);
}
SCENARIO(sysmon_sleep_new_worker, .about = "sysmon falls asleep || a worker is made and begins", .setup = set_up,
         .threads = {falls_asleep, begins}, .finish = awake)

/* ---- broken twins ------------------------------------------------------------------------------------------------- */

static void gets_up_late(void) {
    struct worker *worker = small_play(0);
    sysmon_wake(small);
    idle_leave(&small->idle, worker->index, false);
}
SCENARIO(sysmon_twin_tells_first, .about = "broken: sysmon is told before the worker is up", .setup = set_up,
         .threads = {falls_asleep, gets_up_late}, .finish = awake, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

static void falls_asleep_hastily(void) {
    if (!sysmon_all_asleep(small)) return;
    atom_store_rlx(&small->sysmon.asleep, true);
    parker_park(&small->sysmon.parker, SYS_FOREVER);
}
SCENARIO(sysmon_twin_looks_first, .about = "broken: whether all sleep is asked before it says that it does", .setup = set_up,
         .threads = {falls_asleep_hastily, gets_up}, .finish = awake, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
