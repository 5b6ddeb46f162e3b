/* The history: see record.h. Lines are made by hand: threads may be on small stacks, where printf is too much. The file is written through a
 * mapping, a window after the other, so that a program that crashes or is killed leaves its history too; zeros follow it then. */
#include "record.h"

#include "setting.h"
#include "sim.h"

#include "base/rng.h"
#include "base/sim_hooks.h"

#include <weft/process.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD_WINDOW = 1 << 20, RECORD_LINE = 256, RECORD_WORD = 24 };

/* What is told at the end. */
struct summary {
    uint64_t hash, events, switches, time;
    char verdict[RECORD_WORD];
};

static struct {
    struct summary own, *summary;
    int file;        /* -1: the lines are not asked for */
    bool draws_only; /* lines of events are not asked for */
    pid_t teller;    /* the program that has the runner: not its children */
    size_t used;
    off_t begin; /* of the window in the file */
    char *window;
} record = {.summary = &record.own, .file = -1};

static void record_next_window(void) {
    if (record.window) munmap(record.window, RECORD_WINDOW);
    record.begin += record.window ? RECORD_WINDOW : 0;
    record.used = 0;
    int error = posix_fallocate(record.file, record.begin, RECORD_WINDOW); /* a write to a mapping that finds no space would be a SIGBUS */
    record.window = error ? MAP_FAILED : mmap(NULL, RECORD_WINDOW, PROT_WRITE, MAP_SHARED, record.file, record.begin);
    if (record.window != MAP_FAILED) return;
    record.window = NULL;
    record.file = -1;
    sim_fail("record", "the history cannot be written: %s", strerror(error ? error : errno));
}

static void record_text(const char *text) {
    for (; *text; text++) {
        if (record.used == RECORD_WINDOW) record_next_window();
        record.window[record.used++] = *text;
    }
}

/* A name of the program's own may have spaces, and lines; here it is one word. */
static void record_word(const char *word) {
    record_text(" ");
    for (; *word; word++)
        record_text((char[]){(unsigned char)*word > ' ' ? *word : '_', '\0'});
}

static void record_number(uint64_t number, unsigned base) {
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    do {
        *--at = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    record_text(" ");
    record_text(at);
}

static void record_mix(uint64_t value) {
    record.summary->hash ^= value;
    record.summary->hash = rng_splitmix(&record.summary->hash);
}

static void record_mix_text(const char *text) {
    uint64_t value = 0;
    for (; *text; text++)
        value = value * 31 + (unsigned char)*text;
    record_mix(value);
}

/* Of the process that the thread runs. Asking for it makes atomic operations, which do not count: a history that is recorded is the same. */
static uint64_t record_pid(void) {
    int64_t left = sim_atoms_left;
    sim_atoms_left = INT64_MAX;
    uint64_t pid = weft_self();
    sim_atoms_left = left;
    return pid;
}

void record_event(uint64_t time, struct record_place place, const char *what, uint64_t detail) {
    record.summary->events++;
    record.summary->time = time - SIM_EPOCH;
    record_mix(time);
    record_mix((uint64_t)place.thread << 32 ^ detail);
    record_mix_text(what);
    if (record.file < 0 || record.draws_only) return;
    record_text("event");
    record_number(time - SIM_EPOCH, 10);
    record_number(place.thread, 10);
    record_number(place.machine, 10);
    record_number(record_pid(), 16);
    record_word(*what ? what : "_");
    record_number(detail, 10);
    record_text("\n");
}

void record_switch(uint64_t time, struct record_place from, unsigned to) {
    record.summary->switches++;
    record_event(time, from, "baton", to);
}

void record_draw(const struct record_draw *draw) {
    if (record.file < 0) return;
    record_text("draw");
    record_number(draw->thread, 10);
    record_text(" ");
    record_text(draw->kind);
    const uint64_t numbers[] = {draw->number, draw->value, draw->bound, draw->machine, draw->time};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        record_number(numbers[i], 10);
    record_text("\n");
}

void record_setup(void) {
    const char *draws = getenv("WEFT_SIM_RECORD_DRAWS"), *path = draws ? draws : getenv("WEFT_SIM_RECORD");
    record.draws_only = draws != NULL;
    *record.summary = (struct summary){.hash = sim_seed()};
    record.teller = getpid();
    if (!path) return;
    record.file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (record.file < 0) setting_refuse(draws ? "WEFT_SIM_RECORD_DRAWS" : "WEFT_SIM_RECORD", "it cannot be written: %s", strerror(errno));
    record_next_window();
}

/* ---- the end ------------------------------------------------------------------------------------------------------------- */

bool record_share(void) {
    void *shared = mmap(NULL, sizeof *record.summary, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return false;
    record.summary = shared;
    return true;
}

void record_tell(int to, const char *before) {
    const struct summary *told = record.summary;
    dprintf(to, "%shash=%016llx points=%llu switches=%llu time=%llu verdict=%s\n", before, (unsigned long long)told->hash,
            (unsigned long long)told->events, (unsigned long long)told->switches, (unsigned long long)told->time,
            told->verdict[0] ? told->verdict : "none");
}

void record_result(const char *verdict) {
    struct summary *told = record.summary;
    const char *where = getenv("WEFT_SIM_RESULT");
    if (told->verdict[0] || record.teller != getpid()) return;
    strncpy(told->verdict, verdict, RECORD_WORD - 1);
    told->time = sim_now() - SIM_EPOCH;
    if (record.file >= 0 && ftruncate(record.file, record.begin + (off_t)record.used) != 0) return; /* zeros follow */
    if (where) record_tell(atoi(where), "");
}
