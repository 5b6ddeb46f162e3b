/* Supervisors of children that fault: they are started again, and why they ended is shown. */
#include "super_helpers.h"
#include "victim.h"

enum { ORDER_FAULT = 7 };
static int *volatile null_pointer = (int *)16;
static __attribute__((noinline)) void write_null(void) { *(volatile int *)null_pointer = 1; }

static void faulty(void *unused) {
    weft_msg *message;
    (void)unused;
    weft_ready(0);
    int error = weft_recv_tag(ORDER_FAULT, &message, WEFT_FOREVER);
    if (error) weft_exit(error);
    weft_msg_free(message);
    write_null();
    weft_exit(1);
}
static int faulty_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag == ORDER_FAULT) write_null();
    bool over = count > 0 && events[0].type == WEFT_EVENT_CANCEL;
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_IDLE);
    return 0;
}
static const weft_behavior faulty_behavior = {.name = "faulty", .step = faulty_step};

static weft_child_info info_of(weft_pid super, unsigned which) {
    weft_child_info children[4];
    EXPECT_EQ(weft_super_children(super, children, 4, WEFT_FOREVER), 2);
    return children[which];
}

static void expect_dump(weft_pid super, const char *text) {
    static char line[512];
    FILE *file = tmpfile();
    unsigned found = 0;
    EXPECT(file != NULL);
    EXPECT_EQ(weft_super_dump(super, fileno(file), WEFT_FOREVER), 0);
    rewind(file);
    while (fgets(line, sizeof line, file))
        found += strstr(line, text) != NULL;
    EXPECT_EQ(found, 2);
    fclose(file);
}

static void restarts_each(void *unused) {
    enum { TIMES = 3 };
    const weft_child_spec children[] = {{.id = "stackful", .entry = faulty, .ready = true}, {.id = "step", .behavior = &faulty_behavior}};
    (void)unused;
    weft_pid super = super_started(&SPEC(children, .intensity = 2 * TIMES, .period_ms = 3600000));
    for (unsigned i = 0; i < 2 * TIMES; i++) {
        weft_child_info before = info_of(super, i % 2), after;
        EXPECT(before.pid != WEFT_NOBODY);
        EXPECT_EQ(weft_send(before.pid, ORDER_FAULT, NULL, 0), 0);
        for (;; weft_sleep(WEFT_MILLISECOND)) {
            after = info_of(super, i % 2);
            if (after.pid != before.pid && after.pid != WEFT_NOBODY) break;
        }
        EXPECT_EQ(after.restarts, before.restarts + 1);
        EXPECT_EQ(after.last, WEFT_EFAULTED);
        EXPECT_EQ(after.last_signal, SIGSEGV);
        EXPECT(after.last_address == null_pointer);
    }
    expect_dump(super, "last end: fault: SIGSEGV at 0x10");
    uint64_t reference;
    EXPECT_EQ(weft_monitor(super, 1, &reference), 0);
    EXPECT_EQ(weft_send(info_of(super, 0).pid, ORDER_FAULT, NULL, 0), 0);
    expect_tag(1); /* one too many: it gives up */
}
static void restarts_each_body(void) {
    reports_begin();
    EXPECT_EQ(run(restarts_each, NULL), 0);
    EXPECT_EQ(reports_with("gives up"), 1);
    EXPECT_EQ(reports_with("the last of child stackful: fault: SIGSEGV at 0x10"), 1);
    reports_end();
}
TEST(super_restarts_children_that_fault) {
    if (SANITIZED) return; /* faults are not contained there */
    setenv("WEFT_CONTAIN_FAULTS", "1", 1);
    rt_each(restarts_each_body);
    unsetenv("WEFT_CONTAIN_FAULTS");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
