/* A step: which events it is given, how many at once, in what order, and what its status does. */
#include "sched_stage.h"

#include "life/spawn.h"
#include "runtime/stop.h"
#include "step/step.h"
#include "thread/worker.h"

#include <signal.h>
#include <sys/wait.h>

static atom_u64 done, steps, heard, largest, cancels, gate;

static void forget(void) {
    atom_u64 *const cells[] = {&done, &steps, &heard, &largest, &cancels, &gate};
    for (unsigned i = 0; i < sizeof cells / sizeof cells[0]; i++)
        atom_store_rlx(cells[i], 0);
}

/* ---- batches ----------------------------------------------------------------------------------------------------------- */

/* Its first step lasts until the test has filled the mailbox. */
struct slow {
    uint64_t next;
    bool open, cancelled;
};
static int slow_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct slow *slow = self;
    atom_add_rel(&steps, 1);
    if (!slow->open) {
        EXPECT_EQ(count, 0);
        rt_wait(&gate, 1);
        slow->open = true;
        return 0; /* idle, with a full mailbox */
    }
    EXPECT(count > 0 && count <= EVENT_BATCH);
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            EXPECT(i == 0 && !slow->cancelled); /* before the messages, and once */
            EXPECT(events[i].size == 0 && events[i].from == WEFT_NOBODY && events[i].error == 0);
            slow->cancelled = true;
            atom_add_rlx(&cancels, 1);
            continue;
        }
        EXPECT_EQ(events[i].tag, slow->next);
        slow->next++;
        EXPECT_EQ(events[i].size, events[i].tag % 50);
        for (size_t b = 0; b < events[i].size; b++) /* all of the batch is valid until the step returns */
            EXPECT_EQ(((const unsigned char *)events[i].data)[b], (unsigned char)events[i].tag);
    }
    if (count > atom_load_rlx(&largest)) atom_store_rlx(&largest, count);
    if (slow->next == 1000) {
        weft_out_status(out, WEFT_STEP_DONE);
        atom_add_rel(&done, 1);
    }
    return 0;
}
static const weft_behavior slow_behavior = {.name = "slow", .state_size = sizeof(struct slow), .step = slow_step};

static void batches(void) {
    unsigned char data[50];
    forget();
    weft_pid pid = rt_spawn(&slow_behavior);
    rt_wait(&steps, 1);
    for (uint64_t tag = 0; tag < 1000; tag++) {
        memset(data, (int)tag, sizeof data);
        EXPECT_EQ(weft_send(pid, tag, data, tag % 50), 0);
        if (tag == 500) EXPECT_EQ(weft_cancel(pid), 0);
        if (tag == 600) EXPECT_EQ(weft_cancel(pid), 0);
    }
    atom_store_rel(&gate, 1);
    rt_wait(&done, 1);
    EXPECT_EQ(atom_load_rlx(&cancels), 1);
    EXPECT_EQ(atom_load_rlx(&largest), EVENT_BATCH);
    EXPECT_EQ(atom_load_rlx(&steps), 1 + (1000 + 1 + EVENT_BATCH - 1) / EVENT_BATCH); /* full batches, all but the last */
}
TEST(step_gets_its_events_in_batches) { rt_each(batches); }

/* A process with more messages than a step is given goes on at once, but not for ever while others wait. */
static enum weft_status goes_on(struct part *part, const weft_event *events, size_t count, weft_out *out) {
    (void)part, (void)events, (void)count, (void)out;
    return WEFT_STEP_CONTINUE;
}
TEST(step_so_many_in_a_row_and_no_more) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        weft_pid loaded = stage_spawn_idle(0, 1, NULL, WEFT_NOBODY);
        stage_play(0);
        for (unsigned i = 0; i < (2 * STEPS_MAX + 3) * EVENT_BATCH; i++)
            EXPECT_EQ(weft_send(loaded, i, NULL, 0), 0);
        stage_spawn(2, goes_on, WEFT_NOBODY);
        unsigned rows[3] = {0}, row = 0;
        trace.count = 0;
        while (trace.count < 3 * STEPS_MAX)
            EXPECT(stage_step(0));
        for (unsigned i = 1; i < trace.count && row < 3; i++) {
            rows[row] += trace.ran[i - 1] == 1;
            row += trace.ran[i - 1] == 1 && trace.ran[i] == 2; /* another's turn */
        }
        EXPECT_EQ(rows[0], STEPS_MAX);
        EXPECT_EQ(rows[1], STEPS_MAX);
        EXPECT_EQ(rows[2], 3);
        stage_end();
    }
}

/* ---- cancelled once ------------------------------------------------------------------------------------------------------- */

static int patient_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint32_t *after = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            EXPECT_EQ(*after, 0);
            atom_add_rel(&cancels, 1);
            *after = 1;
        }
        if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag == 99) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE) atom_add_rel(&heard, 1);
    }
    return 0;
}
static void *canceller(void *pid) {
    for (unsigned i = 0; i < 200; i++)
        EXPECT_EQ(weft_cancel(*(weft_pid *)pid), 0);
    return NULL;
}
static void once_only(void) {
    static const weft_behavior patient = {.name = "patient", .state_size = 4, .step = patient_step};
    pthread_t threads[4];
    forget();
    weft_pid pid = rt_spawn(&patient);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, canceller, &pid), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    rt_wait(&heard, 100);
    rt_wait(&cancels, 1);
    EXPECT_EQ(weft_cancel(pid), 0);
    EXPECT_EQ(weft_send(pid, 99, NULL, 0), 0);
    while (weft_alive(pid))
        usleep(50);
    EXPECT_EQ(weft_cancel(pid), WEFT_ENOPROC);
    EXPECT_EQ(atom_load_rlx(&cancels), 1);
}
TEST(step_is_told_of_a_cancellation_once) { rt_each(once_only); }

/* Before its first step, too; and a cancellation wakes a process from whatever it waits for. */
static int sleeper_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint32_t *number = self;
    atom_add_rel(&steps, 1);
    weft_out_status(out, (*number)++ == 0 && count == 0 ? WEFT_STEP_BLOCKED : WEFT_STEP_IDLE);
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            atom_add_rel(&cancels, 1);
        }
    return 0;
}
static const weft_behavior sleeper = {.name = "sleeper", .state_size = 4, .step = sleeper_step};
static void wakes_sleepers(void) {
    forget();
    for (unsigned i = 0; i < 500; i++)
        EXPECT_EQ(weft_cancel(rt_spawn(&sleeper)), 0);
    rt_wait(&cancels, 500);
    forget();
    weft_pid pids[100];
    for (unsigned i = 0; i < 100; i++)
        pids[i] = rt_spawn(&sleeper);
    rt_wait(&steps, 100);
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(weft_cancel(pids[i]), 0);
    rt_wait(&cancels, 100);
}
TEST(step_cancellation_wakes) { rt_each(wakes_sleepers); }

/* ---- status ----------------------------------------------------------------------------------------------------------------- */

/* The default is idle: no step without an event but the first. */
static int default_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint64_t *number = self;
    (void)events, (void)out;
    if ((*number == 0) != (count == 0)) test_fail(__FILE__, __LINE__, "step %llu was given %zu events", (unsigned long long)*number, count);
    ++*number;
    if (count > 0 && events[0].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    atom_add_rel(&steps, 1);
    return 0;
}
static void idle_by_default(void) {
    static const weft_behavior behavior = {.name = "default", .state_size = 8, .step = default_step};
    forget();
    weft_pid pid = rt_spawn(&behavior);
    rt_wait(&steps, 1); /* its first step comes by itself */
    for (unsigned i = 2; i < 300; i++) {
        EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
        rt_wait(&steps, i);
        EXPECT_EQ(atom_load_rlx(&steps), i);
    }
}
TEST(step_idle_is_the_default) { rt_each(idle_by_default); }

static int counting_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint64_t *number = self;
    (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_IDLE);
    weft_out_status(out, ++*number < 1000 ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE); /* the last word counts */
    if (*number == 1000) atom_add_rel(&done, 1);
    EXPECT(*number <= 1000);
    return 0;
}
static void continues(void) {
    static const weft_behavior behavior = {.name = "counting", .state_size = 8, .step = counting_step};
    forget();
    for (unsigned i = 0; i < 20; i++)
        rt_spawn(&behavior);
    rt_wait(&done, 20);
    rt_wait_until_none_lives();
    EXPECT_EQ(rt_stats().steps, 20 * 1000);
}
TEST(step_continue_runs_again) { rt_each(continues); }

/* A message that comes while the process runs is not lost, whatever it says at the end of the step. */
static int racing_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint64_t *number = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            return 0;
        }
        atom_add_rel(&heard, 1);
    }
    weft_out_status(out, ++*number % 2 ? WEFT_STEP_IDLE : WEFT_STEP_BLOCKED);
    return 0;
}
static void races(void) {
    static const weft_behavior behavior = {.name = "racing", .state_size = 8, .step = racing_step};
    forget();
    weft_pid pid = rt_spawn(&behavior);
    struct rng rng;
    rng_seed(&rng, test_seed(1), 0);
    for (uint64_t i = 1; i <= 4000 / RT_SLOW * test_scale(); i++) {
        EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
        if (i % 8 == 0) rt_wait(&heard, i); /* hangs if it sleeps beside a message */
        for (unsigned spins = rng_below(&rng, 300); spins > 0; spins--)
            __asm__ volatile("");
    }
}
TEST(step_a_message_is_never_missed) { rt_each(races); }

#if WEFT_DEBUG
/* A transition that there is not: the program says whose it was, and ends. */
static weft_pid idle_one;
static void yields_idle(void) { state_yield(&stage_proc(idle_one)->state); }
TEST(step_an_illegal_transition_names_the_process) {
    stage_for_each_policy(policy) {
        stage_begin(policy, 1);
        char name[32];
        idle_one = stage_spawn_idle(0, 1, NULL, WEFT_NOBODY);
        snprintf(name, sizeof name, "%016llx", (unsigned long long)idle_one);
        EXPECT_ABORT(yields_idle, name, "is Idle and should be Running");
        stage_end();
    }
}
#endif

int main(int argc, char **argv) { return test_main(argc, argv); }
