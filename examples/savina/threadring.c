/* Thread ring: processes stand in a ring and pass a token on, which counts its hops down. */
#include "savina.h"

static uint64_t processes = 100, hops = 20000;
static const struct savina_parameter parameters[] = {
    {"processes", &processes, 1, 1000000, "members of the ring"},
    {"hops", &hops, 0, UINT32_MAX, "how often the token is passed on"},
};

struct member {
    uint64_t seen; /* so often it had the token */
    bool last;     /* it had the token when there was nothing left */
};

enum { NEXT, TOKEN, STOP };

static void member(void *arg) {
    struct member *self = arg;
    weft_pid next;
    uint64_t left, all = processes;
    savina_recv_into(&next, sizeof next);
    while (savina_recv_into(&left, sizeof left) == TOKEN) {
        self->seen++;
        self->last = left == 0;
        if (left--) savina_send(next, TOKEN, &left, sizeof left);
        else savina_send(next, STOP, &all, sizeof all); /* goes round once, back to this one */
    }
    if (--left) savina_send(next, STOP, &left, sizeof left);
}

static void run(struct member *members) {
    weft_scope scope;
    weft_pid *ring = savina_zeroed(processes, sizeof *ring);
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (uint64_t i = 0; i < processes; i++)
        ring[i] = savina_spawn(&scope, member, &members[i]);
    for (uint64_t i = 0; i < processes; i++)
        savina_send(ring[i], NEXT, &ring[(i + 1) % processes], sizeof ring[0]);
    savina_send(ring[0], TOKEN, &hops, sizeof hops);
    savina_must(weft_scope_end(&scope), "the ring");
    free(ring);
}

static int app(int argc, char **argv) {
    (void)argc, (void)argv;
    struct member *members = savina_zeroed(processes, sizeof *members);
    uint64_t began = weft_now();
    run(members);
    uint64_t took = weft_now() - began;
    for (uint64_t i = 0; i < processes; i++) {
        uint64_t wanted = i <= hops ? (hops - i) / processes + 1 : 0; /* hops i, i + processes, ... */
        SAVINA_CHECK(members[i].seen == wanted, "member %" PRIu64 " had the token %" PRIu64 " times, not %" PRIu64, i, members[i].seen,
                     wanted);
        SAVINA_CHECK(members[i].last == (i == hops % processes), "the token ended at member %" PRIu64 ", not %" PRIu64, i,
                     hops % processes);
    }
    free(members);
    return savina_ok(took, "%" PRIu64 " processes, %" PRIu64 " hops", processes, hops);
}

int main(int argc, char **argv) {
    SAVINA_BEGIN("threadring", "a token goes round a ring of processes", parameters, argc, argv);
    return weft_main(argc, argv, app);
}
