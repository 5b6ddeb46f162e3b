/* What the tests of the queues share: threads that start together, memory that runs out, and items that are counted. */
#ifndef WEFT_TESTS_QUEUE_CREW_H
#define WEFT_TESTS_QUEUE_CREW_H

#include "base/atom.h"
#include "base/rng.h"
#include "base/spin.h"
#include "queue/entry.h"
#include "sys/sys.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Threads --------------------------------------------------------------------------------------------------- */

enum { CREW_MAX = 8 };

struct crew_member {
    void (*work)(unsigned self);
    unsigned self;
    pthread_t thread;
};
static atom_u32 crew_waiting;

static inline void *crew_start(void *arg) {
    struct crew_member *member = arg;
    atom_sub_sc(&crew_waiting, 1);
    while (atom_load_sc(&crew_waiting) != 0)
        sched_yield();
    member->work(member->self);
    return NULL;
}

/* Runs first(0) and rest(1) ... rest(count - 1) at once and waits for all. */
static inline void crew_run(unsigned count, void (*first)(unsigned), void (*rest)(unsigned)) {
    struct crew_member members[CREW_MAX];
    atom_store_sc(&crew_waiting, count);
    for (unsigned i = 0; i < count; i++) {
        members[i] = (struct crew_member){.work = i ? rest : first, .self = i};
        EXPECT(pthread_create(&members[i].thread, NULL, crew_start, &members[i]) == 0);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(members[i].thread, NULL);
}

/* Now and then gives the core away, so that two cores show more interleavings. */
static inline void crew_stumble(struct rng *rng, uint32_t one_in) {
    if (rng_below(rng, one_in) == 0) sched_yield();
}

/* ---- Memory that runs out -------------------------------------------------------------------------------------- */

static unsigned crew_allocs_left;
static const struct sys *crew_real_sys;

static inline void *crew_alloc(size_t size) {
    if (crew_allocs_left == 0) return NULL;
    crew_allocs_left--;
    return crew_real_sys->alloc(size);
}

/* From now on the first `count` allocations succeed and no others. */
static inline void crew_limit_allocs(unsigned count) {
    static struct sys scarce;
    if (!crew_real_sys) crew_real_sys = sys;
    scarce = *crew_real_sys;
    scarce.alloc = crew_alloc;
    crew_allocs_left = count;
    sys = &scarce;
}
static inline void crew_unlimit_allocs(void) { sys = crew_real_sys; }

/* ---- Items ----------------------------------------------------------------------------------------------------- */

struct crew_item {
    uint64_t payload; /* plain: written before the push */
    atom_u32 times;
};
static struct crew_item *crew_items;
static uint64_t crew_item_count;

static inline void crew_items_make(uint64_t count) {
    crew_item_count = count;
    crew_items = calloc(count, sizeof *crew_items);
    EXPECT(crew_items != NULL);
}
static inline uint64_t crew_item(uint64_t id) {
    crew_items[id].payload = ~id;
    return entry_make(&crew_items[id], (uint16_t)id);
}
static inline void crew_got(uint64_t entry) {
    struct crew_item *item = entry_ptr(entry);
    uint64_t id = (uint64_t)(item - crew_items);
    EXPECT(id < crew_item_count);
    EXPECT(entry_ticket(entry) == (uint16_t)id);
    EXPECT(item->payload == ~id);
    atom_add_rlx(&item->times, 1);
}
/* Nothing was lost, and nothing came more than `most` times. */
static inline void crew_items_check(uint64_t most) {
    for (uint64_t id = 0; id < crew_item_count; id++) {
        uint32_t times = atom_load_rlx(&crew_items[id].times);
        if (times == 0)
            test_fail(__FILE__, __LINE__, "item %llu of %llu was lost", (unsigned long long)id, (unsigned long long)crew_item_count);
        if (times > most) test_fail(__FILE__, __LINE__, "item %llu was delivered %u times", (unsigned long long)id, times);
    }
    free(crew_items);
}

#endif
