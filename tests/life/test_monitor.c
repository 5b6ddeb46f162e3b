/* Watching the end of processes: told once, with the reason; refused when it is too late; taken back. */
#include "life/monitor.h"
#include "sched/door.h"

#include "runtime_helpers.h"

struct listener {
    struct monitor monitor; /* first */
    atom_u64 told;
    int reason;
};

static bool hear(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct listener *listener = (struct listener *)monitor;
    EXPECT(local && (!self || &self->local == local));
    listener->reason = reason->code;
    atom_add_rel(&listener->told, 1);
    return false;
}

/* From the test's own thread, as a door would. */
static int add(weft_pid pid, struct listener *listener) {
    unsigned door;
    listener->monitor.tell = hear;
    atom_store_rlx(&listener->told, 0);
    struct local *local = door_enter(pid_instance(pid), &door);
    EXPECT(local);
    int error = monitor_add(local, pid, &listener->monitor);
    door_leave(pid_instance(pid), door);
    return error;
}
static bool take_back(weft_pid pid, struct listener *listener) {
    unsigned door;
    struct local *local = door_enter(pid_instance(pid), &door);
    EXPECT(local);
    bool mine = monitor_remove(local, pid, &listener->monitor);
    door_leave(pid_instance(pid), door);
    return mine;
}

/* Ends with its message's tag as the reason, or when cancelled. */
static int mortal_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count == 0) return 0;
    if (events[0].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    return events[0].type == WEFT_EVENT_MESSAGE ? -(int)events[0].tag : 0;
}
static const weft_behavior mortal = {.name = "mortal", .step = mortal_step};

static void once_body(void) {
    enum { N = 100, EACH = 3 };
    static struct listener listeners[N][EACH];
    weft_pid pids[N];
    for (unsigned i = 0; i < N; i++) {
        pids[i] = rt_spawn(&mortal);
        for (unsigned k = 0; k < EACH; k++)
            EXPECT_EQ(add(pids[i], &listeners[i][k]), 0);
        if (i % 2) EXPECT(take_back(pids[i], &listeners[i][i % EACH]));
    }
    for (unsigned i = 0; i < N; i++)
        EXPECT_EQ(weft_send(pids[i], i + 1, NULL, 0), 0);
    rt_wait_until_none_lives();
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < EACH; k++) {
            bool removed = i % 2 && k == i % EACH;
            rt_wait(&listeners[i][k].told, removed ? 0 : 1);
            EXPECT_EQ(atom_load_acq(&listeners[i][k].told), removed ? 0 : 1);
            if (!removed) EXPECT_EQ(listeners[i][k].reason, -(int)i - 1);
            if (!removed) EXPECT(!take_back(pids[i], &listeners[i][k]));
        }
    struct listener late;
    EXPECT_EQ(add(pids[0], &late), WEFT_ENOPROC);
    EXPECT_EQ(add(pid_make(pid_instance(pids[0]), 1, PID_SLOTS - 1), &late), WEFT_ENOPROC); /* never used */
    /* The slot's next tenant is another. */
    for (unsigned i = 0; i < N; i++)
        rt_spawn(&mortal);
    EXPECT_EQ(add(pids[1], &late), WEFT_ENOPROC);
}
TEST(monitor_tells_once) { rt_each(once_body); }

/* Adding, taking back and ending at the same time. */
struct duel {
    weft_pid *pids;
    uint64_t rounds, added, taken_back, told;
};
static void *monitor_thread(void *arg) {
    struct duel *duel = arg;
    for (uint64_t i = 0; i < duel->rounds; i++) {
        struct listener listener;
        int error = add(duel->pids[i], &listener);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
        if (error) continue;
        duel->added++;
        for (unsigned k = 0; k < i % 200; k++)
            __asm__ volatile("");
        if (take_back(duel->pids[i], &listener)) duel->taken_back++;
        else duel->told += atom_load_acq(&listener.told);
    }
    return NULL;
}
static void duel_body(void) {
    enum { THREADS = 3, N = 2000 };
    static weft_pid pids[N];
    unsigned n = N / RT_SLOW;
    pthread_t threads[THREADS];
    struct duel duels[THREADS];
    for (unsigned i = 0; i < n; i++)
        pids[i] = rt_spawn(&mortal);
    for (unsigned t = 0; t < THREADS; t++) {
        duels[t] = (struct duel){.pids = pids, .rounds = n};
        EXPECT_EQ(pthread_create(&threads[t], NULL, monitor_thread, &duels[t]), 0);
    }
    for (unsigned i = 0; i < n; i++)
        EXPECT_EQ(weft_send(pids[i], 1, NULL, 0), 0);
    for (unsigned t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        EXPECT_EQ(duels[t].added, duels[t].taken_back + duels[t].told);
    }
    rt_wait_until_none_lives();
}
TEST(monitor_while_processes_end) { rt_each(duel_body); }

/* Refused for want of memory; the process is none the worse. */
TEST(monitor_without_memory) {
    rt_start("ring", 2);
    struct listener listener;
    weft_pid pid = rt_spawn(&mortal);
    sys_script.alloc_fail_from = 1;
    int error = add(pid, &listener);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(error, WEFT_ENOMEM);
    EXPECT_EQ(add(pid, &listener), 0);
    EXPECT_EQ(weft_send(pid, 4, NULL, 0), 0);
    rt_wait(&listener.told, 1);
    EXPECT_EQ(listener.reason, -4);
    rt_stop();
}

/* Processes that are left behind when the runtime is taken down tell too. */
static int stubborn_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return 0;
}
static const weft_behavior stubborn = {.name = "stubborn", .step = stubborn_step};
TEST(monitor_of_one_that_is_left_behind) {
    rt_start("ring", 2);
    struct listener listener;
    weft_pid pid = rt_spawn(&stubborn);
    EXPECT_EQ(add(pid, &listener), 0);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_now() + 10 * RT_MS), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(atom_load_acq(&listener.told), 1);
    EXPECT_EQ(listener.reason, WEFT_EKILLED);
    EXPECT_EQ(sys_scripted_live(), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
