/* The texts and the panic of the state word: see proc/state.h. */
#include "proc/state.h"

const char *state_text(enum state_name name) {
    switch (name) {
    case STATE_READY: return "Ready";
    case STATE_RUNNING: return "Running";
    case STATE_BLOCKED: return "Blocked";
    case STATE_IDLE: return "Idle";
    case STATE_COMPLETE: return "Complete";
    }
    return "no state";
}

uint64_t (*state_pid)(const struct state *state);

void state_illegal(const struct state *state, const char *operation, uint64_t word, enum state_name wanted) {
    WEFT_PANIC("%s: process %016llx (block %p) is %s and should be %s (word %#llx)", operation,
               (unsigned long long)(state_pid ? state_pid(state) : 0), (const void *)state, state_text(state_of(word)), state_text(wanted),
               (unsigned long long)word);
#if WEFT_CHECK
    (void)state, (void)operation, (void)word, (void)wanted;
#endif
}
