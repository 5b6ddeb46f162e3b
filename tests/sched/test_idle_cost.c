/* Idle means idle: after a burst of work no thread of the runtime runs again until there is something to do. */
#include "runtime_helpers.h"

#include "sched/runtime.h"

#include <dirent.h>

/* ---- threads of this program and how often the kernel has switched to them ---------------------------------------------------- */

enum { THREADS_MAX = 64 };
struct own_threads {
    int id[THREADS_MAX];
    unsigned count;
};

static struct own_threads threads_now(void) {
    struct own_threads threads = {.count = 0};
    DIR *tasks = opendir("/proc/self/task");
    EXPECT(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        int id = atoi(entry->d_name);
        EXPECT(threads.count < THREADS_MAX);
        if (id > 0) threads.id[threads.count++] = id;
    }
    closedir(tasks);
    return threads;
}

static bool holds(const struct own_threads *threads, int id) {
    for (unsigned i = 0; i < threads->count; i++)
        if (threads->id[i] == id) return true;
    return false;
}

/* Voluntary and involuntary, of all of them together. */
static uint64_t switches(const struct own_threads *threads) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < threads->count; i++) {
        char line[256];
        unsigned long n;
        snprintf(line, sizeof line, "/proc/self/task/%d/status", threads->id[i]);
        FILE *status = fopen(line, "r");
        EXPECT(status);
        while (fgets(line, sizeof line, status))
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 || sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1) sum += n;
        fclose(status);
    }
    return sum;
}

static void *nothing(void *argument) { return argument; }

/* The threads that weft_start starts. */
static struct own_threads start(const char *policy, unsigned workers) {
    struct own_threads own = {.count = 0};
    pthread_t thread;
    EXPECT_EQ(pthread_create(&thread, NULL, nothing, NULL), 0); /* some sanitizers start a thread with the first */
    pthread_join(thread, NULL);
    struct own_threads before = threads_now();
    sys_scripted_install();
    EXPECT_EQ(weft_start(&(weft_config){.policy = policy, .workers = workers, .seed = 1}, &rt.runtime), 0);
    struct own_threads after = threads_now();
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    for (unsigned i = 0; i < after.count; i++)
        if (!holds(&before, after.id[i])) own.id[own.count++] = after.id[i];
    EXPECT_EQ(own.count, workers + 1); /* and sysmon */
    return own;
}

/* ---- a burst --------------------------------------------------------------------------------------------------------------------- */

enum { FANOUT = 300 };
static atom_u64 heard;

static int leaf_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        if (events[i].tag > 0) EXPECT_EQ(weft_send(weft_self(), events[i].tag - 1, NULL, 0), 0);
        else atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior leaf = {.name = "leaf", .step = leaf_step};

static void burst(void) {
    static weft_pid pids[FANOUT];
    atom_store_rlx(&heard, 0);
    for (unsigned i = 0; i < FANOUT; i++)
        pids[i] = rt_spawn(&leaf);
    for (unsigned i = 0; i < FANOUT; i++)
        EXPECT_EQ(weft_send(pids[i], 20, NULL, 0), 0);
    rt_wait(&heard, FANOUT);
}

/* With the thread sanitizer sleepers wake every 10 ms, for signals that it has kept back (sys/delayed_signals.h): there only weft's own counts stand still. */
enum { SLEEPERS_SLEEP = !ANNOTATE_THREAD };

static void quiet_for(const char *policy, unsigned workers, uint64_t nanoseconds) {
    struct own_threads own = start(policy, workers);
    burst();
    uint64_t before = switches(&own);
    /* A moment to settle: sysmon looks every 10 ms for most of a second, and on a busy machine less often. In vain, the watchdog ends it. */
    for (unsigned quiet = 0; quiet < 15;) {
        rt_pause(20 * RT_MS);
        uint64_t now = switches(&own);
        bool asleep = atom_load_rlx(&((struct runtime *)rt.runtime)->sysmon.asleep);
        quiet = (now == before || !SLEEPERS_SLEEP) && asleep ? quiet + 1 : 0;
        before = now;
    }
    uint64_t wakeups = rt_stats().wakeups, sleeps = rt_stats().sleeps;
    rt_pause(nanoseconds);
    if (SLEEPERS_SLEEP) EXPECT_EQ(switches(&own), before);
    EXPECT_EQ(rt_stats().wakeups, wakeups);
    EXPECT_EQ(rt_stats().sleeps, sleeps);
    burst(); /* and it is there when it is needed */
    EXPECT(switches(&own) > before);
    rt_stop();
}

TEST(idle_for_a_second) { quiet_for("ring", 4, RT_SECOND); }
static void idle_for_a_while(const char *policy, unsigned workers) { quiet_for(policy, workers, 100 * RT_MS); }
TEST(idle_on_every_policy) { rt_cases(idle_for_a_while); }

int main(int argc, char **argv) { return test_main(argc, argv); }
