/* The way of packets between machines: how long they take, and whether they arrive. */
#include "world/net.h"
#include "world/net_wire.h"

#include <stdlib.h>

enum { ROUTE_MACHINES = 64, ROUTE_CUT_NS = 1000000 };

static struct {
    bool known;
    unsigned slow;                             /* how slow the network of this seed is */
    bool down[ROUTE_MACHINES];                 /* crashed */
    bool cuts[ROUTE_MACHINES][ROUTE_MACHINES]; /* no packet passes */
} route;

/* ---- latency --------------------------------------------------------------------------------------------------------------------- */

/* Most packets are fast, within 100 us in a fast network; one in eight takes up to 40 times as long. */
uint64_t route_latency(unsigned from, unsigned to) {
    if (!route.known) {
        route.known = true;
        route.slow = (unsigned)sim_draw(SIM_LATENCY, 4);
    }
    uint64_t drawn = sim_draw(SIM_LATENCY, 256), unit = drawn % 8 == 7 ? 16000 : 400;
    return from == to ? drawn * unit / 4 : (drawn * unit) << 2 * route.slow;
}

/* ---- partitions -------------------------------------------------------------------------------------------------------------------- */

bool route_is_cut(unsigned a, unsigned b) {
    a %= ROUTE_MACHINES;
    b %= ROUTE_MACHINES;
    return a != b && (route.cuts[a][b] || route.down[a] || route.down[b]);
}

static void route_cut(unsigned a, unsigned b, bool on) {
    route.cuts[a % ROUTE_MACHINES][b % ROUTE_MACHINES] = route.cuts[b % ROUTE_MACHINES][a % ROUTE_MACHINES] = on;
}

void sim_net_partition(unsigned a, unsigned b, bool on) {
    sim_note(on ? "partition" : "heal", (uint64_t)a << 32 | b);
    route_cut(a, b, on);
    if (!on) wire_release_all();
}

void sim_net_heal(void) {
    for (unsigned a = 0; a < ROUTE_MACHINES; a++)
        for (unsigned b = 0; b < ROUTE_MACHINES; b++)
            route.cuts[a][b] = 0;
    sim_note("heal", 0);
    wire_release_all();
}

void route_is_up(unsigned machine) {
    if (!route.down[machine % ROUTE_MACHINES]) return;
    route.down[machine % ROUTE_MACHINES] = false;
    wire_release_all();
}

void sim_net_crash(unsigned machine) {
    route.down[machine % ROUTE_MACHINES] = true;
    sim_fd_crash(machine);
}

static void route_heal_later(void *pair) {
    sim_net_partition((unsigned)((uintptr_t)pair >> 16), (unsigned)((uintptr_t)pair & 0xffff), false);
}

bool route_fault(void) { return sim_fault(SIM_FAULT_NET, SIM_NET); }

/* The seed cuts two machines off from each other for a while. */
void route_may_cut(unsigned a, unsigned b) {
    if (a == b || route_is_cut(a, b) || !route_fault()) return;
    uint64_t how_long = sim_draw(SIM_NET, 1 << 12);
    sim_net_partition(a, b, true);
    sim_at(sim_now() + how_long * ROUTE_CUT_NS, route_heal_later, (void *)((uintptr_t)a << 16 | b));
}
