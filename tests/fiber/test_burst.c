/* The memory of a burst of messages goes back while the runtime goes on: when it is idle, and when it is busy with other things. */
#include "mailbox_helpers.h"

#include "proc/message.h"

enum { LITTLE = 40 };

/* Small ones fill more chunks than LITTLE, in every build; scaled up it is a long burst. */
static unsigned burst_size(void) { return RT_SLOW > 1 ? 37500 : test_scale() > 1 ? 300000 : 75000; }

static atom_u64 received;

static void receiver(void *unused) {
    (void)unused;
    weft_msg *message;
    unsigned count = burst_size();
    for (unsigned i = 0; i < count; i++) {
        if (i == 0) EXPECT_EQ(weft_recv_tag(count - 1, &message, WEFT_FOREVER), 0); /* all of them are there at once */
        else EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
    atom_add_rel(&received, 1);
}

static uint64_t burst(size_t size) {
    static char data[1000];
    atom_store_rlx(&received, 0);
    weft_pid pid = run_spawn(receiver, NULL);
    for (unsigned i = 0, count = burst_size(); i < count; i++)
        EXPECT_EQ(weft_send(pid, i, data, size), 0);
    uint64_t most = sys_scripted_live();
    rt_wait(&received, 1);
    run_join(pid);
    return most;
}

/* Until what is left is little; in vain, the watchdog ends it. */
static void expect_little(uint64_t before) {
    while (sys_scripted_live() > before + LITTLE)
        usleep(1000);
}

static void burst_body(void) {
    uint64_t before = sys_scripted_live();
    for (unsigned round = 0; round < 2; round++) {
        size_t size = round ? 500 : 16;
        EXPECT(burst(size) > burst_size() * (size + sizeof(struct message)) / SYS_CHUNK);
        expect_little(before);
    }
}
TEST(burst_goes_back_when_idle) { rt_each(burst_body); }

static atom_bool busy_ends;
static void busy(void *unused) {
    (void)unused;
    weft_msg *message;
    while (!atom_load_rlx(&busy_ends)) {
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
        weft_yield();
    }
}
static void busy_body(void) {
    atom_store_rlx(&busy_ends, false);
    weft_pid pids[2] = {run_spawn(busy, NULL), run_spawn(busy, NULL)};
    burst_body();
    atom_store_rlx(&busy_ends, true);
    for (unsigned i = 0; i < 2; i++)
        run_join(pids[i]);
}
/* Memory goes back after a second, and all that time the processes compute: one number of workers for each policy, and more when scaled up. */
static void busy_case(const char *policy, unsigned workers) {
    if (workers == 2 || test_scale() > 1) rt_run(busy_body, policy, workers);
}
TEST(burst_goes_back_when_busy) { rt_cases(busy_case); }

/* Once it is all back the runtime uses no time, as ever: nothing that gives memory back goes on for ever. */
static void quiet_body(void) {
    uint64_t before = sys_scripted_live();
    burst(16);
    expect_little(before);
    struct timespec used[2];
    uint64_t slept = 0;
    for (unsigned tries = 0; tries < 20 && !slept; tries++) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used[0]);
        rt_pause(RT_SECOND);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used[1]);
        uint64_t spent = (uint64_t)(used[1].tv_sec - used[0].tv_sec) * RT_SECOND + (uint64_t)used[1].tv_nsec - (uint64_t)used[0].tv_nsec;
        slept = spent <
                (ANNOTATE_THREAD ? RT_SECOND / 10 : RT_MS); /* the thread sanitizer: sys/delayed_signals.h wakes every sleeper each 10 ms */
    }
    EXPECT(slept);
}
TEST(burst_leaves_an_idle_runtime_idle) {
    rt_start("ring", 2);
    quiet_body();
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
