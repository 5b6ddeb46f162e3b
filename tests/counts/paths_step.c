/* Hot paths of step processes. */
#include "paths.h"

static int step_continues(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    mark();
    weft_out_status(out, WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior continues = {.name = "continues", .step = step_continues};
static void step_yield_path(void *unused) {
    weft_pid pid;
    (void)unused;
    for (unsigned i = 0; i < 2; i++)
        weft_spawn_step(&continues, NULL, &pid);
}

static weft_pid ring[2];
static int step_passes_on(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)out;
    for (size_t i = 0; i < count; i++) {
        weft_send(ring[weft_self() == ring[0]], 0, events[i].data, events[i].size);
        mark();
    }
    return 0;
}
static const weft_behavior passes_on = {.name = "passes on", .step = step_passes_on};
static void step_message_path(void *unused) {
    uint64_t value = 0;
    (void)unused;
    weft_spawn_step(&passes_on, NULL, &ring[0]);
    weft_spawn_step(&passes_on, NULL, &ring[1]);
    weft_send(ring[0], 0, &value, sizeof value);
}

static int step_is_done(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior is_done = {.name = "is done", .step = step_is_done};
static void spawn_some(unsigned some, weft_out *out) {
    weft_pid pid;
    for (unsigned i = 0; i < some; i++)
        weft_spawn_step(&is_done, NULL, &pid);
    mark();
    weft_out_status(out, WEFT_STEP_CONTINUE);
}
static int step_spawns(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    spawn_some(1, out);
    return 0;
}
static int step_spawns_32(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    spawn_some(32, out);
    return 0;
}
static const weft_behavior spawns = {.name = "spawns", .step = step_spawns};
static const weft_behavior spawns_32 = {.name = "spawns 32", .step = step_spawns_32};
static void step_spawn_path(void *unused) {
    weft_pid pid;
    (void)unused;
    weft_spawn_step(&spawns, NULL, &pid);
}
static void step_spawn_32_path(void *unused) {
    weft_pid pid;
    (void)unused;
    weft_spawn_step(&spawns_32, NULL, &pid);
}

/* Sends to itself, and reads all of it later. */
static int step_sends(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint64_t value = 0;
    (void)self, (void)events, (void)count;
    for (unsigned i = 0; i < 32; i++) {
        weft_send(weft_self(), 0, &value, sizeof value);
        mark();
    }
    weft_out_status(out, WEFT_STEP_CONTINUE);
    return 0;
}
static const weft_behavior sends = {.name = "sends", .step = step_sends};
static void step_send_path(void *unused) {
    weft_pid pid;
    (void)unused;
    weft_spawn_step(&sends, NULL, &pid);
}

/* Wakes a process that waits, and does not let it run before the mark. */
static weft_pid sleeper;
static int step_wakes(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    mark();
    weft_send(sleeper, 0, NULL, 0);
    mark();
    weft_out_status(out, WEFT_STEP_CONTINUE);
    return 0;
}
static int step_waits(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return 0;
}
static const weft_behavior wakes = {.name = "wakes", .step = step_wakes}, waits = {.name = "waits", .step = step_waits};
static void step_wake_path(void *unused) {
    weft_pid pid;
    (void)unused;
    weft_spawn_step(&waits, NULL, &sleeper);
    weft_spawn_step(&wakes, NULL, &pid);
}

static int step_hands_over(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        weft_out_handoff(out, ring[weft_self() == ring[0]], 0, events[i].data, events[i].size);
        mark();
    }
    return 0;
}
static const weft_behavior hands_over = {.name = "hands over", .step = step_hands_over};
static void step_handoff_path(void *unused) {
    (void)unused;
    weft_spawn_step(&hands_over, NULL, &ring[0]);
    weft_spawn_step(&hands_over, NULL, &ring[1]);
    weft_send(ring[0], 0, NULL, 0);
}

/* A sleep by a command, due at once. */
static int step_sleeps(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_sleep(out, 0, 1);
    mark();
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior sleeps = {.name = "sleeps", .step = step_sleeps};
static void step_sleep_path(void *unused) {
    weft_pid pid;
    (void)unused;
    weft_spawn_step(&sleeps, NULL, &pid);
}

/* A request by a command, answered by a stackful process. */
static void answers_steps(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_reply(weft_msg_request(message), NULL, 0);
        weft_msg_free(message);
    }
}
static int step_asks(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_ask(out, 0, sleeper, 0, NULL, 0, WEFT_FOREVER);
    mark();
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior asks = {.name = "asks", .step = step_asks};
static void step_ask_path(void *unused) {
    weft_pid pid;
    (void)unused;
    sleeper = weft_spawn(answers_steps, NULL);
    weft_spawn_step(&asks, NULL, &pid);
}

/* A select by a command: of a channel that has an element, and one that has none. */
static weft_chan *full, *empty;
static int step_selects(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint64_t value = 1;
    (void)self, (void)events, (void)count;
    weft_chan_send(full, &value, 0);
    weft_case cases[] = {weft_case_recv(full, NULL), weft_case_recv(empty, NULL)};
    weft_out_select(out, 0, cases, 2, 0, WEFT_FOREVER);
    mark();
    weft_out_status(out, WEFT_STEP_BLOCKED);
    return 0;
}
static const weft_behavior selects_by_command = {.name = "selects", .step = step_selects};
static void step_select_path(void *unused) {
    weft_pid pid;
    (void)unused;
    weft_chan_new(sizeof(uint64_t), 1, &full);
    weft_chan_new(sizeof(uint64_t), 1, &empty);
    weft_spawn_step(&selects_by_command, NULL, &pid);
}

const struct path paths_step[] = {
    {"step-yield", step_yield_path, "ring", 1, 0},
    {"step-message", step_message_path, "ring", 1, 0},
    {"step-message-deque", step_message_path, "deque", 1, 0},
    {"step-message-line", step_message_path, "line", 1, 0},
    {"step-send", step_send_path, "ring", 1, 0},
    {"step-wake", step_wake_path, "ring", 2, 1},
    {"step-handoff", step_handoff_path, "ring", 1, 0},
    {"step-spawn-and-end", step_spawn_path, "ring", 1, 0},
    {"step-spawn-32-and-end", step_spawn_32_path, "ring", 1, 0},
    {"step-sleep", step_sleep_path, "ring", 1, 0},
    {"step-ask", step_ask_path, "ring", 1, 0},
    {"step-select", step_select_path, "ring", 1, 0},
    {NULL, NULL, NULL, 0, 0},
};
