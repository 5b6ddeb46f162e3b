/* Makes a failure small: decisions that are not 0 are left out of the recorded attempt, many at first, then fewer, as long as it fails in the same
 * way. It ends when none of those that are left can go, or when its time is over. A decision left out is the harmless one: no switch, no
 * fault, no delay. */
#define _GNU_SOURCE
#include "cli/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const struct sim_options *options;
    uint64_t seed;
    char kind[VERDICT_MAX]; /* how it has to fail */
    struct history history; /* of the seed */
    const struct row **draws;
    bool *out; /* draws that the next attempt does without */
    size_t count, recorded;
    uint64_t tried, until, limit_ms;
    char *script, *record; /* files of attempts */
    struct outcome outcome;
    bool over; /* time, or an error */
} state;

/* ---- attempts ------------------------------------------------------------------------------------------------------------- */

static int write_script(const char *path) {
    FILE *to = fopen(path, "we");
    if (to) {
        fprintf(to, "seed %" PRIu64 "\n", state.seed);
        if (state.options->faults) fprintf(to, "faults %s\n", state.options->faults);
        for (size_t i = 0; i < state.count; i++) {
            const struct row *row = state.draws[i];
            if (!state.out[i])
                fprintf(to, "draw %" PRIu64 " %s %" PRIu64 " %" PRIu64 "\n", row->thread, row->what, row->number, row->value);
        }
    }
    bool good = to && !ferror(to);
    if (to && fclose(to) != 0) good = false;
    if (!good) fprintf(stderr, "weft sim: cannot write %s: %s\n", path, strerror(errno));
    return good ? 0 : -1;
}

/* Whether the attempt with the draws that are not out fails in the same way. */
static bool fails(const char *record) {
    char kind[VERDICT_MAX];
    struct task task = {.loud = true, .script = state.script, .record = record, .limit_ms = state.limit_ms, .cpu = program_cpu(0)};
    state.over = state.over || sim_interrupted || now_ms() >= state.until;
    if (state.over || write_script(state.script) != 0 || attempt_run(&state.outcome, state.options, &task, state.seed) != 0) {
        state.over = true;
        return false;
    }
    state.tried++;
    verdict_kind(&state.outcome, kind, sizeof kind);
    return outcome_failed(&state.outcome) && strcmp(kind, state.kind) == 0;
}

static void drop_those_out(void) {
    size_t kept = 0;
    for (size_t i = 0; i < state.count; i++)
        if (!state.out[i]) state.draws[kept++] = state.draws[i];
    state.count = kept;
}

static void tell_progress(void) {
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rshrinking: %zu of %zu decisions left after %" PRIu64 " attempts\033[K", state.count, state.recorded,
                state.tried);
}

/* Tries to do without those that are out. */
static bool leave_out(void) {
    bool good = fails(NULL);
    if (good) drop_those_out();
    memset(state.out, 0, state.recorded * sizeof *state.out);
    tell_progress();
    return good;
}

/* ---- which to leave out ------------------------------------------------------------------------------------------------- */

static void try_each_kind(void) {
    for (size_t at = 0; at < state.count && !state.over;) {
        const char *kind = state.draws[at]->what;
        bool seen = false;
        for (size_t i = 0; i < at; i++)
            seen = seen || strcmp(state.draws[i]->what, kind) == 0;
        for (size_t i = at; i < state.count; i++)
            state.out[i] = strcmp(state.draws[i]->what, kind) == 0;
        if (seen) memset(state.out, 0, state.recorded * sizeof *state.out);
        if (seen || !leave_out()) at++;
    }
}

/* Pieces of this size, from the end: what comes late depends on what came before. Returns whether one could go. */
static bool try_pieces(size_t size) {
    bool some = false;
    for (size_t end = state.count; end > 0 && !state.over; end = end > size ? end - size : 0) {
        size_t begin = end > size ? end - size : 0;
        for (size_t i = begin; i < end; i++)
            state.out[i] = true;
        some = leave_out() || some;
    }
    return some;
}

static void try_all(void) {
    try_each_kind();
    for (size_t size = state.count; size > 1 && !state.over; size = size / 2)
        try_pieces(size / 2);
    while (!state.over && state.count > 0 && try_pieces(1)) {}
}

/* ---- from the seed to the script -------------------------------------------------------------------------------------------- */

static int take_draws(void) {
    state.draws = calloc(state.history.draws + 1, sizeof *state.draws);
    state.out = calloc(state.history.draws + 1, sizeof *state.out);
    if (!state.draws || !state.out) {
        perror("weft sim");
        return -1;
    }
    for (size_t i = 0; i < state.history.count; i++)
        if (state.history.rows[i].is_draw) state.draws[state.count++] = state.history.rows + i;
    state.recorded = state.count;
    return 0;
}

/* An attempt may take ten times as long as the seed's own, and two seconds: one that does not end is no smaller failure. */
static int record_seed(void) {
    struct task task = {.loud = true, .record = state.record, .limit_ms = state.options->limit * 1000, .cpu = program_cpu(0)};
    uint64_t begun = now_ms();
    if (attempt_run(&state.outcome, state.options, &task, state.seed) != 0 || history_load(&state.history, state.record) != 0) return -1;
    state.limit_ms = 2000 + 10 * (now_ms() - begun);
    state.until = now_ms() + state.options->shrink_limit * 1000;
    verdict_kind(&state.outcome, state.kind, sizeof state.kind);
    return take_draws();
}

static int show(const char *saved) {
    struct history history;
    char text[VERDICT_MAX];
    if (history_load(&history, state.record) != 0) return SIM_REFUSED;
    verdict_text(&state.outcome, text, sizeof text);
    history_print(&history, state.options->rows, state.options->all);
    history_print_draws(&history);
    if (state.outcome.said.size) printf("it said:\n%s", state.outcome.said.text);
    printf("%s\n  ", text);
    outcome_print(stdout, &state.outcome);
    printf("%zu of %zu decisions are left after %" PRIu64 " attempts%s\n", state.count, state.recorded, state.tried,
           sim_interrupted || now_ms() >= state.until ? "; the time was over before all had been tried" : ": none of them can go");
    printf("  replay: ");
    options_print_again(stdout, state.options, state.seed, saved);
    int status = state.options->trace ? history_write_trace(&history, state.options->trace) : 0;
    history_free(&history);
    return status == 0 ? SIM_FAILED : SIM_REFUSED;
}

/* Once more, with its history. */
static int finish(void) {
    char saved[4096];
    const char *slash = strrchr(state.options->program[0], '/');
    snprintf(saved, sizeof saved, "%s-%" PRIu64 ".sim", slash ? slash + 1 : state.options->program[0], state.seed);
    if (state.options->save) snprintf(saved, sizeof saved, "%s", state.options->save);
    state.over = false;
    uint64_t until = state.until;
    state.until = UINT64_MAX;
    bool same = !sim_interrupted && fails(state.record);
    state.until = until;
    if (sim_interrupted) return SIM_INTERRUPTED;
    if (!same) {
        fprintf(stderr, "weft sim: the shrunk script fails in another way when it is repeated: the program is not deterministic\n");
        return SIM_FAILED;
    }
    return write_script(saved) == 0 ? show(saved) : SIM_REFUSED;
}

static int shrink_recorded(void) {
    if (!outcome_failed(&state.outcome)) {
        printf("seed %" PRIu64 " passes: there is nothing to shrink\n", state.seed);
        return SIM_PASSED;
    }
    if (!fails(NULL)) {
        fprintf(stderr, "weft sim: the recorded decisions of seed %" PRIu64 " do not lead to the same failure: it cannot be shrunk\n",
                state.seed);
        return SIM_FAILED;
    }
    try_all();
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
    return finish();
}

int shrink(const struct sim_options *options, uint64_t seed) {
    int status = SIM_REFUSED;
    state.options = options;
    state.seed = seed;
    state.script = history_new_file();
    state.record = history_new_file();
    if (state.script && state.record && record_seed() == 0) status = shrink_recorded();
    if (state.script) unlink(state.script);
    if (state.record) unlink(state.record);
    free(state.script);
    free(state.record);
    free(state.draws);
    free(state.out);
    history_free(&state.history);
    return status;
}
