/* Makes a failure small: first by leaving decisions of the seed out (sim_reduce.c). If many stay, it looks for other seeds that fail in the same
 * way with few decisions to begin with, quiet ones, and takes the smallest. */
#define _GNU_SOURCE
#include "cli/sim_failing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FEW = 19,           /* decisions: so many can be read; nothing smaller is looked for with patience */
    VERY_FEW = 3,       /* nothing smaller is looked for */
    MOMENT_SHARE = 12,  /* one part in so many of the time is a moment */
    OWN_SHARE = 3,      /* one part in so many of the time is for the seed itself */
    MANY = 300,         /* decisions: a seed with more gets half of that */
    SLICES = 12,        /* of the time: so long one kind of other seeds is looked at */
    LEAST_MS = 5000,    /* that an attempt may take at least */
    TIMES_AS_LONG = 10, /* as the seed's own */
};

static struct shrinking state;

/* The whole attempt of a seed. `without`: as a quiet one; otherwise NULL. */
static int record_seed(struct failing *failing, uint64_t seed, const char *without) {
    struct task task = {.loud = true, .record = state.record, .quiet = without, .limit_ms = state.limit_ms, .cpu = program_cpu(0)};
    if (attempt_run(&state.outcome, state.options, &task, seed) != 0) return -1;
    return failing_load(failing, state.record);
}

static bool is_over(uint64_t until) { return sim_interrupted || now_ms() >= until; }

/* ---- other seeds ------------------------------------------------------------------------------------------------------------ */

/* The failure of another seed, made small. Replaces the best if it is smaller. */
static void try_seed(struct failing *best, uint64_t seed, const char *without) {
    struct failing other;
    uint64_t own = state.seed;
    if (record_seed(&other, seed, without) != 0) return;
    state.seed = seed;
    failing_shrink(&state, &other);
    struct failing worse = other;
    if (other.count < best->count) worse = *best, *best = other;
    else state.seed = own;
    failing_free(&worse);
}

/* Ordinary seeds, and quiet ones without delays, without switches, and with both, in turn: which of them can fail in this way is not known. Until
 * no more decisions than `enough` are left. */
static void try_others(struct failing *best, size_t enough) {
    static const char *const without[] = {NULL, "latency,disk,blocking", "switch,next,wake", ""};
    enum { WAYS = sizeof without / sizeof without[0] };
    uint64_t next[WAYS] = {1, 1, 1, 1}, slice = (state.until - now_ms()) / SLICES;
    for (unsigned way = 0; best->count > enough && !is_over(state.until); way = (way + 1) % WAYS) {
        uint64_t end = now_ms() + slice, found;
        while (best->count > enough &&
               (found = failing_search(&state, &next[way], without[way], end < state.until ? end : state.until)) != 0)
            try_seed(best, found, without[way]);
    }
}

/* Where few are left, a moment is enough: another seed may fail with fewer still. */
static void find_smaller(struct failing *best, uint64_t until) {
    uint64_t moment = now_ms() + state.options->shrink_limit * 1000 / MOMENT_SHARE;
    bool many = best->count > FEW;
    state.until = many || until < moment ? until : moment;
    if (is_over(until)) return;
    state.over = false;
    try_others(best, many ? FEW : VERY_FEW);
    state.over = many && best->count > FEW;
}

/* ---- the end ---------------------------------------------------------------------------------------------------------------- */

static int show(const struct failing *failing, size_t recorded, bool in_time, const char *saved) {
    char text[VERDICT_MAX];
    verdict_text(&state.outcome, text, sizeof text);
    history_print(&failing->history, state.options->rows, state.options->all);
    history_print_draws(&failing->history);
    if (state.outcome.said.size) printf("it said:\n%s", state.outcome.said.text);
    printf("%s\n  ", text);
    outcome_print(stdout, &state.outcome);
    printf("%zu of %zu decisions are left after %" PRIu64 " attempts%s\n", failing->count, recorded, state.tried,
           in_time ? ": none of them can go" : "; the time was over before all had been tried");
    printf("  replay:");
    options_print_again(stdout, state.options, state.seed, saved);
    return !state.options->trace || history_write_trace(&failing->history, state.options->trace) == 0 ? SIM_FAILED : SIM_REFUSED;
}

/* Once more, with its history. */
static int finish(struct failing *best, size_t recorded, uint64_t seed) {
    char saved[4096];
    const char *slash = strrchr(state.options->program[0], '/');
    bool in_time = !state.over;
    struct attempt attempt = {.failing = best, .near = SIZE_MAX, .whole = true};
    struct failing found;
    snprintf(saved, sizeof saved, "%s-%" PRIu64 ".sim", slash ? slash + 1 : state.options->program[0], seed);
    if (state.options->save) snprintf(saved, sizeof saved, "%s", state.options->save);
    state.over = false;
    state.until = UINT64_MAX;
    bool same = failing_again(&state, &attempt, &found);
    if (sim_interrupted) return SIM_INTERRUPTED;
    if (!same) {
        fprintf(stderr, "weft sim: the shrunk script fails in another way when it is repeated: the program is not deterministic\n");
        return SIM_FAILED;
    }
    int status = failing_write(&state, &attempt, saved) == 0 ? show(&found, recorded, in_time, saved) : SIM_REFUSED;
    failing_free(&found);
    return status;
}

/* ---- from the seed to the script -------------------------------------------------------------------------------------------- */

static bool is_repeatable(const struct failing *failing) {
    struct failing again;
    struct attempt attempt = {.failing = failing, .near = SIZE_MAX};
    bool same = failing_again(&state, &attempt, &again);
    if (same) failing_free(&again);
    return same;
}

static int shrink_recorded(struct failing *best) {
    uint64_t seed = state.seed, begun = now_ms(), time = state.options->shrink_limit * 1000;
    size_t recorded = best->count;
    if (!outcome_failed(&state.outcome)) {
        printf("seed %" PRIu64 " passes: there is nothing to shrink\n", seed);
        return SIM_PASSED;
    }
    verdict_kind(&state.outcome, state.kind, sizeof state.kind);
    state.until = begun + time;
    if (!is_repeatable(best)) {
        fprintf(stderr, "weft sim: the recorded decisions of seed %" PRIu64 " do not lead to the same failure: it cannot be shrunk\n",
                seed);
        return SIM_FAILED;
    }
    state.until = begun + time / OWN_SHARE / (recorded > MANY ? 2 : 1);
    failing_shrink(&state, best);
    find_smaller(best, begun + time);
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
    return finish(best, recorded, seed);
}

int shrink(const struct sim_options *options, uint64_t seed) {
    int status = SIM_REFUSED;
    struct failing best;
    uint64_t begun = now_ms();
    state = (struct shrinking){.options = options, .seed = seed, .limit_ms = options->limit * 1000};
    state.script = history_new_file();
    state.record = history_new_file();
    if (state.script && state.record && record_seed(&best, seed, NULL) == 0) {
        state.limit_ms = LEAST_MS + TIMES_AS_LONG * (now_ms() - begun); /* one that does not end is no smaller failure */
        status = shrink_recorded(&best);
        failing_free(&best);
    }
    if (state.script) unlink(state.script);
    if (state.record) unlink(state.record);
    free(state.script);
    free(state.record);
    return status;
}
