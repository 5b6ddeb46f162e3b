/* Monitors between processes: told exactly once, with the reason; given up, with their notices; owners that end; other runtimes; no memory. */
#include "mailbox_helpers.h"

#include <weft/life.h>

static void exits(void *reason) { weft_exit((int)(intptr_t)reason); }
static void exits_with_words(void *reason) { weft_exit_with((int)(intptr_t)reason, "words", 6); }

/* Ends with its message's tag as the reason, or when cancelled. */
static int mortal_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count == 0) return 0;
    weft_out_status(out, WEFT_STEP_DONE);
    return events[0].type == WEFT_EVENT_MESSAGE ? -(int)events[0].tag : 0;
}
static const weft_behavior mortal = {.name = "mortal", .step = mortal_step};
static weft_pid spawn_mortal(void) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_step(&mortal, NULL, &pid), 0);
    return pid;
}

/* The next message is the notice of this monitor. */
static void expect_down(uint64_t tag, weft_pid pid, uint64_t reference, int code) {
    weft_msg *message;
    EXPECT_EQ(weft_recv_tag(tag, &message, WEFT_FOREVER), 0);
    const weft_notice *notice = weft_msg_notice(message);
    EXPECT(notice && weft_msg_data(message) == notice && weft_msg_len(message) == sizeof *notice);
    EXPECT_EQ(notice->kind, WEFT_NOTICE_DOWN);
    EXPECT(notice->pid == pid && weft_msg_from(message) == pid);
    EXPECT_EQ(notice->reference, reference);
    EXPECT_EQ(notice->reason.code, code);
    weft_msg_free(message);
}
static void expect_nothing(void) {
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT);
}

static void is_told(void *unused) {
    uint64_t one, two;
    (void)unused;
    for (unsigned i = 1; i < 50; i++) {
        weft_pid pid = spawn_mortal();
        EXPECT_EQ(weft_monitor(pid, i, &one), 0);
        EXPECT_EQ(weft_monitor(pid, i, &two), 0);
        EXPECT(one != two && one && two);
        EXPECT_EQ(weft_send(pid, i, NULL, 0), 0);
        weft_msg *first, *second;
        EXPECT_EQ(weft_recv(&first, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_recv(&second, WEFT_FOREVER), 0);
        const weft_notice *a = weft_msg_notice(first), *b = weft_msg_notice(second);
        EXPECT(a->reference + b->reference == one + two && a->reference != b->reference);
        EXPECT(a->reason.code == -(int)i && b->reason.code == -(int)i && a->pid == pid && b->pid == pid);
        weft_msg_free(first);
        weft_msg_free(second);
        EXPECT_EQ(weft_monitor(pid, i, &one), 0); /* it has ended */
        expect_down(i, pid, one, WEFT_ENOPROC);
    }
}
static void is_told_body(void) { EXPECT_EQ(run(is_told, NULL), 0); }
TEST(monitor_is_told) { rt_each(is_told_body); }

static void born_monitored(void *unused) {
    uint64_t reference;
    (void)unused;
    for (intptr_t i = 0; i < 50; i++) {
        weft_pid pid = weft_spawn_monitor(exits, (void *)i, 7, &reference);
        EXPECT(pid != WEFT_NOBODY);
        expect_down(7, pid, reference, (int)i);
        weft_stackful_options both = {.flags = WEFT_SPAWN_MONITOR | WEFT_SPAWN_JOINABLE, .monitor = {8, &reference}};
        int reason;
        EXPECT_EQ(weft_spawn_with(exits, (void *)i, &both, &pid), 0);
        EXPECT_EQ(weft_join(pid, &reason, WEFT_FOREVER), 0);
        EXPECT_EQ(reason, i);
        expect_down(8, pid, reference, (int)i);
        weft_spawn_options step = {.flags = WEFT_SPAWN_MONITOR, .monitor = {9, NULL}};
        EXPECT_EQ(weft_spawn_step(&mortal, &step, &pid), 0);
        EXPECT_EQ(weft_cancel(pid), 0);
        weft_msg *message;
        EXPECT_EQ(weft_recv_tag(9, &message, WEFT_FOREVER), 0);
        EXPECT(weft_msg_notice(message)->pid == pid && weft_msg_notice(message)->reason.code == 0);
        weft_msg_free(message);
    }
    expect_nothing();
}
static void born_monitored_body(void) { EXPECT_EQ(run(born_monitored, NULL), 0); }
TEST(monitor_from_birth_on) { rt_each(born_monitored_body); }

/* init fails, or its spawner ends in there: the monitor is gone, and nothing is told. */
static int init_fails(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    return -7;
}
static int init_exits(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    weft_exit(5);
}
static const weft_behavior unborn = {.name = "unborn", .init = init_fails, .step = mortal_step};
static const weft_behavior fatal = {.name = "fatal", .init = init_exits, .step = mortal_step};
static void spawns_unborn(void *behavior) {
    uint64_t reference;
    weft_pid pid;
    weft_spawn_options options = {.flags = WEFT_SPAWN_MONITOR | WEFT_SPAWN_JOINABLE, .monitor = {9, &reference}};
    EXPECT_EQ(weft_spawn_step(behavior, &options, &pid), -7);
    expect_nothing();
}
static void unborn_body(void) {
    EXPECT_EQ(run(spawns_unborn, (void *)&unborn), 0);
    EXPECT_EQ(run(spawns_unborn, (void *)&fatal), 5);
    weft_pid pid;
    weft_spawn_options outside = {.runtime = rt.runtime, .flags = WEFT_SPAWN_MONITOR};
    EXPECT_EQ(weft_spawn_step(&mortal, &outside, &pid), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_monitor(pid, 0, NULL), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_demonitor(1, true), WEFT_ENOTINSIDE);
}
TEST(monitor_of_a_birth_that_fails) { rt_each(unborn_body); }

/* ---- given up ------------------------------------------------------------------------------------------------------------ */

static void gives_up(void *unused) {
    uint64_t one, two;
    (void)unused;
    for (unsigned round = 0; round < 20; round++) {
        weft_pid pid = spawn_mortal();
        EXPECT_EQ(weft_monitor(pid, 1, &one), 0);
        EXPECT_EQ(weft_monitor(pid, 2, &two), 0);
        EXPECT_EQ(weft_demonitor(one, round % 2), 0);
        EXPECT_EQ(weft_demonitor(one, round % 2), WEFT_ENOENT);
        EXPECT_EQ(weft_send(pid, 4, NULL, 0), 0);
        expect_down(2, pid, two, -4);
        EXPECT_EQ(weft_demonitor(two, true), WEFT_ENOENT); /* received already */
        expect_nothing();
    }
}
static void gives_up_body(void) { EXPECT_EQ(run(gives_up, NULL), 0); }
TEST(monitor_is_given_up) { rt_each(gives_up_body); }

/* The notice is in the mailbox: between others, among those put aside, and not at all. */
static void send_self(uint64_t tag) { EXPECT_EQ(weft_send(weft_self(), tag, NULL, 0), 0); }
static void flushes(void *unused) {
    uint64_t reference, other;
    (void)unused;
    for (unsigned round = 0; round < 8; round++) {
        weft_pid pid = weft_spawn_joinable(exits, NULL);
        EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
        if (round & 1) send_self(10);
        EXPECT_EQ(weft_monitor(pid, 1, &reference), 0);
        EXPECT_EQ(weft_monitor(pid, 2, &other), 0);
        if (round & 2) send_self(11);
        if (round & 4) {
            send_self(12);
            expect_tag(12); /* the others are put aside */
        }
        EXPECT_EQ(weft_demonitor(reference, false), WEFT_ENOENT);
        EXPECT_EQ(weft_demonitor(reference, true), WEFT_ENOENT);
        send_self(13);
        if (round & 1) expect_next(10);
        expect_down(2, pid, other, WEFT_ENOPROC);
        if (round & 2) expect_next(11);
        expect_next(13);
        expect_nothing();
    }
}
static void flushes_body(void) { EXPECT_EQ(run(flushes, NULL), 0); }
TEST(monitor_is_flushed) { rt_each(flushes_body); }

/* A step process: its notices are events. Monitors the process whose PID comes as a message; tag 2: gives up, with the notice. */
struct sentinel {
    uint64_t reference;
    weft_pid pid, report_to;
};
static int sentinel_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct sentinel *sentinel = self;
    for (size_t i = 0; i < count; i++) {
        const weft_notice *notice = weft_event_notice(&events[i]);
        if (notice) {
            EXPECT(events[i].type == WEFT_EVENT_NOTICE && events[i].from == sentinel->pid && notice->pid == sentinel->pid);
            EXPECT_EQ(notice->reference, sentinel->reference);
            weft_send(sentinel->report_to, 100, &notice->reason.code, sizeof notice->reason.code);
        } else if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag == 1) {
            memcpy(&sentinel->pid, events[i].data, sizeof sentinel->pid);
            sentinel->report_to = events[i].from;
            EXPECT_EQ(weft_monitor(sentinel->pid, 5, &sentinel->reference), 0);
            weft_send(events[i].from, 101, NULL, 0);
        } else if (events[i].type == WEFT_EVENT_MESSAGE) {
            int error = weft_demonitor(sentinel->reference, true);
            weft_send(events[i].from, 102, &error, sizeof error);
        } else {
            weft_out_status(out, WEFT_STEP_DONE);
        }
    }
    return 0;
}
static const weft_behavior sentinel = {.name = "sentinel", .state_size = sizeof(struct sentinel), .step = sentinel_step};

static int expect_code(uint64_t tag) {
    weft_msg *message;
    int code;
    EXPECT_EQ(weft_recv_tag(tag, &message, WEFT_FOREVER), 0);
    memcpy(&code, weft_msg_data(message), sizeof code);
    weft_msg_free(message);
    return code;
}
static void step_owner(void *unused) {
    weft_pid step, pid;
    (void)unused;
    EXPECT_EQ(weft_spawn_step(&sentinel, NULL, &step), 0);
    for (unsigned round = 0; round < 20; round++) {
        pid = round % 2 ? spawn_mortal() : weft_spawn(sleeper, NULL);
        EXPECT_EQ(weft_send(step, 1, &pid, sizeof pid), 0);
        expect_tag(101);
        if (round % 4 < 2) {
            weft_cancel(pid);
            EXPECT_EQ(expect_code(100), 0);
            EXPECT_EQ(weft_send(step, 2, NULL, 0), 0);
            EXPECT_EQ(expect_code(102), WEFT_ENOENT);
        } else {
            EXPECT_EQ(weft_send(step, 2, NULL, 0), 0);
            EXPECT_EQ(expect_code(102), 0);
            weft_cancel(pid);
        }
    }
    expect_nothing();
    weft_cancel(step);
}
static void step_owner_body(void) { EXPECT_EQ(run(step_owner, NULL), 0); }
TEST(monitor_of_a_step_process) { rt_each(step_owner_body); }

/* ---- details, order, owners that end ----------------------------------------------------------------------------------------- */

static void details(void *unused) {
    uint64_t reference;
    weft_msg *message;
    (void)unused;
    weft_spawn_monitor(exits_with_words, (void *)6, 3, &reference);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    const weft_reason *reason = &weft_msg_notice(message)->reason;
    EXPECT(reason->code == 6 && reason->size == 6 && strcmp(reason->data, "words") == 0);
    weft_msg_free(message);
    weft_spawn_monitor(exits_with_words, (void *)6, 3, &reference); /* left in the mailbox */
    run_others();
}
static void details_body(void) { EXPECT_EQ(run(details, NULL), 0); }
TEST(monitor_tells_details) { rt_each(details_body); }

/* What a process has sent comes before the notice of its end. */
static void sends_and_ends(void *to) {
    for (uint64_t i = 0; i < 20; i++)
        EXPECT_EQ(weft_send(*(weft_pid *)to, 50 + i, NULL, 0), 0);
}
static void in_order(void *unused) {
    weft_pid self = weft_self();
    (void)unused;
    for (unsigned round = 0; round < 50; round++) {
        uint64_t reference;
        weft_pid pid = weft_spawn_monitor(sends_and_ends, &self, 9, &reference);
        for (uint64_t i = 0; i < 20; i++)
            expect_next(50 + i);
        weft_msg *message;
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        EXPECT(weft_msg_notice(message) && weft_msg_from(message) == pid);
        weft_msg_free(message);
    }
}
static void in_order_body(void) { EXPECT_EQ(run(in_order, NULL), 0); }
TEST(monitor_comes_after_messages) { rt_each(in_order_body); }

/* Owners and targets end in any order, at the same time. */
struct pair {
    weft_pid target;
    uint64_t pause;
};
static void monitors_and_ends(void *arg) {
    struct pair pair = *(struct pair *)arg;
    uint64_t reference;
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_monitor(pair.target, i, &reference), 0);
    weft_sleep(pair.pause);
    if (pair.pause % 2) weft_demonitor(reference, pair.pause % 3);
}
static void ends_after(void *pause) { weft_sleep((uint64_t)(uintptr_t)pause); }
static void ending_pairs(void *unused) {
    enum { N = 100 };
    static struct pair pairs[N];
    weft_pid owners[N];
    (void)unused;
    for (unsigned round = 0; round < 10 / RT_SLOW + 1; round++) {
        for (unsigned i = 0; i < N; i++) {
            pairs[i] = (struct pair){weft_spawn(ends_after, (void *)(uintptr_t)((i * 37) % 100 * 1000)), (i * 61) % 100 * 1000 + i % 6};
            owners[i] = weft_spawn(monitors_and_ends, &pairs[i]);
        }
        for (unsigned i = 0; i < N; i++)
            run_join(owners[i]), run_join(pairs[i].target);
    }
}
static void ending_pairs_body(void) { EXPECT_EQ(run(ending_pairs, NULL), 0); }
TEST(monitor_while_owner_and_target_end) { rt_each(ending_pairs_body); }

/* Exactly one notice for each monitor that was not given up in time. */
static void counts_notices(void *unused) {
    enum { N = 200 };
    uint64_t references[N];
    (void)unused;
    for (unsigned round = 0; round < 10 / RT_SLOW + 1; round++) {
        unsigned due = N, told = 0;
        for (unsigned i = 0; i < N; i++)
            EXPECT(weft_spawn_monitor(ends_after, (void *)(uintptr_t)(i % 7 * 10000), i, &references[i]) != WEFT_NOBODY);
        for (unsigned i = 0; i < N; i += 3)
            if (weft_demonitor(references[i], false) == 0) due--;
        for (weft_msg *message; told < due; told++) {
            EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
            uint64_t i = weft_msg_tag(message);
            EXPECT(i < N && weft_msg_notice(message)->reference == references[i]);
            references[i] = 0; /* not again */
            weft_msg_free(message);
        }
        weft_sleep(WEFT_MILLISECOND);
        expect_nothing();
    }
}
static void counts_notices_body(void) { EXPECT_EQ(run(counts_notices, NULL), 0); }
TEST(monitor_tells_each_once) { rt_each(counts_notices_body); }

/* ---- another runtime --------------------------------------------------------------------------------------------------------- */

static weft_runtime *other;
static weft_pid spawn_there(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = other}, &pid), 0);
    return pid;
}
static void monitors_there(void *unused) {
    uint64_t reference, given_up;
    (void)unused;
    for (unsigned i = 0; i < 30; i++) {
        weft_pid pid = spawn_there(sleeper, NULL);
        EXPECT_EQ(weft_monitor(pid, 4, &reference), 0);
        EXPECT_EQ(weft_monitor(pid, 4, &given_up), 0);
        EXPECT_EQ(weft_demonitor(given_up, false), 0);
        weft_cancel(pid);
        expect_down(4, pid, reference, 0);
        weft_stackful_options options = {.runtime = other, .flags = WEFT_SPAWN_MONITOR, .monitor = {5, &reference}};
        EXPECT_EQ(weft_spawn_with(exits, (void *)3, &options, &pid), 0);
        expect_down(5, pid, reference, 3);
    }
    for (unsigned i = 0; i < 30; i++) /* given up by its end */
        EXPECT_EQ(weft_monitor(spawn_there(sleeper, NULL), 4, &reference), 0);
}
static void waits_for_the_end_of_the_other(void *told) {
    weft_pid pid = spawn_there(sleeper, NULL);
    uint64_t reference;
    EXPECT_EQ(weft_monitor(pid, 4, &reference), 0);
    atom_store_rel((atom_u64 *)told, 1);
    weft_msg *message;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_notice(message)->reference, reference);
    weft_msg_free(message);
    int error = weft_monitor(pid, 4, &reference); /* its runtime has gone, or is about to */
    EXPECT(error == WEFT_EFOREIGN || error == 0);
    if (!error) expect_down(4, pid, reference, WEFT_ENOPROC);
    expect_nothing();
}
TEST(monitor_in_another_runtime) {
    rt_start("ring", 2);
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2}, &other), 0);
    EXPECT_EQ(run(monitors_there, NULL), 0);
    atom_u64 told = {0};
    weft_pid pid = run_flags(waits_for_the_end_of_the_other, &told, WEFT_SPAWN_JOINABLE);
    rt_wait(&told, 1);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    rt_stop();
}
/* Calls that are given up at the moment at which the other's runtime is taken down: the record on the caller's stack is not told later. */
static void gives_up_on_the_other(void *target) {
    weft_msg *reply;
    for (uint64_t i = 1; weft_alive(*(weft_pid *)target); i++) {
        uint64_t deadline = weft_in(i * 7919 % 300 * WEFT_MICROSECOND);
        int error = i % 2 ? weft_join(*(weft_pid *)target, NULL, deadline) : weft_call(*(weft_pid *)target, 1, NULL, 0, &reply, deadline);
        EXPECT(error == WEFT_ETIMEDOUT || error == WEFT_ENOPROC || error == WEFT_EFOREIGN || (error == 0 && i % 2));
    }
}
static void stays_until_forced(void *unused) {
    (void)unused;
    weft_shield_begin();
    weft_sleep(WEFT_FOREVER);
}
TEST(calls_to_a_runtime_that_goes) {
    rt_start("ring", 2);
    for (unsigned round = 0; round < 10; round++) {
        EXPECT_EQ(weft_start(&(weft_config){.workers = 1, .grace_ms = 1}, &other), 0);
        weft_pid target = spawn_there(stays_until_forced, NULL), callers[6];
        for (unsigned i = 0; i < 6; i++)
            callers[i] = run_flags(gives_up_on_the_other, &target, WEFT_SPAWN_JOINABLE);
        weft_stop(other, NULL, weft_in(WEFT_MILLISECOND)); /* its process is left, and taken down with the runtime */
        for (unsigned i = 0; i < 6; i++)
            EXPECT_EQ(weft_join(callers[i], NULL, WEFT_FOREVER), 0);
    }
    rt_stop();
}
/* The owners' runtime goes first, while the targets end. */
static void monitors_many_there(void *target) {
    for (unsigned i = 0; i < 50; i++)
        EXPECT_EQ(weft_monitor(*(weft_pid *)target, i, NULL), 0);
    weft_sleep(WEFT_FOREVER);
}
TEST(monitor_from_a_runtime_that_goes) {
    rt_start("ring", 2);
    for (unsigned round = 0; round < 10; round++) {
        weft_pid target = run_spawn(sleeper, NULL);
        EXPECT_EQ(weft_start(&(weft_config){.workers = 2}, &other), 0);
        for (unsigned i = 0; i < 10; i++)
            spawn_there(monitors_many_there, &target);
        rt_pause(round * 100000);
        weft_cancel(target);
        EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    }
    rt_stop();
}

/* ---- no memory ----------------------------------------------------------------------------------------------------------------- */

static void without_memory(void *unused) {
    uint64_t reference;
    (void)unused;
    for (unsigned at = 1; at < 20; at++) {
        weft_pid pid = weft_spawn(sleeper, NULL), born = WEFT_NOBODY;
        weft_stackful_options options = {.flags = WEFT_SPAWN_MONITOR, .monitor = {3, &reference}};
        sys_script.alloc_fail_at = at;
        int error = weft_monitor(pid, 2, &reference), spawned = weft_spawn_with(sleeper, NULL, &options, &born);
        weft_cancel(pid);
        if (born) weft_cancel(born);
        EXPECT(error == 0 || error == WEFT_ENOMEM);
        EXPECT(spawned == 0 || spawned == WEFT_ENOMEM);
        for (unsigned due = !error + !spawned; due > 0; due--) {
            weft_msg *message;
            EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
            EXPECT(weft_msg_notice(message)->pid == (weft_msg_tag(message) == 2 ? pid : born));
            weft_msg_free(message);
        }
        sys_script.alloc_fail_at = 0;
        expect_nothing();
    }
}
TEST(monitor_refused_for_want_of_memory) {
    rt_start("ring", 1);
    EXPECT_EQ(run(without_memory, NULL), 0);
    rt_stop();
}

/* Once there is a monitor, its notice comes, memory or not. */
static void told_without_memory(void *unused) {
    static atom_bool begun;
    uint64_t reference;
    (void)unused;
    weft_pid pid = weft_spawn(begins_and_sleeps, &begun);
    while (!atom_load_acq(&begun))
        weft_yield();
    EXPECT_EQ(weft_monitor(pid, 2, &reference), 0);
    sys_script.alloc_fail_from = 1;
    weft_cancel(pid);
    expect_down(2, pid, reference, 0);
    sys_script.alloc_fail_from = 0;
}
TEST(monitor_is_told_without_memory) {
    rt_start("ring", 1);
    EXPECT_EQ(run(told_without_memory, NULL), 0);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
