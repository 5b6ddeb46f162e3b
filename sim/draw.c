/* Decisions by seed or by script: see draw.h. */
#include "draw.h"

#include "record.h"
#include "script.h"
#include "setting.h"
#include "sim.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

#define DRAW_NO_THREAD UINT_MAX /* the thread, and the machine, of draws that are made outside of any (sim_at) */
enum { DRAW_RATE_UNIT = 1 << 20 };

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

struct draw {
    enum sim_draw_kind kind;
    unsigned thread;
    uint64_t number, bound;
};

static struct {
    uint64_t seed;
    struct rng rng, setup;
    uint32_t outside[SIM_DRAW_KINDS]; /* made outside of any thread */
    uint32_t rates[SIM_FAULTS];       /* of DRAW_RATE_UNIT; 0: off */
    bool on[SIM_FAULTS];
    bool scripted, quiet;
    uint32_t densities[SIM_DRAW_KINDS]; /* of a quiet seed, of DRAW_RATE_UNIT: how many draws are not left out */
} draws;

uint64_t sim_seed(void) { return draws.seed; }
bool sim_is_scripted(void) { return draws.scripted; }
bool sim_is_quiet(void) { return draws.quiet; }
bool sim_fault_is_on(enum sim_fault fault) { return draws.on[fault]; }

static uint64_t draw_below(struct rng *rng, uint64_t bound) {
    return bound <= 1 ? 0 : bound <= UINT32_MAX ? rng_below(rng, (uint32_t)bound) : rng_next(rng) % bound;
}
uint64_t sim_pick(uint64_t bound) { return draw_below(&draws.rng, bound); }
uint64_t sim_seed_random(uint64_t bound) { return draw_below(&draws.setup, bound); }

/* ---- draws --------------------------------------------------------------------------------------------------------------- */

bool sim_is_left_out(enum sim_draw_kind kind) { return draws.quiet && draw_below(&draws.rng, DRAW_RATE_UNIT) >= draws.densities[kind]; }

enum sim_draw_kind sim_draw_kind(const char *name) {
    unsigned kind = 0;
    while (kind < SIM_DRAW_KINDS && strcmp(name, draw_names[kind]) != 0)
        kind++;
    return kind;
}

static unsigned draw_machine(void) {
    struct sim_thread *me = sim_me();
    return me ? me->machine : DRAW_NO_THREAD;
}

static uint64_t draw_time(void) { return sim_clock() - SIM_EPOCH; }

static void draw_record(const struct draw *draw, uint64_t value) {
    record_draw(&(struct record_draw){draw_names[draw->kind], draw->thread, draw_machine(), draw->number, value, draw->bound, draw_time()});
}

void sim_draw_record(enum sim_draw_kind kind, unsigned thread, uint64_t number, uint64_t value) {
    draw_record(&(struct draw){kind, thread, number, 0}, value);
}

/* The next draw of its kind by the running thread. Numbers are from 1 on: sim_draw_scripted. */
static struct draw draw_next(enum sim_draw_kind kind, uint64_t bound) {
    struct sim_thread *me = sim_me();
    uint32_t *count = me ? &me->draws[kind] : &draws.outside[kind];
    return (struct draw){kind, me ? me->index : DRAW_NO_THREAD, ++*count, bound};
}

static uint64_t draw_from_script(const struct draw *draw) {
    uint64_t found, value;
    if (sim_draw_scripted(draw->kind, draw->thread, draw->number - 1, &found, &value) && found == draw->number) return value;
    return script_near(draw->kind, draw->bound, draw_machine(), draw_time());
}

static uint64_t draw_from_seed(enum sim_draw_kind kind, uint64_t of) { return sim_is_left_out(kind) ? 0 : draw_below(&draws.rng, of); }

uint64_t sim_draw(enum sim_draw_kind kind, uint64_t bound) { return sim_draw_rare(kind, bound, bound); }

uint64_t sim_draw_rare(enum sim_draw_kind kind, uint64_t bound, uint64_t of) {
    struct draw draw = draw_next(kind, bound);
    uint64_t value = draws.scripted ? draw_from_script(&draw) : draw_from_seed(kind, of);
    if (value >= bound) value = 0;
    if (value) draw_record(&draw, value);
    return value;
}

/* A script brings in no fault that was not asked for. */
static uint64_t draw_fault(enum sim_fault fault, const struct draw *draw, uint32_t rate) {
    uint64_t value = 0;
    if (draws.scripted) value = draws.on[fault] ? draw_from_script(draw) : 0;
    else if (rate && draw_below(&draws.rng, DRAW_RATE_UNIT) < rate) value = 1 + draw_below(&draws.rng, draw->bound - 1);
    if (value >= draw->bound) value = 0;
    if (value) draw_record(draw, value);
    return value;
}

uint64_t sim_fault_numbered(enum sim_fault fault, enum sim_draw_kind kind, uint64_t number, uint64_t bound) {
    return draw_fault(fault, &(struct draw){kind, sim_me()->index, number, bound}, draws.rates[fault]);
}

static bool draw_one_fault(enum sim_fault fault, enum sim_draw_kind kind, uint32_t rate) {
    struct draw draw = draw_next(kind, 2);
    return draw_fault(fault, &draw, rate) != 0;
}

bool sim_fault(enum sim_fault fault, enum sim_draw_kind kind) { return draw_one_fault(fault, kind, draws.rates[fault]); }

/* In a quiet seed: at half of the places never, at the others from one in two to one in 16. */
static uint32_t draw_rate_at(const char *place) {
    uint64_t hash = draws.seed;
    for (; *place; place++)
        hash = rng_splitmix(&(uint64_t){hash ^ (unsigned char)*place});
    return hash % 2 ? 0 : DRAW_RATE_UNIT >> (1 + (hash >> 32) % 4);
}

bool sim_fault_at(enum sim_fault fault, enum sim_draw_kind kind, const char *place) {
    return draw_one_fault(fault, kind, draws.quiet && draws.on[fault] ? draw_rate_at(place) : draws.rates[fault]);
}

/* ---- set-up -------------------------------------------------------------------------------------------------------------- */

/* Whether the list, words with commas between them, has this one. */
static bool draw_list_has(const char *list, const char *word) {
    size_t size = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += size)
        if ((at == list || at[-1] == ',') && (at[size] == ',' || at[size] == '\0')) return true;
    return false;
}

static void draw_faults(const char *list) {
    for (unsigned i = 0; i < SIM_FAULTS; i++) {
        draws.on[i] = draw_list_has(list, fault_names[i]) || strcmp(list, "all") == 0;
        /* One seed in four without it; else from one in a million to one in eight, in a quiet seed from one in two thousand on. */
        uint64_t rarer = sim_seed_random(18), shift = 3 + (draws.quiet ? rarer / 2 : rarer);
        if (sim_seed_random(4) && draws.on[i]) draws.rates[i] = (uint32_t)(DRAW_RATE_UNIT >> shift);
    }
}

/* Of a quiet seed: a third of the kinds never, a quarter always, the others now and then. With WEFT_SIM_QUIET all seeds are quiet, and do without the
 * kinds that it names. */
static void draw_quietness(uint64_t seed, const char *without) {
    struct rng rng;
    rng_seed(&rng, seed, 3);
    draws.quiet = without != NULL || seed % SIM_QUIET_EVERY == 0;
    for (unsigned kind = 0; kind < SIM_DRAW_KINDS; kind++) {
        uint64_t shift = draw_below(&rng, 3) ? 1 + draw_below(&rng, 8) : 0;
        bool some = draw_below(&rng, 3) && !(without && draw_list_has(without, draw_names[kind]));
        draws.densities[kind] = some ? (uint32_t)(DRAW_RATE_UNIT >> shift) : 0;
    }
}

static bool draw_is(const char *value, const char *word) { return value && strcmp(value, word) == 0; }

void sim_draw_check(void) {
    const char *faults = getenv("WEFT_SIM_FAULTS");
    if (!draw_is(faults, "all") && !draw_is(faults, "none")) setting_words_check("WEFT_SIM_FAULTS", fault_names, SIM_FAULTS);
    setting_words_check("WEFT_SIM_QUIET", draw_names, SIM_DRAW_KINDS);
    script_setup();
}

void sim_draw_setup(uint64_t seed) {
    const char *faults = getenv("WEFT_SIM_FAULTS");
    memset(&draws, 0, sizeof draws);
    draws.seed = seed;
    rng_seed(&draws.rng, seed, 1);
    rng_seed(&draws.setup, seed, 2);
    draw_quietness(seed, getenv("WEFT_SIM_QUIET"));
    draw_faults(faults ? faults : "wake,short");
    draws.scripted = script_setup();
}
