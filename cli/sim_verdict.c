/* What came of an attempt, in words. */
#define _GNU_SOURCE
#include "cli/sim.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

void outcome_report(struct outcome *outcome, const char *line) {
    int taken = sscanf(line, "hash=%" SCNx64 " points=%" SCNu64 " switches=%" SCNu64 " time=%" SCNu64 " verdict=%31s", &outcome->hash,
                       &outcome->points, &outcome->switches, &outcome->time, outcome->word);
    outcome->reported = taken == 5;
}

bool outcome_failed(const struct outcome *outcome) { return outcome->stuck || outcome->status != 0; }

bool outcome_same(const struct outcome *one, const struct outcome *other) {
    if (one->stuck != other->stuck || one->status != other->status || one->reported != other->reported) return false;
    return !one->reported || (one->hash == other->hash && strcmp(one->word, other->word) == 0);
}

void outcome_print(FILE *to, const struct outcome *outcome) {
    if (!outcome->reported) {
        fprintf(to, "no hash: the program ended without its result line\n");
        return;
    }
    fprintf(to, "hash %016" PRIx64 ", %" PRIu64 " points, %" PRIu64 " switches, %" PRIu64 ".%09" PRIu64 " s of virtual time\n",
            outcome->hash, outcome->points, outcome->switches, outcome->time / 1000000000, outcome->time % 1000000000);
}

/* weft's own detector has found that all processes wait. What the program does when it is then asked to end matters less. */
#define DEADLOCK "weft: deadlock: "

/* ---- the line that tells most ------------------------------------------------------------------------------------------ */

static size_t line_length(const char *line) { return strcspn(line, "\n"); }

/* The line with `mark` in it, or NULL. */
static const char *line_with(const char *text, const char *mark) {
    const char *found = strstr(text, mark);
    while (found && found > text && found[-1] != '\n')
        found--;
    return found;
}

static const char *last_line(const char *text) {
    const char *last = text;
    for (const char *line = text; *line; line += line_length(line) + (line[line_length(line)] == '\n'))
        if (line_length(line) > 0) last = line;
    return last;
}

#define WEFT_SAYS "weft: "

/* The last line that weft has said, or NULL. */
static const char *last_of_weft(const char *text) {
    const char *last = NULL;
    for (const char *line = text; (line = line_with(line, WEFT_SAYS)); line += line_length(line))
        last = line;
    return last;
}

/* A deadlock, a sanitizer's summary, an assertion, an exception, the simulation's sentence, weft's, or else the last line. Of weft's the last
 * one is why the program has exited, after warnings; if it was aborted, the first one is why, and others tell more of it. */
static const char *telling_line(const char *text, bool aborted) {
    static const char *const marks[] = {
        DEADLOCK, "weft sim: deadlock: ", "SUMMARY: ", "Assertion", "runtime error: ", "what():  ", "terminate called", "weft sim: "};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *line = line_with(text, marks[i]);
        if (line) return line;
    }
    const char *line = aborted ? line_with(text, WEFT_SAYS) : last_of_weft(text);
    return line ? line : last_line(text);
}

/* The simulation has ended it, and not the program itself with the same status. */
static bool is_verdict(const struct outcome *outcome) {
    return WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == SIM_VERDICT_STATUS && outcome->reported &&
           strcmp(outcome->word, "exit") != 0;
}

/* How it ended, without what it said. */
static void how_it_ended(const struct outcome *outcome, char *text, size_t size) {
    int status = outcome->status;
    if (outcome->stuck) snprintf(text, size, "stuck");
    else if (strstr(outcome->said.text, DEADLOCK)) snprintf(text, size, "deadlock");
    else if (WIFSIGNALED(status)) snprintf(text, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (is_verdict(outcome)) snprintf(text, size, "%s", outcome->word);
    else snprintf(text, size, "exit status %d", WEXITSTATUS(status));
}

static const char *skip(const char *line, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(line, prefix, length) == 0 ? line + length : line;
}

/* "weft sim: deadlock: ..." need not say "deadlock" twice. */
static const char *without_repetition(const char *line, const char *how) {
    const char *rest = skip(skip(skip(line, "weft sim: "), "weft: "), how);
    return strncmp(rest, ": ", 2) == 0 ? rest + 2 : line;
}

void verdict_text(const struct outcome *outcome, char *text, size_t size) {
    how_it_ended(outcome, text, size);
    size_t used = strlen(text);
    const char *line = without_repetition(telling_line(outcome->said.text, WIFSIGNALED(outcome->status)), text);
    if (outcome->stuck)
        snprintf(text + used, size - used,
                 ": killed after its real time; it goes on for ever, or waits or computes outside of the simulation");
    else if (outcome->status != 0 && line_length(line) > 0) snprintf(text + used, size - used, ": %.*s", (int)line_length(line), line);
}

/* Numbers become 0: addresses, PIDs and times differ. */
static void without_numbers(char *text) {
    char *to = text;
    for (const char *from = text; *from;) {
        bool hex = from[0] == '0' && from[1] == 'x';
        if (!isdigit((unsigned char)*from)) {
            *to++ = *from++;
            continue;
        }
        *to++ = '0';
        from += hex ? 2 : 0;
        while (hex ? isxdigit((unsigned char)*from) : isdigit((unsigned char)*from))
            from++;
    }
    *to = '\0';
}

/* The simulation's verdicts are one kind each, since their sentences name the processes and threads of that attempt; but promises are several. */
static bool is_kind_by_itself(const struct outcome *outcome, const char *kind) {
    if (outcome->stuck || strcmp(kind, "deadlock") == 0) return true;
    return is_verdict(outcome) && strcmp(kind, "promise") != 0;
}

void verdict_kind(const struct outcome *outcome, char *kind, size_t size) {
    how_it_ended(outcome, kind, size);
    if (is_kind_by_itself(outcome, kind)) return;
    size_t used = strlen(kind);
    verdict_text(outcome, kind, size);
    without_numbers(kind + used);
}
