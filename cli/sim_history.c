/* The history that an attempt has written: loaded, and shown as a table. */
#define _GNU_SOURCE
#include "cli/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *history_new_file(void) {
    const char *folder = getenv("TMPDIR");
    char *path = NULL;
    int fd = asprintf(&path, "%s/weft-sim.XXXXXX", folder && *folder ? folder : "/tmp") > 0 ? mkstemp(path) : -1;
    if (fd >= 0) {
        close(fd);
        return path;
    }
    fprintf(stderr, "weft sim: cannot make a file for the history: %s\n", strerror(errno));
    free(path);
    return NULL;
}

/* ---- loading ---------------------------------------------------------------------------------------------------------------- */

static char *load_text(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    ssize_t size = file ? getdelim(&text, &room, '\0', file) : -1;
    if (file) fclose(file);
    if (size > 0) return text;
    free(text);
    return file && size <= 0 ? strdup("") : NULL;
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* The next word of a line, or "". */
static const char *word(char **line) {
    const char *found = strsep(line, " ");
    return found ? found : "";
}

static uint64_t number(char **line) { return strtoull(word(line), NULL, 10); }

static bool parse_event(struct row *row, char *line) {
    row->time = number(&line);
    row->thread = number(&line);
    row->machine = number(&line);
    row->pid = strtoull(word(&line), NULL, 16);
    row->what = word(&line);
    row->detail = line ? line : "";
    return *row->what != '\0';
}

static bool parse_draw(struct row *row, char *line) {
    row->is_draw = true;
    row->thread = number(&line);
    row->what = word(&line);
    row->number = number(&line);
    row->value = number(&line);
    row->bound = number(&line);
    row->machine = number(&line);
    row->time = number(&line);
    return row->value != 0;
}

static bool parse(struct row *row, char *line) {
    const char *kind = word(&line);
    if (!line) return false;
    if (strcmp(kind, "event") == 0) return parse_event(row, line);
    return strcmp(kind, "draw") == 0 && parse_draw(row, line);
}

/* A draw belongs to the event that its thread has noted last. */
static void relate(struct history *history) {
    static const struct row *last_of[THREADS_MAX];
    memset(last_of, 0, sizeof last_of);
    for (size_t i = 0; i < history->count; i++) {
        struct row *row = history->rows + i;
        const struct row **own = row->thread < THREADS_MAX ? last_of + row->thread : NULL;
        if (!row->is_draw && own) *own = row;
        if (!row->is_draw) continue;
        row->event = own ? *own : NULL;
        row->pid = row->event ? row->event->pid : 0;
    }
}

int history_load(struct history *history, const char *path) {
    memset(history, 0, sizeof *history);
    history->text = load_text(path);
    history->rows = history->text ? calloc(count_lines(history->text) + 1, sizeof *history->rows) : NULL;
    if (!history->rows) {
        fprintf(stderr, "weft sim: cannot read the history %s: %s\n", path, strerror(errno));
        history_free(history);
        return -1;
    }
    char *rest = history->text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        struct row row = {.is_draw = false};
        if (!parse(&row, line)) continue;
        history->rows[history->count++] = row;
        history->draws += row.is_draw;
        history->machines = history->machines || (row.machine > 0 && row.machine < MACHINES_MAX);
    }
    relate(history);
    return 0;
}

void history_free(struct history *history) {
    free(history->text);
    free(history->rows);
    memset(history, 0, sizeof *history);
}

/* ---- the table -------------------------------------------------------------------------------------------------------------- */

static bool has_machines; /* the table has a column for them */

static void print_head(const struct history *history) {
    has_machines = history->machines;
    printf("%14s  %s%6s  %16s  %-20s %s\n", "time (s)", has_machines ? "machine  " : "", "thread", "process", "event", "detail");
}

static void print_number(uint64_t number, uint64_t max, int width) {
    if (number < max) printf("%*" PRIu64 "  ", width, number);
    else printf("%*s  ", width, "-");
}

static void print_place(const struct row *row) {
    char process[24] = "-";
    if (row->pid) snprintf(process, sizeof process, "%016" PRIx64, row->pid);
    printf("%4" PRIu64 ".%09" PRIu64 "  ", row->time / 1000000000, row->time % 1000000000);
    if (has_machines) print_number(row->machine, MACHINES_MAX, 7);
    print_number(row->thread, THREADS_MAX, 6);
    printf("%16s  ", process);
}

static bool names_a_thread(const struct row *row) { return strcmp(row->what, "switch") == 0 || strcmp(row->what, "atom") == 0; }

static void print_draw(const struct row *row) {
    print_place(row);
    if (names_a_thread(row) && row->value - 1 == row->thread) printf("* %-18s goes on, after what was due", row->what);
    else if (names_a_thread(row)) printf("* %-18s to thread %" PRIu64, row->what, row->value - 1);
    else printf("* %-18s %" PRIu64, row->what, row->value);
}

/* What a detail is, by the event's name. */
static void print_detail(const struct row *row) {
    static const char *const processes[] = {"spawn", "send", "handoff", "receive", "end"};
    for (size_t i = 0; i < sizeof processes / sizeof processes[0]; i++)
        if (strcmp(row->what, processes[i]) == 0) {
            unsigned long long other = strtoull(row->detail, NULL, 10);
            printf(other > UINT32_MAX ? "%016llx" : "%llu", other); /* a PID; or a descriptor that is sent to */
            return;
        }
    bool plain = strcmp(row->what, "runs") == 0 || strncmp(row->what, "weft_", 5) == 0;
    if (!plain || strcmp(row->detail, "0") != 0) printf("%s", row->detail);
}

static void print_row(const struct row *row, size_t times) {
    if (row->is_draw) {
        print_draw(row);
    } else {
        print_place(row);
        printf("%-20s ", row->what);
        print_detail(row);
    }
    if (times > 1) printf("  (%zu times)", times);
    printf("\n");
}

/* Events inside of the runtime, which a program's author can do without. */
static bool is_inner(const struct row *row) {
    static const char *const inner[] = {"baton", "fence", "futex_wait", "futex_wake"};
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++)
        if (!row->is_draw && strcmp(row->what, inner[i]) == 0) return true;
    return false;
}

static bool is_repeated(const struct row *row, const struct row *next) {
    return !row->is_draw && !next->is_draw && row->thread == next->thread && row->pid == next->pid && strcmp(row->what, next->what) == 0 &&
           strcmp(row->detail, next->detail) == 0;
}

/* The next row that is shown, from `at` on. */
static size_t next_shown(const struct history *history, size_t at, bool all) {
    while (at < history->count && !all && is_inner(history->rows + at))
        at++;
    return at;
}

/* The row behind those that are shown as one with this: only their times differ. */
static size_t next_other(const struct history *history, size_t at, bool all, size_t *times) {
    size_t next = at;
    for (*times = 0; next < history->count && (next == at || is_repeated(history->rows + at, history->rows + next)); ++*times)
        next = next_shown(history, next + 1, all);
    return next;
}

void history_print(const struct history *history, uint64_t rows, bool all) {
    uint64_t lines = 0, line = 0;
    size_t times;
    for (size_t i = next_shown(history, 0, all); i < history->count; i = next_other(history, i, all, &times))
        lines++;
    print_head(history);
    if (lines > rows) printf("%14s  (%" PRIu64 " earlier rows; --rows N shows more, --trace FILE writes all)\n", "...", lines - rows);
    for (size_t i = next_shown(history, 0, all), next; i < history->count; i = next) {
        next = next_other(history, i, all, &times);
        if (line++ + rows >= lines) print_row(history->rows + i, times);
    }
}

void history_print_draws(const struct history *history) {
    printf("decisions:\n");
    print_head(history);
    for (size_t i = 0; i < history->count; i++) {
        const struct row *row = history->rows + i;
        if (!row->is_draw) continue;
        print_draw(row);
        if (row->event) {
            printf(", at %s ", row->event->what);
            print_detail(row->event);
        }
        printf("\n");
    }
}
