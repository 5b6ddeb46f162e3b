#include "sched/lane.h"

/* Beside the table of control blocks, made when the first process of a chunk is sent something later. */
struct lane_chunk {
    atom_u64 lanes[TABLE_CHUNK];
};

atom_u64 *lane_of(struct runtime *runtime, uint32_t slot) {
    __typeof__(runtime->lanes[0]) *place = &runtime->lanes[slot / TABLE_CHUNK];
    struct lane_chunk *chunk = atom_load_acq(place); /* acq: pairs with the cas below: zeroed before it is known */
    if (__builtin_expect(!chunk, 0)) {
        struct lane_chunk *made = sys->alloc(sizeof *made);
        if (!made) return NULL;
        if (atom_cas_rel_acq(place, &chunk, made)) chunk = made; /* rel, acq: as above, whoever is first */
        else sys->free(made, sizeof *made);
    }
    return &chunk->lanes[slot % TABLE_CHUNK];
}

/* Nothing is pending. rlx: ends when the worker's own thread leaves, and else a hint. */
static uint32_t lane_at(struct worker *worker) { return atom_load_rlx(&worker->tenure) << LANE_TENURE | worker->index; }

static struct worker *lane_of_number(struct runtime *runtime, uint64_t lane) {
    uint32_t index = (uint32_t)lane & ((1U << LANE_TENURE) - 1);
    struct worker *worker = atom_load_rlx(&runtime->workers[index]); /* rlx: whoever chose it knew it, and comes before by the lane's acq */
    return lane_at(worker) == (uint32_t)lane ? worker : worker_first(runtime); /* alarm_arm_at looks whether it has a thread (N2) */
}

struct worker *lane_enter(struct runtime *runtime, struct worker *self, atom_u64 *lane) {
    struct worker *own = self ? self : worker_first(runtime);
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint64_t found = atom_load_rlx(lane); /* rlx: the exchange decides */
        bool others = found >= LANE_ONE;
        /* acqrel: one that joins others knows the worker that the first has chosen; and lane_leave. */
        if (atom_cas_acqrel_rlx(lane, &found, (others ? found : lane_at(own)) + LANE_ONE)) return others ? lane_of_number(runtime, found) : own;
    }
}

struct worker *lane_worker(struct runtime *runtime, atom_u64 *lane) {
    return lane_of_number(runtime, atom_load_acq(lane)); /* acq: pairs with the rel in lane_enter */
}

void lane_destroy_all(struct runtime *runtime) {
    for (unsigned i = 0; i < TABLE_CHUNKS; i++) {
        struct lane_chunk *chunk = atom_load_rlx(&runtime->lanes[i]); /* rlx: nobody else is left */
        if (chunk) sys->free(chunk, sizeof *chunk);
    }
}
