/* A history in the trace-event format that chrome://tracing, Perfetto and speedscope show: a track for each thread, below its machine, with the
 * stretches in which it ran, its events and the decisions. */
#include "cli/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void put_string(FILE *to, const char *text) {
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', to);
        if ((unsigned char)*text < ' ') fprintf(to, "\\u%04x", (unsigned char)*text);
        else fputc(*text, to);
    }
    fputc('"', to);
}

/* Microseconds, to the nanosecond. */
static void put_time(FILE *to, const char *name, uint64_t time) {
    fprintf(to, "\"%s\":%" PRIu64 ".%03" PRIu64, name, time / 1000, time % 1000);
}

/* What the viewer calls a process: a machine. What happens outside of all of them is in the first one's. */
static uint64_t group(const struct row *row) { return row->machine < MACHINES_MAX ? row->machine + 1 : 1; }

static void put_row(FILE *to, const struct row *row) {
    fprintf(to, ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",", group(row), row->thread);
    put_time(to, "ts", row->time);
    fprintf(to, ",\"cat\":\"%s\",\"name\":", row->is_draw ? "decision" : "event");
    put_string(to, row->what);
    fprintf(to, ",\"args\":{\"process\":\"%016" PRIx64 "\",", row->pid);
    if (row->is_draw) {
        fprintf(to, "\"number\":%" PRIu64 ",\"value\":%" PRIu64 "}}", row->number, row->value);
        return;
    }
    fprintf(to, "\"detail\":");
    put_string(to, row->detail);
    fprintf(to, "}}");
}

static void put_stretch(FILE *to, const struct row *from, uint64_t until) {
    fprintf(to, ",\n{\"ph\":\"X\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"name\":\"runs\",", group(from), from->thread);
    put_time(to, "ts", from->time);
    fprintf(to, ",");
    put_time(to, "dur", until - from->time);
    fprintf(to, "}");
}

/* A thread runs from its first event until the first event of another one. */
static void put_stretches(FILE *to, const struct history *history) {
    const struct row *from = NULL, *last = NULL;
    for (size_t i = 0; i < history->count; i++) {
        const struct row *row = history->rows + i;
        if (row->is_draw) continue;
        if (from && row->thread != from->thread) put_stretch(to, from, row->time);
        if (!from || row->thread != from->thread) from = row;
        last = row;
    }
    if (from) put_stretch(to, from, last->time);
}

static void put_thread_name(FILE *to, const struct row *row) {
    fprintf(to,
            ",\n{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"name\":\"thread_name\",\"args\":{\"name\":\"thread %" PRIu64 "\"}}",
            group(row), row->thread, row->thread);
}

static void put_machine_name(FILE *to, uint64_t machine) {
    fprintf(to, ",\n{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"name\":\"process_name\",\"args\":{\"name\":\"machine %" PRIu64 "\"}}", machine + 1,
            machine);
}

static void put_names(FILE *to, const struct history *history) {
    static bool threads[THREADS_MAX], machines[MACHINES_MAX];
    fprintf(to, "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"simulation\"}}");
    for (size_t i = 0; i < history->count; i++) {
        const struct row *row = history->rows + i;
        if (row->thread >= THREADS_MAX || row->machine >= MACHINES_MAX) continue;
        if (!threads[row->thread]) put_thread_name(to, row);
        if (row->machine > 0 && !machines[row->machine]) put_machine_name(to, row->machine);
        threads[row->thread] = machines[row->machine] = true;
    }
}

int history_write_trace(const struct history *history, const char *path) {
    FILE *to = fopen(path, "we");
    if (to) {
        fprintf(to, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
        put_names(to, history);
        put_stretches(to, history);
        for (size_t i = 0; i < history->count; i++)
            put_row(to, history->rows + i);
        fprintf(to, "\n]}\n");
    }
    bool good = to && !ferror(to);
    if (to && fclose(to) != 0) good = false;
    if (!good) fprintf(stderr, "weft sim: cannot write %s: %s\n", path, strerror(errno));
    return good ? 0 : -1;
}
