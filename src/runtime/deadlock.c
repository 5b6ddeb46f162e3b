/* Deadlock detection: all processes wait and nothing is left that could wake one. Only under weft_main, where the whole program is known.
 *
 * Sysmon checks when all workers have been asleep for a while. It never reports a deadlock that is none:
 *
 *   Z1  All workers sleep, before and after all else is checked, and have run nothing in between: so what was read is one consistent state.
 *   Z2  No process runs or is ready. That covers calls in weft_blocking, and processes on the way back from one.
 *   Z3  No timer is armed. Sysmon, which rings timers too, is running this check and not a timer.
 *   Z4  No external wait is pending (external_wait.h), no signal is watched, and no signal handler has left a post (post.h).
 *   Z5  The program has no threads but the runtime's and the one that waits in weft_main: any other might send a message.
 *   Z6  The first process is one of those that wait. When it has ended, the thread in weft_main is about to stop the runtime, which
 *       wakes all processes, however long that thread takes to get there.
 *
 * It may miss a deadlock: if a thread of the program's own ends later without having woken a process, sysmon does not check again. */
#include "life/cancel.h"
#include "runtime/report.h"
#include "runtime/stop.h"
#include "sys/print.h"

#include <weft/stackful.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEADLOCK_SHOWN = 100 };
#define DEADLOCK_CLEANUP UINT64_C(1000000000) /* ns; how long processes that are ended by force have for their cleanup functions */

/* How many steps and sleeps there were so far. rlx, here and below: Z1 */
static uint64_t deadlock_steps(struct runtime *runtime) {
    uint64_t sum = 0;
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++) {
        struct counters *counters = &atom_load_rlx(&runtime->workers[i])->local.counters;
        sum += atom_load_rlx(&counters->steps) + atom_load_rlx(&counters->sleeps);
    }
    return sum;
}

static bool deadlock_outside(struct runtime *runtime) {
    uint64_t ended = 0, begun = 0; /* summed in this order, so that their difference is never too small */
    unsigned made = atom_load_acq(&runtime->made);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < made + DOORS + 1; i++) {
            struct local *local = i < made           ? &atom_load_rlx(&runtime->workers[i])->local
                                  : i < made + DOORS ? &runtime->doors[i - made]
                                                     : &runtime->sysmon.local;
            if (pass == 0) ended += atom_load_rlx(&local->counters.external_wait_ended);
            else begun += atom_load_rlx(&local->counters.external_wait_begun);
        }
    }
    return begun != ended;
}

static bool deadlock_timers(struct runtime *runtime) {
    unsigned made = atom_load_acq(&runtime->made);
    for (unsigned i = 0; i < made; i++)
        if (timers_next(&atom_load_rlx(&runtime->workers[i])->timers) != SYS_FOREVER) return true;
    return false;
}

struct waiting {
    weft_pid first;
    unsigned waiting, others;
    bool first_waits;
};
static void waiting_visit(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    struct waiting *count = user;
    enum state_name state = state_of(atom_load_rlx(&proc->state.word));
    (void)runtime;
    if (state == STATE_IDLE || state == STATE_BLOCKED) count->waiting++;
    else count->others++;
    if (pid == count->first) count->first_waits = true;
}

/* How many processes wait; 0: there is no deadlock. */
static unsigned deadlock_is(struct runtime *runtime) {
    struct waiting count = {.first = atom_load_rlx(&runtime->deadlock.first)}; /* rlx: a number */
    uint64_t steps = deadlock_steps(runtime);
    if (!sysmon_all_asleep(runtime) || atom_load_rlx(&runtime->stopping)) return 0;
    if (deadlock_timers(runtime) || deadlock_outside(runtime) || inject_size(&runtime->inject) > 0) return 0;
    if (atom_load_rlx(&runtime->expected) > 0 || !posts_is_empty(&runtime->posts)) return 0;
    /* Besides the threads that may drive workers: sysmon, the thread in weft_main, the thread maker. */
    unsigned threads = sys->thread_count(), own = atom_load_rlx(&runtime->threads.living) + 2 + runtime->preempt.maker.started;
    if (threads == 0 || threads > own + runtime->deadlock.strangers) return 0;
    each_process(runtime, waiting_visit, &count);
    if (count.others > 0 || !count.first_waits || !sysmon_all_asleep(runtime) || deadlock_steps(runtime) != steps) return 0;
    return count.waiting;
}

/* ---- the report ---------------------------------------------------------------------------------------------------- */

static void waiting_show(struct runtime *runtime, struct proc *proc, weft_pid pid, void *user) {
    unsigned *shown = user;
    char name[192], wait[128];
    if ((*shown)++ >= DEADLOCK_SHOWN) return;
    report_name(runtime, proc, name, sizeof name);
    report_wait(runtime, proc, wait, sizeof wait);
    print_line(STDERR_FILENO, "  process %016lx (%s)%s\n", (unsigned long)pid, name, wait);
}

static void deadlock_report(struct runtime *runtime, unsigned processes) {
    unsigned shown = 0;
    print_line(STDERR_FILENO,
               processes == 1 ? "weft: deadlock: the only process waits, and nothing is left that could wake it\n"
                              : "weft: deadlock: all %u processes wait, and nothing is left that could wake one\n",
               processes);
    each_process(runtime, waiting_show, &shown);
    if (shown > DEADLOCK_SHOWN) print_line(STDERR_FILENO, "  and %u more\n", shown - DEADLOCK_SHOWN);
}

void deadlock_check(struct runtime *runtime, uint64_t now) {
    struct deadlock *deadlock = &runtime->deadlock;
    uint32_t action = atom_load_acq(&deadlock->action); /* acq: pairs with the rel in main_watch_deadlock */
    if (action == DEADLOCK_UNWATCHED || action == WEFT_DEADLOCK_IGNORE || deadlock->steps == deadlock_steps(runtime)) return;
    unsigned processes = deadlock_is(runtime);
    if (processes == 0) return;
    deadlock_report(runtime, processes);
    deadlock->steps = deadlock_steps(runtime);
    if (action == WEFT_DEADLOCK_ABORT) abort();
    if (action == WEFT_DEADLOCK_REPORT) return;
    if (!atom_load_rlx(&deadlock->found)) deadlock->until = now + runtime->grace; /* rlx: sysmon's */
    atom_store_rlx(&deadlock->found, true); /* rlx: weft_main reads it after a process has ended because of it */
    cancel_all(runtime, NULL);
}

void deadlock_hurry(struct runtime *runtime, uint64_t now) {
    struct deadlock *deadlock = &runtime->deadlock;
    if (__builtin_expect(!atom_load_rlx(&deadlock->found), 1) || now < deadlock->until || atom_load_rlx(&runtime->stopping)) return;
    if (!weft_alive(atom_load_rlx(&deadlock->first))) return; /* Z6 */
    stop_press(runtime);
    if (now < deadlock->until + DEADLOCK_CLEANUP) return;
    print_line(STDERR_FILENO, "weft: the first process was asked to end because of the deadlock and has not\n");
    _exit(WEFT_EXIT_DEADLOCK);
}
