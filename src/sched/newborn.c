/* The newborn queue: processes that have never run and found their worker's ring full. */
#include "sched/newborn.h"

#include "sched/sched.h"

#if WEFT_CHECK
enum { NEWBORN_BATCH = 2, NEWBORN_PATIENCE = 2 };
#else
enum { NEWBORN_BATCH = 16, NEWBORN_PATIENCE = 32 };
#endif

bool newborn_put(struct worker *own, const uint64_t *entries, size_t count) {
    return inject_push_batch(&own->newborn, entries, count) == 0;
}

struct proc *newborn_newest(struct worker *own) {
    uint64_t batch[NEWBORN_BATCH];
    struct proc *proc = NULL;
    for (size_t n; !proc && (n = inject_take_newest(&own->newborn, batch, NEWBORN_BATCH)) > 0;)
        proc = find_adopt(own, batch, n);
    return proc;
}

struct proc *newborn_eldest(struct worker *own) {
    return find_oldest(&own->newborn);
}

bool newborn_is_due(struct worker *own) {
    if (newborn_is_empty(own)) return false;
    return ++own->fair.newborn_looks % NEWBORN_PATIENCE == 0 || own->fair.looks > GLOBAL_PATIENCE;
}

struct proc *newborn_steal(struct worker *own, struct worker *victim) {
    uint64_t batch[NEWBORN_BATCH];
    size_t half = (inject_size(&victim->newborn) + 1) / 2;
    size_t n = inject_take_batch(&victim->newborn, batch, half < NEWBORN_BATCH ? half : NEWBORN_BATCH);
    if (n == 0) return NULL;
    count(&own->local.counters.steals);
    count_many(&own->local.counters.stolen, n);
    return find_adopt(own, batch, n);
}
