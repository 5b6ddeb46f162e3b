/* Sysmon asks processes that wait to pack themselves: see sysmon_pack.h. */
#include "thread/sysmon_pack.h"

#include "proc/packing.h"

enum {
    PACK_AFTER = 15,      /* units of `coarse`, a second: how long a process waits before it is asked */
    PACK_PAUSE = 1000000, /* ns, between two slices of TABLE_CHUNK processes */
    PACK_PATIENCE = 16,   /* a process that does not pack itself is asked after twice the time, up to so often */
};

static bool pack_waits(struct proc *proc) {
    enum state_name state = state_of(atom_load_rlx(&proc->state.word)); /* rlx: a hint */
    return state == STATE_IDLE || state == STATE_BLOCKED;
}
static __attribute__((no_sanitize("thread"))) uint32_t pack_waited(struct runtime *runtime, struct proc *proc) {
    return (atom_load_rlx(&runtime->coarse) - proc->since) & 0xffffff;
}

/* True: it was asked; or will be, because it was never asked in vain, and has not waited for long enough yet. */
static bool pack_ask(struct runtime *runtime, struct proc *proc, struct packing *packing, uint32_t after) {
    uint32_t generation = proc_generation(proc), refused = atom_load_rlx(&packing->refused); /* rlx: packing.h */
    if (atom_load_rlx(&packing->owner) != generation || atom_load_rlx(&packing->packed) == generation || !pack_waits(proc)) return false;
    if (pack_waited(runtime, proc) < after << refused) return refused == 0;
    if (refused < PACK_PATIENCE) atom_store_rlx(&packing->refused, refused + 1);
    atom_store_rlx(&packing->asked, generation);
    proc_wake(runtime, NULL, proc);
    return true;
}

/* The processes of a chunk of the table. True: some were asked, or will be. */
static bool pack_chunk(struct runtime *runtime, uint32_t chunk, uint32_t after) {
    struct table_chunk *blocks = atom_load_acq(&runtime->table.chunks[chunk]); /* acq: as in table_at */
    bool some = false;
    for (uint32_t i = 0; blocks && i < TABLE_CHUNK; i++) {
        struct packing *packing = side_of(&runtime->sides.packings, chunk * TABLE_CHUNK + i, sizeof *packing, false);
        if (!packing) return some;
        some |= pack_ask(runtime, &blocks->blocks[i], packing, after);
    }
    return some;
}

void pack_survey(struct runtime *runtime) {
    if (atom_load_rlx(&runtime->sides.packs)) runtime->sysmon.packs_from = 1; /* rlx: seen a second later */
}

void pack_slice(struct runtime *runtime, uint64_t now) {
    struct sysmon *sysmon = &runtime->sysmon;
    while (sysmon->packs_from && sysmon->packs_from <= TABLE_CHUNKS)
        if (atom_load_rlx(&runtime->sides.packings.chunks[sysmon->packs_from++ - 1])) { /* rlx: whether there is one */
            pack_chunk(runtime, sysmon->packs_from - 2, PACK_AFTER);
            if (now + PACK_PAUSE < sysmon->come_back) sysmon->come_back = now + PACK_PAUSE;
            return;
        }
    sysmon->packs_from = 0;
}

bool pack_asleep(struct runtime *runtime) {
    bool some = false;
    for (uint32_t chunk = 0; atom_load_rlx(&runtime->sides.packs) && chunk < TABLE_CHUNKS; chunk++)
        if (atom_load_rlx(&runtime->sides.packings.chunks[chunk])) some |= pack_chunk(runtime, chunk, PACK_AFTER / 2);
    return some;
}
