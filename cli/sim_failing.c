/* One attempt to fail in the same way with other decisions: see sim_failing.h. */
#include "cli/sim_failing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EARLIER = 20000 }; /* ns: a decision that is named by its time may come so much earlier */

void failing_free(struct failing *failing) {
    history_free(&failing->history);
    free(failing->draws);
    memset(failing, 0, sizeof *failing);
}

int failing_load(struct failing *failing, const char *record) {
    memset(failing, 0, sizeof *failing);
    if (history_load(&failing->history, record) != 0) return -1;
    failing->draws = calloc(failing->history.draws + 1, sizeof *failing->draws);
    if (!failing->draws) {
        perror("weft sim");
        failing_free(failing);
        return -1;
    }
    for (size_t i = 0; i < failing->history.count; i++)
        if (failing->history.rows[i].is_draw) failing->draws[failing->count++] = failing->history.rows + i;
    return 0;
}

/* ---- scripts -------------------------------------------------------------------------------------------------------------- */

static void write_decision(FILE *to, const struct attempt *attempt, size_t at) {
    const struct row *row = attempt->failing->draws[at];
    uint64_t value = attempt->changed_to && attempt->changed == at ? attempt->changed_to : row->value;
    if (at >= attempt->near && row->bound > 0)
        fprintf(to, "near %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", row->what, value, row->bound, row->machine,
                row->time > EARLIER ? row->time - EARLIER : 0);
    else fprintf(to, "draw %" PRIu64 " %s %" PRIu64 " %" PRIu64 "\n", row->thread, row->what, row->number, value);
}

int failing_write(const struct shrinking *shrinking, const struct attempt *attempt, const char *path) {
    FILE *to = fopen(path, "we");
    if (to) {
        fprintf(to, "seed %" PRIu64 "\n", shrinking->seed);
        if (shrinking->options->faults) fprintf(to, "faults %s\n", shrinking->options->faults);
        for (size_t i = 0; i < attempt->failing->count; i++)
            if (!attempt->out || !attempt->out[i]) write_decision(to, attempt, i);
    }
    bool good = to && !ferror(to);
    if (to && fclose(to) != 0) good = false;
    if (!good) fprintf(stderr, "weft sim: cannot write %s: %s\n", path, strerror(errno));
    return good ? 0 : -1;
}

/* ---- attempts ------------------------------------------------------------------------------------------------------------- */

static bool is_same(const struct shrinking *shrinking) {
    char kind[VERDICT_MAX];
    verdict_kind(&shrinking->outcome, kind, sizeof kind);
    return outcome_failed(&shrinking->outcome) && strcmp(kind, shrinking->kind) == 0;
}

bool failing_again(struct shrinking *shrinking, const struct attempt *attempt, struct failing *found) {
    struct task task = {.loud = true,
                        .script = shrinking->script,
                        .record = shrinking->record,
                        .draws_only = !attempt->whole,
                        .limit_ms = shrinking->limit_ms,
                        .cpu = program_cpu(0)};
    shrinking->over = shrinking->over || sim_interrupted || now_ms() >= shrinking->until;
    if (shrinking->over) return false;
    if (failing_write(shrinking, attempt, shrinking->script) != 0 ||
        attempt_run(&shrinking->outcome, shrinking->options, &task, shrinking->seed) != 0) {
        shrinking->over = true;
        return false;
    }
    shrinking->tried++;
    return is_same(shrinking) && failing_load(found, shrinking->record) == 0;
}

/* ---- other seeds ---------------------------------------------------------------------------------------------------------- */

uint64_t failing_search(struct shrinking *shrinking, uint64_t *next, const char *without, uint64_t until) {
    static struct server server;
    struct task task = {.quiet = without, .limit_ms = shrinking->limit_ms, .cpu = program_cpu(0)};
    uint64_t found = 0;
    while (!found && !sim_interrupted && now_ms() < until) {
        if (server_start(&server, shrinking->options, &task) != 0) return 0;
        enum server_event event = SERVER_OUTCOME;
        while (!found && event == SERVER_OUTCOME && !sim_interrupted && now_ms() < until) {
            event = attempt_follow(&server, *next);
            shrinking->outcome = server.outcome;
            if ((event == SERVER_OUTCOME || event == SERVER_GONE) && is_same(shrinking)) found = *next;
            ++*next;
            shrinking->tried++;
        }
        if (event != SERVER_GONE && event != SERVER_BROKEN) server_end(&server);
        if (event == SERVER_BROKEN) return 0;
    }
    return found;
}
