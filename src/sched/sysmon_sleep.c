/* How sysmon goes to sleep when nothing happens, and how a worker wakes it. */
#include "sched/sched.h"

bool sysmon_all_asleep(struct runtime *runtime) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    for (unsigned i = 0; i < made; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]); /* rlx: published by `made` */
        if (atom_load_rlx(&worker->driven) && !idle_is_asleep(&runtime->idle, i)) return false;
    }
    return true;
}

/* The runtime has been idle for long. Sleeps until a worker wakes up. */
void sysmon_sleep(struct runtime *runtime) {
    struct sysmon *sysmon = &runtime->sysmon;
    atom_store_rlx(&sysmon->asleep, true); /* rlx: the fence */
    sys_fence_heavy();                     /* pairs with the light one in sysmon_wake: the worker sees `asleep`, or sysmon sees it awake */
    if (!sysmon_all_asleep(runtime) || atom_load_rlx(&sysmon->over)) {
        atom_store_rlx(&sysmon->asleep, false);
        return;
    }
    parker_park(&sysmon->parker, SYS_FOREVER);
    atom_store_rlx(&sysmon->asleep, false); /* rlx: needed when a signal handler woke it */
}

/* Workers note with this clock when a process began to wait. Written only when it changes, so that their reads hit the cache. rlx, all: an approximate time;
 * the workers are published by `made`. */
void sysmon_tell_time(struct runtime *runtime, uint64_t now) {
    uint32_t coarse = sysmon_coarse(now);
    if (atom_load_rlx(&runtime->coarse) == coarse) return;
    atom_store_rlx(&runtime->coarse, coarse);
    for (unsigned i = 0, made = atom_load_acq(&runtime->made); i < made; i++) /* acq: as in find_steal_pass */
        atom_store_rlx(&atom_load_rlx(&runtime->workers[i])->coarse, coarse);
}

void sysmon_unpark(struct runtime *runtime) {
    sysmon_tell_time(runtime, sys->now()); /* the clock stood still while sysmon slept */
    if (atom_swap_rlx(&runtime->sysmon.asleep, false)) parker_unpark(&runtime->sysmon.parker); /* rlx: the parker orders */
}
