#include "thread/sysmon_trim.h"

enum { TRIM_PAUSE = 1000000 }; /* ns, between two slices */

void trim_survey(struct runtime *runtime, bool all) {
    pool_survey(&message_pool, all);
    pool_survey(&runtime->pool, all);
    runtime->monitor.trims = true;
}

static bool trim_some(struct runtime *runtime) {
    bool more = pool_trim(&message_pool);
    return pool_trim(&runtime->pool) || more;
}

void trim_slice(struct runtime *runtime, uint64_t now) {
    struct monitor *monitor = &runtime->monitor;
    if (monitor->trims && now - monitor->trimmed >= TRIM_PAUSE) {
        monitor->trims = trim_some(runtime);
        monitor->trimmed = now;
    }
    if (monitor->trims && now + TRIM_PAUSE < monitor->come_back) monitor->come_back = now + TRIM_PAUSE;
}

void trim_asleep(struct runtime *runtime) {
    trim_survey(runtime, true);
    while (monitor_all_asleep(runtime) && !atom_load_rlx(&runtime->monitor.over) && trim_some(runtime)) {} /* rlx: asked again */
}
