/* Starvation: a process that is ready to run, and does not run although others have had very many turns. */
#include "starvation.h"

#include "sim.h"

#include "sched/door.h"

#include <stdlib.h>

enum {
    STARVATION_EVERY = 4096, /* effects between two looks */
    STARVATION_TURNS = 100000,
    STARVATION_TURNS_EACH = 16, /* more for every process that there may be */
};

/* For each slot of a runtime: the state's word when the process was first seen ready, and the turns that all had had by then. */
struct seen {
    uint64_t word, turns;
};
static struct {
    const struct runtime *runtime;
    struct seen *slots;
    uint32_t count;
} seen[INSTANCES];

/* Cells are read as they are, which is sequentially consistent: an atom_ operation would be a point, at which the baton may be passed on. */
static uint64_t starvation_turns(struct runtime *runtime) {
    uint64_t turns = 0;
    for (unsigned i = 0; i < PLACES_MAX; i++) {
        struct worker *worker = runtime->workers[i].cell;
        if (worker) turns += worker->local.counters.steps.cell;
    }
    return turns;
}

static void starvation_judge(struct runtime *runtime, struct seen *slot, const struct proc *proc, uint64_t turns) {
    uint64_t word = proc->state.word.cell;
    bool same = slot->word == word && state_of(word) == STATE_READY && turns >= slot->turns; /* fewer: of an earlier runtime */
    if (!same) *slot = (struct seen){word, turns};
    else if (turns - slot->turns > STARVATION_TURNS + (uint64_t)STARVATION_TURNS_EACH * runtime->table.fresh)
        sim_fail("starvation", "process %016llx has been ready for %llu turns of others", (unsigned long long)proc->pid.cell,
                 (unsigned long long)(turns - slot->turns));
}

static bool starvation_room(struct runtime *runtime, unsigned instance) {
    uint32_t fresh = runtime->table.fresh;
    if (seen[instance].runtime == runtime && seen[instance].count >= fresh) return true;
    struct seen *slots = realloc(seen[instance].slots, fresh * sizeof *slots);
    if (!slots) return false;
    for (uint32_t i = seen[instance].runtime == runtime ? seen[instance].count : 0; i < fresh; i++)
        slots[i] = (struct seen){0, 0};
    seen[instance].runtime = runtime;
    seen[instance].slots = slots;
    seen[instance].count = fresh;
    return true;
}

static void starvation_look_at(struct runtime *runtime, unsigned instance) {
    uint64_t turns = starvation_turns(runtime);
    if (!starvation_room(runtime, instance)) return;
    /* Slot 0 is no process, and may have no memory yet. An earlier runtime at the same address may have had more of them. */
    for (uint32_t i = 1; i < runtime->table.fresh; i++)
        starvation_judge(runtime, &seen[instance].slots[i], table_at(&runtime->table, i), turns);
}

void starvation_look(void) {
    static unsigned effects;
    if (++effects % STARVATION_EVERY) return;
    int64_t left = sim_atoms_left;
    sim_atoms_left = INT64_MAX; /* no atomic operation in here is a point */
    for (unsigned i = 0; i < INSTANCES; i++)
        if (door_runtime(i)) starvation_look_at(door_runtime(i), i);
    sim_atoms_left = left;
}
