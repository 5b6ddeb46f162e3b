/* Names of processes: one process a name, gone before the end is told, two runtimes apart, and clean errors. */
#include "mailbox_helpers.h"

#include "registry/registry.h"

static size_t names_count(void) {
    struct registry *registry = registry_of((struct runtime *)rt.runtime);
    return registry ? registry->names.count : 0;
}
static weft_pid where(const char *name) { return weft_whereis_in(rt.runtime, name); }
static void ends_at_once(void *unused) { (void)unused; }

/* ---- from a thread -------------------------------------------------------------------------------------------------------------- */

static void thread_body(void) {
    weft_pid a = run_flags(sleeper, NULL, WEFT_SPAWN_JOINABLE), b = run_flags(sleeper, NULL, WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(where("a"), WEFT_NOBODY);
    EXPECT_EQ(weft_unregister(rt.runtime, "a"), WEFT_ENOENT);
    EXPECT_EQ(weft_register("a", a), 0);
    EXPECT_EQ(weft_register("a", b), WEFT_EEXIST);
    EXPECT_EQ(weft_register("a", a), WEFT_EEXIST);
    EXPECT_EQ(weft_register("also a", a), 0);
    EXPECT_EQ(weft_register("b", b), 0);
    EXPECT_EQ(where("a"), a);
    EXPECT_EQ(where("also a"), a);
    EXPECT_EQ(where("b"), b);
    EXPECT_EQ(where("c"), WEFT_NOBODY);
    EXPECT_EQ(weft_unregister(rt.runtime, "a"), 0);
    EXPECT_EQ(weft_unregister(rt.runtime, "a"), WEFT_ENOENT);
    EXPECT_EQ(where("a"), WEFT_NOBODY);
    EXPECT_EQ(where("also a"), a);
    EXPECT_EQ(weft_register("a", b), 0);
    EXPECT_EQ(where("a"), b);
    EXPECT_EQ(weft_cancel(a), 0);
    EXPECT_EQ(run_join(a), 0);
    EXPECT_EQ(where("also a"), WEFT_NOBODY);
    EXPECT_EQ(weft_register("x", a), WEFT_ENOPROC);
    EXPECT_EQ(names_count(), 2);
    EXPECT_EQ(weft_cancel(b), 0);
    EXPECT_EQ(run_join(b), 0);
    EXPECT_EQ(names_count(), 0);
}
TEST(names_are_given_and_taken_back) { rt_each(thread_body); }

TEST(names_have_1_to_47_bytes) {
    rt_start("ring", 1);
    weft_pid pid = run_spawn(sleeper, NULL);
    static const char longest[] = "12345678901234567890123456789012345678901234567",
                      too_long[] = "123456789012345678901234567890123456789012345678";
    EXPECT_EQ(sizeof longest - 1, WEFT_NAME_MOST);
    EXPECT_EQ(weft_register("", pid), WEFT_EINVAL);
    EXPECT_EQ(weft_register(too_long, pid), WEFT_EINVAL);
    EXPECT_EQ(weft_register(longest, pid), 0);
    EXPECT_EQ(where(longest), pid);
    EXPECT_EQ(where(too_long), WEFT_NOBODY);
    EXPECT_EQ(where(""), WEFT_NOBODY);
    EXPECT_EQ(weft_unregister(rt.runtime, too_long), WEFT_ENOENT);
    EXPECT_EQ(weft_register("n", WEFT_NOBODY), WEFT_EFOREIGN);
    EXPECT_EQ(weft_register("n", pid + (UINT64_C(2) << 24)), WEFT_ENOPROC); /* the slot's next process but one */
    rt_stop();
}

TEST(outside_of_a_process_a_runtime_has_to_be_given) {
    rt_start("ring", 1);
    weft_msg *reply;
    EXPECT_EQ(weft_whereis("n"), WEFT_NOBODY);
    EXPECT_EQ(weft_unregister(NULL, "n"), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_send_name("n", 1, NULL, 0), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_call_name("n", 1, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_names(NULL, NULL, NULL), WEFT_ENOTINSIDE);
    rt_stop();
}

/* ---- from processes -------------------------------------------------------------------------------------------------------------- */

static void answers(void *unused) {
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_register("server", weft_self()), 0);
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        if (weft_msg_request(message).reference)
            EXPECT_EQ(weft_reply(weft_msg_request(message), weft_msg_data(message), weft_msg_len(message)), 0);
        else EXPECT_EQ(weft_send(weft_msg_from(message), weft_msg_tag(message) + 1, NULL, 0), 0);
        weft_msg_free(message);
    }
}
static void asks(void *unused) {
    uint64_t data = 77;
    weft_msg *reply;
    (void)unused;
    EXPECT_EQ(weft_send_name("server", 1, NULL, 0), WEFT_ENOPROC);
    EXPECT_EQ(weft_call_name("server", 1, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
    EXPECT_EQ(weft_register("itself", weft_self()), 0);
    EXPECT_EQ(weft_call_name("itself", 1, NULL, 0, &reply, WEFT_FOREVER), WEFT_EDEADLK);
    EXPECT_EQ(weft_unregister(NULL, "itself"), 0);
    weft_pid server = weft_spawn_joinable(answers, NULL);
    while (weft_whereis("server") == WEFT_NOBODY)
        weft_yield();
    EXPECT_EQ(weft_whereis("server"), server);
    EXPECT_EQ(weft_send_name("server", 5, NULL, 0), 0);
    expect_next(6);
    EXPECT_EQ(weft_call_name("server", 9, &data, sizeof data, &reply, WEFT_FOREVER), 0);
    EXPECT_EQ(msg_u64(reply), 77);
    weft_msg_free(reply);
    EXPECT_EQ(weft_cancel(server), 0);
    EXPECT_EQ(run_join(server), 0);
    EXPECT_EQ(weft_send_name("server", 5, NULL, 0), WEFT_ENOPROC);
}
static void asks_body(void) { EXPECT_EQ(run(asks, NULL), 0); }
TEST(names_are_sent_to_and_called) { rt_each(asks_body); }

/* A step process has the same calls. */
static atom_u64 steps_done;
static int named_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count == 0) {
        EXPECT_EQ(weft_register("step", weft_self()), 0);
        EXPECT_EQ(weft_whereis("step"), weft_self());
        EXPECT_EQ(weft_send_name("step", 3, NULL, 0), 0);
    } else if (events[0].type == WEFT_EVENT_MESSAGE) {
        EXPECT_EQ(events[0].tag, 3);
        EXPECT_EQ(weft_unregister(NULL, "step"), 0);
        EXPECT_EQ(weft_register("step again", weft_self()), 0);
        weft_out_status(out, WEFT_STEP_DONE);
        atom_add_rel(&steps_done, 1);
    }
    return 0;
}
static void step_body(void) {
    static const weft_behavior named = {.name = "named", .step = named_step};
    atom_store_rlx(&steps_done, 0);
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&named, &(weft_spawn_options){.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid), 0);
    EXPECT_EQ(run_join(pid), 0);
    EXPECT_EQ(atom_load_acq(&steps_done), 1);
    EXPECT_EQ(names_count(), 0);
}
TEST(names_of_step_processes) { rt_each(step_body); }

/* ---- one winner ---------------------------------------------------------------------------------------------------------------------- */

enum { RACERS = 8 };
static atom_u64 winners, losers;

/* Each tries to become the one; the winner checks that it is, and makes room for the next round by ending or by taking its name back. */
static void races(void *round) {
    int error = weft_register("the one", weft_self());
    if (error == WEFT_EEXIST) {
        atom_add_rlx(&losers, 1);
        return;
    }
    EXPECT_EQ(error, 0);
    EXPECT_EQ(atom_add_acqrel(&winners, 1), 0);
    EXPECT_EQ(weft_whereis("the one"), weft_self());
    while (atom_load_acq(&losers) < RACERS - 1)
        weft_yield();
    EXPECT_EQ(weft_whereis("the one"), weft_self());
    if ((uintptr_t)round % 2) EXPECT_EQ(weft_unregister(NULL, "the one"), 0);
}
static void race(void *unused) {
    (void)unused;
    for (uintptr_t round = 0; round < 200 / RT_SLOW; round++) {
        weft_pid racers[RACERS];
        atom_store_rlx(&winners, 0);
        atom_store_rlx(&losers, 0);
        for (unsigned i = 0; i < RACERS; i++)
            EXPECT((racers[i] = weft_spawn_joinable(races, (void *)round)) != WEFT_NOBODY);
        for (unsigned i = 0; i < RACERS; i++)
            EXPECT_EQ(run_join(racers[i]), 0);
        EXPECT_EQ(atom_load_acq(&winners), 1);
        EXPECT_EQ(weft_whereis("the one"), WEFT_NOBODY);
    }
}
static void race_body(void) { EXPECT_EQ(run(race, NULL), 0); }
TEST_WITHIN(of_8_that_register_one_name_one_wins, 60) { rt_each(race_body); }

/* ---- gone before the end is told ----------------------------------------------------------------------------------------------------- */

static void holds(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_register("held", weft_self()), 0);
    EXPECT_EQ(weft_register("held too", weft_self()), 0);
    weft_yield();
}
/* By join, which is told at the end or later, and by a call that is not answered. */
static void succeeds(void *unused) {
    weft_msg *reply;
    (void)unused;
    for (unsigned i = 0; i < 500 / RT_SLOW; i++) {
        weft_pid pid = weft_spawn_joinable(holds, NULL);
        if (i % 2) EXPECT_EQ(weft_call(pid, 1, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
        else EXPECT_EQ(run_join(pid), 0);
        EXPECT_EQ(weft_whereis("held"), WEFT_NOBODY);
        EXPECT_EQ(weft_register("held", weft_self()), 0); /* at once */
        EXPECT_EQ(weft_register("held too", weft_self()), 0);
        EXPECT_EQ(weft_unregister(NULL, "held"), 0);
        EXPECT_EQ(weft_unregister(NULL, "held too"), 0);
    }
}
static void succeeds_body(void) { EXPECT_EQ(run(succeeds, NULL), 0); }
TEST_WITHIN(names_are_free_when_the_end_is_told, 60) { rt_each(succeeds_body); }

/* A sender that is refused because the process has ended can give its name away too, although the end is still going on. */
static void takes_over(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 500 / RT_SLOW; i++) {
        weft_pid pid = weft_spawn(ends_at_once, NULL);
        int error = weft_register("moving", pid);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
        while (weft_send(pid, 0, NULL, 0) == 0)
            weft_yield();
        EXPECT_EQ(weft_whereis("moving"), WEFT_NOBODY);
        EXPECT_EQ(weft_register("moving", weft_self()), 0);
        EXPECT_EQ(weft_unregister(NULL, "moving"), 0);
    }
}
static void takes_over_body(void) {
    EXPECT_EQ(run(takes_over, NULL), 0);
    rt_wait_until_none_lives();
    EXPECT_EQ(names_count(), 0);
}
TEST_WITHIN(a_name_of_an_ended_process_is_free, 60) { rt_each(takes_over_body); }

/* ---- born with a name ------------------------------------------------------------------------------------------------------------------- */

static void knows_its_name(void *name) {
    EXPECT_EQ(weft_whereis(name), weft_self());
    expect_next(4);
}
static int opened, closed;
static int counts_open(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)size;
    opened++;
    return input ? *(const int *)input : 0;
}
static void counts_close(void *self) {
    (void)self;
    closed++;
}
static int idles(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count > 0 && events[0].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior counting = {.name = "counting", .init = counts_open, .step = idles, .close = counts_close};

static void born_body(void) {
    weft_pid pid, other;
    uint64_t spawned = rt_stats().spawned;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .register_as = "born"};
    weft_spawn_options step = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .register_as = "born"};
    opened = closed = 0;
    EXPECT_EQ(weft_spawn_with(knows_its_name, (void *)"born", &options, &pid), 0);
    EXPECT_EQ(where("born"), pid);
    EXPECT_EQ(weft_spawn_with(knows_its_name, (void *)"born", &options, &other), WEFT_EEXIST);
    EXPECT_EQ(weft_spawn_step(&counting, &step, &other), WEFT_EEXIST);
    EXPECT_EQ(opened, 0);
    EXPECT_EQ(rt_stats().spawned, spawned + 1);
    EXPECT_EQ(weft_send(where("born"), 4, NULL, 0), 0);
    EXPECT_EQ(run_join(pid), 0);
    int refusal = -42;
    step.input = &refusal, step.input_size = sizeof refusal;
    EXPECT_EQ(weft_spawn_step(&counting, &step, &other), -42);
    EXPECT_EQ(where("born"), WEFT_NOBODY);
    EXPECT_EQ(names_count(), 0);
    step.input = NULL;
    EXPECT_EQ(weft_spawn_step(&counting, &step, &pid), 0);
    EXPECT_EQ(where("born"), pid);
    EXPECT_EQ(weft_cancel(pid), 0);
    EXPECT_EQ(run_join(pid), 0);
    EXPECT_EQ(opened, 2);
    EXPECT_EQ(closed, 1);
    step.register_as = "";
    EXPECT_EQ(weft_spawn_step(&counting, &step, &pid), WEFT_EINVAL);
}
TEST(a_process_is_born_with_its_name_or_not_at_all) { rt_each(born_body); }

/* The name is taken while init waits, but nobody is found by it. */
static atom_u64 in_init, may_go_on;
static int waits_in_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    atom_store_rel(&in_init, 1);
    while (!atom_load_acq(&may_go_on))
        weft_yield();
    return 0;
}
static const weft_behavior slow_to_begin = {.name = "slow", .init = waits_in_init, .step = idles};
static weft_pid slow;
static void spawns_slowly(void *mailbox) {
    EXPECT_EQ(weft_spawn_step(&slow_to_begin, &(weft_spawn_options){.register_as = "slow", .mailbox = mailbox}, &slow), 0);
}
static void slow_with(const weft_mailbox *mailbox) {
    atom_store_rlx(&in_init, 0);
    atom_store_rlx(&may_go_on, 0);
    weft_pid spawner = run_flags(spawns_slowly, (void *)mailbox, WEFT_SPAWN_JOINABLE), other = run_spawn(sleeper, NULL);
    rt_wait(&in_init, 1);
    EXPECT_EQ(where("slow"), WEFT_NOBODY);
    EXPECT_EQ(weft_unregister(rt.runtime, "slow"), WEFT_ENOENT);
    EXPECT_EQ(weft_register("slow", other), WEFT_EEXIST);
    EXPECT_EQ(weft_names(rt.runtime, NULL, NULL), 0);
    atom_store_rel(&may_go_on, 1);
    EXPECT_EQ(run_join(spawner), 0);
    EXPECT_EQ(where("slow"), slow);
    EXPECT_EQ(weft_cancel(slow), 0);
    while (where("slow") != WEFT_NOBODY)
        usleep(100);
}
static void slow_body(void) {
    slow_with(NULL);
    slow_with(&(weft_mailbox){.messages = 4}); /* a bounded mailbox exists before the process does */
}
TEST(a_name_is_taken_but_not_told_before_the_birth) { rt_each(slow_body); }

static void exits_in_init(void *unused);
static int exits_inside(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    weft_exit(5);
}
static void exits_in_init(void *unused) {
    static const weft_behavior exiting = {.name = "exiting", .init = exits_inside, .step = idles};
    weft_pid pid;
    (void)unused;
    weft_spawn_step(&exiting, &(weft_spawn_options){.register_as = "never"}, &pid);
}
static void exits_body(void) {
    EXPECT_EQ(run(exits_in_init, NULL), 5);
    EXPECT_EQ(names_count(), 0);
}
TEST(a_name_is_free_when_the_spawner_ends_inside_init) { rt_each(exits_body); }

/* A restart under one name, while others send to it: each message is sent to some process, or refused. */
static atom_u64 restarts, received, delivered;
static void worker_of_the_name(void *unused) {
    weft_msg *message;
    (void)unused;
    for (unsigned i = 0; i < 3 && weft_recv(&message, WEFT_FOREVER) == 0; i++) {
        atom_add_rlx(&received, 1);
        weft_msg_free(message);
    }
    for (unsigned i = 0; i < 100 && weft_recv(&message, 0) == 0; i++) { /* of those that come before its end: senders may be faster */
        atom_add_rlx(&received, 1);
        weft_msg_free(message);
    }
}
static void restarts_it(void *unused) {
    (void)unused;
    while (atom_load_rlx(&restarts) < 200 / RT_SLOW) {
        weft_pid pid;
        EXPECT_EQ(weft_spawn_with(worker_of_the_name, NULL, &(weft_stackful_options){.flags = WEFT_SPAWN_JOINABLE, .register_as = "worker"},
                                  &pid),
                  0);
        EXPECT_EQ(run_join(pid), 0);
        atom_add_rlx(&restarts, 1);
    }
}
static void sends_to_the_name(void *unused) {
    (void)unused;
    while (atom_load_rlx(&restarts) < 200 / RT_SLOW) {
        int error = weft_send_name("worker", 1, NULL, 0);
        EXPECT(error == 0 || error == WEFT_ENOPROC);
        atom_add_rlx(&delivered, error == 0);
        weft_yield();
    }
}
static void restart_body(void) {
    atom_store_rlx(&restarts, 0), atom_store_rlx(&received, 0), atom_store_rlx(&delivered, 0);
    weft_pid supervisor = run_flags(restarts_it, NULL, WEFT_SPAWN_JOINABLE), senders[3];
    for (unsigned i = 0; i < 3; i++)
        senders[i] = run_flags(sends_to_the_name, NULL, WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(run_join(supervisor), 0);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(run_join(senders[i]), 0);
    EXPECT(atom_load_rlx(&received) <= atom_load_rlx(&delivered));
    EXPECT(atom_load_rlx(&received) >= 3 * (200 / RT_SLOW));
    EXPECT_EQ(names_count(), 0);
}
TEST_WITHIN(a_name_outlives_the_processes_that_have_it_in_turn, 60) { rt_each(restart_body); }

/* ---- lists ------------------------------------------------------------------------------------------------------------------------------- */

static void sums(const char *name, weft_pid pid, void *sum) {
    EXPECT_EQ(where(name), pid);
    *(unsigned *)sum += (unsigned)atoi(name + 1);
}
static void leaves_in_the_middle(const char *name, weft_pid pid, void *sum) {
    sums(name, pid, sum);
    weft_exit(3);
}
static void lists_and_leaves(void *sum) { weft_names(NULL, leaves_in_the_middle, sum); }
static void list_body(void) {
    unsigned sum = 0;
    char name[16];
    EXPECT_EQ(weft_names(rt.runtime, sums, &sum), 0);
    weft_pid pid = run_flags(sleeper, NULL, WEFT_SPAWN_JOINABLE);
    for (unsigned i = 1; i <= 100; i++) {
        snprintf(name, sizeof name, "n%u", i);
        EXPECT_EQ(weft_register(name, pid), 0);
    }
    EXPECT_EQ(weft_names(rt.runtime, sums, &sum), 100);
    EXPECT_EQ(sum, 5050);
    EXPECT_EQ(run(lists_and_leaves, &sum), 3); /* the copy is freed */
    EXPECT_EQ(weft_cancel(pid), 0);
    EXPECT_EQ(run_join(pid), 0);
    EXPECT_EQ(weft_names(rt.runtime, sums, &sum), 0);
}
TEST(names_are_listed) { rt_each(list_body); }

/* ---- many ------------------------------------------------------------------------------------------------------------------------------------ */

/* Names of its own come and go, beside other processes that do the same: the table grows and shrinks its runs meanwhile. */
static void churns(void *number) {
    char name[32];
    for (unsigned i = 0; i < 400 / RT_SLOW; i++) {
        for (unsigned k = 0; k < 20; k++) {
            snprintf(name, sizeof name, "churn/%u/%u", (unsigned)(uintptr_t)number, i * 20 + k);
            EXPECT_EQ(weft_register(name, weft_self()), 0);
            EXPECT_EQ(weft_whereis(name), weft_self());
        }
        for (unsigned k = 0; k < 19; k++) {
            snprintf(name, sizeof name, "churn/%u/%u", (unsigned)(uintptr_t)number, i * 20 + k);
            EXPECT_EQ(weft_unregister(NULL, name), 0);
            EXPECT_EQ(weft_whereis(name), WEFT_NOBODY);
        }
        weft_yield();
    }
}
static void churn_body(void) {
    weft_pid pids[8];
    for (uintptr_t i = 0; i < 8; i++)
        pids[i] = run_flags(churns, (void *)i, WEFT_SPAWN_JOINABLE);
    for (unsigned i = 0; i < 8; i++)
        EXPECT_EQ(run_join(pids[i]), 0);
    EXPECT_EQ(names_count(), 0);
}
TEST_WITHIN(names_come_and_go, 60) { rt_each(churn_body); }

/* ---- without memory ---------------------------------------------------------------------------------------------------------------------------- */

TEST(every_allocation_of_registering_may_fail) {
    bool refused = true;
    for (uint64_t n = 1; refused; n++) {
        rt_start("ring", 1);
        weft_pid pid = run_flags(sleeper, NULL, WEFT_SPAWN_JOINABLE);
        weft_process_info info;
        do { /* from when it waits on, it allocates nothing itself */
            usleep(100);
            EXPECT_EQ(weft_info(pid, &info), 0);
        } while (info.state != WEFT_STATE_WAITING);
        sys_script.alloc_fail_at = atom_load_rlx(&sys_script.counts.alloc) + n;
        int error = weft_register("n", pid), again = weft_register("m", pid);
        int64_t listed = weft_names(rt.runtime, sums, &(unsigned){0});
        refused = sys_script.alloc_fail_at <= atom_load_rlx(&sys_script.counts.alloc);
        sys_script.alloc_fail_at = 0;
        EXPECT(error == 0 || error == WEFT_ENOMEM);
        EXPECT(again == 0 || again == WEFT_ENOMEM);
        EXPECT(listed == WEFT_ENOMEM || listed == (error == 0) + (again == 0));
        EXPECT_EQ((error != 0) + (again != 0) + (listed < 0), refused);
        EXPECT_EQ(where("n"), error ? WEFT_NOBODY : pid);
        if (error) EXPECT_EQ(weft_register("n", pid), 0);
        EXPECT_EQ(where("n"), pid);
        rt_stop();
    }
}

TEST(a_spawn_with_a_name_fails_whole) {
    bool refused = true;
    for (uint64_t n = 1; refused; n++) {
        rt_start("ring", 1);
        weft_pid pid = WEFT_NOBODY;
        opened = closed = 0;
        sys_script.alloc_fail_at = atom_load_rlx(&sys_script.counts.alloc) + n;
        int error = weft_spawn_step(&counting, &(weft_spawn_options){.runtime = rt.runtime, .register_as = "n"}, &pid);
        refused = sys_script.alloc_fail_at <= atom_load_rlx(&sys_script.counts.alloc);
        sys_script.alloc_fail_at = 0;
        EXPECT_EQ(error, refused ? WEFT_ENOMEM : 0);
        EXPECT_EQ(where("n"), error ? WEFT_NOBODY : pid);
        EXPECT_EQ(opened, !refused);
        EXPECT_EQ(names_count(), !refused);
        rt_stop();
    }
}

/* ---- two runtimes, and none ------------------------------------------------------------------------------------------------------------------------ */

TEST(two_runtimes_have_two_name_spaces) {
    rt_start("ring", 2);
    weft_runtime *other;
    weft_pid here = run_spawn(sleeper, NULL), there;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &other), 0);
    EXPECT_EQ(weft_spawn_with(sleeper, NULL, &(weft_stackful_options){.runtime = other}, &there), 0);
    EXPECT_EQ(weft_register("n", here), 0);
    EXPECT_EQ(weft_whereis_in(other, "n"), WEFT_NOBODY);
    EXPECT_EQ(weft_register("n", there), 0);
    EXPECT_EQ(where("n"), here);
    EXPECT_EQ(weft_whereis_in(other, "n"), there);
    EXPECT_EQ(weft_unregister(other, "n"), 0);
    EXPECT_EQ(where("n"), here);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_register("n", there), WEFT_EFOREIGN);
    EXPECT_EQ(where("n"), here);
    rt_stop();
}

TEST(a_runtime_that_starts_has_no_names) {
    for (unsigned i = 0; i < 3; i++) {
        rt_start("ring", 2);
        EXPECT_EQ(where("n"), WEFT_NOBODY);
        EXPECT_EQ(weft_register("n", run_spawn(sleeper, NULL)), 0);
        rt_stop();
    }
}

/* Processes that are asked to end with their runtime have their names until then, and may take others. */
static void renames_at_the_end(void *unused) {
    (void)unused;
    EXPECT_EQ(weft_register("before", weft_self()), 0);
    EXPECT_EQ(weft_sleep(3600 * WEFT_SECOND), WEFT_ECANCELED);
    EXPECT_EQ(weft_whereis("before"), weft_self());
    EXPECT_EQ(weft_register("at the end", weft_self()), 0);
    EXPECT_EQ(weft_whereis("at the end"), weft_self());
}
static void stop_body(void) {
    run_spawn(renames_at_the_end, NULL);
    while (where("before") == WEFT_NOBODY)
        usleep(100);
}
TEST(names_while_the_runtime_stops) { rt_each(stop_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
