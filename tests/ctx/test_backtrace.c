/* Backtraces: they end at the entry of a flow, and a debugger finds its way from a parked one. */
#include "flow.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

void ctx_start(void);

static struct flow home, one;

/* ---- from within ------------------------------------------------------------------------------------------------- */

struct trace {
    unsigned frames, entries;
    uintptr_t last;
    _Unwind_Reason_Code how;
};

static void traces(void *gift);

static _Unwind_Reason_Code trace_one(struct _Unwind_Context *context, void *arg) {
    struct trace *trace = arg;
    if (_Unwind_GetIP(context) == 0) return _URC_NO_REASON; /* how the end is told */
    trace->frames++;
    trace->last = _Unwind_GetIP(context);
    trace->entries += _Unwind_GetRegionStart(context) == (uintptr_t)traces;
    return trace->frames < 1000 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

static __attribute__((noinline)) void trace_from(unsigned depth, struct trace *trace) {
    if (depth) trace_from(depth - 1, trace);
    else trace->how = _Unwind_Backtrace(trace_one, trace);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void traces(void *gift) {
    annotate_after_switch(&one.annotate);
    for (unsigned depth = 10;; depth += 10) {
        trace_from(depth, gift);
        gift = flow_switch(&one, &home, NULL);
    }
}

/* Past the entry there is one frame, ctx_start, and that is the end: no error, no walk into whatever lies above. */
TEST(backtrace_ends_at_the_entry) {
    flow_home(&home);
    flow_make(&one, traces);
    memset(one.low + FLOW_STACK - 64, 0xa5, 64);
    ctx_make(&one.ctx, one.low + FLOW_STACK - 64, traces);
    for (unsigned depth = 10; depth <= 30; depth += 10) { /* the first is of a new flow, then of one that was resumed */
        struct trace trace = {0, 0, 0, _URC_NO_REASON};
        flow_switch(&home, &one, &trace);
        EXPECT_EQ(trace.how, _URC_END_OF_STACK);
        EXPECT_EQ(trace.entries, 1);
        EXPECT_EQ(trace.frames, depth + 1 + 2); /* the calls, the entry and ctx_start */
        EXPECT(trace.last > (uintptr_t)ctx_start && trace.last < (uintptr_t)ctx_start + 32);
    }
    flow_free(&one);
}

/* ---- with a debugger --------------------------------------------------------------------------------------------- */

/* Not static, so that the debugger sees them in every build. */
struct flow parked_flow;
void parked_entry(void *gift);
void parked_inner(unsigned depth);
void parked_marker(void);

__attribute__((noinline)) void parked_marker(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) void parked_inner(unsigned depth) {
    if (depth) {
        parked_inner(depth - 1);
    } else {
        parked_marker(); /* first stop: within the flow */
        flow_switch(&parked_flow, &home, NULL);
    }
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void parked_entry(void *gift) {
    (void)gift;
    annotate_after_switch(&parked_flow.annotate);
    parked_inner(3);
    flow_end(&parked_flow, &home, NULL);
}

static int be_debugged(void) {
    flow_home(&home);
    flow_make(&parked_flow, parked_entry);
    flow_switch(&home, &parked_flow, NULL);
    parked_marker(); /* second stop: it is parked */
    return 0;
}

/* C3 in ctx/ctx.h, as typed. */
#if defined(__x86_64__)
#define GDB_SET_BASE "-ex 'set $rbx = parked_flow.ctx.frame->base' -ex 'set $rbp = parked_flow.ctx.frame->fp' "
#else
#define GDB_SET_BASE "-ex 'set $x19 = parked_flow.ctx.frame->base' -ex 'set $x29 = parked_flow.ctx.frame->fp' "
#endif
static const char gdb_command[] =
    "timeout 50 gdb -nx -batch -ex 'set confirm off' -ex 'break parked_marker' -ex run -ex 'echo WITHIN\\n' -ex bt "
    "-ex continue -ex 'echo PARKED\\n' " GDB_SET_BASE "-ex 'set $sp = parked_flow.ctx.frame->sp' "
    "-ex 'set $pc = parked_flow.ctx.frame->pc' -ex bt -ex kill --args %s --be-debugged 2>&1";

/* `name` comes next in the text; returns what follows it. */
static const char *then(const char *text, const char *name) {
    const char *at = strstr(text, name);
    if (!at) test_fail(__FILE__, __LINE__, "no %s in the debugger's: %s", name, text);
    return at + strlen(name);
}

static void expect_calls(const char *text) {
    for (unsigned depth = 0; depth <= 3; depth++)
        text = then(text, "parked_inner");
    text = then(then(text, "parked_entry"), "ctx_start");
    const char *end = strstr(text, "PARKED");
    for (const char *at = text; (at = strstr(at, "\n#")); at++) /* no frame after it */
        if (!end || at < end) test_fail(__FILE__, __LINE__, "a frame below the first: %s", at);
}

TEST_WITHIN(backtrace_by_a_debugger, 120) {
    static char command[1024], self[512], text[64 << 10];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    EXPECT(length > 0);
    if (system("gdb --version >/dev/null 2>&1") != 0) {
        printf("skipped: no gdb\n");
        return;
    }
    snprintf(command, sizeof command, gdb_command, self);
    FILE *gdb = popen(command, "r");
    EXPECT(gdb);
    size_t size = fread(text, 1, sizeof text - 1, gdb);
    pclose(gdb);
    text[size] = 0;
    printf("%s", text);
    if (strstr(text, "During startup program exited") || strstr(text, "ptrace: Operation not permitted")) {
        printf("skipped: gdb cannot run this program here\n"); /* an emulated one, or no right to */
        return;
    }
    expect_calls(then(text, "WITHIN"));
    const char *parked = then(text, "PARKED");
    expect_calls(parked);
    EXPECT(!strstr(text, "Backtrace stopped"));
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--be-debugged")) return be_debugged();
    return test_main(argc, argv);
}
