/* 002.4: a completion that asks at the end, not at the beginning, which process it is for. */
#include "base/atom.h"
#include "chk.h"

/* A slot: the generation of its tenant, and how many events the tenant received. The first tenant has dispatched a
 * command. */
enum { GENERATION = 16 };

SHARED atom_u32 slot;

static void setup(void) { atom_store_rlx(&slot, 1 * GENERATION); }

/* The first tenant is cancelled and ends; the slot gets its next one. */
static void next_tenant(void) {
    uint32_t s = atom_load_sc(&slot);
    while (!atom_cas_sc_sc(&slot, &s, 2 * GENERATION))
        continue;
}
static void deliver(uint32_t generation) {
    uint32_t s = atom_load_sc(&slot);
    while (s / GENERATION == generation)
        if (atom_cas_sc_sc(&slot, &s, s + 1)) return;
}
static void complete_late(void) { deliver(atom_load_sc(&slot) / GENERATION); }
static void complete_captured(void) { deliver(1); }

static void second_has_nothing(void) {
    chk_assert(atom_load_rlx(&slot) == 2 * GENERATION, "a result never reaches a process that did not ask for it");
}

SCENARIO(flaw_002_4_completion_reaches_next_tenant, .about = "the handler looks up the slot's process when it completes", .setup = setup,
         .threads = {next_tenant, complete_late}, .finish = second_has_nothing, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_002_4_incarnation_captured_at_dispatch, .about = "the command carries the incarnation that gave it", .setup = setup,
         .threads = {next_tenant, complete_captured}, .finish = second_has_nothing)
