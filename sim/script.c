/* Scripts: see script.h. */
#include "script.h"

#include "setting.h"
#include "sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_STEP = 256 };

struct script_exact {
    unsigned thread;
    enum sim_draw_kind kind;
    uint64_t number, value;
};
struct script_near {
    enum sim_draw_kind kind;
    bool used;
    unsigned machine;
    uint64_t value, bound, time;
};

static struct {
    struct script_exact *exact; /* in order */
    struct script_near *near;   /* in the order of the lines */
    size_t exact_count, near_count;
} script;

/* ---- reading ------------------------------------------------------------------------------------------------------------- */

static int script_compare(const void *a, const void *b) {
    const struct script_exact *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Room for one more. */
static void *script_room(void *entries, size_t count, size_t size) {
    if (count % SCRIPT_STEP) return entries;
    entries = realloc(entries, (count + SCRIPT_STEP) * size);
    if (!entries) sim_fail("memory", "the script needs more than there is");
    return entries;
}

static bool script_read_draw(const char *line) {
    char kind[16];
    unsigned thread;
    unsigned long long number, value;
    if (sscanf(line, "draw %u %15s %llu %llu", &thread, kind, &number, &value) != 4) return false;
    script.exact = script_room(script.exact, script.exact_count, sizeof *script.exact);
    script.exact[script.exact_count++] = (struct script_exact){thread, sim_draw_kind(kind), number, value};
    return sim_draw_kind(kind) < SIM_DRAW_KINDS;
}

/* A stall at an atomic operation becomes one at an outside effect: there are no points at atomic operations that a script does not name. */
static bool script_read_near(const char *line) {
    char name[16];
    unsigned machine;
    unsigned long long value, bound, time;
    if (sscanf(line, "near %15s %llu %llu %u %llu", name, &value, &bound, &machine, &time) != 5) return false;
    enum sim_draw_kind kind = sim_draw_kind(name);
    script.near = script_room(script.near, script.near_count, sizeof *script.near);
    script.near[script.near_count++] = (struct script_near){kind == SIM_STALL_ATOM ? SIM_STALL : kind, false, machine, value, bound, time};
    return kind < SIM_DRAW_KINDS;
}

/* A history is a script, too; the command writes lines `seed` and `faults`. */
static bool script_is_other_line(const char *line) {
    static const char *const words[] = {"event ", "seed ", "faults ", "#", "\n"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(line, words[i], strlen(words[i])) == 0) return true;
    return *line == '\0'; /* what is behind the history of a program that was killed */
}

static void script_read(FILE *file) {
    char *line = NULL;
    size_t room = 0;
    for (unsigned number = 1; getline(&line, &room, file) > 0; number++)
        if (!script_is_other_line(line) && !script_read_draw(line) && !script_read_near(line))
            setting_refuse("WEFT_SIM_SCRIPT", "line %u is none of a script: %.*s", number, (int)strcspn(line, "\n"), line);
    free(line);
}

bool script_setup(void) {
    const char *path = getenv("WEFT_SIM_SCRIPT");
    if (!path) return false;
    FILE *file = fopen(path, "re");
    if (!file) setting_refuse("WEFT_SIM_SCRIPT", "it cannot be read: %s", strerror(errno));
    free(script.exact);
    free(script.near);
    memset(&script, 0, sizeof script);
    script_read(file);
    fclose(file);
    if (script.exact) qsort(script.exact, script.exact_count, sizeof *script.exact, script_compare);
    return true;
}

/* ---- asking -------------------------------------------------------------------------------------------------------------- */

bool sim_draw_scripted(enum sim_draw_kind kind, unsigned thread, uint64_t after, uint64_t *number, uint64_t *value) {
    struct script_exact wanted = {thread, kind, after, 0};
    size_t low = 0, high = script.exact_count;
    while (low < high) { /* the first entry above `wanted` */
        size_t middle = (low + high) / 2;
        if (script_compare(&script.exact[middle], &wanted) <= 0) low = middle + 1;
        else high = middle;
    }
    if (low == script.exact_count || script.exact[low].thread != thread || script.exact[low].kind != kind) return false;
    *number = script.exact[low].number;
    *value = script.exact[low].value;
    return true;
}

uint64_t script_near(enum sim_draw_kind kind, uint64_t bound, unsigned machine, uint64_t time) {
    for (size_t i = 0; i < script.near_count; i++) {
        struct script_near *entry = &script.near[i];
        if (entry->used || entry->kind != kind || entry->bound != bound || entry->machine != machine || entry->time > time) continue;
        entry->used = true;
        return entry->value;
    }
    return 0;
}
