/* weft_info and weft_each_process: what they tell of processes in every state. */
#include "runtime_helpers.h"

#include "sanitized.h"

#include <weft/weft.h>

static weft_pid stackful(weft_entry entry, void *arg, const char *name) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = rt.runtime, .name = name}, &pid), 0);
    return pid;
}

/* Asks until the process is in the state; in vain, the watchdog ends it. */
static weft_process_info until(weft_pid pid, uint32_t state) {
    weft_process_info info;
    do
        EXPECT_EQ(weft_info(pid, &info), 0);
    while (info.state != state && usleep(50) == 0);
    EXPECT(info.pid == pid);
    return info;
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------ */

static weft_mutex locked = WEFT_MUTEX_INIT;
static void receives(void *arg) {
    weft_msg *message;
    (void)arg;
    if (weft_recv(&message, WEFT_FOREVER) == 0) weft_msg_free(message);
}
static void locks(void *arg) {
    (void)arg;
    if (weft_mutex_lock(&locked, WEFT_FOREVER) == 0) weft_mutex_unlock(&locked);
}
static void joins(void *arg) { weft_join(*(weft_pid *)arg, NULL, WEFT_FOREVER); }

static void waiting(void) {
    EXPECT_EQ(weft_mutex_lock(&locked, 0), 0);
    weft_pid receiver = stackful(receives, NULL, "receiver"), locker = stackful(locks, NULL, NULL),
             joiner = stackful(joins, &receiver, NULL);
    weft_process_info info = until(receiver, WEFT_STATE_WAITING);
    EXPECT(info.stackful && !info.cancelled && !info.pinned && !info.has_messages);
    EXPECT(strcmp(info.name, "receiver") == 0 && strcmp(info.call, "weft_recv") == 0);
    EXPECT(info.entry == (void *)(uintptr_t)receives && !info.about && info.about_pid == WEFT_NOBODY);
    EXPECT_EQ(info.messages, WEFT_UNKNOWN);
    EXPECT_EQ(info.stack_size, 64 << 10);
    EXPECT(info.stack_used > 0 && info.stack_used <= info.stack_size);
    EXPECT(info.since < 3600 * RT_SECOND);
    info = until(locker, WEFT_STATE_WAITING);
    EXPECT(info.about == &locked && !info.name[0] && strcmp(info.call, "weft_mutex_lock") == 0);
    info = until(joiner, WEFT_STATE_WAITING);
    EXPECT(info.about_pid == receiver && !info.about && strcmp(info.call, "weft_join") == 0);
    weft_mutex_unlock(&locked);
    EXPECT_EQ(weft_send(receiver, 1, NULL, 0), 0);
    while (weft_alive(receiver))
        usleep(50);
    EXPECT_EQ(weft_info(receiver, &info), WEFT_ENOPROC);
    EXPECT_EQ(weft_info(receiver ^ UINT64_C(0xff00000000000000), &info), WEFT_EFOREIGN);
    EXPECT(weft_info(WEFT_NOBODY, &info) != 0);
}
TEST(info_of_processes_that_wait) { rt_each(waiting); }

/* ---- running, in a blocking call, interrupted ---------------------------------------------------------------------------- */

static atom_bool over;
static atom_u64 turns_had;
static void computes(void *arg) {
    (void)arg;
    while (!atom_load_acq(&over)) {}
}
static void blocks(void *arg) {
    (void)arg;
    weft_blocking_enter_long();
    while (!atom_load_acq(&over))
        usleep(100);
    weft_blocking_leave();
}
static void yields(void *arg) {
    (void)arg;
    while (!atom_load_acq(&over)) {
        weft_yield();
        atom_add_rlx(&turns_had, 1);
    }
}
TEST(info_of_processes_that_run) {
    rt_start("ring", 3);
    weft_pid running = stackful(computes, NULL, "computes"), blocking = stackful(blocks, NULL, NULL);
    weft_process_info info = until(running, WEFT_STATE_RUNNING);
    while (info.since < 50 * RT_MS || info.since == WEFT_UNKNOWN) /* it grows */
        info = until(running, WEFT_STATE_RUNNING);
    info = until(blocking, WEFT_STATE_BLOCKING);
    EXPECT(strcmp(weft_state_text(info.state), "in a blocking call") == 0);
    EXPECT_EQ(weft_cancel(running), 0);
    EXPECT(until(running, WEFT_STATE_RUNNING).cancelled);
    weft_pid yielding = stackful(yields, NULL, NULL);
    uint32_t turns = until(yielding, WEFT_STATE_RUNNING).turns;
    rt_wait(&turns_had, atom_load_rlx(&turns_had) + 10);
    while (info.turns == turns || info.pid != yielding) /* 65,536 of them are none */
        EXPECT_EQ(weft_info(yielding, &info), 0);
    atom_store_rel(&over, true);
    rt_stop();
}

/* CPU time is measured if the program asks for it. */
static void computes_until(void *nanoseconds) {
    weft_process_info info;
    do
        EXPECT_EQ(weft_info(weft_self(), &info), 0);
    while (info.cpu_time < *(uint64_t *)nanoseconds);
    atom_store_rel(&over, true);
}
TEST(info_of_cpu_time) {
    uint64_t enough = 30 * RT_MS;
    rt_start("ring", 1);
    EXPECT_EQ(until(stackful(receives, NULL, NULL), WEFT_STATE_WAITING).cpu_time, WEFT_UNKNOWN);
    EXPECT(!strstr(rt_dump_text(), " s CPU"));
    rt_stop();
    rt_start_with(&(weft_config){.workers = 2, .seed = 1, .cpu_times = true});
    weft_pid waiting = stackful(receives, NULL, NULL);
    until(waiting, WEFT_STATE_WAITING);
    atom_store_rlx(&over, false);
    stackful(computes_until, &enough, NULL);
    while (!atom_load_acq(&over))
        usleep(1000);
    EXPECT(until(waiting, WEFT_STATE_WAITING).cpu_time < enough); /* one look's interval at most, if any */
    EXPECT(strstr(rt_dump_text(), " s CPU"));
    rt_stop();
}

/* Blocks go from stackful processes to step processes, whose state is no pointer, while all are asked about. */
static int wild_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)input, (void)size;
    memset(self, 0x11, 32);
    return 0;
}
static int wild_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior wild = {.name = "wild", .state_size = 32, .init = wild_init, .step = wild_step};
static void returns(void *arg) { (void)arg; }
static void alternates(void *arg) {
    weft_pid pid;
    (void)arg;
    while (!atom_load_acq(&over)) {
        for (unsigned i = 0; i < 20; i++) {
            weft_spawn(returns, NULL);
            int error = weft_spawn_step(&wild, NULL, &pid);
            EXPECT(error == 0 || error == WEFT_ESTOPPING);
        }
        weft_yield();
        atom_add_rel(&turns_had, 1);
    }
}
static bool look_at(const weft_process_info *info, void *user) {
    (void)user;
    EXPECT(info->pid != WEFT_NOBODY);
    return true;
}
static void reused(void) {
    atom_store_rlx(&over, false);
    atom_store_rlx(&turns_had, 0);
    stackful(alternates, NULL, NULL);
    while (atom_load_acq(&turns_had) < 2000 / RT_SLOW)
        weft_each_process(rt.runtime, look_at, NULL);
    atom_store_rel(&over, true);
}
TEST(info_while_blocks_are_reused) { rt_each(reused); }

TEST(info_of_an_interrupted_process) {
    if (SANITIZED) return; /* the thread sanitizer delays signals; the others slow the loops down */
    rt.runtime = NULL;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1, .preempt = true, .preempt_us = 1000}, &rt.runtime), 0);
    weft_pid one = stackful(computes, NULL, NULL);
    (void)stackful(computes, NULL, NULL);
    until(one, WEFT_STATE_STOPPED);
    while (!strstr(rt_dump_text(), ", interrupted")) /* one of the two is, except while they change; in vain, the time limit ends it */
        usleep(100);
    atom_store_rel(&over, true);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
}

/* ---- a process asks about itself ---------------------------------------------------------------------------------------- */

static int counting_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_process_info info;
    (void)self, (void)events;
    if (count == 0) return 0;
    EXPECT_EQ(weft_send(weft_self(), 3, "abc", 3), 0);
    EXPECT_EQ(weft_info(weft_self(), &info), 0);
    EXPECT(!info.stackful && info.state == WEFT_STATE_RUNNING && strcmp(info.name, "counting") == 0 && info.stack_size == 0);
    EXPECT(info.entry == (void *)(uintptr_t)counting_step && !info.call);
    EXPECT_EQ(info.messages, 1);
    EXPECT_EQ(info.message_bytes, 3);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior counting = {.name = "counting", .step = counting_step};

static bool odd(const weft_msg *message, void *user) {
    (void)user;
    return weft_msg_tag(message) == 5;
}
static atom_u64 asked;
static void asks(void *arg) {
    weft_process_info info;
    weft_msg *message;
    (void)arg;
    for (unsigned i = 0; i < 6; i++)
        EXPECT_EQ(weft_send(weft_self(), i, "12345", i), 0);
    EXPECT_EQ(weft_recv_match(odd, NULL, &message, 0), 0); /* the others are put aside */
    weft_msg_free(message);
    EXPECT_EQ(weft_send(weft_self(), 9, "1", 1), 0);
    weft_pin_begin();
    EXPECT_EQ(weft_info(weft_self(), &info), 0);
    EXPECT(info.stackful && info.pinned && info.has_messages && info.state == WEFT_STATE_RUNNING);
    EXPECT_EQ(info.messages, 6);
    EXPECT_EQ(info.message_bytes, 0 + 1 + 2 + 3 + 4 + 1);
    weft_pin_end();
    atom_add_rel(&asked, 1);
}
static void oneself(void) {
    atom_store_rlx(&asked, 0);
    stackful(asks, NULL, NULL);
    weft_pid pid = rt_spawn(&counting);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    rt_wait(&asked, 1);
    while (weft_alive(pid))
        usleep(50);
}
TEST(info_of_the_caller_counts_its_messages) { rt_each(oneself); }

/* ---- all of them ---------------------------------------------------------------------------------------------------------- */

static int idle_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    if (count > 0) weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior idle = {.name = "idle", .step = idle_step};
static const weft_behavior brief;
static int brief_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_pid child;
    (void)self, (void)events, (void)count;
    if (!atom_load_acq(&over)) weft_spawn_step(&brief, NULL, &child);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior brief = {.name = "brief", .step = brief_step};

enum { IDLERS = 100 };
static bool count_idle(const weft_process_info *info, void *user) {
    EXPECT(info->pid != WEFT_NOBODY && info->state >= WEFT_STATE_READY && info->state <= WEFT_STATE_STOPPED);
    *(unsigned *)user += strcmp(info->name, "idle") == 0;
    return true;
}
static bool first_only(const weft_process_info *info, void *user) {
    *(weft_pid *)user = info->pid;
    return false;
}
static void everyone(void) {
    weft_pid first = WEFT_NOBODY;
    atom_store_rel(&over, false);
    for (unsigned i = 0; i < IDLERS; i++)
        rt_spawn(&idle);
    for (unsigned i = 0; i < 4; i++)
        rt_spawn(&brief);
    for (unsigned round = 0; round < 20; round++) { /* while others come and go */
        unsigned count = 0;
        EXPECT(weft_each_process(rt.runtime, count_idle, &count) >= IDLERS);
        EXPECT_EQ(count, IDLERS);
    }
    EXPECT_EQ(weft_each_process(rt.runtime, first_only, &first), 1);
    EXPECT(first != WEFT_NOBODY);
    atom_store_rel(&over, true);
}
TEST(info_of_each_process_while_others_come_and_go) { rt_each(everyone); }

/* A program that was compiled with another version of the header. */
static bool grown_visit(const weft_process_info *info, void *user) {
    const unsigned char *more = (const unsigned char *)info + sizeof *info;
    for (unsigned i = 0; i < 64; i++)
        EXPECT_EQ(more[i], 0);
    ++*(unsigned *)user;
    return true;
}
TEST(info_of_other_sizes) {
    struct {
        weft_process_info info;
        unsigned char more[64];
    } grown;
    unsigned count = 0;
    rt_start("ring", 1);
    weft_pid pid = rt_spawn(&idle);
    memset(&grown, 0xff, sizeof grown);
    EXPECT_EQ(weft_info_sized(pid, &grown.info, sizeof grown), 0);
    EXPECT(grown.info.pid == pid && grown.more[0] == 0 && grown.more[63] == 0);
    memset(&grown, 0xff, sizeof grown);
    EXPECT_EQ(weft_info_sized(pid, &grown.info, sizeof pid), 0);
    EXPECT(grown.info.pid == pid && grown.info.state == UINT32_MAX);
    EXPECT_EQ(weft_each_process_sized(rt.runtime, grown_visit, &count, sizeof grown), 1);
    EXPECT_EQ(count, 1);
    rt_stop();
}

/* ---- names of functions ----------------------------------------------------------------------------------------------------- */

TEST(info_names_static_functions) {
    char text[160];
    weft_symbol((void *)(uintptr_t)first_only, text, sizeof text);
    EXPECT(strstr(text, "test_info+0x") && strstr(text, "(first_only)"));
    weft_symbol((const char *)(uintptr_t)first_only + 1, text, sizeof text);
    EXPECT(strstr(text, "(first_only+0x1)"));
    weft_symbol((void *)(uintptr_t)snprintf, text, sizeof text);
    EXPECT(strstr(text, "snprintf"));
    EXPECT(strcmp(weft_symbol((void *)16, text, sizeof text), "0x10") == 0);
    weft_symbol((void *)(uintptr_t)first_only, text, 6);
    EXPECT(strcmp(text, "test_") == 0);
}

/* ---- ties --------------------------------------------------------------------------------------------------------------------------- */

static atom_u64 tied;
static void has_ties(void *arg) {
    weft_process_info info;
    weft_pid child;
    uint64_t one, two;
    (void)arg;
    EXPECT_EQ(weft_spawn_with(receives, NULL, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE}, &child), 0);
    EXPECT_EQ(weft_info(child, &info), 0);
    EXPECT(info.parent == weft_self() && info.watchers == 0 && info.monitors == 0 && info.links == 0);
    EXPECT_EQ(weft_monitor(child, 1, &one), 0);
    EXPECT_EQ(weft_monitor(child, 1, &two), 0);
    EXPECT_EQ(weft_info(child, &info), 0);
    EXPECT(info.parent == weft_self() && info.watchers == 2 && info.monitors == 0);
    EXPECT_EQ(weft_info(weft_self(), &info), 0);
    EXPECT(info.parent == WEFT_NOBODY && info.watchers == 0 && info.monitors == 2);
    EXPECT_EQ(weft_demonitor(one, false), 0);
    EXPECT_EQ(weft_info(weft_self(), &info), 0);
    EXPECT_EQ(info.monitors, 1);
    EXPECT_EQ(weft_send(child, 1, NULL, 0), 0);
    EXPECT_EQ(weft_join(child, NULL, WEFT_FOREVER), 0);
    atom_add_rel(&tied, 1);
}
static void with_ties(void) {
    atom_store_rlx(&tied, 0);
    stackful(has_ties, NULL, NULL);
    rt_wait(&tied, 1);
}
TEST(info_counts_ties) { rt_each(with_ties); }

/* Every child knows its parent, however it was spawned, and after the parent's end; `line` has no room for that. */
static weft_pid parent_of(weft_pid pid) {
    weft_process_info info;
    EXPECT_EQ(weft_info(pid, &info), 0);
    EXPECT(info.turns >= 1);
    return info.parent;
}
static weft_pid parents[1], orphans[4];
static void has_children(void *unused) {
    (void)unused;
    parents[0] = weft_self();
    orphans[0] = weft_spawn(receives, NULL);
    orphans[1] = weft_spawn_joinable(receives, NULL);
    EXPECT_EQ(weft_spawn_with(receives, NULL, &(weft_stackful_options){.name = "named"}, &orphans[2]), 0);
    EXPECT_EQ(weft_spawn_step(&idle, NULL, &orphans[3]), 0);
    weft_pid linked = weft_spawn_link(receives, NULL);
    bool is_line = strcmp(rt.policy, "line") == 0;
    for (unsigned i = 0; i < 4; i++)
        EXPECT(parent_of(orphans[i]) == (is_line && i != 1 ? WEFT_NOBODY : parents[0]));
    EXPECT(is_line || parent_of(linked) == parents[0]);
    EXPECT_EQ(weft_send(linked, 1, NULL, 0), 0);
    atom_add_rel(&tied, 1);
}
static void with_parents(void) {
    atom_store_rlx(&tied, 0);
    EXPECT(parent_of(stackful(receives, NULL, NULL)) == WEFT_NOBODY); /* by a thread */
    weft_pid parent = stackful(has_children, NULL, NULL);
    rt_wait(&tied, 1);
    while (weft_alive(parent))
        usleep(50);
    bool is_line = strcmp(rt.policy, "line") == 0;
    for (unsigned i = 0; i < 4; i++)
        EXPECT(parent_of(orphans[i]) == (is_line ? WEFT_NOBODY : parent));
}
TEST(info_tells_the_parent) { rt_each(with_parents); }

/* Turns are counted from the birth on, whatever process had the block before. */
static void lets_others_run(void *times) {
    for (unsigned i = 0; i < *(unsigned *)times; i++)
        weft_yield();
    weft_process_info info;
    EXPECT_EQ(weft_info(weft_self(), &info), 0);
    EXPECT(info.turns >= 1 && info.turns <= *(unsigned *)times + 1); /* a yield to nobody is none */
    atom_add_rel(&tied, 1);
}
TEST(info_counts_turns_from_the_birth_on) {
    rt_start("ring", 1);
    unsigned times[] = {5, 0, 3};
    atom_store_rlx(&tied, 0);
    for (unsigned i = 0; i < 30; i++) { /* the same blocks again and again */
        stackful(lets_others_run, &times[i % 3], NULL);
        rt_wait(&tied, i + 1);
    }
    rt_stop();
}

/* A line of a dump tells what ties a process has. */
static void is_tied(void *unused) {
    uint64_t reference;
    (void)unused;
    weft_pid child = weft_spawn_link(receives, NULL);
    EXPECT_EQ(weft_monitor(child, 1, &reference), 0);
    EXPECT_EQ(weft_register("tied", weft_self()), 0);
    atom_add_rel(&tied, 1);
    receives(NULL);
}
TEST(info_in_a_dump) {
    char wanted[64];
    rt_start("ring", 1);
    atom_store_rlx(&tied, 0);
    weft_pid pid = stackful(is_tied, NULL, NULL);
    rt_wait(&tied, 1);
    until(pid, WEFT_STATE_WAITING);
    snprintf(wanted, sizeof wanted, ", child of %016lx, 1 link, watched by 2, ", (unsigned long)pid);
    EXPECT(strstr(rt_dump_text(), wanted));
    EXPECT(strstr(rt_dump_text(), ", registered as tied, 1 link, 1 monitor, watched by 1, in weft_recv"));
    EXPECT(strstr(rt_dump_text(), ", turns "));
    rt_stop();
}

/* ---- names -------------------------------------------------------------------------------------------------------------------------- */

/* A name is copied: it may be in a buffer of the spawner's, and the next process of a slot does not show it. */
static void named(void) {
    char name[80];
    weft_pid pids[100];
    weft_process_info info;
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "number %u", i);
        pids[i] = stackful(receives, NULL, i % 3 ? name : NULL);
        memset(name, '?', sizeof name);
    }
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "number %u", i);
        EXPECT_EQ(weft_info(pids[i], &info), 0);
        EXPECT(strcmp(info.name, i % 3 ? name : "") == 0);
        EXPECT_EQ(weft_send(pids[i], 1, NULL, 0), 0);
    }
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    weft_pid longest = stackful(receives, NULL, name);
    EXPECT_EQ(weft_info(longest, &info), 0);
    EXPECT(strlen(info.name) == 47 && memcmp(info.name, name, 47) == 0);
    EXPECT_EQ(weft_send(longest, 1, NULL, 0), 0);
}
TEST(info_shows_copies_of_names) { rt_each(named); }

/* What others find it by. */
static void registered(void) {
    weft_process_info info;
    weft_pid pid = stackful(receives, NULL, NULL);
    EXPECT_EQ(weft_info(pid, &info), 0);
    EXPECT_EQ(info.registered[0], '\0');
    EXPECT_EQ(weft_register("first", pid), 0);
    EXPECT_EQ(weft_register("second", pid), 0);
    EXPECT_EQ(weft_info(pid, &info), 0);
    EXPECT(strcmp(info.registered, "second") == 0);
    EXPECT_EQ(weft_unregister(rt.runtime, "second"), 0);
    EXPECT_EQ(weft_info(pid, &info), 0);
    EXPECT(strcmp(info.registered, "first") == 0);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
}
TEST(info_shows_a_registered_name) { rt_each(registered); }

/* Names are read while processes with others come and go in the same slots: what is shown is one of them, whole. */
static atom_u64 come;
static void ends(void *arg) {
    (void)arg;
    atom_add_rel(&come, 1);
}
static bool is_whole(const weft_process_info *info, void *arg) {
    (void)arg;
    size_t length = strlen(info->name);
    EXPECT(length == 0 || length == 47);
    for (size_t i = 0; i < length; i++)
        EXPECT_EQ(info->name[i], info->name[0]);
    return true;
}
static void changing(void) {
    enum { PROCESSES = 20000 / RT_SLOW };
    char name[48] = {0};
    weft_pid pid;
    atom_store_rlx(&come, 0);
    for (unsigned i = 0; i < PROCESSES; i++) {
        memset(name, 'a' + i % 26, 47);
        EXPECT_EQ(weft_spawn_with(ends, NULL, &(weft_stackful_options){.runtime = rt.runtime, .name = name}, &pid), 0);
        if (i % 16 == 0) weft_each_process(rt.runtime, is_whole, NULL);
    }
    rt_wait(&come, PROCESSES);
}
TEST(info_shows_whole_names) { rt_each(changing); }

/* Without memory for a name there is no process. */
static void nameless(void) {
    weft_pid pid;
    weft_stackful_options options = {.runtime = rt.runtime, .name = "named"};
    sys_script.alloc_fail_from = 1;
    int error = weft_spawn_with(receives, NULL, &options, &pid);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(error, WEFT_ENOMEM);
    EXPECT_EQ(weft_spawn_with(receives, NULL, &options, &pid), 0);
    EXPECT_EQ(weft_cancel(pid), 0);
}
TEST(info_no_memory_for_a_name) { rt_each(nameless); }

int main(int argc, char **argv) { return test_main(argc, argv); }
