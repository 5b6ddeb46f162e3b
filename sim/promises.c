/* What the program states about itself, and its named points: see weft/sim.h. */
#include "sim.h"

#include <weft/sim.h>

#include <stdlib.h>

enum {
    POINT_CHOICES = 64, /* of which most are nothing */
    POINT_DELAYS = 7,
    POINT_DELAY = 1000, /* ns: the shortest. Each of the others is eight times as long as the one before */
};

struct promise {
    struct promise *next;
    const char *name;
    bool (*holds)(void *arg);
    void *arg;
    uint64_t within; /* 0: always */
};

static struct {
    struct promise *always, *eventually;
    bool asking;
} promises;

static bool promise_holds(const struct promise *promise) {
    promises.asking = true;
    bool holds = promise->holds(promise->arg);
    promises.asking = false;
    return holds;
}

/* Those that have come about are asked no more. */
static void promises_eventually(void) {
    for (struct promise **at = &promises.eventually; *at;) {
        struct promise *promise = *at;
        if (!promise_holds(promise)) {
            at = &promise->next;
        } else {
            *at = promise->next;
            promise->within = 0;
        }
    }
}

void sim_promises(void) {
    if (!promises.always && !promises.eventually) return;
    if (promises.asking) sim_fail("promise", "a function that says whether a promise holds calls weft");
    for (struct promise *promise = promises.always; promise; promise = promise->next)
        if (!promise_holds(promise)) sim_fail("promise", "'%s' does not hold", promise->name);
    promises_eventually();
}

static struct promise *promise_new(struct promise **list, const char *name, bool (*holds)(void *arg), void *arg, uint64_t within) {
    struct promise *promise = malloc(sizeof *promise);
    if (!promise) abort();
    *promise = (struct promise){NULL, name, holds, arg, within};
    while (*list)
        list = &(*list)->next;
    *list = promise;
    return promise;
}

void weft_sim_always(const char *name, bool (*holds)(void *arg), void *arg) {
    promise_new(&promises.always, name, holds, arg, 0);
    sim_effect("always", 0);
}

/* The time is over. It may have come about since the last point. */
static void promise_due(void *arg) {
    struct promise *promise = arg;
    if (promise->within && !promise_holds(promise))
        sim_fail("promise", "'%s' has not come about within %llu ns", promise->name, (unsigned long long)promise->within);
}

/* A program that ends before has broken it too. */
static void promises_at_end(void) {
    for (struct promise *promise = promises.eventually; promise; promise = promise->next)
        if (!promise_holds(promise)) sim_fail("promise", "'%s' has not come about when the program ended", promise->name);
}

void weft_sim_eventually_within(const char *name, bool (*holds)(void *arg), void *arg, uint64_t ns) {
    static bool at_end;
    if (!at_end) at_end = atexit(promises_at_end) == 0;
    struct promise *promise = promise_new(&promises.eventually, name, holds, arg, ns ? ns : 1);
    sim_at(sim_in(ns), promise_due, promise);
    sim_effect("eventually", ns);
}

/* ---- points --------------------------------------------------------------------------------------------------------------------- */

bool weft_sim_point(const char *name) {
    static const char delayed[] = "a named point";
    if (!name) name = "point";
    sim_effect(name, 0);
    uint64_t delay = sim_draw_rare(SIM_POINT, 1 + POINT_DELAYS, POINT_CHOICES);
    if (delay) sim_block(delayed, delayed, sim_now() + ((uint64_t)POINT_DELAY << 3 * (delay - 1)));
    if (sim_fault_at(SIM_FAULT_CRASH, SIM_CRASH, name)) sim_crash_machine(sim_me()->machine);
    return sim_fault_at(SIM_FAULT_POINT, SIM_POINT, name);
}
