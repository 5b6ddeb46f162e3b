/* One attempt, with a server of its own. */
#include "cli/sim.h"

#include <string.h>

enum { TICK_MS = 200 };

static bool is_over(enum server_event event) { return event == SERVER_OUTCOME || event == SERVER_GONE || event == SERVER_BROKEN; }

enum server_event attempt_follow(struct server *server, uint64_t seed) {
    enum server_event event = SERVER_NOTHING;
    struct pollfd fds[2];
    if (server->greeted) server_give(server, seed);
    while (!is_over(event) && !sim_interrupted) {
        server_polled(server, fds);
        poll(fds, 2, TICK_MS);
        event = server_look(server);
        if (event == SERVER_READY) server_give(server, seed);
    }
    return event;
}

int attempt_run(struct outcome *outcome, const struct sim_options *options, const struct task *task, uint64_t seed) {
    static struct server server;
    if (server_start(&server, options, task) != 0) return -1;
    enum server_event event = attempt_follow(&server, seed);
    if (event != SERVER_GONE && event != SERVER_BROKEN) server_end(&server);
    *outcome = server.outcome;
    if (strcmp(outcome->word, "record") == 0) { /* no fault of the program's */
        fputs(outcome->said.text, stderr);
        return -1;
    }
    return event == SERVER_OUTCOME || event == SERVER_GONE ? 0 : -1;
}
