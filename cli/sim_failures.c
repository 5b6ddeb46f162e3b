/* Failures of a sweep, by kind. */
#include "cli/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_LINES = 40 };

static struct outcome *copy(const struct outcome *outcome) {
    struct outcome *copied = outcome ? malloc(sizeof *copied) : NULL;
    if (copied) memcpy(copied, outcome, sizeof *copied);
    return copied;
}

static void failure_free(struct failure *failure) {
    free(failure->outcome);
    free(failure->other);
    free(failure);
}

/* Takes the kind's failure out of the list, or makes a new one. NULL: no memory. */
static struct failure *take(struct failures *failures, const char *kind) {
    for (struct failure **at = &failures->first; *at; at = &(*at)->next)
        if (strcmp((*at)->kind, kind) == 0) {
            struct failure *found = *at;
            *at = found->next;
            return found;
        }
    struct failure *made = calloc(1, sizeof *made);
    if (made) snprintf(made->kind, sizeof made->kind, "%s", kind);
    return made;
}

static void put_in_order(struct failures *failures, struct failure *failure) {
    struct failure **at = &failures->first;
    while (*at && (*at)->seed < failure->seed)
        at = &(*at)->next;
    failure->next = *at;
    *at = failure;
}

static bool keep_lowest(struct failure *failure, const struct outcome *outcome, const struct outcome *other) {
    if (failure->count++ > 0 && failure->seed < outcome->seed) return true;
    free(failure->outcome);
    free(failure->other);
    failure->seed = outcome->seed;
    failure->outcome = copy(outcome);
    failure->other = copy(other);
    return failure->outcome && (failure->other || !other);
}

int failures_add(struct failures *failures, const struct outcome *outcome, const struct outcome *other) {
    char kind[VERDICT_MAX];
    if (other) snprintf(kind, sizeof kind, "not deterministic");
    else verdict_kind(outcome, kind, sizeof kind);
    struct failure *failure = take(failures, kind);
    if (!failure) return -1;
    failures->count++;
    bool kept = keep_lowest(failure, outcome, other);
    put_in_order(failures, failure);
    return kept ? 0 : -1;
}

void failures_free(struct failures *failures) {
    while (failures->first) {
        struct failure *next = failures->first->next;
        failure_free(failures->first);
        failures->first = next;
    }
}

/* ---- in words ----------------------------------------------------------------------------------------------------------- */

static void print_said(const struct said *said) {
    const char *line = said->text;
    for (int i = 0; i < SAID_LINES && *line; i++) {
        int length = (int)strcspn(line, "\n");
        printf("    | %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
    if (*line) printf("    | ... and more\n");
}

static void print_attempt(const char *which, const struct outcome *outcome) {
    char text[VERDICT_MAX];
    verdict_text(outcome, text, sizeof text);
    printf("  %s: %s; ", which, outcome_failed(outcome) ? text : "passed");
    outcome_print(stdout, outcome);
}

static void print_not_deterministic(const struct failure *failure) {
    printf("NOT DETERMINISTIC: seed %" PRIu64 " went two ways. The program depends on something outside of the simulation:\n"
           "the real clock, addresses, threads or system calls of its own. Until that is mended no verdict can be replayed.\n",
           failure->seed);
    print_attempt("one attempt", failure->outcome);
    print_said(&failure->outcome->said);
    print_attempt("the other", failure->other);
    print_said(&failure->other->said);
}

void failure_print(const struct failure *failure, const struct sim_options *options) {
    char text[VERDICT_MAX];
    verdict_text(failure->outcome, text, sizeof text);
    if (failure->other) {
        print_not_deterministic(failure);
    } else {
        printf("seed %" PRIu64 " fails: %s\n", failure->seed, text);
        print_said(&failure->outcome->said);
        printf("  ");
        outcome_print(stdout, failure->outcome);
    }
    printf("  replay:");
    options_print_again(stdout, options, failure->seed, NULL);
}

void failures_print(const struct failures *failures) {
    for (const struct failure *failure = failures->first; failure; failure = failure->next) {
        char text[VERDICT_MAX] = "not deterministic";
        if (!failure->other) verdict_text(failure->outcome, text, sizeof text);
        printf("%8" PRIu64 " times, first with seed %" PRIu64 ": %s\n", failure->count, failure->seed, text);
    }
}
