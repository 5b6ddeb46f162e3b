/* No process keeps a worker for ever: beside processes that call weft all the time and never have to wait, every source of work has its
 * turn.
 *
 * Each kind of call, on each policy, with 1, 2 and 4 workers, against each kind of process that becomes ready. Played without threads and
 * without sysmon, so that nothing but the rules of sched/fair.h helps, and counted in calls. */
#include "sched/timer_event.h"
#include "sched_stage.h"
#include "victim.h"

#include <weft/weft.h>

enum { HOGS = 6, WORKERS_MOST = 4 };

static struct {
    uint64_t calls, most; /* made by all of them; more are too many */
    bool over, ran;
    unsigned living;
    weft_pid dead; /* the PID of a process that has ended */
} play;

/* One more call. False: it is enough, the process that was to run has run or will not. */
static bool once_more(void) {
    play.over = play.over || ++play.calls > play.most;
    return !play.over;
}

static void end_at_once(void *unused) { (void)unused; }

/* ---- calls that need not wait ------------------------------------------------------------------------------------------------ */

static void yields(void) {
    while (once_more())
        weft_yield();
}
static void sleeps(void) {
    while (once_more())
        EXPECT_EQ(weft_sleep(0), 0);
}
static void sleeps_a_moment(void) {
    while (once_more())
        EXPECT_EQ(weft_sleep(1), 0);
}
static void receives(void) {
    weft_msg *message;
    while (once_more()) {
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
}
static void receives_in_vain(void) {
    weft_msg *message;
    while (once_more())
        EXPECT_EQ(weft_recv(&message, weft_now()), WEFT_ETIMEDOUT);
}
static void receives_tag(void) {
    weft_msg *message;
    while (once_more()) {
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
        EXPECT_EQ(weft_recv_tag(1, &message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
}
static bool wants_all(const weft_msg *any, void *unused) { return (void)any, (void)unused, true; }
static void receives_match(void) {
    weft_msg *message;
    while (once_more()) {
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
        EXPECT_EQ(weft_recv_match(wants_all, NULL, &message, WEFT_FOREVER), 0);
        weft_msg_free(message);
    }
}
/* After a selective receive plain ones go another way. */
static void receives_carefully(void) {
    weft_msg *message;
    EXPECT_EQ(weft_recv_tag(1, &message, weft_now()), WEFT_ETIMEDOUT);
    receives();
}
static void calls_no_process(void) {
    weft_msg *reply;
    while (once_more())
        EXPECT_EQ(weft_call(play.dead, 1, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
}
static void joins_no_process(void) {
    while (once_more())
        EXPECT_EQ(weft_join(play.dead, NULL, WEFT_FOREVER), WEFT_ENOPROC);
}
static void ends_scopes(void) {
    weft_scope scope;
    while (once_more()) {
        weft_scope_begin(&scope, WEFT_FOREVER);
        EXPECT_EQ(weft_scope_end(&scope), 0);
    }
}
static void uses_channel(void) {
    weft_chan *chan;
    uint64_t element = 1;
    EXPECT_EQ(weft_chan_new(sizeof element, 1, &chan), 0);
    while (once_more()) {
        EXPECT_EQ(weft_chan_send(chan, &element, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_chan_recv(chan, &element, WEFT_FOREVER), 0);
    }
    weft_chan_free(chan);
}
static void selects(void) {
    weft_chan *chan;
    uint64_t element = 1;
    EXPECT_EQ(weft_chan_new(sizeof element, 1, &chan), 0);
    while (once_more()) {
        weft_case cases[] = {weft_case_send(chan, &element), weft_case_recv(chan, &element)};
        EXPECT(weft_select(cases, 2, WEFT_FOREVER) >= 0);
    }
    weft_chan_free(chan);
}
static void locks(void) {
    weft_mutex mutex = {0};
    while (once_more()) {
        EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
        weft_mutex_unlock(&mutex);
    }
}
static void waits_on_condition(void) {
    weft_mutex mutex = {0};
    weft_cond cond = {0};
    EXPECT_EQ(weft_mutex_lock(&mutex, WEFT_FOREVER), 0);
    while (once_more())
        EXPECT_EQ(weft_cond_wait(&cond, &mutex, weft_now()), WEFT_ETIMEDOUT);
    weft_mutex_unlock(&mutex);
}
static void acquires(void) {
    weft_sem sem;
    weft_sem_init(&sem, 1);
    while (once_more()) {
        EXPECT_EQ(weft_sem_acquire(&sem, 1, WEFT_FOREVER), 0);
        weft_sem_release(&sem, 1);
    }
}
static void reads_and_writes(void) {
    weft_rwlock lock = {0};
    while (once_more()) {
        EXPECT_EQ(weft_rwlock_read(&lock, WEFT_FOREVER), 0);
        weft_rwlock_read_end(&lock);
        EXPECT_EQ(weft_rwlock_write(&lock, WEFT_FOREVER), 0);
        weft_rwlock_write_end(&lock);
    }
}
static int does_nothing(void *unused) { return (void)unused, 0; }
static void does_once(void) {
    weft_once once = {0};
    while (once_more())
        EXPECT_EQ(weft_once_do(&once, does_nothing, NULL, WEFT_FOREVER), 0);
}
static void waits_for_none(void) {
    weft_waitgroup group = {0};
    while (once_more())
        EXPECT_EQ(weft_waitgroup_wait(&group, WEFT_FOREVER), 0);
}
static void enters(void) {
    weft_synch2 door;
    weft_synch2_init(&door);
    while (once_more()) {
        weft_synch2_enter(&door, 0);
        weft_synch2_leave(&door, 0);
    }
}

/* ---- processes that wake each other ------------------------------------------------------------------------------------------- */

static void hog_spawn_run(void (*run)(void));
static void spawns_on(void) {
    if (!once_more()) return;
    hog_spawn_run(spawns_on);
}
static void echoes(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        EXPECT_EQ(weft_reply(weft_msg_request(message), NULL, 0), 0);
        weft_msg_free(message);
    }
    play.living--;
}
static void calls(void) {
    weft_msg *reply;
    play.living++;
    weft_pid server = weft_spawn(echoes, NULL);
    while (once_more()) {
        EXPECT_EQ(weft_call(server, 1, NULL, 0, &reply, WEFT_FOREVER), 0);
        weft_msg_free(reply);
    }
    EXPECT_EQ(weft_cancel(server), 0);
}
static void swallows(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0)
        weft_msg_free(message);
    play.living--;
}
static void hands_over(void) {
    play.living++;
    weft_pid receiver = weft_spawn(swallows, NULL);
    while (once_more())
        EXPECT_EQ(weft_handoff(receiver, 1, NULL, 0), 0);
    EXPECT_EQ(weft_cancel(receiver), 0);
}
static void bears_and_joins(void) {
    weft_scope scope;
    while (once_more()) {
        weft_scope_begin(&scope, WEFT_FOREVER);
        EXPECT_EQ(weft_scope_spawn(&scope, end_at_once, NULL), 0);
        EXPECT_EQ(weft_scope_end(&scope), 0);
    }
}

/* ---- step processes ----------------------------------------------------------------------------------------------------------- */

static int continues(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    bool more = once_more();
    weft_out_status(out, more ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    if (!more) play.living--;
    return 0;
}
/* More messages than a step is given, for ever. */
static int floods_itself(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    bool more = once_more();
    for (size_t i = 0; more && i < (count ? count : EVENT_BATCH + 1); i++)
        EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
    weft_out_status(out, more ? WEFT_STEP_IDLE : WEFT_STEP_DONE);
    if (!more) play.living--;
    return 0;
}
static const weft_behavior continuer = {.name = "continues", .step = continues};
static const weft_behavior flooder = {.name = "floods itself", .step = floods_itself};

/* ---- the table ---------------------------------------------------------------------------------------------------------------- */

static const struct hog {
    const char *name;
    void (*run)(void);
    const weft_behavior *step; /* instead */
} hogs[] = {
    {"weft_yield", yields, NULL},
    {"weft_sleep(0)", sleeps, NULL},
    {"weft_sleep(1)", sleeps_a_moment, NULL},
    {"weft_recv", receives, NULL},
    {"weft_recv, late", receives_in_vain, NULL},
    {"weft_recv_tag", receives_tag, NULL},
    {"weft_recv_match", receives_match, NULL},
    {"weft_recv after weft_recv_tag", receives_carefully, NULL},
    {"weft_call of no process", calls_no_process, NULL},
    {"weft_join of no process", joins_no_process, NULL},
    {"weft_scope_end", ends_scopes, NULL},
    {"weft_chan_send, _recv", uses_channel, NULL},
    {"weft_select", selects, NULL},
    {"weft_mutex_lock", locks, NULL},
    {"weft_cond_wait, late", waits_on_condition, NULL},
    {"weft_sem_acquire", acquires, NULL},
    {"weft_rwlock_read, _write", reads_and_writes, NULL},
    {"weft_once_do", does_once, NULL},
    {"weft_waitgroup_wait", waits_for_none, NULL},
    {"weft_synch2_enter", enters, NULL},
    {"weft_spawn of a successor", spawns_on, NULL},
    {"weft_call", calls, NULL},
    {"weft_handoff", hands_over, NULL},
    {"weft_scope_spawn", bears_and_joins, NULL},
    {"WEFT_STEP_CONTINUE", NULL, &continuer},
    {"more messages than a step is given", NULL, &flooder},
};

static void hog_main(void *arg) {
    void (*run)(void);
    memcpy(&run, &arg, sizeof run);
    run();
    play.living--;
}

static void hog_spawn_run(void (*run)(void)) {
    void *arg = NULL;
    memcpy(&arg, &run, sizeof arg);
    play.living++;
    EXPECT(weft_spawn(hog_main, arg) != WEFT_NOBODY);
}
static void hog_spawn(const struct hog *hog) {
    weft_pid pid;
    if (!hog->step) {
        hog_spawn_run(hog->run);
        return;
    }
    play.living++;
    EXPECT_EQ(weft_spawn_step(hog->step, &(weft_spawn_options){.runtime = rt.runtime}, &pid), 0);
}

/* ---- what is to have a turn ---------------------------------------------------------------------------------------------------- */

static weft_pid waiting;
static void runs(void *unused) {
    (void)unused;
    play.ran = play.over = true;
}
static void waits_for_word(void *pinned) {
    weft_msg *message;
    if (pinned) weft_pin_begin();
    EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    runs(NULL);
    if (pinned) weft_pin_end();
}
static void waits_for_time(void *unused) {
    EXPECT_EQ(weft_sleep(1000), 0);
    runs(unused);
}
static int steps(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    runs(self);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior stepper = {.name = "steps", .step = steps};

static void spawn_waiting(void *pinned) {
    waiting = weft_spawn(waits_for_word, pinned);
    while (stage_step(0)) {}
}
static void nothing(void) {}
static void waits(void) { spawn_waiting(NULL); }
static void waits_pinned(void) { spawn_waiting(&waiting); }
static void sleeping(void) {
    weft_spawn(waits_for_time, NULL);
    EXPECT(stage_step(0)); /* so far that it sleeps */
}
static void born(void) { weft_spawn(runs, NULL); }
static void born_elsewhere(void) {
    weft_pid pid;
    stage_play(-1);
    EXPECT_EQ(weft_spawn_with(runs, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
}
static void step_born_elsewhere(void) {
    weft_pid pid;
    stage_play(-1);
    EXPECT_EQ(weft_spawn_step(&stepper, &(weft_spawn_options){.runtime = rt.runtime}, &pid), 0);
}
static void told(void) { EXPECT_EQ(weft_send(waiting, 1, NULL, 0), 0); }
static void told_from_elsewhere(void) {
    stage_play(-1);
    told();
}

/* What is done before the others are spawned, and after. As by worker 0. */
static const struct source {
    const char *name;
    void (*prepare)(void), (*begin)(void);
} sources[] = {
    {"newborn", nothing, born},
    {"newborn before the others", born, nothing},
    {"newborn, of a thread", nothing, born_elsewhere},
    {"newborn step process, of a thread", nothing, step_born_elsewhere},
    {"woken", waits, told},
    {"woken by a thread", waits, told_from_elsewhere},
    {"pinned, woken by a thread", waits_pinned, told_from_elsewhere},
    {"timer", sleeping, nothing},
};

/* ---- playing ------------------------------------------------------------------------------------------------------------------- */

static void set_up(enum policy_name policy, unsigned workers, uint64_t most) {
    memset(&play, 0, sizeof play);
    play.most = most;
    stage_begin(policy, workers);
    for (unsigned i = 0; i < workers; i++)
        stage_stacks(i);
    stage_play(0);
    play.dead = weft_spawn(end_at_once, NULL);
    stage_run(0);
}

/* In calls, of all workers. Until one's turn in a queue, each before it with as many from the slot as may be; and until the queue is looked
 * at. Twice: a process that is taken from the global queue may have to wait once more, in the ring. */
static uint64_t bound(unsigned workers) {
    uint64_t turns = 2 * workers * (HOGS * (SLOT_RUNS_MAX + 1) + FAIR_SOURCES * (GLOBAL_TICK + 1));
    return turns * (BUDGET_CALLS + 1) + workers * STEPS_MAX * HOGS;
}

/* `wanted` of the workers are there for good, the others because some are held up: their queues count as orphaned. */
static void one(enum policy_name policy, unsigned workers, unsigned wanted, const struct hog *hog, const struct source *source) {
    static const char *const names[] = {"ring", "deque", "line"};
    set_up(policy, workers, bound(workers));
    atom_store_rlx(&stage.runtime->wanted, wanted);
    source->prepare();
    for (unsigned i = 0; i < HOGS * workers; i++) {
        stage_play((int)(i % workers));
        hog_spawn(hog);
    }
    stage_play(0);
    source->begin();
    for (unsigned i = 0; play.living > 0 || !play.ran; i++)
        stage_step(i % workers);
    if (play.calls > play.most)
        test_fail(__FILE__, __LINE__, "%s, %u of %u workers: %s had no turn beside %s within %lu calls", names[policy], wanted, workers,
                  source->name, hog->name, (unsigned long)play.most);
    stage_end();
}

static void all(enum policy_name policy) {
    for (unsigned workers = 1; workers <= WORKERS_MOST; workers *= 2)
        for (size_t i = 0; i < sizeof hogs / sizeof *hogs; i++)
            for (size_t k = 0; k < sizeof sources / sizeof *sources; k++) {
                one(policy, workers, workers, &hogs[i], &sources[k]);
                if (workers > 1) one(policy, workers, 1, &hogs[i], &sources[k]);
            }
}
TEST(turns_beside_calls_that_need_not_wait_ring) { all(POLICY_RING); }
TEST(turns_beside_calls_that_need_not_wait_deque) { all(POLICY_DEQUE); }
TEST(turns_beside_calls_that_need_not_wait_line) { all(POLICY_LINE); }

/* ---- two that take turns ---------------------------------------------------------------------------------------------------------- */

/* A process that yields, alone in its worker's queue, and another that waits in a queue of no worker's own: that one is next, or
 * after one look at each of the other sources. */
static void next_beside_yields(enum policy_name policy, unsigned workers, int spawner) {
    weft_pid pid;
    set_up(policy, workers, FAIR_SOURCES + 1);
    atom_store_rlx(&stage.runtime->wanted, 1);
    stage_play(0);
    hog_spawn_run(yields);
    stage_play(spawner);
    EXPECT_EQ(weft_spawn_with(runs, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    while (play.living > 0 || !play.ran)
        EXPECT(stage_step(0));
    EXPECT(play.calls <= play.most);
    stage_end();
}
TEST(turns_of_one_that_yields_and_one_in_the_global_queue) { stage_for_each_policy(policy) next_beside_yields(policy, 1, -1); }
TEST(turns_of_one_that_yields_and_one_whose_worker_has_left) { stage_for_each_policy(policy) next_beside_yields(policy, 2, 1); }

/* ---- a crowd ------------------------------------------------------------------------------------------------------------------- */

/* More than fit into a ring: those that sleep a moment at a time, or yield, are in the global queue and with the timers; the newborn in the
 * newborn queue. */
enum { CROWD = RING_SIZE + RING_BATCH, NEWBORN = 100 };
static unsigned begun;
static void begins(void *unused) {
    (void)unused;
    if (++begun == NEWBORN) runs(NULL);
}
static void crowded(enum policy_name policy, void (*run)(void)) {
    uint64_t turns = (GLOBAL_PATIENCE + 1) * GLOBAL_TICK + GLOBAL_OFTEN * (CROWD + NEWBORN) + RING_SIZE * (SLOT_RUNS_MAX + 1);
    set_up(policy, 1, UINT64_MAX);
    begun = 0;
    for (unsigned i = 0; i < CROWD; i++)
        hog_spawn_run(run);
    for (unsigned i = 0; i < CROWD / 4; i++) /* all have begun */
        stage_step(0);
    play.calls = 0;
    play.most = turns * (BUDGET_CALLS + 1);
    for (unsigned i = 0; i < NEWBORN; i++)
        EXPECT(weft_spawn(begins, NULL) != WEFT_NOBODY);
    while (play.living > 0)
        stage_step(0);
    EXPECT(play.ran && play.calls <= play.most);
    stage_run(0);
    stage_end();
}
TEST(turns_of_newborn_beside_a_crowd_that_sleeps) { stage_for_each_policy(policy) crowded(policy, sleeps_a_moment); }
TEST(turns_of_newborn_beside_a_crowd_that_yields) { stage_for_each_policy(policy) crowded(policy, yields); }

/* As many as are due, but not all at once: a hundred thousand that are due together would keep out everybody else meanwhile. */
TEST(turns_of_timers_are_bounded) {
    set_up(POLICY_RING, 1, 0);
    struct worker *worker = stage_worker(0);
    for (unsigned i = 0; i < 2 * TIMERS_BATCH; i++)
        EXPECT(weft_spawn(waits_for_time, NULL) != WEFT_NOBODY);
    sys_scripted_freeze();
    while (stage_step(0)) { /* until all sleep */
    }
    worker->rung = 0;
    sys_scripted_jump(10000);
    EXPECT(timer_events_run(worker, worker));
    EXPECT_EQ(worker->rung, TIMERS_BATCH);
    EXPECT(timer_events_run(worker, worker));
    EXPECT_EQ(worker->rung, 2 * TIMERS_BATCH);
    EXPECT(!timer_events_run(worker, worker));
    stage_run(0);
    EXPECT(play.ran);
    sys_scripted_unfreeze();
    stage_end();
}

static void sleepers_until_due(unsigned count) {
    for (unsigned i = 0; i < count; i++)
        EXPECT(weft_spawn(waits_for_time, NULL) != WEFT_NOBODY);
    while (stage_step(0)) { /* until all sleep */
    }
    sys_scripted_jump(10000);
}

/* Several timers at once: the worker rests before it fires more, whichever thread has woken it. A single one: it does not. */
TEST(turns_of_timers_come_after_a_rest) {
    set_up(POLICY_RING, 1, 0);
    struct worker *worker = stage_worker(0);
    sys_scripted_freeze();
    sleepers_until_due(8);
    EXPECT(timer_events_run_rested(worker));
    EXPECT(worker->rest > 10000);
    sleepers_until_due(1);
    EXPECT(!timer_events_run_rested(worker)); /* due, but the rest is not over */
    EXPECT(timer_events_bedtime(worker) > sys->now());
    sys_scripted_jump(worker->rest);
    EXPECT(timer_events_run_rested(worker));
    EXPECT_EQ(worker->rest, 0);
    sleepers_until_due(1);
    EXPECT(timer_events_run_rested(worker));
    stage_run(0);
    sys_scripted_unfreeze();
    stage_end();
}

/* ---- a task that another task waits for ------------------------------------------------------------------------------------------ */

WEFT_VOID_TASK(gives, weft_chan *, chan) {
    uint64_t element = 1;
    EXPECT_EQ(weft_chan_send(chan, &element, 0), 0);
}
WEFT_VOID_TASK(gives_and_takes, weft_chan *, chan) {
    uint64_t element;
    WEFT_FORK(gives, chan);
    WEFT_TASK_WAIT_BEGIN();
    EXPECT_EQ(weft_chan_recv(chan, &element, WEFT_FOREVER), 0);
    WEFT_TASK_WAIT_END();
    runs(NULL);
    WEFT_JOIN(gives);
}
static void runs_tasks(void *chan) { WEFT_RUN(gives_and_takes, chan); }

TEST(turns_of_tasks_though_no_worker_is_idle) {
    stage_for_each_policy(policy) {
        weft_chan *chan;
        set_up(policy, 1, bound(1));
        EXPECT_EQ(weft_chan_new(sizeof(uint64_t), 1, &chan), 0);
        EXPECT(weft_spawn(runs_tasks, chan) != WEFT_NOBODY);
        hog_spawn_run(yields);
        stage_run(0);
        EXPECT(play.ran && play.calls <= play.most);
        weft_chan_free(chan);
        stage_end();
    }
}

/* ---- slow processes --------------------------------------------------------------------------------------------------------------- */

/* Sysmon hurries a worker whose processes are slow: it looks round more often, and the others in its queue have their turns all the
 * same. */
static const void *turn_of;
static unsigned in_a_row, most_in_a_row;
static bool one_has_ended;
static void slowly_yields(void *me) {
    for (unsigned i = 0; i < 1000; i++) {
        in_a_row = turn_of == me ? in_a_row + 1 : 1;
        turn_of = me;
        if (in_a_row > most_in_a_row && !one_has_ended) most_in_a_row = in_a_row;
        tick_hurry(worker_here());
        weft_yield();
    }
    one_has_ended = true;
}
TEST(turns_of_slow_processes_alternate) {
    stage_for_each_policy(policy) {
        set_up(policy, 1, 0);
        in_a_row = most_in_a_row = 0;
        one_has_ended = false;
        weft_spawn(slowly_yields, &in_a_row);
        weft_spawn(slowly_yields, &most_in_a_row);
        stage_run(0);
        EXPECT(most_in_a_row <= 3);
        stage_end();
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
