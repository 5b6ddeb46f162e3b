#include "sched/newborn.h"

#include "sched/sched.h"

#if WEFT_CHECK
enum { NURSERY_BATCH = 2, NURSERY_PATIENCE = 2 };
#else
enum { NURSERY_BATCH = 16, NURSERY_PATIENCE = 32 };
#endif

bool nursery_put(struct worker *own, const uint64_t *entries, size_t count) {
    return inject_push_batch(&own->nursery, entries, count) == 0;
}

struct proc *nursery_newest(struct worker *own) {
    uint64_t batch[NURSERY_BATCH];
    struct proc *proc = NULL;
    for (size_t n; !proc && (n = inject_take_newest(&own->nursery, batch, NURSERY_BATCH)) > 0;)
        proc = find_adopt(own, batch, n);
    return proc;
}

struct proc *nursery_eldest(struct worker *own) { return find_oldest(&own->nursery); }

bool nursery_is_due(struct worker *own) {
    if (nursery_is_empty(own)) return false;
    return ++own->fair.nursery_looks % NURSERY_PATIENCE == 0 || own->fair.looks > GLOBAL_PATIENCE;
}

struct proc *nursery_steal(struct worker *own, struct worker *victim) {
    uint64_t batch[NURSERY_BATCH];
    size_t half = (inject_size(&victim->nursery) + 1) / 2;
    size_t n = inject_take_batch(&victim->nursery, batch, half < NURSERY_BATCH ? half : NURSERY_BATCH);
    if (n == 0) return NULL;
    count(&own->actor.counters.steals);
    count_many(&own->actor.counters.stolen, n);
    return find_adopt(own, batch, n);
}
