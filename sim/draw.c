/* Decisions by seed or by script: see draw.h. */
#include "draw.h"

#include "record.h"
#include "sim.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Draws made outside of any thread (sim_at) are counted for one more. */
enum { DRAW_NO_THREAD = SIM_THREADS_MOST, DRAW_RATE_UNIT = 1 << 20 };

static const char *const draw_names[] = {
#define X(name, text) text,
    SIM_DRAWS(X)
#undef X
};

static const char *const fault_names[SIM_FAULTS] = {
    [SIM_FAULT_WAKE] = "wake",     [SIM_FAULT_SHORT] = "short",   [SIM_FAULT_NET] = "net", [SIM_FAULT_FILE] = "file",
    [SIM_FAULT_MEMORY] = "memory", [SIM_FAULT_THREAD] = "thread", [SIM_FAULT_FD] = "fd",   [SIM_FAULT_CRASH] = "crash",
    [SIM_FAULT_POINT] = "point",   [SIM_FAULT_STALL] = "stall",
};

struct draw_entry {
    unsigned thread;
    enum sim_draw_kind kind;
    uint64_t number, value;
};

static struct {
    uint64_t seed;
    struct rng rng, setup;
    uint32_t counts[SIM_THREADS_MOST + 1][SIM_DRAW_KINDS];
    uint32_t rates[SIM_FAULTS]; /* of DRAW_RATE_UNIT; 0: off */
    bool on[SIM_FAULTS];
    bool scripted;
    struct draw_entry *script; /* in order */
    size_t script_count;
} draws;

uint64_t sim_seed(void) { return draws.seed; }
bool sim_is_scripted(void) { return draws.scripted; }
bool sim_fault_is_on(enum sim_fault fault) { return draws.on[fault]; }

static uint64_t draw_below(struct rng *rng, uint64_t bound) {
    return bound <= 1 ? 0 : bound <= UINT32_MAX ? rng_below(rng, (uint32_t)bound) : rng_next(rng) % bound;
}
uint64_t sim_pick(uint64_t bound) { return draw_below(&draws.rng, bound); }
uint64_t sim_seed_random(uint64_t bound) { return draw_below(&draws.setup, bound); }

/* ---- scripts ------------------------------------------------------------------------------------------------------------- */

static int draw_compare(const void *a, const void *b) {
    const struct draw_entry *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void draw_read_line(const char *line) {
    struct draw_entry entry;
    char kind[16];
    unsigned long long number, value;
    if (sscanf(line, "draw %u %15s %llu %llu", &entry.thread, kind, &number, &value) != 4) return;
    entry.number = number, entry.value = value;
    for (entry.kind = 0; entry.kind < SIM_DRAW_KINDS && strcmp(kind, draw_names[entry.kind]) != 0;)
        entry.kind++;
    if (entry.kind == SIM_DRAW_KINDS) sim_fail("script", "there is no draw called '%s'", kind);
    if (draws.script_count % 256 == 0) draws.script = realloc(draws.script, (draws.script_count + 256) * sizeof entry);
    draws.script[draws.script_count++] = entry;
}

static void draw_read(const char *path) {
    char line[128];
    FILE *file = fopen(path, "re");
    if (!file) sim_fail("script", "%s cannot be read", path);
    while (fgets(line, sizeof line, file))
        draw_read_line(line);
    fclose(file);
    if (draws.script) qsort(draws.script, draws.script_count, sizeof draws.script[0], draw_compare);
}

bool sim_draw_scripted(enum sim_draw_kind kind, unsigned thread, uint64_t after, uint64_t *number, uint64_t *value) {
    struct draw_entry wanted = {thread, kind, after, 0};
    size_t low = 0, high = draws.script_count;
    while (low < high) { /* the first entry above `wanted` */
        size_t middle = (low + high) / 2;
        if (draw_compare(&draws.script[middle], &wanted) <= 0) low = middle + 1;
        else high = middle;
    }
    if (low == draws.script_count || draws.script[low].thread != thread || draws.script[low].kind != kind) return false;
    *number = draws.script[low].number;
    *value = draws.script[low].value;
    return true;
}

/* ---- draws --------------------------------------------------------------------------------------------------------------- */

void sim_draw_record(enum sim_draw_kind kind, unsigned thread, uint64_t number, uint64_t value) {
    record_draw(thread, draw_names[kind], number, value);
}

static unsigned draw_thread(void) {
    struct sim_thread *me = sim_me();
    return me ? me->index : (unsigned)DRAW_NO_THREAD;
}

/* From 1 on, so that all numbers are above 0: sim_draw_scripted. */
static uint64_t draw_number(unsigned thread, enum sim_draw_kind kind) { return ++draws.counts[thread][kind]; }

static uint64_t draw_from_script(enum sim_draw_kind kind, unsigned thread, uint64_t number) {
    uint64_t found, value;
    return sim_draw_scripted(kind, thread, number - 1, &found, &value) && found == number ? value : 0;
}

uint64_t sim_draw(enum sim_draw_kind kind, uint64_t bound) {
    unsigned thread = draw_thread();
    uint64_t number = draw_number(thread, kind);
    uint64_t value = draws.scripted ? draw_from_script(kind, thread, number) : draw_below(&draws.rng, bound);
    if (value >= bound) value = 0; /* a script of another program */
    if (value) sim_draw_record(kind, thread, number, value);
    return value;
}

bool sim_fault(enum sim_fault fault, enum sim_draw_kind kind) {
    unsigned thread = draw_thread();
    uint64_t number = draw_number(thread, kind);
    bool value = draws.scripted ? draw_from_script(kind, thread, number) != 0
                                : draws.rates[fault] && draw_below(&draws.rng, DRAW_RATE_UNIT) < draws.rates[fault];
    if (value) sim_draw_record(kind, thread, number, 1);
    return value;
}

/* ---- set-up -------------------------------------------------------------------------------------------------------------- */

static void draw_faults(const char *list) {
    for (unsigned i = 0; i < SIM_FAULTS; i++) {
        const char *at = strstr(list, fault_names[i]);
        size_t size = strlen(fault_names[i]);
        draws.on[i] = at && (at == list || at[-1] == ',') && (at[size] == ',' || at[size] == '\0');
        /* One seed in four without it; else from one in a million to one in eight. */
        uint64_t shift = 3 + sim_seed_random(18);
        if (sim_seed_random(4) && draws.on[i]) draws.rates[i] = (uint32_t)(DRAW_RATE_UNIT >> shift);
    }
}

void sim_draw_setup(uint64_t seed) {
    const char *script = getenv("WEFT_SIM_SCRIPT"), *faults = getenv("WEFT_SIM_FAULTS");
    memset(&draws, 0, sizeof draws);
    draws.seed = seed;
    draws.scripted = script != NULL;
    rng_seed(&draws.rng, seed, 1);
    rng_seed(&draws.setup, seed, 2);
    draw_faults(faults ? faults : "wake,short");
    if (script) draw_read(script);
}
