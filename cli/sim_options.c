/* The command line of `weft sim`. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/sim.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEED_MAX UINT64_C(1000000000000000000)
enum { SEEDS = 1000, LIMIT = 60, SHRINK_LIMIT = 60, ROWS = 200, JOBS_MAX = 1024, SECONDS_MAX = 1000000 };

static const char *const faults[][2] = {
    {"wake", "a sleep ends for no reason"},
    {"short", "reads and writes move less than was asked for"},
    {"net", "resets, loss, refused connections, partitions"},
    {"file", "EIO, ENOSPC"},
    {"memory", "memory is refused"},
    {"thread", "threads are refused"},
    {"fd", "descriptors are refused"},
    {"crash", "machines crash at named points"},
    {"point", "named points fail"},
    {"stall", "threads that could run do not for a while, up to seconds"},
};
enum { FAULTS = sizeof faults / sizeof faults[0] };

static const char about[] =
    "usage: weft sim PROGRAM [OPTIONS] [-- ARGUMENTS]                many seeds\n"
    "       weft sim PROGRAM --replay SEED [OPTIONS] [-- ARGUMENTS]  one seed, with its history\n"
    "       weft sim PROGRAM --script FILE [OPTIONS] [-- ARGUMENTS]  the decisions of a shrunk failure\n\n"
    "Runs a weft program in simulation: its threads one at a time, in virtual time, and the seed decides which thread runs and what fails.\n"
    "The program is linked with the simulating library (pkg-config weft-sim), or needs the shared libweft: then nothing has to be built.\n"
    "Each failing seed, the first thousand seeds and one in eight of the others are tried twice: the two histories must be the same.\n"
    "  --seeds N          how many seeds (1000)\n"
    "  --first SEED       the first of them (1)\n"
    "  --jobs N           how many at a time (the processors there are)\n"
    "  --faults LIST      what may fail, by names with commas between them; all; none (wake,short)\n"
    "  --keep-going       past the first failure; counts failures by their verdict\n"
    "  --twice            every seed is tried twice, also beyond the first thousand\n"
    "  --time-limit S     seconds of real time for one seed, then it is killed: verdict `stuck` (60)\n"
    "  --replay SEED      shows the history of one seed: time, thread, process, event; decisions are marked with *\n"
    "  --rows N           rows of the history that are shown, the last ones (200)\n"
    "  --all              with the events inside of the runtime: sleeping threads, wake-ups, fences\n"
    "  --trace FILE       writes the history for a trace viewer (chrome://tracing, ui.perfetto.dev)\n"
    "  --shrink           leaves out switches and faults of the failing seed until none more can go, and shows what is left\n"
    "  --shrink-time S    seconds of real time for that (60)\n"
    "  --save FILE        where the shrunk script goes (PROGRAM-SEED.sim)\n"
    "  --script FILE      replays such a script\n"
    "faults:\n";

static int usage(void) {
    fputs(about, stdout);
    for (int i = 0; i < FAULTS; i++)
        printf("  %-18s %s\n", faults[i][0], faults[i][1]);
    printf("Exit status: 0 all passed, 1 a seed failed, 2 it could not be run, 130 interrupted.\n");
    return SIM_PASSED;
}

/* ---- values ------------------------------------------------------------------------------------------------------------- */

static bool is_fault(const char *name, size_t length) {
    for (int i = 0; i < FAULTS; i++)
        if (strlen(faults[i][0]) == length && strncmp(faults[i][0], name, length) == 0) return true;
    return false;
}

static const char *all_faults(void) {
    static char list[128];
    list[0] = '\0';
    for (int i = 0; i < FAULTS; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", faults[i][0]);
    }
    return list;
}

/* The list for the program, or NULL with a message. */
static const char *read_faults(const char *text) {
    if (!text) {
        fprintf(stderr, "weft sim: --faults needs a list\n");
        return NULL;
    }
    if (strcmp(text, "none") == 0) return "";
    if (strcmp(text, "all") == 0) return all_faults();
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (!is_fault(at, length)) {
            fprintf(stderr, "weft sim: --faults: there is no fault `%.*s`; there are %s; or `all` or `none` alone\n", (int)length, at,
                    all_faults());
            return NULL;
        }
        at += length;
        if (!*at) return text;
    }
}

struct named_number {
    const char *name;
    uint64_t *value, max;
};

struct named_text {
    const char *name;
    const char **value;
};

struct named_switch {
    const char *name;
    bool *value;
};

/* Each returns how many words the option has, 0 if it is none of its kind, -1 with a message. */
static int read_number(struct sim_options *o, const char *name, const char *text) {
    const struct named_number all[] = {
        {"--seeds", &o->seeds, SEED_MAX}, {"--first", &o->first, SEED_MAX},         {"--replay", &o->replay, SEED_MAX},
        {"--jobs", &o->jobs, JOBS_MAX},   {"--time-limit", &o->limit, SECONDS_MAX}, {"--shrink-time", &o->shrink_limit, SECONDS_MAX},
        {"--rows", &o->rows, SEED_MAX},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(name, all[i].name) == 0) return (*all[i].value = cli_number("sim", name, text, all[i].max)) ? 2 : -1;
    return 0;
}

static int read_text(struct sim_options *o, const char *name, const char *text) {
    const struct named_text all[] = {{"--script", &o->script}, {"--trace", &o->trace}, {"--save", &o->save}};
    if (strcmp(name, "--faults") == 0) return (o->faults = read_faults(text)) ? 2 : -1;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(name, all[i].name) != 0) continue;
        if (!text) fprintf(stderr, "weft sim: %s needs a file\n", name);
        return (*all[i].value = text) ? 2 : -1;
    }
    return 0;
}

static int read_switch(struct sim_options *o, const char *name) {
    const struct named_switch all[] = {
        {"--keep-going", &o->keep_going}, {"--twice", &o->twice}, {"--shrink", &o->shrink}, {"--all", &o->all}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(name, all[i].name) == 0) return *all[i].value = true;
    return 0;
}

/* ---- the program ---------------------------------------------------------------------------------------------------------- */

static bool is_program(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0) fprintf(stderr, "weft sim: %s: %s\n", path, strerror(errno));
    else if (S_ISDIR(about.st_mode)) fprintf(stderr, "weft sim: %s is a folder\n", path);
    else if (access(path, X_OK) != 0) fprintf(stderr, "weft sim: %s: %s\n", path, strerror(errno));
    else return true;
    return false;
}

/* "draw ...", "near ...": a decision. */
static bool is_decision(const char *line) { return strncmp(line, "draw ", 5) == 0 || strncmp(line, "near ", 5) == 0; }

/* A script begins with the seed and the faults that it was made with. */
static int read_script_head(struct sim_options *options) {
    static char line[256];
    FILE *file = fopen(options->script, "re");
    if (!file) {
        fprintf(stderr, "weft sim: %s: %s\n", options->script, strerror(errno));
        return -1;
    }
    while (fgets(line, sizeof line, file)) {
        options->decisions += is_decision(line);
        if (options->decisions) continue;
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "seed ", 5) == 0) options->replay = strtoull(line + 5, NULL, 10);
        if (strncmp(line, "faults ", 7) == 0 && !options->faults) options->faults = strdup(line + 7);
    }
    fclose(file);
    if (options->replay) return 0;
    fprintf(stderr, "weft sim: %s is no script: it does not begin with a line `seed N`\n", options->script);
    return -1;
}

static int read_word(struct sim_options *options, const char *word, const char *next) {
    int used = read_number(options, word, next);
    if (!used) used = read_text(options, word, next);
    if (!used) used = read_switch(options, word);
    return used;
}

static int complain(const struct sim_options *options, const char *word) {
    if (word[0] != '-' && options->program)
        fprintf(stderr, "weft sim: arguments of the program go behind `--`: weft sim %s -- %s\n", options->program[0], word);
    else fprintf(stderr, "weft sim: what is `%s`? `weft sim --help` tells the options\n", word);
    return SIM_REFUSED;
}

/* Options that would be ignored. */
static bool has_no_effect(const struct sim_options *options) {
    const char *what = NULL;
    if (options->script && options->replay) what = "--replay and --script are two things to replay: give one of them";
    else if (options->save && !options->shrink) what = "--save goes with --shrink";
    else if (options->trace && !options->replay && !options->script && !options->shrink)
        what = "--trace writes one history: it goes with --replay, --script or --shrink";
    if (what) fprintf(stderr, "weft sim: %s\n", what);
    return what != NULL;
}

/* What is left once all words have been read. */
static int check(struct sim_options *options, char **words) {
    if (!options->program) {
        fprintf(stderr, "weft sim: which program? `weft sim --help` tells how to call it\n");
        return SIM_REFUSED;
    }
    words[0] = options->program[0];
    options->program = words;
    if (!is_program(words[0])) return SIM_REFUSED;
    if (options->script && options->shrink) {
        fprintf(stderr, "weft sim: --script is shrunk already; --shrink goes with seeds\n");
        return SIM_REFUSED;
    }
    if (has_no_effect(options)) return SIM_REFUSED;
    if (options->script && read_script_head(options) != 0) return SIM_REFUSED;
    options->library = program_find_library();
    return -1;
}

int options_read(struct sim_options *options, int argc, char **argv) {
    static char *none[2];
    char **words = none; /* the program's, with room for its name in front */
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *options = (struct sim_options){.seeds = SEEDS, .first = 1, .limit = LIMIT, .shrink_limit = SHRINK_LIMIT, .rows = ROWS};
    options->jobs = cpus > 0 ? (uint64_t)cpus : 1;
    for (int i = 0; i < argc;) {
        if (strcmp(argv[i], "--help") == 0) return usage();
        if (strcmp(argv[i], "--") == 0) {
            words = argv + i;
            break;
        }
        int used = read_word(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (used < 0) return SIM_REFUSED;
        if (!used && (argv[i][0] == '-' || options->program)) return complain(options, argv[i]);
        if (!used) options->program = argv + i;
        i += used ? used : 1;
    }
    return check(options, words);
}

/* ---- the command that repeats ------------------------------------------------------------------------------------------------ */

static void print_word(FILE *to, const char *word) {
    bool plain = *word != '\0';
    for (const char *at = word; *at; at++)
        plain = plain && (isalnum((unsigned char)*at) || strchr("_-./,=:+@%", *at));
    if (plain) {
        fprintf(to, " %s", word);
        return;
    }
    fprintf(to, " '");
    for (const char *at = word; *at; at++)
        fprintf(to, *at == '\'' ? "'\\''" : "%c", *at);
    fprintf(to, "'");
}

/* Variables of the environment that the program's runtime reads: WEFT_POLICY, WEFT_WORKERS ... They belong to the seed. */
static void print_environment(FILE *to) {
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, "WEFT_", 5) != 0 || strncmp(*at, "WEFT_TEST_", 10) == 0) continue;
        if (strncmp(*at, "WEFT_SIM_", 9) == 0 && strncmp(*at, "WEFT_SIM_QUIET=", 15) != 0) continue;
        print_word(to, *at);
    }
}

void options_print_again(FILE *to, const struct sim_options *options, uint64_t seed, const char *script) {
    print_environment(to);
    fprintf(to, " weft sim");
    print_word(to, options->program[0]);
    fprintf(to, script ? " --script" : " --replay %" PRIu64, seed);
    if (script) print_word(to, script);
    if (options->faults && !script) fprintf(to, " --faults %s", *options->faults ? options->faults : "none");
    if (options->limit != LIMIT) fprintf(to, " --time-limit %" PRIu64, options->limit);
    if (options->program[1]) fprintf(to, " --");
    for (char **word = options->program + 1; *word; word++)
        print_word(to, *word);
    fprintf(to, "\n");
}
