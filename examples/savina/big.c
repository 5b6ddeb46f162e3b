/* Big: every process pings another at random, waits for the pong, and answers the pings of others meanwhile. */
#include "savina.h"

static uint64_t processes = 120, pings = 200;
static const struct savina_parameter parameters[] = {
    {"processes", &processes, 2, 100000, "that ping each other"},
    {"pings", &pings, 0, UINT32_MAX, "sent by each, one after the other"},
};

enum { START, PING, PONG, FINISHED, STOP };

struct peer {
    const weft_pid *all; /* complete when START comes */
    weft_pid sink;
    uint64_t index, answered;
};

/* The next one that peer `index` will ping: any but itself. */
static uint64_t choose(uint64_t *random, uint64_t index) { return (index + 1 + savina_below(random, processes - 1)) % processes; }

static void peer(void *arg) {
    struct peer *self = arg;
    uint64_t sent = 0, random = self->index;
    weft_pid asked = WEFT_NOBODY;
    for (;;) {
        weft_msg *message = savina_recv();
        uint64_t tag = weft_msg_tag(message), number = *(const uint64_t *)savina_data(message, sizeof number);
        weft_pid from = weft_msg_from(message);
        weft_msg_free(message);
        if (tag == STOP) return;
        if (tag == PING) {
            self->answered++;
            savina_send(from, PONG, &number, sizeof number);
            continue;
        }
        if (tag == PONG) SAVINA_CHECK(from == asked && number == sent, "peer %" PRIu64 " got a pong that is not for its ping", self->index);
        if (sent == pings) {
            savina_send(self->sink, FINISHED, &self->index, sizeof self->index);
            continue;
        }
        sent++;
        asked = self->all[choose(&random, self->index)];
        savina_send(asked, PING, &sent, sizeof sent);
    }
}

/* This process is the sink: when all have all their pongs, it ends them. */
static void run(struct peer *peers) {
    weft_scope scope;
    weft_pid *all = savina_zeroed(processes, sizeof *all);
    uint64_t index;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (uint64_t i = 0; i < processes; i++) {
        peers[i] = (struct peer){.all = all, .sink = weft_self(), .index = i};
        all[i] = savina_spawn(&scope, peer, &peers[i]);
    }
    for (uint64_t i = 0; i < processes; i++)
        savina_send(all[i], START, &i, sizeof i);
    for (uint64_t i = 0; i < processes; i++)
        savina_recv_into(&index, sizeof index);
    for (uint64_t i = 0; i < processes; i++)
        savina_send(all[i], STOP, &i, sizeof i);
    savina_must(weft_scope_end(&scope), "the peers");
    free(all);
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    struct peer *peers = savina_zeroed(processes, sizeof *peers);
    uint64_t *wanted = savina_zeroed(processes, sizeof *wanted);
    uint64_t began = weft_now();
    run(peers);
    uint64_t took = weft_now() - began;
    for (uint64_t i = 0; i < processes; i++) {
        uint64_t random = i;
        for (uint64_t k = 0; k < pings; k++)
            wanted[choose(&random, i)]++;
    }
    for (uint64_t i = 0; i < processes; i++)
        SAVINA_CHECK(peers[i].answered == wanted[i], "peer %" PRIu64 " had %" PRIu64 " pings, not %" PRIu64, i, peers[i].answered,
                     wanted[i]);
    free(wanted);
    free(peers);
    return savina_ok(took, "%" PRIu64 " processes, %" PRIu64 " pings each", processes, pings);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("big", "everybody pings everybody", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
