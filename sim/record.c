/* The history: see record.h. Lines are made by hand into a buffer: threads may be on small stacks, where printf is too much. */
#include "record.h"

#include "sim.h"

#include "base/rng.h"

#include <weft/process.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BUFFER = 1 << 16, RECORD_LINE = 256 };

static struct {
    uint64_t hash, events;
    int file; /* -1: the lines are not asked for */
    bool told;
    size_t used;
    char buffer[RECORD_BUFFER];
} record = {.file = -1};

static void record_flush(void) {
    for (size_t at = 0; at < record.used;) {
        ssize_t n = write(record.file, record.buffer + at, record.used - at);
        if (n <= 0) break;
        at += (size_t)n;
    }
    record.used = 0;
}

static void record_text(const char *text) {
    size_t size = strlen(text);
    if (size > RECORD_LINE) size = RECORD_LINE;
    if (record.used + size > RECORD_BUFFER) record_flush();
    memcpy(record.buffer + record.used, text, size);
    record.used += size;
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
    record.hash ^= value;
    record.hash = rng_splitmix(&record.hash);
}

static void record_mix_text(const char *text) {
    uint64_t value = 0;
    for (; *text; text++)
        value = value * 31 + (unsigned char)*text;
    record_mix(value);
}

void record_event(uint64_t time, unsigned thread, const char *what, uint64_t detail) {
    record.events++;
    record_mix(time);
    record_mix((uint64_t)thread << 56 ^ detail);
    record_mix_text(what);
    if (record.file < 0) return;
    record_text("event");
    record_number(time, 10);
    record_number(thread, 10);
    record_number(weft_self(), 16);
    record_text(" ");
    record_text(what);
    record_number(detail, 10);
    record_text("\n");
}

void record_draw(unsigned thread, const char *kind, uint64_t number, uint64_t value) {
    if (record.file < 0) return;
    record_text("draw");
    record_number(thread, 10);
    record_text(" ");
    record_text(kind);
    record_number(number, 10);
    record_number(value, 10);
    record_text("\n");
}

void record_setup(void) {
    const char *path = getenv("WEFT_SIM_RECORD");
    record.hash = sim_seed();
    record.events = 0;
    record.told = false;
    if (!path) return;
    record.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (record.file < 0) sim_fail("record", "%s cannot be written", path);
}

void record_result(const char *verdict) {
    char line[RECORD_LINE];
    const char *where = getenv("WEFT_SIM_RESULT");
    if (record.told) return;
    record.told = true;
    if (record.file >= 0) record_flush();
    if (!where) return;
    int size = snprintf(line, sizeof line, "hash=%016llx points=%llu switches=%llu time=%llu verdict=%s\n", (unsigned long long)record.hash,
                        (unsigned long long)record.events, (unsigned long long)sim_switches(), (unsigned long long)sim_now(), verdict);
    if (write(atoi(where), line, (size_t)size) != size) return; /* its runner has gone */
}
