/* What travels between the ends of a TCP connection: see net_wire.h. */
#include "world/net_wire.h"

#include <errno.h>
#include <stdlib.h>

#define WIRE_GIVES_UP (UINT64_C(924) * 1000000000) /* ns: what Linux takes with its default of 15 retries */

static struct connection *connections;

static void wire_end(struct wire *wire) {
    while (wire->first) {
        struct packet *packet = wire->first;
        wire->first = packet->next;
        free(packet);
    }
    wire->last = &wire->first;
}

struct connection *connection_new(bool near) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) return NULL;
    connection->references = 1;
    connection->near = near;
    for (unsigned side = 0; side < 2; side++)
        wire_end(&connection->wires[side]);
    connection->next = connections;
    connections = connection;
    return connection;
}

void connection_drop(struct connection *connection) {
    struct connection **at = &connections;
    if (--connection->references > 0) return;
    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    connection_unborn(connection);
    for (unsigned side = 0; side < 2; side++) {
        wire_end(&connection->wires[side]);
        flow_end(&connection->flows[side]);
    }
    free(connection);
}

void connection_forget_listener(const struct socket *listener) {
    for (struct connection *connection = connections; connection; connection = connection->next)
        if (connection->unborn_of == listener) connection->unborn_of = NULL;
}

/* ---- packets --------------------------------------------------------------------------------------------------------------------- */

static void wire_run(struct connection *connection, unsigned side);
static void wire_run_0(void *connection) { wire_run(connection, 0); }
static void wire_run_1(void *connection) { wire_run(connection, 1); }

static void wire_schedule(struct connection *connection, unsigned side, uint64_t moment) {
    struct wire *wire = &connection->wires[side];
    if (wire->event && wire->event <= moment) return;
    wire->event = moment;
    connection->references++;
    sim_at(moment, side ? wire_run_1 : wire_run_0, connection);
}

static bool wire_is_cut(struct connection *connection) { return route_is_cut(connection->machines[0], connection->machines[1]); }

static void wire_deliver(struct connection *connection, unsigned side) {
    struct wire *wire = &connection->wires[side];
    struct packet *packet = wire->first;
    wire->first = packet->next;
    wire->gives_up = 0;
    if (!wire->first) wire->last = &wire->first;
    stream_arrive(connection, side, packet->kind, packet->size);
    free(packet);
}

/* W3: the first packet could not be delivered. */
static void wire_hold(struct connection *connection, unsigned side) {
    struct wire *wire = &connection->wires[side];
    struct socket *sender = connection->ends[side];
    if (!wire->gives_up) wire->gives_up = sim_now() + WIRE_GIVES_UP;
    if (sim_now() < wire->gives_up) {
        wire_schedule(connection, side, wire->gives_up);
        return;
    }
    wire_end(wire);
    if (sender) stream_reset(sender, ETIMEDOUT);
}

/* The event of a wire (W2). */
static void wire_run(struct connection *connection, unsigned side) {
    struct wire *wire = &connection->wires[side];
    if (wire->event <= sim_now()) wire->event = 0;
    while (wire->first && wire->first->due <= sim_now() && !wire_is_cut(connection))
        wire_deliver(connection, side);
    if (wire->first && wire->first->due <= sim_now()) wire_hold(connection, side);
    else if (wire->first) wire_schedule(connection, side, wire->first->due);
    connection_drop(connection);
}

void wire_send(struct connection *connection, unsigned side, enum packet_kind kind, size_t size) {
    struct wire *wire = &connection->wires[side];
    uint64_t due = connection->near ? 0 : sim_now() + route_latency(connection->machines[side], connection->machines[!side]);
    if (due < wire->due) due = wire->due;
    wire->due = due;
    if (!wire->first && due <= sim_now() && (connection->near || !wire_is_cut(connection))) {
        stream_arrive(connection, side, kind, size);
        return;
    }
    struct packet *packet = malloc(sizeof *packet);
    if (!packet) sim_fail("memory", "the simulation itself has none left");
    *packet = (struct packet){.kind = kind, .size = size, .due = due};
    *wire->last = packet;
    wire->last = &packet->next;
    wire_schedule(connection, side, due);
}

/* The event that would give up comes later, and finds nothing to do. */
void wire_release_all(void) {
    for (struct connection *connection = connections; connection; connection = connection->next)
        for (unsigned side = 0; side < 2; side++)
            if (connection->wires[side].gives_up && !wire_is_cut(connection)) wire_schedule(connection, side, sim_now());
}
