/* Blocking calls hold up their own process alone; neither does a process that does not yield. */
#include "victim.h"

#include "thread/oscall.h"

#include <weft/blocking.h>
#include <weft/channel.h>

#include <errno.h>

static atom_u64 done;

/* ---- calls ------------------------------------------------------------------------------------------------------------------ */

static int ends[2]; /* a pipe */
static atom_bool is_long;

static void reads(void *arg) {
    char *got = arg;
    ssize_t n = read(ends[0], got, 1);
    if (n == 1) errno = 77; /* comes back with the process, whichever thread it is on then */
}
static void block(void (*fn)(void *), void *arg) {
    if (atom_load_rlx(&is_long)) weft_blocking_long(fn, arg);
    else weft_blocking(fn, arg);
}
static void reader(void *arg) {
    weft_pid self = weft_self();
    char got = 0;
    (void)arg;
    block(reads, &got);
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(got, 'x');
    EXPECT(weft_self() == self);
    weft_yield();
    atom_add_rel(&done, 1);
}
static void writer(void *arg) {
    (void)arg;
    weft_sleep(2 * WEFT_MILLISECOND);
    for (unsigned i = 0; i < 20; i++) {
        weft_yield();
        EXPECT_EQ(write(ends[1], "x", 1), 1);
    }
    atom_add_rel(&done, 1);
}
/* More readers than workers: the writer has a turn only if they give up their workers. */
static void readers_and_a_writer(void) {
    atom_store_rlx(&done, 0);
    EXPECT_EQ(pipe(ends), 0);
    for (unsigned i = 0; i < 20; i++)
        victim_spawn(reader, NULL, 0, "reader");
    victim_spawn(writer, NULL, 0, "writer");
    rt_wait(&done, 21);
    close(ends[0]);
    close(ends[1]);
}
TEST(blocking_lets_others_run) {
    atom_store_rlx(&is_long, false);
    rt_each(readers_and_a_writer);
}
TEST(blocking_long_lets_others_run) {
    atom_store_rlx(&is_long, true);
    rt_each(readers_and_a_writer);
}

static void naps(void *arg) {
    (void)arg;
    usleep(1500);
}
static void napper(void *arg) {
    for (unsigned i = 0; i < 5; i++) {
        block(naps, NULL);
        weft_yield();
        if (arg) EXPECT_EQ(weft_send(*(weft_pid *)arg, i, NULL, 0), 0);
    }
    atom_add_rel(&done, 1);
}
static void counter(void *arg) {
    weft_msg *message;
    for (unsigned i = 0; i < 5 * 40; i++) {
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
    (void)arg;
    atom_add_rel(&done, 1);
}
static void many(void) {
    weft_pid to = victim_spawn(counter, NULL, 0, "counter");
    atom_store_rlx(&done, 0);
    for (unsigned i = 0; i < 40; i++)
        victim_spawn(napper, &to, 0, "napper");
    rt_wait(&done, 41);
}
TEST(blocking_many_at_once) {
    atom_store_rlx(&is_long, false);
    rt_each(many);
    atom_store_rlx(&is_long, true);
    rt_each(many);
}

/* Code of one's own between enter and leave, nested; and what any thread may do works inside. */
static void nests(void *arg) {
    weft_blocking_enter();
    weft_blocking_enter_long();
    usleep(300);
    EXPECT(weft_self() == WEFT_NOBODY);
    EXPECT_EQ(weft_send(*(weft_pid *)arg, 7, NULL, 0), 0);
    weft_blocking_leave();
    usleep(300);
    weft_blocking_leave();
    EXPECT(weft_self() != WEFT_NOBODY);
    weft_sleep(WEFT_MILLISECOND);
    atom_add_rel(&done, 1);
}
static void gets_seven(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_tag(message), 7);
    weft_msg_free(message);
    atom_add_rel(&done, 1);
}
static void nested(void) {
    atom_store_rlx(&done, 0);
    weft_pid to = victim_spawn(gets_seven, NULL, 0, NULL);
    victim_spawn(nests, &to, 0, NULL);
    rt_wait(&done, 2);
}
TEST(blocking_nests) { rt_each(nested); }

static void enters_and_returns(void *arg) {
    (void)arg;
    weft_blocking_enter();
}
static void leaves_unentered(void *arg) {
    (void)arg;
    weft_blocking_leave();
}
static void never_leaves(void) {
    rt_start("ring", 1);
    victim_spawn(enters_and_returns, NULL, 0, NULL);
    pause();
}
static void never_enters(void) {
    rt_start("ring", 1);
    victim_spawn(leaves_unentered, NULL, 0, NULL);
    pause();
}
TEST(blocking_must_be_paired) {
    EXPECT_ABORT(never_leaves, "weft_blocking_enter", "there was no weft_blocking_leave", "pair them");
    EXPECT_ABORT(never_enters, "weft_blocking_leave", "there was no weft_blocking_enter", "pair them");
}

TEST(blocking_outside_of_a_process) {
    atom_store_rlx(&is_long, false);
    block(naps, NULL);
    weft_blocking_enter();
    weft_blocking_leave();
}

/* Pinned: the thread stays, and so does its worker. */
static void pinned_naps(void *arg) {
    (void)arg;
    weft_pin_begin();
    uintptr_t thread = victim_thread();
    for (unsigned i = 0; i < 5; i++) {
        weft_blocking(naps, NULL);
        EXPECT(victim_thread() == thread);
        weft_yield();
        EXPECT(victim_thread() == thread);
    }
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void pinned(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&is_long, false);
    victim_spawn(pinned_naps, NULL, 0, NULL);
    for (unsigned i = 0; i < 8; i++)
        victim_spawn(napper, NULL, 0, NULL);
    rt_wait(&done, 9);
}
TEST(blocking_pinned_keeps_its_thread) { rt_each(pinned); }

/* One call after the other, each of which may be shorter than sysmon's round: the step as a whole is long. */
static atom_bool enough;
static atom_u64 calls_made;
static void calls_in_a_row(void *arg) {
    (void)arg;
    while (!atom_load_acq(&enough)) {
        weft_blocking(naps, NULL);
        atom_add_rlx(&calls_made, 1);
    }
    atom_add_rel(&done, 1);
}
enum { TICKS = 40 };
static void ticks_beside_calls(void *arg) {
    uint64_t *calls = arg;
    for (unsigned i = 0; i < TICKS; i++) {
        uint64_t before = atom_load_rlx(&calls_made);
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
        *calls += atom_load_rlx(&calls_made) - before;
    }
    atom_store_rel(&enough, true);
    atom_add_rel(&done, 1);
}
/* How late it is, is told by how many calls of 1.5 ms the others have made meanwhile: on a busy machine these take longer, too. */
static void in_a_row(void) {
    static uint64_t calls;
    unsigned callers = rt.workers + 3;
    EXPECT(callers > 3);
    calls = 0;
    atom_store_rlx(&done, 0);
    atom_store_rlx(&calls_made, 0);
    atom_store_rlx(&enough, false);
    for (unsigned i = 0; i < callers; i++)
        victim_spawn(calls_in_a_row, NULL, 0, "caller");
    victim_spawn(ticks_beside_calls, &calls, 0, "ticker");
    rt_wait(&done, callers + 1);
    printf("%lu calls of each for a tick of 1 ms\n", (unsigned long)(calls / TICKS / callers));
    EXPECT(calls / TICKS / callers < 100); /* where calls in a row count as many short ones, it is thousands */
}
TEST(blocking_calls_in_a_row_let_others_run) { rt_each(in_a_row); }

/* Two workers: one computes, a process is woken there and waits; the thread of the other is in a call, and nothing waits at it. That one is
 * free to run the process that waits, long before either counts as a hog. Again and again until it was so; in vain, the watchdog ends
 * it. */
enum { COMPUTED = 8 * RT_MS, SEEN_TO = 3 };
static atom_u64 ran, turn, in_call; /* in_call: of which turn */
static void is_woken(void *arg) {
    weft_msg *message;
    (void)arg;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rel(&ran, 1);
    }
}
static void stays_in_call(void *arg) {
    uint64_t mine = atom_load_acq(&turn);
    (void)arg;
    atom_store_rel(&in_call, mine);
    while (atom_load_acq(&turn) == mine)
        usleep(100);
}
static void calls_in_rounds(void *arg) {
    (void)arg;
    while (!atom_load_acq(&enough)) {
        weft_blocking(stays_in_call, NULL);
        weft_sleep(100 * WEFT_MICROSECOND); /* the next is in another step: each call begins anew */
    }
    atom_add_rel(&done, 1);
}
/* No worker idles, and the others' threads are in calls. */
static bool all_others_call(void) {
    struct runtime *runtime = worker_here()->runtime;
    bool all = idle_sleepers(&runtime->idle) == 0 && idle_searchers(&runtime->idle) == 0;
    for (unsigned i = 0; i < 2; i++) {
        struct worker *worker = atom_load_rlx(&runtime->workers[i]);
        all = all && (worker == worker_here() || oscall_seen(worker) != 0);
    }
    return all && atom_load_rlx(&runtime->extra) == 0;
}
static void computes_in_rounds(void *arg) {
    unsigned seen_to = 0;
    while (seen_to < SEEN_TO) {
        do /* once at least: so that this step has just begun */
            weft_sleep(100 * WEFT_MICROSECOND);
        while (atom_load_acq(&in_call) != atom_load_rlx(&turn));
        uint64_t before = atom_load_rlx(&ran), began = weft_now();
        EXPECT_EQ(weft_send(*(weft_pid *)arg, 1, NULL, 0), 0);
        bool counts = all_others_call();
        while (weft_now() - began < COMPUTED && atom_load_acq(&ran) == before) { /* no weft call that yields */
        }
        if (counts && atom_load_acq(&ran) != before) seen_to++;
        while (atom_load_acq(&ran) == before)
            weft_yield();
        if (seen_to == SEEN_TO) atom_store_rel(&enough, true);
        atom_add_rel(&turn, 1);
    }
    atom_add_rel(&done, 1);
}
static void who_waits_elsewhere(const char *policy) {
    printf("policy %s\n", policy);
    atom_store_rlx(&done, 0);
    atom_store_rlx(&ran, 0);
    atom_store_rlx(&turn, 1);
    atom_store_rlx(&in_call, 0);
    atom_store_rlx(&enough, false);
    rt_start(policy, 2);
    static weft_pid to;
    to = victim_spawn(is_woken, NULL, 0, "woken");
    victim_spawn(calls_in_rounds, NULL, 0, "caller");
    victim_spawn(computes_in_rounds, &to, 0, "computer");
    rt_wait(&done, 2);
    rt_stop();
}
TEST(blocking_makes_room_for_a_process_that_waits_elsewhere) {
    who_waits_elsewhere("ring");
    who_waits_elsewhere("deque");
    who_waits_elsewhere("line");
}

/* ---- cancelled, late, abandoned ---------------------------------------------------------------------------------------------- */

static atom_u64 abandoned, called;
static void forgets(void *arg) {
    (void)arg;
    atom_add_rel(&abandoned, 1);
}
static void reads_one(void *arg) {
    char got;
    (void)arg;
    atom_add_rel(&called, 1);
    EXPECT_EQ(read(ends[0], &got, 1), 1);
}
/* It is told when the call returns, and the call has been made all the same. */
static void is_cancelled_in_a_call(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking(reads_one, NULL), WEFT_ECANCELED);
    EXPECT_EQ(weft_blocking(naps, NULL), WEFT_ECANCELED); /* now and again */
    weft_shield_begin();
    EXPECT_EQ(weft_blocking_long(naps, NULL), 0);
    weft_shield_end();
    atom_add_rel(&done, 1);
}
/* At once. */
static void is_cancelled_and_abandons(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, WEFT_FOREVER), WEFT_ECANCELED); /* not begun at all */
    atom_add_rel(&done, 1);
}
static void is_late_and_abandons(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, weft_in(100 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_blocking_until(reads_one, NULL, forgets, 0), WEFT_ETIMEDOUT); /* not begun at all */
    EXPECT_EQ(weft_blocking_until(naps, NULL, forgets, WEFT_FOREVER), 0);
    atom_add_rel(&done, 1);
}
static void begin_calls(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&called, 0);
    atom_store_rlx(&abandoned, 0);
    EXPECT_EQ(pipe(ends), 0);
}
static void cancelled(void) {
    begin_calls();
    weft_pid pid = victim_spawn(is_cancelled_in_a_call, NULL, 0, NULL);
    rt_wait(&called, 1);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_pause(5 * RT_MS);
    EXPECT_EQ(atom_load_acq(&done), 0); /* there is nothing that could stop a read */
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    rt_wait(&done, 1);
    close(ends[0]);
    close(ends[1]);
}
TEST(blocking_tells_of_a_cancellation_afterwards) { rt_each(cancelled); }

static void abandons(void) {
    begin_calls();
    weft_pid pid = victim_spawn(is_cancelled_and_abandons, NULL, 0, NULL);
    rt_wait(&called, 1);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_wait(&done, 1); /* while nothing has been written */
    EXPECT_EQ(atom_load_acq(&abandoned), 1);
    victim_spawn(is_late_and_abandons, NULL, 0, NULL);
    rt_wait(&done, 2);
    rt_wait(&called, 2); /* begun it is, but perhaps its thread is late */
    EXPECT_EQ(atom_load_acq(&abandoned), 2);
    EXPECT_EQ(write(ends[1], "xx", 2), 2);
    rt_wait(&abandoned, 4);
    close(ends[0]);
    close(ends[1]);
}
TEST(blocking_until_is_abandoned) { rt_each(abandons); }

/* Its deadline and its end come at the same time: one of the two is told, and the memory is freed by one. */
static void races_with_its_end(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 20; i++) {
        int error = weft_blocking_until(naps, NULL, forgets, weft_in((1400 + i * 10) * WEFT_MICROSECOND));
        EXPECT(error == 0 || error == WEFT_ETIMEDOUT);
        atom_add_rel(&called, error == 0);
    }
    atom_add_rel(&done, 1);
}
static void races(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&called, 0);
    atom_store_rlx(&abandoned, 0);
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(races_with_its_end, NULL, 0, NULL);
    rt_wait(&done, 4);
    rt_wait(&abandoned, 80 - atom_load_acq(&called));
    EXPECT_EQ(atom_load_acq(&called) + atom_load_acq(&abandoned), 80);
}
TEST(blocking_until_or_its_end) { rt_each(races); }

/* ---- threads ------------------------------------------------------------------------------------------------------------------ */

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

/* The same with an error. */
static atom_u64 refused;
static void is_refused_perhaps(void *arg) {
    char got;
    (void)arg;
    int error = weft_blocking(reads, &got);
    EXPECT(error == 0 || error == WEFT_EAGAIN);
    if (error) {
        EXPECT_EQ(weft_blocking_until(reads, &got, forgets, WEFT_FOREVER), WEFT_EAGAIN);
        atom_add_rel(&refused, 1);
    }
    atom_add_rel(&done, 1);
}
TEST(blocking_answers_at_the_limit_of_threads) {
    rt_start_with(&(weft_config){.workers = 2, .max_threads = 6, .at_max_threads = "error", .seed = 1});
    begin_calls();
    atom_store_rlx(&refused, 0);
    for (unsigned i = 0; i < 20; i++)
        victim_spawn(is_refused_perhaps, NULL, 0, NULL);
    rt_wait(&refused, 20 - 6);
    EXPECT_EQ(atom_load_acq(&abandoned), atom_load_acq(&refused));
    uint64_t waiting = 20 - atom_load_acq(&done);
    for (uint64_t i = 0; i < waiting; i++)
        EXPECT_EQ(write(ends[1], "x", 1), 1);
    rt_wait(&done, 20);
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

/* ---- hogs ------------------------------------------------------------------------------------------------------------------- */

static atom_bool free_them;
static void hogs(void *arg) {
    (void)arg;
    while (!atom_load_acq(&free_them)) { /* no weft call at all */
    }
    atom_add_rel(&done, 1);
}
static void frees_them(void *arg) {
    (void)arg;
    weft_sleep(5 * WEFT_MILLISECOND);
    atom_store_rel(&free_them, true);
    atom_add_rel(&done, 1);
}
static void beside_hogs(void) {
    struct runtime *runtime = (struct runtime *)rt.runtime;
    atom_store_rlx(&done, 0);
    atom_store_rlx(&free_them, false);
    for (unsigned i = 0; i < 2 * rt.workers && i < 8; i++)
        victim_spawn(hogs, NULL, 0, "hog");
    victim_spawn(frees_them, NULL, 0, "liberator");
    rt_wait(&done, (2 * rt.workers < 8 ? 2 * rt.workers : 8) + 1);
    while (atom_load_rlx(&runtime->extra) > 0) /* in vain, the watchdog ends it */
        usleep(1000);
}
TEST(hogs_are_compensated) { rt_each(beside_hogs); }

/* With weft_checkpoint in its loop it yields by itself. */
static void polls(void *arg) {
    (void)arg;
    while (!atom_load_acq(&free_them))
        weft_checkpoint();
    atom_add_rel(&done, 1);
}
static void beside_polls(void) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&free_them, false);
    for (unsigned i = 0; i < 2 * rt.workers && i < 8; i++)
        victim_spawn(polls, NULL, 0, "polite hog");
    victim_spawn(frees_them, NULL, 0, "liberator");
    rt_wait(&done, (2 * rt.workers < 8 ? 2 * rt.workers : 8) + 1);
}
TEST(hogs_that_poll_give_way) { rt_each(beside_polls); }

/* So does one that makes calls which might wait, and never have to. It ends when it has seen that it was a step of its own again. */
static bool is_same_step(struct worker *where, uint64_t step) {
    return worker_here() == where && atom_load_rlx(&where->local.counters.steps) == step;
}
static void always_has_a_message(void *arg) {
    struct worker *where = worker_here();
    uint64_t step = atom_load_rlx(&where->local.counters.steps);
    weft_msg *message;
    (void)arg;
    while (is_same_step(where, step)) {
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
    atom_add_rel(&done, 1);
}
static void always_has_room(void *arg) {
    struct worker *where = worker_here();
    uint64_t step = atom_load_rlx(&where->local.counters.steps);
    weft_chan *chan;
    int element = 0;
    (void)arg;
    EXPECT_EQ(weft_chan_new(sizeof element, 1, &chan), 0);
    while (is_same_step(where, step)) {
        EXPECT_EQ(weft_chan_send(chan, &element, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_chan_recv(chan, &element, WEFT_FOREVER), 0);
    }
    weft_chan_free(chan);
    atom_add_rel(&done, 1);
}
static void talkative(void) {
    atom_store_rlx(&done, 0);
    victim_spawn(always_has_a_message, NULL, 0, "talks to itself");
    victim_spawn(always_has_room, NULL, 0, "fills and empties");
    rt_wait(&done, 2);
}
TEST(hogs_that_call_give_way) { rt_each(talkative); }

int main(int argc, char **argv) { return test_main(argc, argv); }
