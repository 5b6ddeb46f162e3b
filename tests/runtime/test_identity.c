/* Runtimes that come and go in one program: what is left of a former one means no process in a later one, and what the program kept of it
 * is still the program's. */
#include "mailbox_helpers.h"

#include "sched/runtime.h"

enum { RUNTIMES = 2 * INSTANCES + 10 }; /* each instance at least twice */

static void start(void) { rt_start("ring", 1); }

/* ---- PIDs and timers ------------------------------------------------------------------------------------------------- */

static atom_u64 heard;
static int hear(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        else atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior listener = {.name = "listener", .step = hear};

static weft_pid pids[RUNTIMES];
static weft_timer timers[RUNTIMES];

static void expect_no_process(weft_pid pid) {
    int error = weft_send(pid, 1, NULL, 0);
    EXPECT(error == WEFT_EFOREIGN || error == WEFT_ENOPROC);
    error = weft_cancel(pid);
    EXPECT(error == WEFT_EFOREIGN || error == WEFT_ENOPROC);
    EXPECT(!weft_alive(pid));
}

TEST(identity_a_pid_of_a_former_runtime_means_no_process) {
    for (unsigned i = 0; i < RUNTIMES; i++) {
        start();
        pids[i] = rt_spawn(&listener);
        for (unsigned k = i > INSTANCES ? i - INSTANCES - 1 : 0; k < i; k++)
            expect_no_process(pids[k]);
        EXPECT(weft_alive(pids[i]));
        rt_stop();
    }
    EXPECT_EQ(atom_load_rlx(&heard), 0);
}

/* Where the only process of a runtime came and went several times, those of the next begin above all of them. */
TEST(identity_generations_go_on) {
    enum { EACH = 1500 }; /* more than a magazine's batches, so that slots are used again */
    uint32_t newest[INSTANCES] = {0};
    for (unsigned i = 0; i < INSTANCES + 5; i++) {
        start();
        for (unsigned k = 0; k < (i < 5 ? EACH : 1); k++) {
            weft_pid pid = rt_spawn(&listener);
            EXPECT(pid_generation(pid) > newest[pid_instance(pid)] || i < INSTANCES);
            if (i < INSTANCES && pid_generation(pid) > newest[pid_instance(pid)]) newest[pid_instance(pid)] = pid_generation(pid);
            EXPECT_EQ(weft_cancel(pid), 0);
            if (k % 256 == 0) rt_wait_until_none_lives();
        }
        rt_stop();
    }
}

TEST(identity_a_timer_of_a_former_runtime_is_not_there) {
    for (unsigned i = 0; i < RUNTIMES; i++) {
        start();
        weft_pid pid = rt_spawn(&listener);
        EXPECT_EQ(weft_after(3600 * RT_SECOND, pid, 1, NULL, 0, &timers[i]), 0);
        for (unsigned k = i > INSTANCES ? i - INSTANCES - 1 : 0; k < i; k++)
            EXPECT_EQ(weft_timer_cancel(timers[k]), WEFT_ENOENT);
        if (i % 2) EXPECT_EQ(weft_timer_cancel(timers[i]), 0);
        rt_stop();
    }
}

/* ---- messages -------------------------------------------------------------------------------------------------------- */

enum { KEPT = 5 };
static weft_msg *kept[KEPT];
static atom_u64 released;
static char buffer[] = "moved, not copied";

static void release(void *moved, size_t size, void *user) {
    EXPECT(moved == buffer && size == sizeof buffer && !user);
    atom_add_rel(&released, 1);
}

static const size_t sizes[KEPT - 1] = {0, 8, 500, 100000};
static void keeper(void *unused) {
    static char data[100000];
    (void)unused;
    memset(data, 'k', sizeof data);
    for (unsigned i = 0; i < KEPT - 1; i++) {
        EXPECT_EQ(weft_send(weft_self(), i, data, sizes[i]), 0);
        EXPECT_EQ(weft_recv(&kept[i], WEFT_FOREVER), 0);
    }
    EXPECT_EQ(weft_send_move(weft_self(), KEPT - 1, buffer, sizeof buffer, release, NULL), 0);
    EXPECT_EQ(weft_recv(&kept[KEPT - 1], WEFT_FOREVER), 0);
}

static void keep_and_stop(void) {
    start();
    EXPECT_EQ(run(keeper, NULL), 0);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
    rt_watch_end();
}

/* Beside what is kept, so without counting anew. */
static void start_again(void) {
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2}, &rt.runtime), 0);
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
}

static void look_at_kept(void) {
    for (unsigned i = 0; i < KEPT - 1; i++) {
        EXPECT_EQ(weft_msg_tag(kept[i]), i);
        EXPECT_EQ(weft_msg_len(kept[i]), sizes[i]);
        for (size_t at = 0; at < sizes[i]; at++)
            EXPECT_EQ(((char *)weft_msg_data(kept[i]))[at], 'k');
    }
    EXPECT(weft_msg_data(kept[KEPT - 1]) == buffer);
    EXPECT_EQ(atom_load_acq(&released), 0);
}

static void free_kept(void *unused) {
    (void)unused;
    look_at_kept();
    for (unsigned i = 0; i < KEPT; i++)
        weft_msg_free(kept[i]);
    EXPECT_EQ(atom_load_acq(&released), 1);
}

TEST(identity_a_message_outlives_its_runtime) {
    keep_and_stop();
    free_kept(NULL);
    EXPECT_EQ(sys_scripted_live(), 0);
}

TEST(identity_a_message_is_freed_in_a_later_runtime) {
    keep_and_stop();
    start_again();
    EXPECT_EQ(run(free_kept, NULL), 0);
    rt_stop();
}

TEST(identity_a_message_is_freed_beside_a_later_runtime) {
    keep_and_stop();
    start_again();
    free_kept(NULL);
    rt_stop();
}

/* When its instance has become another runtime's. */
TEST(identity_a_message_outlives_its_instance) {
    keep_and_stop();
    weft_runtime *others[INSTANCES];
    for (unsigned i = 0; i < INSTANCES; i++)
        EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &others[i]), 0);
    free_kept(NULL);
    for (unsigned i = 0; i < INSTANCES; i++)
        EXPECT_EQ(weft_stop(others[i], NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(sys_scripted_live(), 0);
}

TEST(identity_no_message_is_freed_without_harm) { weft_msg_free(NULL); }

int main(int argc, char **argv) { return test_main(argc, argv); }
