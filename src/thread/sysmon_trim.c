/* Sysmon gives unused memory back, a slice at a time. */
#include "thread/sysmon_trim.h"

enum { TRIM_PAUSE = 1000000 }; /* ns, between two slices */

void trim_survey(struct runtime *runtime, bool all) {
    pool_survey(&message_pool, all);
    pool_survey(&runtime->pool, all);
    runtime->sysmon.trims = true;
}

static bool trim_some(struct runtime *runtime) {
    bool more = pool_trim(&message_pool);
    return pool_trim(&runtime->pool) || more;
}

void trim_slice(struct runtime *runtime, uint64_t now) {
    struct sysmon *sysmon = &runtime->sysmon;
    if (sysmon->trims && now - sysmon->trimmed >= TRIM_PAUSE) {
        sysmon->trims = trim_some(runtime);
        sysmon->trimmed = now;
    }
    if (sysmon->trims && now + TRIM_PAUSE < sysmon->come_back) sysmon->come_back = now + TRIM_PAUSE;
}

void trim_asleep(struct runtime *runtime) {
    trim_survey(runtime, true);
    while (sysmon_all_asleep(runtime) && !atom_load_rlx(&runtime->sysmon.over) && trim_some(runtime)) {} /* rlx: asked again */
}
