/* An attempt for each of many seeds, on all cores. Each failing seed, the first thousand, and a sample of the others are tried twice: the hashes
 * must be equal. */
#include "cli/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALWAYS_TWICE = 1000, SAMPLE = 8, TICK_MS = 200 };

struct lane {
    struct server server;
    bool running;         /* the server has been started and not ended */
    bool second;          /* the seed's second attempt is under way */
    struct outcome first; /* of the first, then */
};

static struct {
    const struct sim_options *options;
    struct lane *lanes;
    struct failures failures;
    uint64_t given, done; /* seeds */
    uint64_t unreported;  /* passed, and the simulation has not seen their end */
    uint64_t begun, told; /* ms */
    bool over;            /* no more seeds are given */
    bool broken;          /* no program of ours, or no memory */
} state;

/* ---- progress ----------------------------------------------------------------------------------------------------------- */

static double rate(void) {
    uint64_t passed = now_ms() - state.begun;
    return passed ? (double)state.done * 1000 / (double)passed : 0;
}

static void tell_progress(void) {
    if (!isatty(STDERR_FILENO) || now_ms() - state.told < TICK_MS) return;
    state.told = now_ms();
    double pace = rate();
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " failed, %.0f seeds/s", state.done, state.options->seeds,
            state.failures.count, pace);
    if (pace > 0) fprintf(stderr, ", %.0f s left", (double)(state.options->seeds - state.done) / pace);
    fprintf(stderr, "\033[K");
}

static void end_progress(void) {
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
}

/* ---- outcomes ----------------------------------------------------------------------------------------------------------- */

static void add_failure(const struct outcome *outcome, const struct outcome *other) {
    if (failures_add(&state.failures, outcome, other) != 0) state.broken = true;
    if (!state.options->keep_going) state.over = true;
}

static void settle(const struct outcome *outcome, const struct outcome *other) {
    state.done++;
    if (other || outcome_failed(outcome)) add_failure(outcome, other);
    else if (!outcome->reported || strcmp(outcome->word, "none") == 0) state.unreported++;
}

static bool wants_second(const struct outcome *outcome) {
    uint64_t index = outcome->seed - state.options->first;
    return outcome_failed(outcome) || state.options->twice || index < ALWAYS_TWICE || index % SAMPLE == 0;
}

/* An attempt is done: it is followed by the second one of its seed, or the seed is settled. */
static void take(struct lane *lane, const struct outcome *outcome) {
    if (lane->second) {
        lane->second = false;
        settle(&lane->first, outcome_same(&lane->first, outcome) ? NULL : outcome);
    } else if (wants_second(outcome)) {
        lane->first = *outcome;
        lane->second = true;
        server_give(&lane->server, outcome->seed);
    } else {
        settle(outcome, NULL);
    }
}

/* ---- lanes ---------------------------------------------------------------------------------------------------------------- */

static void start(struct lane *lane) {
    struct task task = {.limit_ms = state.options->limit * 1000, .cpu = program_cpu((unsigned)(lane - state.lanes))};
    lane->running = server_start(&lane->server, state.options, &task) == 0;
    if (!lane->running) state.broken = true;
}

static void stop(struct lane *lane) {
    if (lane->running) server_end(&lane->server);
    lane->running = false;
}

/* The seed was stuck, or has ended the server: it is settled, and the lane goes on with a new one. */
static void start_again(struct lane *lane) {
    const struct outcome *outcome = &lane->server.outcome;
    if (lane->second) settle(&lane->first, outcome_same(&lane->first, outcome) ? NULL : outcome);
    else if (outcome->seed) settle(outcome, NULL);
    lane->second = false;
    lane->running = false;
    if (!state.over) start(lane);
}

static void give_next(struct lane *lane) {
    if (state.over || state.broken || sim_interrupted || state.given == state.options->seeds) {
        stop(lane);
        return;
    }
    server_give(&lane->server, state.options->first + state.given++);
}

static void look(struct lane *lane) {
    switch (server_look(&lane->server)) {
    case SERVER_NOTHING: return;
    case SERVER_READY: break;
    case SERVER_OUTCOME: take(lane, &lane->server.outcome); break;
    case SERVER_GONE: start_again(lane); return;
    case SERVER_BROKEN:
        lane->running = false;
        state.broken = true;
        return;
    }
    if (!lane->server.busy) give_next(lane);
}

/* ---- the sweep ------------------------------------------------------------------------------------------------------------ */

/* Once a seed has failed, only lower seeds can still be the first failure. */
static void drop_later_seeds(void) {
    for (uint64_t i = 0; i < state.options->jobs && state.over; i++)
        if (state.lanes[i].server.outcome.seed > state.failures.first->seed) stop(&state.lanes[i]);
}

static bool wait_for_servers(struct pollfd *fds) {
    nfds_t count = 0;
    for (uint64_t i = 0; i < state.options->jobs; i++) {
        if (!state.lanes[i].running) continue;
        server_polled(&state.lanes[i].server, fds + count);
        count += 2;
    }
    if (count > 0) poll(fds, count, TICK_MS);
    return count > 0;
}

static void run(struct pollfd *fds) {
    for (uint64_t i = 0; i < state.options->jobs && i < state.options->seeds && !state.broken; i++)
        start(&state.lanes[i]);
    while (!sim_interrupted && !state.broken && wait_for_servers(fds)) {
        for (uint64_t i = 0; i < state.options->jobs && !state.broken; i++)
            if (state.lanes[i].running) look(&state.lanes[i]);
        drop_later_seeds();
        tell_progress();
    }
    for (uint64_t i = 0; i < state.options->jobs; i++)
        stop(&state.lanes[i]);
    end_progress();
}

static void summarise(void) {
    const struct sim_options *options = state.options;
    if (state.failures.count) failure_print(state.failures.first, options);
    if (options->keep_going && state.failures.count) failures_print(&state.failures);
    if (state.unreported)
        printf("%" PRIu64 " seeds passed without a verdict of the simulation: the program ends by _exit or exec\n", state.unreported);
    if (sim_interrupted) printf("interrupted: ");
    printf("%" PRIu64 " seeds, %" PRIu64 " failed (%.0f seeds/s)\n", state.done, state.failures.count, rate());
}

static int status(void) {
    if (state.broken) return SIM_REFUSED;
    if (state.failures.count) return SIM_FAILED;
    return sim_interrupted ? SIM_INTERRUPTED : SIM_PASSED;
}

int sweep(const struct sim_options *options) {
    struct pollfd *fds = calloc(options->jobs * 2, sizeof *fds);
    state.options = options;
    state.lanes = calloc(options->jobs, sizeof *state.lanes);
    state.begun = now_ms();
    state.broken = !fds || !state.lanes;
    if (state.broken) perror("weft sim");
    if (!state.broken) run(fds);
    if (!state.broken) summarise();
    int result = status();
    uint64_t shrunk = result == SIM_FAILED && options->shrink && !sim_interrupted ? state.failures.first->seed : 0;
    failures_free(&state.failures);
    free(state.lanes);
    free(fds);
    return shrunk ? shrink(options, shrunk) : result;
}
