#include "report.h"

#include "memory.h"
#include "model.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *model_name(unsigned which) { return which == CHK_SC ? "sc" : which == CHK_TSO ? "tso" : "c11"; }

static const char *order_name(unsigned order) {
    static const char *const name[] = {"rlx", "acq", "acq", "rel", "acqrel", "sc", "light", "heavy"};
    return name[order];
}

/* ---- source lines, from the debug information ------------------------------------------------------------------------ */

enum { LINES = 512 };
static struct {
    uint32_t pc;
    char text[48];
} line[LINES];
static unsigned line_count;

static const char *source_line(uint32_t pc) {
    for (unsigned i = 0; i < line_count; i++)
        if (line[i].pc == pc) return line[i].text;
    return "";
}

static void read_lines(struct graph *g, const struct trace *trace) {
    char command[16 * LINES + 4200], exe[4096];
    ssize_t got = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (got <= 0) return;
    exe[got] = 0;
    int length = snprintf(command, sizeof command, "addr2line -s -e '%s' 2>/dev/null", exe);
    line_count = 0;
    for (unsigned i = 0; i < trace->steps && line_count < LINES; i++) {
        uint32_t pc = graph_at(g, trace->step[i])->pc;
        if (*source_line(pc)) continue;
        line[line_count].pc = pc;
        snprintf(line[line_count++].text, sizeof line[0].text, " ");
        length += snprintf(command + length, sizeof command - (size_t)length, " %x", pc - 1);
    }
    FILE *tool = popen(command, "r");
    if (!tool) return;
    for (unsigned i = 0; i < line_count; i++) {
        char text[256];
        if (!fgets(text, sizeof text, tool)) break;
        text[strcspn(text, " \n")] = 0;
        snprintf(line[i].text, sizeof line[i].text, "%.46s", strchr(text, '?') ? "" : text);
    }
    pclose(tool);
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static const char *value_text(uint64_t value, char *buffer, size_t room) {
    if (value < 1000000) snprintf(buffer, room, "%lu", (unsigned long)value);
    else snprintf(buffer, room, "%#lx", (unsigned long)value);
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
    char name[64], a[32], b[32];
    const char *cell = e->kind <= K_WRITE ? memory_name(cells[e->cell].address, name, sizeof name) : "";
    unsigned stale = e->kind == K_READ ? staleness(g, trace, step) : 0;
    char note[32] = "";
    if (stale) snprintf(note, sizeof note, " (%u behind)", stale);
    if (e->kind == K_FENCE) snprintf(out, room, "fence %s", order_name(e->order));
    else if (e->kind == K_CHOICE) snprintf(out, room, "choose %lu", (unsigned long)e->value);
    else if (e->kind == K_READ && (e->flags & F_RMW))
        snprintf(out, room, "%s: %s -> %s %s%s", cell, value_text(e->value, a, sizeof a), value_text(model_rmw_value(e), b, sizeof b),
                 order_name(e->order), note);
    else if (e->kind == K_READ)
        snprintf(out, room, "%s%s is %s %s%s", cell, e->op == OP_CAS ? " cas fails," : "", value_text(e->value, a, sizeof a),
                 order_name(e->order), note);
    else
        snprintf(out, room, "%s = %s %s%s", cell, value_text(e->value, a, sizeof a), order_name(e->order),
                 e->mo_next == EID_NONE ? "" : " *");
}

void report_trace(const struct chk_scenario *scenario, struct graph *g, const struct trace *trace) {
    unsigned threads = 0, width = 34;
    while (threads < CHK_THREADS && scenario->threads[threads])
        threads++;
    if (threads > 4) width = 26;
    read_lines(g, trace);
    printf("      ");
    for (unsigned t = 0; t < threads; t++)
        printf("| %-*s %u ", (int)width - 3, "thread", t);
    printf("|\n");
    for (unsigned i = 0; i < trace->steps; i++) {
        eid name = trace->step[i];
        const struct event *e = graph_at(g, name);
        if (e->kind == K_WRITE && (e->flags & F_RMW)) continue; /* shown with its read */
        char text[160];
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
    printf("      (\"n behind\": n newer writes of that cell were already made; *: later overtaken in the cell's order)\n");
    printf("      replay: weft check --replay '%s@%s:%s'\n", scenario->name, model_name(model), trace->string);
}
