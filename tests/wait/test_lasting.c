/* A worker learns whether calls last: then it is given away at once, until one does not last. */
#include "victim.h"

#include "thread/oscall.h"

#include <weft/blocking.h>

enum { NAPPERS = 8, NAPS = 10 };

static atom_u64 done;

static struct worker *only_worker(void) { return atom_load_rlx(&((struct runtime *)rt.runtime)->workers[0]); }

static void naps(void *arg) {
    (void)arg;
    usleep(3000);
}
static void napper(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < NAPS; i++)
        weft_blocking(naps, NULL);
    atom_add_rel(&done, 1);
}

static void does_nothing(void *arg) { (void)arg; }
static void hurries(void *arg) {
    (void)arg;
    while (atom_load_rlx(&only_worker()->lasting) > 0) { /* in vain, the watchdog ends it */
        weft_blocking(does_nothing, NULL);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}

static void learns(const char *policy) {
    atom_store_rlx(&done, 0);
    rt_start(policy, 1);
    for (unsigned i = 0; i < NAPPERS; i++)
        victim_spawn(napper, NULL, 0, "napper");
    uint32_t most = 0;
    while (atom_load_acq(&done) < NAPPERS) {
        uint32_t lasting = atom_load_rlx(&only_worker()->lasting);
        if (lasting > most) most = lasting;
        usleep(100);
    }
    printf("note: %s: %u calls in a row lasted until sysmon came\n", policy, most);
    EXPECT(most > 0);
    victim_spawn(hurries, NULL, 0, "one in a hurry");
    rt_wait(&done, NAPPERS + 1);
    rt_stop();
}
TEST(lasting_calls_are_learned_and_forgotten) {
    learns("ring");
    learns("deque");
    learns("line");
}

/* It has been learned that they last, and now they do not: two processes that wait for each other's turn, so that one of them always needs
 * the worker. */
static void short_calls(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 100; i++) {
        weft_blocking(does_nothing, NULL);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
static void unlearns(const char *policy) {
    atom_store_rlx(&done, 0);
    rt_start(policy, 1);
    atom_store_rlx(&only_worker()->lasting, 100);
    for (unsigned i = 0; i < 2; i++)
        victim_spawn(short_calls, NULL, 0, "short");
    rt_wait(&done, 2);
    printf("note: %s: %u left\n", policy, atom_load_rlx(&only_worker()->lasting));
    EXPECT(atom_load_rlx(&only_worker()->lasting) < 100);
    rt_stop();
}
TEST(lasting_no_more) {
    unlearns("ring");
    unlearns("deque");
    unlearns("line");
}

/* ---- given away at once, whatever else there is ---------------------------------------------------------------------------- */

/* By the worker that the caller runs on: while the machine is busy with others, an extra one may have come. */
static void learned(void) {
    struct worker *here = worker_here();
    atom_store_rlx(&(here ? here : only_worker())->lasting, 1000000);
}

/* The worker has gone before the call begins, without sysmon: said by the number of the call that it is in. It may be in the next one
 * already. */
enum { CALLERS = 8 };
static atom_u64 begun, given;
struct own_call {
    struct worker *worker;
    uint32_t call;
};
static void looks(void *arg) {
    struct own_call *own = arg;
    atom_add_rel(&given, oscall_seen(own->worker) != own->call);
}
static void calls(void *arg) {
    atom_add_rel(&begun, 1);
    while (atom_load_acq(&begun) < CALLERS) /* so that there are some that wait */
        weft_yield();
    struct worker *worker = worker_here();
    struct own_call own = {worker, atom_load_rlx(&worker->call) + 1};
    learned();
    if (arg) {
        weft_blocking_enter();
        weft_blocking_enter(); /* what is nested has nothing to give */
        looks(&own);
        weft_blocking_leave();
        weft_blocking_leave();
    } else {
        EXPECT_EQ(weft_blocking(looks, &own), 0);
    }
    atom_add_rel(&done, 1);
}
static void gives_at_once(const char *policy) {
    for (uintptr_t pairs = 0; pairs < 2; pairs++) {
        atom_store_rlx(&done, 0);
        atom_store_rlx(&begun, 0);
        atom_store_rlx(&given, 0);
        rt_start(policy, 1);
        for (unsigned i = 0; i < CALLERS; i++)
            victim_spawn(calls, (void *)pairs, 0, "caller");
        rt_wait(&done, CALLERS);
        printf("note: %s: %lu of %u\n", policy, (unsigned long)atom_load_rlx(&given), CALLERS);
        EXPECT(atom_load_rlx(&given) > 0); /* not the last, which no process waits for any more */
        rt_stop();
    }
}
TEST(lasting_calls_are_given_at_once) {
    gives_at_once("ring");
    gives_at_once("deque");
    gives_at_once("line");
}

/* There are no threads for it: at their limit, or the system refuses. No process hangs, and every call is made. */
static atom_u64 refused;
static void naps_a_little(void *arg) {
    (void)arg;
    usleep(200);
}
static void keeps_calling(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 50; i++) {
        learned();
        while (weft_blocking(naps_a_little, NULL) == WEFT_EAGAIN) {
            atom_add_rlx(&refused, 1);
            weft_yield();
        }
    }
    atom_add_rel(&done, 1);
}
static void with_few_threads(const weft_config *config, uint64_t started) {
    atom_store_rlx(&done, 0);
    atom_store_rlx(&refused, 0);
    sys_scripted_install();
    sys_script.threads_limited = started > 0;
    sys_script.threads_allowed = started;
    EXPECT_EQ(weft_start(config, &rt.runtime), 0);
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    learned();
    for (unsigned i = 0; i < 4; i++)
        victim_spawn(keeps_calling, NULL, 0, "caller");
    rt_wait(&done, 4);
    printf("note: %s: refused %lu times\n", config->policy, (unsigned long)atom_load_rlx(&refused));
    EXPECT(config->at_max_threads || atom_load_rlx(&refused) == 0);
    rt_stop();
}
TEST(lasting_calls_and_few_threads) {
    static const char *const policies[] = {"ring", "deque", "line"};
    for (unsigned p = 0; p < 3; p++) {
        for (unsigned most = 1; most < 4; most++) {
            with_few_threads(&(weft_config){.policy = policies[p], .workers = 1, .max_threads = most, .seed = 1}, 0);
            with_few_threads(&(weft_config){.policy = policies[p], .workers = 1, .seed = 1}, 1 + most); /* sysmon's, too */
        }
        with_few_threads(&(weft_config){.policy = policies[p], .workers = 1, .max_threads = 3, .at_max_threads = "error", .seed = 1}, 0);
    }
}

/* Pinned processes keep the worker, whatever was learned. */
static void calls_pinned(void *arg) {
    (void)arg;
    weft_pin_begin();
    uintptr_t thread = victim_thread();
    for (unsigned i = 0; i < 20; i++) {
        weft_blocking(does_nothing, NULL);
        EXPECT(victim_thread() == thread);
        weft_yield();
        EXPECT(victim_thread() == thread);
        learned();
    }
    weft_pin_end();
    atom_add_rel(&done, 1);
}
static void pinned(const char *policy) {
    atom_store_rlx(&done, 0);
    rt_start(policy, 1);
    learned();
    victim_spawn(calls_pinned, NULL, 0, "pinned");
    for (unsigned i = 0; i < 2; i++)
        victim_spawn(short_calls, NULL, 0, "short");
    rt_wait(&done, 3);
    rt_stop();
}
TEST(lasting_calls_and_pinned_processes) {
    pinned("ring");
    pinned("deque");
    pinned("line");
}

/* The runtime stops, and the call does not end: its thread is there still, so each case has a program of its own. */
static int ends[2];
static void reads(void *arg) {
    char got;
    (void)arg;
    atom_add_rel(&given, 1);
    EXPECT_EQ(read(ends[0], &got, 1), 1);
}
static void is_left_reading(void *arg) {
    (void)arg;
    weft_blocking(reads, NULL);
}
static void stops(const char *policy) {
    weft_stop_report report;
    atom_store_rlx(&given, 0);
    EXPECT_EQ(pipe(ends), 0);
    rt_start(policy, 1);
    learned();
    for (unsigned i = 0; i < 5; i++)
        victim_spawn(is_left_reading, NULL, 0, "reader");
    rt_wait(&given, 5);
    EXPECT_EQ(weft_stop(rt.runtime, &report, weft_in(10 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    rt_watch_end();
    EXPECT_EQ(report.left, 5);
    EXPECT_EQ(write(ends[1], "xxxxx", 5), 5);
    rt_pause(5 * RT_MS);
}
TEST(lasting_calls_and_a_stop) { stops("ring"); }
TEST(lasting_calls_and_a_stop_deque) { stops("deque"); }
TEST(lasting_calls_and_a_stop_line) { stops("line"); }

int main(int argc, char **argv) { return test_main(argc, argv); }
