/* Processes that do not give way: what lies at their workers is taken by others, extra workers come and go, and if there are too many
 * they are named. */
#include "runtime_helpers.h"
#include "slices.h"

#include "runtime/report.h"
#include "sched/runtime.h"

#include <weft/blocking.h>
#include <weft/weft.h>

static atom_u64 begun, done;
static atom_bool free_them;

static weft_pid spawn_here(weft_entry entry, void *arg, const char *name) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = rt.runtime, .name = name}, &pid), 0);
    return pid;
}
static void compute(void) {
    while (!atom_load_acq(&free_them)) { /* no weft call at all */
    }
}
static void hogs(void *arg) {
    (void)arg;
    atom_add_rel(&begun, 1);
    compute();
    atom_add_rel(&done, 1);
}
static void begin(void) {
    atom_store_rlx(&begun, 0);
    atom_store_rlx(&done, 0);
    atom_store_rlx(&free_them, false);
}
static struct runtime *runtime(void) { return (struct runtime *)rt.runtime; }
static void expect_no_extra(void) {
    while (atom_load_rlx(&runtime()->extra) > 0) /* in vain, the watchdog ends it */
        usleep(1000);
}

/* ---- everything on the hog's worker can be taken by others ---------------------------------------------------------------- */

static void counts_itself(void *arg) {
    (void)arg;
    atom_add_rel(&done, 1);
}
static void receives(void *arg) {
    weft_msg *message;
    (void)arg;
    atom_add_rel(&begun, 1);
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    atom_add_rel(&done, 1);
}
static void sleeps_here(void *arg) {
    (void)arg;
    atom_add_rel(&begun, 1);
    EXPECT_EQ(weft_sleep(30 * WEFT_MILLISECOND), 0);
    atom_add_rel(&done, 1);
}
/* Fills its own worker's queue and slot, wakes a process into it, and has timers there; then computes. */
static void fills_and_hogs(void *arg) {
    weft_timer timer;
    weft_pid receiver;
    (void)arg;
    for (unsigned i = 0; i < 40; i++)
        EXPECT_EQ(weft_spawn_with(counts_itself, NULL, NULL, &receiver), 0);
    EXPECT_EQ(weft_spawn_with(sleeps_here, NULL, NULL, &receiver), 0);
    EXPECT_EQ(weft_spawn_with(receives, NULL, NULL, &receiver), 0);
    while (atom_load_acq(&begun) < 2)
        weft_yield();
    EXPECT_EQ(weft_after(20 * WEFT_MILLISECOND, receiver, 7, NULL, 0, &timer), 0); /* in this worker's timers */
    EXPECT_EQ(weft_spawn_with(counts_itself, NULL, NULL, &receiver), 0);           /* in its slot */
    compute();
    atom_add_rel(&done, 1);
}
static void taken_by_others(void) {
    begin();
    spawn_here(fills_and_hogs, NULL, "filling hog");
    rt_wait(&done, 43);
    EXPECT_EQ(atom_load_acq(&done), 43);
    atom_store_rel(&free_them, true);
    rt_wait(&done, 44);
    expect_no_extra();
}
TEST(hogs_are_robbed_of_everything) { rt_each(taken_by_others); }

/* ---- extra workers come and go ---------------------------------------------------------------------------------------------- */

static unsigned driven(void) {
    unsigned count = 0, made = atom_load_acq(&runtime()->made);
    for (unsigned i = 0; i < made; i++)
        count += atom_load_rlx(&atom_load_rlx(&runtime()->workers[i])->driven);
    return count;
}
static void come_and_go(void) {
    unsigned crowd = rt.workers < 4 ? rt.workers + 2 : 4;
    for (unsigned round = 0; round < 2; round++) {
        begin();
        for (unsigned i = 0; i < crowd; i++)
            spawn_here(hogs, NULL, "hog");
        rt_wait(&begun, crowd); /* the last of them begin only beside the first */
        while (atom_load_rlx(&runtime()->extra) < crowd)
            usleep(1000);
        EXPECT_EQ(atom_load_rlx(&runtime()->extra), crowd);
        EXPECT_EQ(weft_workers(rt.runtime), rt.workers);
        atom_store_rel(&free_them, true);
        rt_wait(&done, crowd);
        expect_no_extra();
        while (driven() > rt.workers)
            usleep(1000);
        EXPECT_EQ(driven(), rt.workers);
    }
}
TEST(hogs_extra_workers_come_and_go) { rt_each(come_and_go); }

/* A hog's thread has a long slice, so that the kernel lets a thread that wakes up run before it, and a short one again when it yields. */
static atom_u32 hog_thread;
static atom_u64 usual_slice;
static atom_bool may_end;
static void hogs_then_rests(void *arg) {
    (void)arg;
    atom_store_rlx(&usual_slice, slice_of(0));
    atom_store_rlx(&hog_thread, (uint32_t)syscall(SYS_gettid));
    atom_add_rel(&begun, 1);
    compute();
    while (!atom_load_acq(&may_end))
        weft_sleep(WEFT_MILLISECOND);
    atom_add_rel(&done, 1);
}
static void patient(void) {
    begin();
    atom_store_rlx(&may_end, false);
    spawn_here(hogs_then_rests, NULL, "hog");
    rt_wait(&begun, 1);
    uint32_t thread = atom_load_rlx(&hog_thread);
    uint64_t usual = atom_load_rlx(&usual_slice);
    if (usual == 0) printf("note: this kernel has no slices\n");
    while (usual > 0 && slice_of(thread) <= usual) /* in vain, the watchdog ends it */
        usleep(1000);
    atom_store_rel(&free_them, true);
    while (slice_of(thread) > usual)
        usleep(1000);
    atom_store_rel(&may_end, true);
    rt_wait(&done, 1);
}
TEST(hogs_threads_are_patient) { rt_each(patient); }

/* In a call it is patient no longer: not even if it had to make the thread that takes over, and sysmon came just then. */
enum { SLICE_LONG = 1000000 };
static void until_usual(void *arg) {
    (void)arg;
    while (slice_of(0) > SLICE_LONG) /* in vain, the watchdog ends it */
        usleep(100);
}
static void hogs_then_calls(void *arg) {
    (void)arg;
    while (slice_of(0) > 0 && slice_of(0) <= SLICE_LONG) {}
    EXPECT_EQ(weft_blocking_long(until_usual, NULL), 0);
    atom_add_rel(&done, 1);
}
TEST(hogs_in_calls_are_not_patient) {
    for (unsigned round = 0; round < 20; round++) {
        rt_start("ring", 1);
        begin();
        for (unsigned i = 0; i < 3; i++)
            spawn_here(hogs_then_calls, NULL, "hog");
        rt_wait(&done, 3);
        expect_no_extra();
        rt_stop();
    }
}

/* The number of workers is lowered while hogs run: it takes effect when they return. */
static void lowered(const char *policy) {
    printf("policy %s\n", policy);
    begin();
    rt_start(policy, 4);
    for (unsigned i = 0; i < 4; i++)
        spawn_here(hogs, NULL, "hog");
    rt_wait(&begun, 4);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0); /* does not wait for them */
    EXPECT_EQ(weft_workers(rt.runtime), 1);
    spawn_here(counts_itself, NULL, NULL);
    rt_wait(&done, 1); /* beside them */
    EXPECT(driven() > 1);
    atom_store_rel(&free_them, true);
    rt_wait(&done, 5);
    while (driven() > 1)
        usleep(1000);
    rt_stop();
}
TEST(hogs_and_fewer_workers) {
    lowered("ring");
    lowered("deque");
    lowered("line");
}

/* ---- not hogs, but slow ------------------------------------------------------------------------------------------------------ */

static atom_u64 turns;
static void slow_but_polite(void *arg) {
    (void)arg;
    atom_add_rel(&begun, 1);
    while (!atom_load_acq(&free_them)) {
        for (uint64_t until = weft_now() + 8 * WEFT_MILLISECOND; weft_now() < until;) {}
        atom_add_rlx(&turns, 1);
        weft_yield();
    }
    atom_add_rel(&done, 1);
}
/* Its timers are its worker's, which always has another process to run: every 61st time would be twice a second. How late it is, is told by
 * how many turns the others have had meanwhile: on a busy machine these take longer, too. */
enum { TICKS = 40 };
static void ticks_beside(void *arg) {
    uint64_t *sum = arg;
    while (atom_load_acq(&begun) < 2 * rt.workers)
        weft_sleep(WEFT_MILLISECOND);
    for (unsigned i = 0; i < TICKS; i++) {
        uint64_t before = atom_load_rlx(&turns);
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0);
        *sum += atom_load_rlx(&turns) - before;
    }
    atom_store_rel(&free_them, true);
    atom_add_rel(&done, 1);
}
static void beside_slow_ones(const char *policy) {
    static uint64_t sum;
    begin();
    sum = 0;
    atom_store_rlx(&turns, 0);
    rt_start(policy, 2);
    for (unsigned i = 0; i < 4; i++)
        spawn_here(slow_but_polite, NULL, "slow");
    spawn_here(ticks_beside, &sum, "ticker");
    rt_wait(&done, 5);
    printf("policy %s: %.1f turns of each worker for a tick of 1 ms\n", policy, (double)sum / TICKS / 2);
    EXPECT(sum < TICKS * 2 * 20);
    rt_stop();
}
TEST(hogs_that_yield_do_not_keep_timers_waiting) {
    beside_slow_ones("ring");
    beside_slow_ones("deque");
    beside_slow_ones("line");
}

/* ---- too many ---------------------------------------------------------------------------------------------------------------- */

/* How often standard error has it so far. */
static unsigned said_so_far(const char *text) {
    char said[4096];
    ssize_t n = pread(fileno(rt_stderr.file), said, sizeof said - 1, 0);
    unsigned times = 0;
    said[n > 0 ? n : 0] = '\0';
    for (const char *at = said; (at = strstr(at, text)) != NULL; at++)
        times++;
    return times;
}
static void too_many(const char *policy) {
    printf("policy %s\n", policy);
    begin();
    rt_start_with(&(weft_config){.policy = policy, .workers = 1, .max_extra = 2, .seed = 1});
    rt_stderr_begin();
    for (unsigned i = 0; i < 3; i++)
        spawn_here(hogs, NULL, "a hog");
    rt_wait(&begun, 3);
    weft_pid waiting = spawn_here(hogs, NULL, "the waiting one");
    while (said_so_far("(a hog, ") < 3) /* in vain, the watchdog ends it */
        usleep(10000);
    usleep(200000); /* once: there were many rounds of sysmon since */
    EXPECT_EQ(atom_load_acq(&begun), 3);
    EXPECT_EQ(atom_load_rlx(&runtime()->extra), 2);
    EXPECT_EQ(said_so_far("(a hog, "), 3);
    atom_store_rel(&free_them, true);
    rt_wait(&done, 4);
    const char *said = rt_stderr_end();
    rt_wait_until_none_lives(); /* they say that they are done before they end */
    EXPECT(!weft_alive(waiting));
    const char *first = strstr(said, "weft: 1 workers and 2 extra ones are all held");
    EXPECT(first && !strstr(first + 1, "weft: 1 workers"));
    EXPECT(strstr(said, ", computing: weft_checkpoint in its loop would help, or preemption (WEFT_PREEMPT=1)\n"));
    EXPECT(!strstr(said, "the waiting one"));
    rt_stop();
}
TEST(hogs_too_many_are_named) {
    too_many("ring");
    too_many("deque");
    too_many("line");
}

/* Each is told what would help in its case, and nothing that is there already. */
static int silent[2];
static void sits_in_a_call(void *arg) {
    char got;
    (void)arg;
    atom_add_rel(&begun, 1);
    EXPECT_EQ(read(silent[0], &got, 1), 1);
    atom_add_rel(&done, 1);
}
static void hogs_uninterrupted(void *arg) {
    weft_nopreempt_begin();
    hogs(arg);
    weft_nopreempt_end();
}
static int long_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    hogs(self);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior long_stepper = {.name = "a hog, of steps", .step = long_step};

static void told(weft_entry entry, bool preempt, const char *advice) {
    weft_pid pid;
    begin();
    EXPECT_EQ(pipe(silent), 0);
    rt_start_with(&(weft_config){.workers = 1, .max_extra = 1, .preempt = preempt, .seed = 1});
    rt_stderr_begin();
    for (unsigned i = 0; i < 2; i++)
        if (entry) spawn_here(entry, NULL, "a hog");
        else EXPECT_EQ(weft_spawn_step(&long_stepper, &(weft_spawn_options){.runtime = rt.runtime}, &pid), 0);
    rt_wait(&begun, 2);
    spawn_here(counts_itself, NULL, "the waiting one");
    while (said_so_far(advice) < 2) /* in vain, the watchdog ends it */
        usleep(10000);
    atom_store_rel(&free_them, true);
    EXPECT_EQ(write(silent[1], "xx", 2), 2);
    rt_wait(&done, 3);
    rt_stderr_end();
    rt_stop();
    close(silent[0]);
    close(silent[1]);
}
TEST(hogs_are_told_what_helps) {
    told(hogs, false, ": weft_checkpoint in its loop would help, or preemption (WEFT_PREEMPT=1)\n");
    told(hogs_uninterrupted, true, ": weft_checkpoint in its loop would help\n");
    told(sits_in_a_call, false, ": weft_blocking for that call would help\n");
    told(NULL, false, ": shorter steps would help\n");
}

/* Others wait, but for a thread: a process in a blocking call does not hold the worker, and is no hog. That there are no threads is
 * said. */
static int ends[2];
static void reads(void *arg) {
    char got;
    (void)arg;
    atom_add_rel(&begun, 1);
    EXPECT_EQ(read(ends[0], &got, 1), 1);
}
static void calls(void *arg) {
    (void)arg;
    EXPECT_EQ(weft_blocking(reads, NULL), 0);
    atom_add_rel(&done, 1);
}
TEST(hogs_are_not_those_in_calls) {
    begin();
    EXPECT_EQ(pipe(ends), 0);
    rt_start_with(&(weft_config){.workers = 2, .max_threads = 2, .seed = 1});
    rt_stderr_begin();
    for (unsigned i = 0; i < 2; i++)
        spawn_here(calls, NULL, "caller");
    rt_wait(&begun, 2);
    spawn_here(counts_itself, NULL, "the waiting one");
    usleep(1000000);
    EXPECT_EQ(atom_load_acq(&done), 0);
    EXPECT_EQ(write(ends[1], "xx", 2), 2);
    rt_wait(&done, 3);
    const char *said = rt_stderr_end();
    EXPECT(strstr(said, "weft: no more threads than 2"));
    EXPECT(!strstr(said, "extra ones"));
    rt_stop();
}

/* As many, but no process waits for them: nothing is said. */
TEST(hogs_that_disturb_no_process_are_not_named) {
    begin();
    rt_start_with(&(weft_config){.workers = 1, .max_extra = 1, .seed = 1});
    rt_stderr_begin();
    for (unsigned i = 0; i < 2; i++)
        spawn_here(hogs, NULL, "a hog");
    rt_wait(&begun, 2);
    usleep(800000);
    atom_store_rel(&free_them, true);
    rt_wait(&done, 2);
    EXPECT(!strstr(rt_stderr_end(), "extra ones"));
    rt_stop();
}

/* ---- none at all: exclusive processes ---------------------------------------------------------------------------------------- */

static atom_u64 inside_now, turns_taken;
static void alone_between_calls(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(atom_add_acq(&inside_now, 1), 0); /* no other process is between two of its calls */
        for (uint64_t until = weft_now() + 30 * RT_MS; weft_now() < until;) {}
        atom_sub_rel(&inside_now, 1);
        atom_add_rel(&turns_taken, 1);
        if (i == 1) EXPECT_EQ(weft_blocking_long((void (*)(void *))(void (*)(void))sched_yield, NULL), 0);
        else weft_yield();
    }
    atom_add_rel(&done, 1);
}
static void exclusive(const char *policy) {
    printf("policy %s\n", policy);
    begin();
    atom_store_rlx(&turns_taken, 0);
    rt_start_with(&(weft_config){.policy = policy, .exclusive = true, .seed = 1});
    EXPECT_EQ(weft_workers(rt.runtime), 1);
    EXPECT_EQ(weft_set_workers(rt.runtime, 2), WEFT_EINVAL);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0);
    for (unsigned i = 0; i < 4; i++)
        spawn_here(alone_between_calls, NULL, "alone");
    rt_wait(&done, 4);
    EXPECT_EQ(atom_load_acq(&turns_taken), 12);
    EXPECT_EQ(atom_load_rlx(&runtime()->extra), 0);
    weft_pid pid;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_PREEMPT};
    EXPECT_EQ(weft_spawn_with(hogs, NULL, &options, &pid), WEFT_EINVAL);
    rt_stop();
}
TEST(hogs_keep_exclusive_processes_waiting) {
    exclusive("ring");
    exclusive("deque");
    exclusive("line");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
