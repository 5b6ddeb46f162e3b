/* One seed, or one script, with its history. */
#include "cli/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static void print_said(const struct said *said) {
    if (said->size == 0) return;
    printf("it said:\n%s%s", said->text, said->text[said->size - 1] == '\n' ? "" : "\n");
}

static int show(const struct sim_options *options, const struct outcome *outcome, const struct history *history) {
    char text[VERDICT_MAX];
    verdict_text(outcome, text, sizeof text);
    history_print(history, options->rows, options->all);
    if (options->script) history_print_draws(history);
    if (history->draws < options->decisions)
        printf("only %zu of the script's %zu decisions came about: it was made with another program, or another version of it\n",
               history->draws, options->decisions);
    print_said(&outcome->said);
    printf("%s: %s\n  ", options->script ? options->script : "the seed", outcome_failed(outcome) ? text : "passed");
    outcome_print(stdout, outcome);
    return outcome_failed(outcome) ? SIM_FAILED : SIM_PASSED;
}

static int replay_into(const struct sim_options *options, const char *record) {
    static struct outcome outcome;
    struct task task = {
        .loud = true, .script = options->script, .record = record, .limit_ms = options->limit * 1000, .cpu = program_cpu(0)};
    struct history history;
    if (attempt_run(&outcome, options, &task, options->replay) != 0) {
        if (sim_interrupted) fprintf(stderr, "weft sim: interrupted\n");
        return sim_interrupted ? SIM_INTERRUPTED : SIM_REFUSED;
    }
    if (history_load(&history, record) != 0) return SIM_REFUSED;
    int status = show(options, &outcome, &history);
    if (options->trace && history_write_trace(&history, options->trace) != 0) status = SIM_REFUSED;
    history_free(&history);
    return status;
}

int replay(const struct sim_options *options) {
    char *record = history_new_file();
    if (!record) return SIM_REFUSED;
    int status = replay_into(options, record);
    unlink(record);
    free(record);
    return status;
}
