/* A server: the program, started once, that forks for each seed. So an attempt costs a fork and not a start. */
#include "cli/sim.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* A program that has not answered for so long is not simulated. One that has closed the descriptor is given a moment to end. */
enum { HELLO_MS = 20000, ENDING_MS = 1000 };

int server_start(struct server *server, const struct sim_options *options, const struct task *task) {
    memset(server, 0, sizeof *server);
    server->options = options;
    server->limit_ms = task->limit_ms;
    server->since = now_ms();
    return program_start(&server->program, options, task);
}

void server_end(struct server *server) { program_end(&server->program); }

int server_give(struct server *server, uint64_t seed) {
    char line[32];
    int length = snprintf(line, sizeof line, "%" PRIu64 "\n", seed);
    memset(&server->outcome, 0, offsetof(struct outcome, said.text) + 1);
    server->outcome.seed = seed;
    server->busy = true;
    server->since = now_ms();
    return write(server->program.to, line, (size_t)length) == length ? 0 : -1;
}

void server_polled(const struct server *server, struct pollfd fds[2]) {
    fds[0] = (struct pollfd){.fd = server->program.from, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = server->program.said, .events = POLLIN};
}

static enum server_event look_for_hello(struct server *server, bool over, const char *line) {
    if (line && is_hello(line)) {
        server->greeted = true;
        return SERVER_READY;
    }
    if (!line && !over && !server->lines.ended) return SERVER_NOTHING;
    if (!over) over = !program_ends_within(&server->program, ENDING_MS);
    program_read_said(server->program.said, &server->outcome.said);
    int status = program_end(&server->program);
    program_no_hello(server->options, status, over, &server->outcome.said);
    return SERVER_BROKEN;
}

/* SEED STATUS RESULT-LINE. All that the attempt has said was written before. */
static bool take_outcome(struct server *server, const char *line) {
    struct outcome *outcome = &server->outcome;
    uint64_t seed = 0;
    int used = 0;
    if (sscanf(line, "%" SCNu64 " %d %n", &seed, &outcome->status, &used) != 2 || seed != outcome->seed) return false;
    outcome_report(outcome, line + used);
    program_read_said(server->program.said, &outcome->said);
    server->busy = false;
    return true;
}

/* The seed has ended the server: by kill, or by writing to descriptors that are not its own. It counts as a failure. */
static enum server_event end_with_seed(struct server *server, bool stuck) {
    int status = program_end(&server->program);
    server->outcome.stuck = stuck;
    server->outcome.status = status ? status : 1 << 8;
    return SERVER_GONE;
}

enum server_event server_look(struct server *server) {
    char line[sizeof server->lines.text];
    uint64_t passed = now_ms() - server->since;
    lines_read(&server->lines, server->program.from);
    bool whole = lines_next(&server->lines, line);
    if (!whole) program_read_said(server->program.said, &server->outcome.said);
    if (!server->greeted)
        return look_for_hello(server, passed > (server->limit_ms < HELLO_MS ? server->limit_ms : HELLO_MS), whole ? line : NULL);
    if (whole && take_outcome(server, line)) return SERVER_OUTCOME;
    bool stuck = server->busy && passed >= server->limit_ms;
    return whole || server->lines.ended || stuck ? end_with_seed(server, stuck) : SERVER_NOTHING;
}
