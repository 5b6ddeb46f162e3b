#include "report.h"

#include "memory.h"
#include "model.h"
#include "source.h"
#include "wide.h"

#include <stdio.h>
#include <stdlib.h>

const char *model_name(unsigned which) { return which == CHK_SC ? "sc" : which == CHK_TSO ? "tso" : "c11"; }

static const char *order_name(unsigned order) {
    static const char *const name[] = {"rlx", "acq", "acq", "rel", "acqrel", "sc", "light", "heavy"};
    return name[order];
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

/* Of 8 bytes: a pointer, perhaps, into a block or a variable. */
static bool pointer_text(uint64_t value, char *buffer, size_t room) {
    size_t offset;
    char name[24];
    if (memory_block_name(value, name, sizeof name)) return snprintf(buffer, room, "&%s", name) > 0;
    const char *variable = source_variable(value, &offset);
    if (!variable) return false;
    int length = snprintf(buffer, room, "&%.20s", variable);
    if (offset) snprintf(buffer + length, room - (size_t)length, "+%zu", offset);
    return true;
}

static const char *word_text(uint64_t value, unsigned size, char *buffer, size_t room) {
    if (size >= 8 && pointer_text(value, buffer, room)) return buffer;
    if (value < 1000000) snprintf(buffer, room, "%lu", (unsigned long)value);
    else snprintf(buffer, room, "%#lx", (unsigned long)value);
    return buffer;
}

/* Of more than 8 bytes, the first 16 as two words: most often a pointer and a count. */
static const char *value_text(const struct event *e, uint64_t value, char *buffer, size_t room) {
    unsigned size = cells[e->cell].size;
    if (!wide_size(size)) return word_text(value, size, buffer, room);
    uint64_t word[WIDE_MAX / 8] = {0};
    char first[32], second[32];
    wide_bytes(value, word, size);
    snprintf(buffer, room, "{%s, %s%s}", word_text(word[0], size, first, sizeof first), word_text(word[1], size, second, sizeof second),
             size > 16 ? ", ..." : "");
    return buffer;
}

/* How many writes of the cell, already made when the read was, it did not see. */
static unsigned staleness(struct graph *g, const struct trace *trace, unsigned step) {
    const struct event *r = graph_at(g, trace->step[step]);
    unsigned n = 0;
    for (eid w = graph_at(g, r->rf)->mo_next; w != EID_NONE; w = graph_at(g, w)->mo_next)
        for (unsigned i = 0; i < step; i++)
            n += trace->step[i] == w;
    return n;
}

static void event_text(struct graph *g, const struct trace *trace, unsigned step, char *out, size_t room) {
    const struct event *e = graph_at(g, trace->step[step]);
    char name[64], a[80], b[80];
    const char *cell = e->kind <= K_WRITE ? memory_name(cells[e->cell].address, name, sizeof name) : "";
    unsigned stale = e->kind == K_READ ? staleness(g, trace, step) : 0;
    char note[32] = "";
    if (stale) snprintf(note, sizeof note, " (%u behind)", stale);
    if (e->kind == K_FENCE) snprintf(out, room, "fence %s", order_name(e->order));
    else if (e->kind == K_CHOICE) snprintf(out, room, "choose %lu", (unsigned long)e->value);
    else if (e->kind == K_READ && (e->flags & F_RMW))
        snprintf(out, room, "%s: %s -> %s %s%s", cell, value_text(e, e->value, a, sizeof a), value_text(e, model_rmw_value(e), b, sizeof b),
                 order_name(e->order), note);
    else if (e->kind == K_READ)
        snprintf(out, room, "%s%s is %s %s%s", cell, e->op == OP_CAS ? " cas fails," : "", value_text(e, e->value, a, sizeof a),
                 order_name(e->order), note);
    else
        snprintf(out, room, "%s = %s %s%s", cell, value_text(e, e->value, a, sizeof a), order_name(e->order),
                 e->mo_next == EID_NONE ? "" : " *");
}

static void want_places(void) {
    for (unsigned i = 0; i < RUN_PLACES && run.place[i].what; i++)
        source_want((uint32_t)run.place[i].pc);
}

static void find_lines(struct graph *g, const struct trace *trace) {
    source_begin();
    for (unsigned i = 0; i < trace->steps; i++)
        source_want(graph_at(g, trace->step[i])->pc);
    want_places();
    source_find();
}

static void report_places(void) {
    for (unsigned i = 0; i < RUN_PLACES && run.place[i].what; i++) {
        const struct place *place = &run.place[i];
        const char *line = source_line((uint32_t)place->pc);
        if (!*line) continue;
        printf("      %s: %s, ", place->what, line);
        if (place->thread) printf("by thread %u\n", place->thread - 1);
        else printf("in setup or finish\n");
    }
}

void report_endless(void) {
    source_begin();
    want_places();
    source_find();
    report_places();
    printf("      (%d operations a thread are followed. If this is a loop that waits, what does a round change? A loop that has to change\n"
           "      something, a count of attempts or a lock, is marked: chk_loop_begin in <weft/chk.h>)\n",
           E_MAX - 1);
}

/* What the words of the command were before and behind its own, where a file was given. */
static const char *words(const char *variable) {
    const char *found = getenv(variable);
    return found ? found : "";
}

void report_trace(const struct chk_scenario *scenario, struct graph *g, const struct trace *trace) {
    unsigned threads = 0, width = 34;
    while (threads < CHK_THREADS && scenario->threads[threads])
        threads++;
    if (threads > 4) width = 26;
    find_lines(g, trace);
    printf("      ");
    for (unsigned t = 0; t < threads; t++)
        printf("| thread %-*u ", (int)width - 7, t);
    printf("|\n");
    for (unsigned i = 0; i < trace->steps; i++) {
        eid name = trace->step[i];
        const struct event *e = graph_at(g, name);
        if (e->kind == K_WRITE && (e->flags & F_RMW)) continue; /* shown with its read */
        char text[300];
        event_text(g, trace, i, text, sizeof text);
        printf(" %4u ", i);
        for (unsigned t = 1; t <= threads; t++)
            printf("| %-*.*s ", (int)width, (int)width, t == eid_thread(name) ? text : "");
        printf("| %s\n", source_line(e->pc));
    }
    for (unsigned t = 1; t <= threads; t++) {
        static const char *const how[] = {[WAIT_SPIN] = "waits in a loop",
                                          [WAIT_LOCK] = "waits for a lock",
                                          [WAIT_FUTEX] = "sleeps on a futex",
                                          [WAIT_DEADLINE] = "sleeps until its deadline",
                                          [WAIT_ROUNDS] = "goes round without progress",
                                          [WAIT_STOP] = "stopped by the scenario"};
        if (run.thread[t].state == RUN_BLOCKED_HERE) printf("      thread %u %s\n", t - 1, how[run.thread[t].wait]);
    }
    report_places();
    printf("      (\"n behind\": n newer writes of that cell were already made; *: later overtaken in the cell's order)\n");
    printf("      replay: weft check %s--replay '%s@%s:%s'%s\n", words("WEFT_CHECK_FILES"), scenario->name, model_name(model),
           trace->string, words("WEFT_CHECK_OPTIONS"));
}
