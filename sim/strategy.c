/* How a seed behaves as a whole: see strategy.h. */
#include "strategy.h"

#include "draw.h"
#include "roster.h"

enum { STRATEGY_CHANCE_UNIT = 1 << 10 }; /* of the chance to switch at an effect */

static struct {
    bool priorities;
    uint32_t chance;     /* to switch at an effect */
    uint64_t atoms_mean; /* atomic operations between two switches */
} strategy;

void strategy_setup(void) {
    bool priorities = sim_seed_random(2);
    strategy.priorities = priorities && !sim_is_quiet();
    strategy.chance = 1 + (uint32_t)sim_seed_random(STRATEGY_CHANCE_UNIT / 2);
    strategy.atoms_mean = UINT64_C(8) << sim_seed_random(12);
}

bool strategy_has_priorities(void) { return strategy.priorities; }

bool strategy_is_fair(void) { return !strategy.priorities && !sim_is_quiet(); }

int64_t strategy_atoms(unsigned coarser) { return sim_is_quiet() ? INT64_MAX : 1 + (int64_t)sim_pick(2 * strategy.atoms_mean << coarser); }

bool strategy_switches(unsigned coarser) {
    if (strategy.priorities) return true;
    return !sim_is_left_out(SIM_SWITCH) && sim_pick(STRATEGY_CHANCE_UNIT << coarser) < strategy.chance;
}

static uint64_t strategy_highest(const struct sim_thread *me) {
    uint64_t best = 0, n = 0, best_priority = 0;
    for (unsigned i = 1; i <= roster.alive; i++) {
        struct sim_thread *thread = roster_behind(me, i);
        if (!roster_can_run(thread)) continue;
        if (thread->priority > best_priority) best_priority = thread->priority, best = n;
        n++;
    }
    return best;
}

uint64_t strategy_next(const struct sim_thread *me, unsigned count) {
    if (strategy.priorities) return strategy_highest(me);
    return sim_is_left_out(SIM_NEXT) ? 0 : sim_pick(count);
}
