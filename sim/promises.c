/* What the program states about itself: see weft/sim.h. */
#include "sim.h"

void sim_promises(void) {}

#include <weft/sim.h>

bool weft_sim_point(const char *name) {
    sim_effect(name, 0);
    return false;
}
void weft_sim_always(const char *name, bool (*holds)(void *arg), void *arg) { (void)name, (void)holds, (void)arg; }
void weft_sim_eventually_within(const char *name, bool (*holds)(void *arg), void *arg, uint64_t ns) {
    (void)name, (void)holds, (void)arg, (void)ns;
}
