/* weft check: the model checker's command. */
#include "chk.h"
#include "crash.h"
#include "memory.h"
#include "model.h"
#include "report.h"
#include "search.h"

#include <fnmatch.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SCENARIOS = 2048, EXIT_USAGE = 2 };
static const struct chk_scenario *scenarios[SCENARIOS];
static unsigned scenario_count;

void chk_register(const struct chk_scenario *scenario) {
    if (scenario_count == SCENARIOS) {
        fprintf(stderr, "weft check: more than %d scenarios\n", SCENARIOS);
        exit(3);
    }
    scenarios[scenario_count++] = scenario;
}

/* Which of a scenario's models: all, those in which it is short, those in which it is a long form. */
enum lane { LANE_ALL, LANE_SHORT, LANE_DEEP };

struct options {
    const char *name[SCENARIOS];
    unsigned names;
    unsigned models; /* 0: as each scenario says */
    struct search_limits limits;
    const char *replay;
    enum lane lane;
    bool list, show, only_sound, time;
    bool sampled; /* random executions that find nothing are what was asked for */
};

static const char help[] =
    "weft check: explores every behaviour that the memory model allows of small concurrent programs\n"
    "\n"
    "  weft check [NAME...] [options]   weft's own; a NAME is a scenario, a group (its file's name) or a pattern with *\n"
    "  weft check FILE.c... [NAME...] [options] [-- CC-OPTIONS]\n"
    "                                   yours: scenarios written with <weft/chk.h>. CC names the compiler (cc)\n"
    "\n"
    "  --list                 the scenarios, with what each shows\n"
    "  --model c11|tso|sc     one memory model instead of all that a scenario names\n"
    "  --bound N              only interleavings with at most N preemptions\n"
    "  --random N             N random executions (priorities, few changes) instead of a search\n"
    "  --sample N             the same, and a scenario in which they find nothing is as expected\n"
    "  --seed S               of the random executions (1)\n"
    "  --max-executions N     give up after N executions and say CAPPED (200000000)\n"
    "  --oracle               enumerate naively too, and compare the number of executions\n"
    "  --only-sound           skip scenarios that expect a violation\n"
    "  --short                skip the long forms, marked [deep] in the list\n"
    "  --deep                 only the long forms: exactly what --short skips\n"
    "  --show                 show the trace of expected violations too\n"
    "  --time                 say how much processor time each took\n"
    "  --replay STRING        run one execution again, as printed with a violation: NAME@MODEL:STEPS\n"
    "\n"
    "A line a scenario and model: NAME EXHAUSTED n executions | NAME VIOLATION kind: what | NAME CAPPED by what.\n"
    "Exit status: 0 every verdict as expected, 1 not, 2 wrong usage or files that do not compile, 3 what the checker\n"
    "does not support or has no room for.\n";

static unsigned scenario_models(const struct chk_scenario *s, enum lane lane) {
    unsigned all = s->models ? s->models : CHK_ALL;
    return lane == LANE_SHORT ? all & ~s->deep_in : lane == LANE_DEEP ? all & s->deep_in : all;
}

static bool in_group(const struct chk_scenario *s, const char *name) {
    const char *end = strrchr(s->group, '.');
    size_t length = end ? (size_t)(end - s->group) : strlen(s->group);
    return strlen(name) == length && strncmp(s->group, name, length) == 0;
}

static bool matches(const struct chk_scenario *s, const char *name) {
    return strcmp(s->name, name) == 0 || in_group(s, name) || (strchr(name, '*') && fnmatch(name, s->name, 0) == 0);
}

static int by_group_and_name(const void *a, const void *b) {
    const struct chk_scenario *x = *(const struct chk_scenario *const *)a, *y = *(const struct chk_scenario *const *)b;
    int order = strcmp(x->group, y->group);
    return order ? order : strcmp(x->name, y->name);
}

static void list_scenarios(FILE *out, enum lane lane) {
    const char *group = "";
    for (unsigned i = 0; i < scenario_count; i++) {
        if (!scenario_models(scenarios[i], lane)) continue;
        if (strcmp(group, scenarios[i]->group) != 0) fprintf(out, "%.*s:\n", (int)strcspn(scenarios[i]->group, "."), scenarios[i]->group);
        group = scenarios[i]->group;
        fprintf(out, "  %-36s %s%s%s\n", scenarios[i]->name, scenarios[i]->flawed_in ? "[flawed] " : "",
                scenarios[i]->deep_in ? "[deep] " : "", scenarios[i]->about ? scenarios[i]->about : "");
    }
}

/* ---- one scenario in one model ------------------------------------------------------------------------------------ */

void search_progress(const struct chk_scenario *scenario, const struct search_result *result) {
    if (!isatty(2)) return;
    fprintf(stderr, "\r%s %s: %lu executions ...\033[K", scenario->name, model_name(model),
            (unsigned long)(result->complete + result->blocked));
}

static void show_violation(const struct chk_scenario *scenario, const struct search_result *violation) {
    static struct graph again;
    static struct trace trace;
    forward_follow(scenario, violation, &again, &trace);
    report_trace(scenario, &again, &trace);
}

static void run_search(const struct chk_scenario *s, const struct options *options, struct search_result *result) {
    struct search_limits limits = options->limits;
    if (!limits.preemptions && !limits.random_runs) {
        limits.preemptions = s->preemptions;
        limits.random_runs = s->random_runs;
    }
    if (limits.preemptions || limits.random_runs) search_forward(s, &limits, result);
    else search_all(s, &limits, result);
}

/* Compares the number of complete executions with that of the naive enumeration. */
static bool oracle_agrees(const struct chk_scenario *s, const struct options *options, const struct search_result *result) {
    struct search_limits limits = options->limits;
    struct search_result naive;
    limits.oracle = true;
    search_forward(s, &limits, &naive);
    bool same = naive.verdict == result->verdict && (naive.verdict != V_EXHAUSTED || naive.complete == result->complete);
    printf("  oracle %s: %lu complete executions, naive %lu (verdicts %d, %d)\n", same ? "agrees" : "DISAGREES",
           (unsigned long)result->complete, (unsigned long)naive.complete, result->verdict, naive.verdict);
    return same;
}

static bool check_one(const struct chk_scenario *s, unsigned which, const struct options *options) {
    struct search_result result;
    struct timespec from, to;
    model = (enum chk_model)which;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    run_search(s, options, &result);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    bool flaw_expected = s->flawed_in & which,
         bound_written = s->preemptions || s->random_runs || (options->sampled && run.end != RUN_TOO_LONG);
    bool good = flaw_expected ? result.verdict == V_VIOLATION && (!s->flaw || s->flaw == result.flaw)
                              : (result.verdict == V_EXHAUSTED && result.complete > 0) || (result.verdict == V_CAPPED && bound_written);
    if (isatty(2)) fprintf(stderr, "\r\033[K");
    unsigned long executions = (unsigned long)(result.complete + result.blocked + result.cut);
    printf("%-4s %-3s %s ", good ? "ok" : "FAIL", model_name(which), s->name);
    if (result.verdict == V_EXHAUSTED)
        printf("EXHAUSTED %lu executions%s", executions,
               flaw_expected          ? " (a violation was expected)"
               : result.complete == 0 ? " (none came to its end: chk_assume left all out)"
                                      : "");
    else if (result.verdict == V_CAPPED) printf("CAPPED by %s after %lu executions", result.capped_by, executions);
    else printf("VIOLATION %s: %s%s", flaw_name[result.flaw], result.what, good ? " (as expected)" : "");
    if (flaw_expected && result.verdict == V_VIOLATION && !good) printf(" (another was expected: %s)", flaw_name[s->flaw]);
    if (result.cut) printf(", %lu of them cut short in a waiting loop that writes", (unsigned long)result.cut);
    if (options->time)
        printf(" [%.3f s, %lu complete, %lu blocked, %lu discarded]",
               (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec), (unsigned long)result.complete,
               (unsigned long)result.blocked, (unsigned long)result.discarded);
    printf("\n");
    if (result.verdict == V_VIOLATION && (!good || options->show)) show_violation(s, &result);
    if (result.verdict == V_CAPPED && run.end == RUN_TOO_LONG) report_endless();
    fflush(stdout);
    if (options->limits.oracle && !oracle_agrees(s, options, &result)) good = false;
    return good;
}

/* ---- replay ----------------------------------------------------------------------------------------------------- */

static int replay_usage(const char *what) {
    fprintf(stderr,
            "weft check: malformed replay string: %s\n"
            "  expected NAME@MODEL:STEPS, as printed below a violation: MODEL is c11, tso or sc, and STEPS is for each step the\n"
            "  thread's digit and, where it did not take the first choice, a letter: for example peterson@tso:0011b1\n",
            what);
    return EXIT_USAGE;
}

static unsigned parse_model(const char *name, size_t length) {
    for (unsigned m = CHK_SC; m <= CHK_C11; m <<= 1)
        if (strlen(model_name(m)) == length && strncmp(model_name(m), name, length) == 0) return m;
    return 0;
}

static int replay(const char *text) {
    const char *at = strchr(text, '@'), *colon = at ? strchr(at, ':') : NULL;
    if (!at) return replay_usage("no @ after the scenario's name");
    if (!colon) return replay_usage("no : after the model");
    unsigned which = parse_model(at + 1, (size_t)(colon - at - 1));
    if (!which) return replay_usage("the model is none of c11, tso, sc");
    const char *steps = colon + 1 + (colon[1] == '*');
    if (strspn(steps, "0123456abcdefghijklmnopqrstuvwxyz") != strlen(steps) || (*steps && (*steps < '0' || *steps > '6')))
        return replay_usage("a step is a digit 0 to 6 with perhaps a letter behind it");
    const struct chk_scenario *s = NULL;
    for (unsigned i = 0; i < scenario_count; i++)
        if (strlen(scenarios[i]->name) == (size_t)(at - text) && strncmp(scenarios[i]->name, text, (size_t)(at - text)) == 0)
            s = scenarios[i];
    if (!s) return replay_usage("no scenario of that name (see --list)");
    static struct graph graph;
    static struct trace trace;
    enum run_end end;
    model = (enum chk_model)which;
    const char *wrong = forward_replay(s, colon + 1, &graph, &trace, &end);
    if (wrong) return replay_usage(wrong);
    if (end == RUN_VIOLATION) printf("%s %s VIOLATION %s: %s\n", model_name(which), s->name, flaw_name[run.flaw], run.what);
    else printf("%s %s no violation in this execution\n", model_name(which), s->name);
    report_trace(s, &graph, &trace);
    return end == RUN_VIOLATION ? 1 : 0;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int usage(const char *what, const char *word) {
    fprintf(stderr, "weft check: %s '%s'; weft check --help tells the options\n", what, word);
    return EXIT_USAGE;
}

static bool parse_number(const char *text, uint64_t *number) {
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    *number = strtoull(text, &end, 10);
    return *end == 0;
}

/* 0, or the exit status. */
static int parse(int argc, char **argv, struct options *o) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        uint64_t number = 0;
        if (word[0] != '-') {
            o->name[o->names++] = word;
        } else if (!strcmp(word, "--list")) {
            o->list = true;
        } else if (!strcmp(word, "--oracle")) {
            o->limits.oracle = true;
        } else if (!strcmp(word, "--only-sound")) {
            o->only_sound = true;
        } else if (!strcmp(word, "--short")) {
            o->lane = LANE_SHORT;
        } else if (!strcmp(word, "--deep")) {
            o->lane = LANE_DEEP;
        } else if (!strcmp(word, "--show")) {
            o->show = true;
        } else if (!strcmp(word, "--time")) {
            o->time = true;
        } else if (!strcmp(word, "--model")) {
            o->models = next ? parse_model(next, strlen(next)) : 0;
            if (!o->models) return usage("--model takes c11, tso or sc, not", next ? next : "");
            i++;
        } else if (!strcmp(word, "--replay")) {
            if (!next) return usage("a string must follow", word);
            o->replay = next;
            i++;
        } else if (!strcmp(word, "--bound") || !strcmp(word, "--random") || !strcmp(word, "--sample") || !strcmp(word, "--seed") ||
                   !strcmp(word, "--max-executions")) {
            if (!parse_number(next, &number)) return usage("a whole number must follow", word);
            if (number == 0 && strcmp(word, "--seed") != 0) return usage("a number above 0 must follow", word);
            if (!strcmp(word, "--bound")) o->limits.preemptions = (unsigned)number;
            if (!strcmp(word, "--random") || !strcmp(word, "--sample")) o->limits.random_runs = number;
            if (!strcmp(word, "--sample")) o->sampled = true;
            if (!strcmp(word, "--seed")) o->limits.seed = number;
            if (!strcmp(word, "--max-executions")) o->limits.executions = number;
            i++;
        } else {
            return usage("unknown option", word);
        }
    }
    return 0;
}

static bool selected(const struct chk_scenario *s, const struct options *o) {
    if (o->only_sound && s->flawed_in) return false;
    for (unsigned k = 0; k < o->names; k++)
        if (matches(s, o->name[k])) return true;
    return o->names == 0;
}

/* All threads of a scenario run on one of the kernel's, and would have one copy. */
static int has_thread_local(struct dl_phdr_info *program, size_t size, void *unused) {
    (void)size, (void)unused;
    for (unsigned i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_TLS && program->dlpi_phdr[i].p_memsz > 0) return 2;
    return 1; /* the program itself comes first, and the libraries' are theirs */
}

/* What would be proved of it is nothing. */
static const struct chk_scenario *without_threads(void) {
    for (unsigned i = 0; i < scenario_count; i++)
        if (!scenarios[i]->threads[0]) return scenarios[i];
    return NULL;
}

/* 0, or the exit status. */
static int fit_to_run(void) {
    if (scenario_count == 0) {
        fprintf(stderr, "weft check: there is no scenario in these files: CHK_SCENARIO in <weft/chk.h> makes one\n");
        return EXIT_USAGE;
    }
    const struct chk_scenario *empty = without_threads();
    if (empty) {
        fprintf(stderr, "weft check: scenario '%s' of %s has no threads: name them, .threads = {one, other}\n", empty->name, empty->group);
        return EXIT_USAGE;
    }
    if (dl_iterate_phdr(has_thread_local, NULL) != 2) return 0;
    fprintf(
        stderr,
        "weft check: a file has thread-local data (_Thread_local), which the checker does not support: give each thread a struct of its own\n");
    return 3;
}

int main(int argc, char **argv) {
    static struct options o = {.limits = {.executions = 200000000, .seed = 1, .progress = true}};
    qsort(scenarios, scenario_count, sizeof scenarios[0], by_group_and_name);
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
    if (argc > SCENARIOS) return usage("too many words after", argv[0]);
    int status = fit_to_run();
    if (!status) status = parse(argc, argv, &o);
    if (status) return status;
    if (o.list) {
        list_scenarios(stdout, o.lane);
        return 0;
    }
    crash_watch();
    if (o.replay) return replay(o.replay);
    for (unsigned k = 0; k < o.names; k++) {
        bool known = false;
        for (unsigned i = 0; i < scenario_count; i++)
            known |= matches(scenarios[i], o.name[k]);
        if (known) continue;
        fprintf(stderr, "weft check: no scenario or group is called '%s'. The known ones:\n", o.name[k]);
        list_scenarios(stderr, LANE_ALL);
        return EXIT_USAGE;
    }
    unsigned passed = 0, failed = 0;
    for (unsigned i = 0; i < scenario_count; i++) {
        if (!selected(scenarios[i], &o)) continue;
        for (unsigned m = CHK_SC; m <= CHK_C11; m <<= 1) {
            if (!(scenario_models(scenarios[i], o.lane) & m) || (o.models && o.models != m)) continue;
            if (check_one(scenarios[i], m, &o)) passed++;
            else failed++;
        }
    }
    if (passed + failed == 0) {
        fprintf(stderr, "weft check: none of these scenarios is meant for %sthat model\n",
                o.lane == LANE_SHORT  ? "a short run in "
                : o.lane == LANE_DEEP ? "a deep run in "
                                      : "");
        return EXIT_USAGE;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}
