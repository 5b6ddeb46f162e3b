/* The threads of blocking calls: their number, their limit, no thread or memory to be had, and a runtime that stops beside a call. */
#include "blocking_helpers.h"

static unsigned threads_living(void) { return atom_load_rlx(&((struct runtime *)rt.runtime)->threads.living); }

/* Back to the resting number some seconds after the last call. */
TEST(blocking_threads_end_when_they_rest) {
    rt_start("ring", 2);
    atom_store_rlx(&is_long, true);
    many();
    EXPECT(threads_living() > 2);
    unsigned most = 2 + 3 + ANNOTATE_THREAD * 2;               /* sysmon, the watchdog, this one */
    while (threads_living() > 2 || sys->thread_count() > most) /* the last lines of a thread take a moment; in vain, the watchdog ends it */
        rt_pause(100 * RT_MS);
    EXPECT_EQ(threads_living(), 2);
    rt_stop();
}

/* A limit: those that are in calls are waited for; nothing hangs, all calls are made, and it is said once. */
static void at_the_limit(const char *policy) {
    printf("policy %s\n", policy);
    rt_start_with(&(weft_config){.policy = policy, .workers = 2, .max_threads = 4, .seed = 1});
    rt_stderr_begin();
    atom_store_rlx(&is_long, true);
    many();
    EXPECT(threads_living() <= 4);
    const char *said = rt_stderr_end(), *first = strstr(said, "weft: no more threads than 4 (the limit, WEFT_MAX_THREADS)");
    EXPECT(first && !strstr(first + 1, "weft: no more threads"));
    rt_stop();
}
TEST(blocking_waits_at_the_limit_of_threads) {
    at_the_limit("ring");
    at_the_limit("deque");
    at_the_limit("line");
}

/* The same with an error. The limit is looked at without a lock: a call may see a thread at rest that is just being taken, and then it waits
 * for one instead. A call that was refused may be let in when it is tried again. */
static atom_u64 refused, refused_again;
static void is_refused_perhaps(void *arg) {
    char got;
    (void)arg;
    int error = weft_blocking(reads, &got);
    EXPECT(error == 0 || error == WEFT_EAGAIN);
    if (error) {
        atom_add_rel(&refused, 1);
        error = weft_blocking_until(reads, &got, forgets, WEFT_FOREVER);
        EXPECT(error == 0 || error == WEFT_EAGAIN);
        atom_add_rel(&refused_again, error != 0);
    }
    atom_add_rel(&done, 1);
}
TEST(blocking_answers_at_the_limit_of_threads) {
    rt_start_with(&(weft_config){.workers = 2, .max_threads = 6, .at_max_threads = "error", .seed = 1});
    begin_calls();
    atom_store_rlx(&refused, 0);
    atom_store_rlx(&refused_again, 0);
    for (unsigned i = 0; i < 20; i++)
        victim_spawn(is_refused_perhaps, NULL, 0, NULL);
    rt_wait(&refused_again, 1);
    for (; atom_load_acq(&done) < 20; rt_pause(RT_MS))
        EXPECT_EQ(write(ends[1], "x", 1), 1); /* ends a call, or one that is still to come */
    EXPECT(atom_load_acq(&refused) >= atom_load_acq(&refused_again));
    EXPECT_EQ(atom_load_acq(&abandoned), atom_load_acq(&refused_again));
    close(ends[0]);
    close(ends[1]);
    rt_stop();
}
TEST(blocking_config_is_looked_at) {
    weft_runtime *runtime;
    EXPECT_EQ(weft_start(&(weft_config){.at_max_threads = "perhaps"}, &runtime), WEFT_EINVAL);
    EXPECT_EQ(weft_start(&(weft_config){.max_extra = 65}, &runtime), WEFT_EINVAL);
    setenv("WEFT_MAX_THREADS", "0", 1);
    EXPECT_EQ(weft_start(NULL, &runtime), WEFT_EINVAL);
}

/* The system refuses threads: as at the limit. Both workers and sysmon have one. */
static void without_threads(const char *policy, unsigned more) {
    printf("policy %s, %u more\n", policy, more);
    sys_scripted_install();
    sys_script.threads_limited = true;
    sys_script.threads_allowed = 3 + more;
    EXPECT_EQ(weft_start(&(weft_config){.policy = policy, .workers = 2, .seed = 1}, &rt.runtime), 0);
    rt.workers = 2;
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    rt_stderr_begin();
    atom_store_rlx(&is_long, true);
    many();
    const char *said = rt_stderr_end(), *first = strstr(said, "(the system refuses)");
    EXPECT(first && !strstr(first + 1, "weft: no more threads"));
    rt_stop();
}
TEST(blocking_with_threads_refused) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (unsigned p = 0; p < 3; p++)
        for (unsigned more = 0; more < 3; more++)
            without_threads(policies[p], more);
}

/* Not even sysmon has one: a process that blocks holds the others up, and that is all. */
static void without_sysmon(const char *policy) {
    sys_scripted_install();
    sys_script.threads_limited = true;
    sys_script.threads_allowed = 2;
    rt_stderr_begin();
    EXPECT_EQ(weft_start(&(weft_config){.policy = policy, .workers = 2, .seed = 1}, &rt.runtime), 0);
    EXPECT(strstr(rt_stderr_end(), "no thread for the system monitor"));
    rt.workers = 2;
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    atom_store_rlx(&is_long, true);
    many();
    rt_stop();
}
TEST(blocking_without_sysmon) {
    without_sysmon("ring");
    without_sysmon("deque");
    without_sysmon("line");
}

/* The Nth allocation fails, for every N until there are no more: whatever is refused is said, nothing hangs, nothing is lost. */
static void calls_somehow(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking_long(naps, NULL), 0);
    int error = weft_blocking_until(naps, NULL, forgets, WEFT_FOREVER);
    EXPECT(error == 0 || error == WEFT_ENOMEM || error == WEFT_ENOSTACK);
    atom_add_rel(&called, error == 0);
    atom_add_rel(&done, 1);
}
TEST(blocking_with_the_nth_allocation_refused) {
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        sys_scripted_install();
        sys_script.alloc_fail_at = n;
        atom_store_rlx(&done, 0);
        atom_store_rlx(&called, 0);
        atom_store_rlx(&abandoned, 0);
        unsigned begun = 0;
        if (weft_start(&(weft_config){.workers = 2, .seed = 1}, &rt.runtime) == 0) {
            rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
            weft_pid pid;
            for (unsigned i = 0; i < 8; i++)
                begun += weft_spawn_with(calls_somehow, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid) == 0;
            /* One that gets no stack when it first runs does not call either. */
            while (rt_stats().processes > 0)
                usleep(100);
            EXPECT_EQ(atom_load_acq(&called) + atom_load_acq(&abandoned), atom_load_acq(&done));
            EXPECT(atom_load_acq(&done) + 1 >= begun);
            EXPECT_EQ(weft_stop(rt.runtime, NULL, WEFT_FOREVER), 0);
            rt_watch_end();
        }
        EXPECT_EQ(sys_scripted_live(), 0);
        failed = atom_load_rlx(&sys_script.counts.alloc_failed) > 0;
        sys_scripted_reset();
    }
}

/* ---- stopping --------------------------------------------------------------------------------------------------------------- */

/* A runtime stops, and one process stays in its call. Its thread is there still, so each case is a test, and has a program of its own. */
static void stops_without(weft_pid pid) {
    weft_stop_report report;
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_in(20 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(report.left, 1);
    if (pid != WEFT_NOBODY) EXPECT_EQ(report.first[0], pid);
    EXPECT_EQ(write(ends[1], "x", 1), 1); /* that it comes back after all is no matter */
    rt_pause(5 * RT_MS);
}

/* On a worker that was sent away while it was in the call; worker 0 has nothing to do, so the other was not needed. */
static atom_u64 begun;
static void blocks_on_the_second(void *arg) {
    (void)arg;
    atom_add_rel(&begun, 1);
    while (atom_load_acq(&begun) < 2) { /* both workers have one */
    }
    if (worker_here()->index == 1) weft_blocking(reads_one, NULL);
    atom_add_rel(&done, 1);
}
static void stops_after_fewer(const char *policy) {
    begin_calls();
    rt_start(policy, 2);
    while (atom_load_acq(&called) == 0) { /* on a busy machine they may have met on others */
        atom_store_rlx(&begun, 0);
        atom_store_rlx(&done, 0);
        for (unsigned i = 0; i < 2; i++)
            victim_spawn(blocks_on_the_second, NULL, 0, NULL);
        while (atom_load_acq(&done) + atom_load_acq(&called) < 2)
            usleep(100);
    }
    while (rt_stats().processes > 1)
        usleep(100);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0);
    stops_without(WEFT_NOBODY);
}
TEST(blocking_stop_after_a_worker_was_sent_away) { stops_after_fewer("ring"); }
TEST(blocking_stop_after_a_worker_was_sent_away_deque) { stops_after_fewer("deque"); }
TEST(blocking_stop_after_a_worker_was_sent_away_line) { stops_after_fewer("line"); }

/* It enters the call when its worker has been told to leave. */
static void blocks_at_the_last_moment(void *arg) {
    struct worker *worker = worker_here();
    (void)arg;
    while (!atom_load_rlx(&worker->leave)) {}
    weft_blocking(reads_one, NULL);
}
static void stops_at_the_last_moment(const char *policy) {
    begin_calls();
    rt_start(policy, 2);
    stops_without(victim_spawn(blocks_at_the_last_moment, NULL, 0, NULL));
}
TEST(blocking_begun_while_the_runtime_stops) { stops_at_the_last_moment("ring"); }
TEST(blocking_begun_while_the_runtime_stops_deque) { stops_at_the_last_moment("deque"); }
TEST(blocking_begun_while_the_runtime_stops_line) { stops_at_the_last_moment("line"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
