#include "loops.h"

#include <string.h>

struct loops_seen loops_seen[T_MAX];
uint64_t loops_registers[LOOPS_REGISTERS];

void loops_forget(void) {
    for (unsigned t = 0; t < T_MAX; t++)
        loops_seen[t].count = 0;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
    return hash ^ hash >> 29;
}

static uint64_t state_now(const uint64_t operands[4]) {
    uint64_t hash = 1;
    for (unsigned i = 0; i < 4; i++)
        hash = mix(hash, operands[i]);
    for (unsigned i = 0; i < LOOPS_REGISTERS; i++)
        hash = mix(hash, loops_registers[i]);
    const uint64_t *word = (const uint64_t *)(uintptr_t)(loops_registers[0] & ~UINT64_C(7)), *top = run_stack_top();
    for (; word < top; word++)
        hash = mix(hash, *word);
    return hash;
}

static void remember(struct loops_seen *seen, uint64_t state) {
    if (seen->count == LOOPS_VISITS) memmove(seen->visit, seen->visit + 1, --seen->count * sizeof seen->visit[0]);
    seen->visit[seen->count++] = (struct loops_visit){state, (uint16_t)run_at()};
}

/* The thread waits on the round since that visit. If the search lets it go on, it begins that round again. */
static void wait_since(struct loops_seen *seen, unsigned visit) {
    run_block(WAIT_SPIN, seen->visit[visit].at);
    seen->count = visit + 1;
    seen->visit[visit].at = (uint16_t)run_at();
}

void loops_read(uintptr_t pc, uintptr_t address, uint64_t operand, uint64_t expected) {
    if (run.scenario->marked_loops) return;
    struct loops_seen *seen = &loops_seen[run.current];
    uint64_t state = state_now((uint64_t[4]){pc, address, operand, expected});
    for (unsigned i = seen->count; i-- > 0;) {
        if (seen->visit[i].state != state || run_has_more()) continue;
        wait_since(seen, i);
        return;
    }
    remember(seen, state);
}
