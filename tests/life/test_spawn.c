/* Birth and death of processes: methods, init that fails, steps that fail, the limit, PIDs that mean no process. */
#include "proc/proc.h"
#include "runtime_helpers.h"
#include "sched/runtime.h"

#include <weft/weft.h>

static atom_u64 steps, closes, heard;

static int idle_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE) atom_add_rel(&heard, 1);
        if (events[i].type == WEFT_EVENT_MESSAGE && events[i].tag == 99) weft_out_status(out, WEFT_STEP_DONE);
    }
    atom_add_rel(&steps, 1);
    return 0;
}
static void count_close(void *self) {
    (void)self;
    atom_add_rel(&closes, 1);
}
static const weft_behavior idler = {.name = "idler", .step = idle_step, .close = count_close};
static const weft_behavior once = {.name = "once", .step = idle_step};

/* ---- methods --------------------------------------------------------------------------------------------------------- */

static char method_seen[32];
static int method_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context;
    EXPECT_EQ(size, 5);
    EXPECT(memcmp(input, "input", 5) == 0);
    strcpy(method_seen, method);
    return 0;
}
static const char *const methods[] = {"begin", "resume", "inspect", NULL};
static const weft_behavior many = {.name = "many", .methods = methods, .init = method_init, .step = idle_step};
static const weft_behavior single = {.name = "single", .init = method_init, .step = idle_step};

static int spawn_method(const weft_behavior *behavior, const char *method) {
    weft_pid pid = 12345;
    weft_spawn_options options = {.runtime = rt.runtime, .method = method, .input = "input", .input_size = 5};
    int error = weft_spawn_step(behavior, &options, &pid);
    EXPECT(error == 0 || pid == 12345);
    return error;
}

static void methods_of(void) {
    EXPECT_EQ(spawn_method(&many, NULL), 0);
    EXPECT(strcmp(method_seen, "begin") == 0);
    EXPECT_EQ(spawn_method(&many, "inspect"), 0);
    EXPECT(strcmp(method_seen, "inspect") == 0);
    EXPECT_EQ(spawn_method(&single, NULL), 0);
    EXPECT(strcmp(method_seen, "main") == 0);
    EXPECT_EQ(spawn_method(&single, "main"), 0);
    method_seen[0] = '\0';
    rt_stderr_begin();
    EXPECT_EQ(spawn_method(&many, "inspec"), WEFT_ENOENT);
    const char *said = rt_stderr_end();
    EXPECT(strstr(said, "many") && strstr(said, "'inspec'"));
    EXPECT(strstr(said, "begin") && strstr(said, "resume") && strstr(said, "inspect"));
    EXPECT(strchr(said, '\n') == said + strlen(said) - 1); /* one line */
    rt_stderr_begin();
    EXPECT_EQ(spawn_method(&single, ""), WEFT_ENOENT);
    EXPECT(strstr(rt_stderr_end(), "main"));
    EXPECT(method_seen[0] == '\0'); /* init was not called */
    EXPECT_EQ(rt_stats().spawned, 4);
}
TEST(spawn_with_methods) { rt_each(methods_of); }

/* ---- init ------------------------------------------------------------------------------------------------------------ */

static int failing_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)size;
    return *(const int *)input;
}
static void failing_inits(void) {
    static const size_t sizes[] = {0, 32, 33, 2048, 5000};
    atom_store_rlx(&closes, 0);
    for (unsigned i = 0; i < 3000; i++) {
        const weft_behavior failing = {
            .name = "failing", .state_size = sizes[i % 5], .init = failing_init, .step = idle_step, .close = count_close};
        int code = -1 - (int)(i % 7);
        weft_pid pid = 777;
        weft_spawn_options options = {.runtime = rt.runtime, .input = &code, .input_size = sizeof code};
        EXPECT_EQ(weft_spawn_step(&failing, &options, &pid), code);
    }
    EXPECT_EQ(rt_stats().spawned, 0);
    EXPECT_EQ(atom_load_rlx(&closes), 0); /* what was never opened is not closed */
}
TEST(spawn_returns_what_init_says) { rt_each(failing_inits); }

/* Init may use the runtime: it sends, spawns and asks, from a foreign thread and inside of a process. */
static atom_u64 inits; /* done: before that the runtime is not to be stopped */
static int busy_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    weft_pid child, to = *(const weft_pid *)input;
    (void)self, (void)context, (void)method, (void)size;
    EXPECT_EQ(weft_send(to, 1, "born", 5), 0);
    EXPECT(weft_alive(to));
    EXPECT_EQ(weft_spawn_step(&once, &(weft_spawn_options){.runtime = rt.runtime}, &child), 0);
    EXPECT_EQ(weft_cancel(child), 0);
    atom_add_rel(&inits, 1);
    return 0;
}
static const weft_behavior busy = {.name = "busy", .init = busy_init, .step = idle_step};
static int spawning_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_pid child, to;
    (void)self;
    if (count == 0) return 0;
    memcpy(&to, events[0].data, sizeof to);
    EXPECT_EQ(weft_spawn_step(&busy, &(weft_spawn_options){.input = &to, .input_size = sizeof to}, &child), 0);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior spawning = {.name = "spawning", .step = spawning_step};
static void busy_inits(void) {
    atom_store_rlx(&heard, 0);
    atom_store_rlx(&inits, 0);
    weft_pid to = rt_spawn(&idler), parent = rt_spawn(&spawning);
    rt_spawn_with(&busy, &to, sizeof to);
    EXPECT_EQ(weft_send(parent, 1, &to, sizeof to), 0);
    rt_wait(&heard, 2);
    rt_wait(&inits, 2);
}
TEST(spawn_init_may_use_the_runtime) { rt_each(busy_inits); }

TEST(spawn_outside_needs_a_runtime) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&idler, NULL, &pid), WEFT_ENOTINSIDE);
    EXPECT_EQ(weft_self(), WEFT_NOBODY);
    EXPECT(weft_own_runtime() == NULL && weft_own_context() == NULL);
}

/* State is zeroed, whatever lay there before, and aligned. */
static atom_u64 state_size;
static int state_init_checks(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)input, (void)size;
    EXPECT_EQ((uintptr_t)self % 8, 0);
    for (size_t i = 0; i < atom_load_rlx(&state_size); i++)
        EXPECT_EQ(((unsigned char *)self)[i], 0);
    memset(self, 0xff, atom_load_rlx(&state_size));
    return 0;
}
static int state_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    for (size_t i = 0; i < atom_load_rlx(&state_size); i++)
        EXPECT_EQ(((unsigned char *)self)[i], 0xff);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static void states(void) {
#define STATE(size)                                                                                                                        \
    { .name = "state", .state_size = size, .init = state_init_checks, .step = state_step }
    static const weft_behavior behaviors[] = {STATE(1),    STATE(32),   STATE(33),   STATE(64),    STATE(65),
                                              STATE(2000), STATE(2048), STATE(2049), STATE(100000)};
    for (unsigned i = 0; i < sizeof behaviors / sizeof behaviors[0]; i++) {
        atom_store_rlx(&state_size, behaviors[i].state_size);
        for (unsigned k = 0; k < 10; k++)
            rt_spawn(&behaviors[i]);
        rt_wait_until_none_lives();
    }
}
TEST(spawn_zeroes_the_state) { rt_each(states); }

/* ---- a step that fails ends its process and no other --------------------------------------------------------------------- */

static int failing_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    weft_out_status(out, WEFT_STEP_CONTINUE); /* the error counts, not the status */
    return count > 0 ? -55 : 0;
}
static void failing_steps(void) {
    static const weft_behavior fails = {.name = "fails", .step = failing_step, .close = count_close};
    atom_store_rlx(&closes, 0);
    atom_store_rlx(&heard, 0);
    weft_pid neighbour = rt_spawn(&idler), pid = rt_spawn(&fails);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    rt_wait(&closes, 1);
    while (weft_alive(pid))
        usleep(100);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), WEFT_ENOPROC);
    EXPECT_EQ(weft_send(neighbour, 1, NULL, 0), 0);
    rt_wait(&heard, 1);
    EXPECT_EQ(atom_load_rlx(&closes), 1);
}
TEST(spawn_a_failing_step_ends_one_process) { rt_each(failing_steps); }

/* ---- the limit -------------------------------------------------------------------------------------------------------- */

static void at_the_limit(const char *policy, unsigned workers) {
    enum { MOST = 100 };
    weft_pid pids[MOST], pid = 777;
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .seed = 1, .max_processes = MOST});
    for (unsigned i = 0; i < MOST; i++)
        pids[i] = rt_spawn(&once);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_spawn_step(&once, &(weft_spawn_options){.runtime = rt.runtime}, &pid), WEFT_ENOBUFS);
    EXPECT_EQ(pid, 777);
    EXPECT_EQ(weft_send(pids[7], 99, NULL, 0), 0); /* one ends, one may come */
    while (weft_alive(pids[7]))
        usleep(50);
    pid = rt_spawn(&once);
    EXPECT(pid != pids[7]);
    EXPECT_EQ(weft_spawn_step(&once, &(weft_spawn_options){.runtime = rt.runtime}, &pids[7]), WEFT_ENOBUFS);
    rt_stop();
}
TEST(spawn_at_the_limit) { rt_cases(at_the_limit); }

/* Many times the limit in all, never more than the limit at once. */
static void beyond_the_limit(const char *policy, unsigned workers) {
    enum { MOST = 10 };
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .seed = 1, .max_processes = MOST});
    for (unsigned i = 0; i < 5000 / RT_SLOW; i++) {
        weft_pid pid = rt_spawn(&once);
        EXPECT_EQ(weft_send(pid, 99, NULL, 0), 0);
        while (i % MOST == MOST - 1 && rt_stats().processes > 0)
            sched_yield();
    }
    rt_stop();
}
TEST(spawn_many_times_the_limit) { rt_cases(beyond_the_limit); }

/* ---- PIDs that mean no process ---------------------------------------------------------------------------------------------- */

static void expect_no_process(weft_pid pid, int error) {
    EXPECT_EQ(weft_send(pid, 1, "x", 1), error);
    EXPECT_EQ(weft_cancel(pid), error);
    EXPECT(!weft_alive(pid));
}

static void expect_nobodies(unsigned instance, weft_pid living) {
    uint32_t slot = pid_slot(living), generation = pid_generation(living);
    static const uint32_t slots[] = {0, 2, 511, 512, 513, 600, 4095, 4096, 5000, 1 << 20, PID_SLOTS - 1};
    static const uint32_t generations[] = {0, 1, 2, 3, UINT32_MAX - 1, UINT32_MAX};
    for (unsigned s = 0; s < sizeof slots / sizeof slots[0]; s++)
        for (unsigned g = 0; g < sizeof generations / sizeof generations[0]; g++)
            if (slots[s] != slot) expect_no_process(pid_make(instance, generations[g], slots[s]), WEFT_ENOPROC);
    for (uint32_t g = 0; g < 10; g++)
        if (g != generation) expect_no_process(pid_make(instance, g, slot), WEFT_ENOPROC);
    expect_no_process(pid_make((instance + 1) % INSTANCES, generation, slot), WEFT_EFOREIGN);
    expect_no_process(pid_make((instance + 128) % INSTANCES, generation, slot), WEFT_EFOREIGN);
    expect_no_process(WEFT_NOBODY, instance == 0 ? WEFT_ENOPROC : WEFT_EFOREIGN);
}

static int asking_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    if (count == 0) return 0;
    expect_nobodies(pid_instance(weft_self()), weft_self());
    weft_out_status(out, WEFT_STEP_DONE);
    atom_add_rel(&heard, 1);
    return 0;
}
static const weft_behavior asking = {.name = "asking", .step = asking_step};

static void nobodies(void) {
    atom_store_rlx(&heard, 0);
    weft_pid pid = rt_spawn(&asking);
    expect_nobodies(pid_instance(pid), pid);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    rt_wait(&heard, 1);
    while (weft_alive(pid))
        usleep(50);
    expect_no_process(pid, WEFT_ENOPROC);
    expect_nobodies(pid_instance(pid), pid);
    for (unsigned i = 0; i < 600; i++) /* what was sent to slots that were not in use is in no mailbox now */
        rt_spawn(&idler);
    atom_store_rlx(&heard, 0);
    atom_store_rlx(&steps, 0);
    rt_pause(RT_MS);
    EXPECT_EQ(atom_load_rlx(&heard), 0);
}
TEST(spawn_pids_that_mean_no_process) { rt_each(nobodies); }

/* One slot, over and over: each tenant has its own PID, and no PID of a former tenant reaches a later one. */
static int tenant_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            EXPECT_EQ(events[i].tag, weft_self()); /* meant for this one */
            weft_out_status(out, WEFT_STEP_DONE);
        }
    return 0;
}
static const weft_behavior tenant = {.name = "tenant", .step = tenant_step};

static struct {
    atom_u64 pid;
    atom_bool over;
} lease;
static void *late_sender(void *unused) {
    while (!atom_load_rlx(&lease.over)) {
        weft_pid pid = atom_load_rlx(&lease.pid);
        if (pid) weft_send(pid, pid, NULL, 0);
    }
    return unused;
}

static void tenants(const char *policy, unsigned workers) {
    enum { FORMER = 64 };
    unsigned count = 200000 / RT_SLOW / (policy[0] == 'r' && workers == 2 ? 1 : 10) * test_scale();
    static weft_pid former[FORMER];
    pthread_t thread;
    memset(former, 0, sizeof former);
    atom_store_rlx(&lease.over, false);
    atom_store_rlx(&lease.pid, 0);
    rt_start(policy, workers);
    EXPECT_EQ(pthread_create(&thread, NULL, late_sender, NULL), 0);
    for (unsigned i = 0; i < count; i++) {
        weft_pid pid = rt_spawn(&tenant);
        for (unsigned k = i % 16; k < FORMER; k += 16) {
            EXPECT(former[k] != pid);
        }
        former[i % FORMER] = pid;
        atom_store_rlx(&lease.pid, pid);
        int error = weft_send(pid, pid, NULL, 0);
        EXPECT(error == 0 || error == WEFT_ENOPROC); /* the other thread's message may have ended it */
        weft_pid old = former[(i + 1) % FORMER];
        if (old) {
            error = weft_send(old, old, NULL, 0);
            EXPECT(error == 0 || error == WEFT_ENOPROC);
        }
    }
    atom_store_rlx(&lease.over, true);
    pthread_join(thread, NULL);
    rt_stop();
}
TEST_WITHIN(spawn_slots_are_reused_and_pids_are_not, 120) { rt_cases(tenants); }

/* ---- a PID that is known before its process runs ------------------------------------------------------------------------ */

enum { KNOWN = 300 };
static struct known { weft_pid pid, announced; } knowns[KNOWN];
static atom_u64 right;
static void is_known(void *arg) {
    const struct known *known = arg;
    EXPECT(known->pid == weft_self()); /* written by the spawner, on whatever worker this runs */
    EXPECT(known->announced == WEFT_NOBODY || known->announced == weft_self());
    atom_add_rel(&right, 1);
}
static int known_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    is_known(*(struct known **)self);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static int known_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(const void **)self = input;
    return 0;
}
static const weft_behavior known_behavior = {.name = "known", .state_size = sizeof(void *), .init = known_init, .step = known_step};
static void announce(weft_pid pid, void *user) {
    struct known *known = user;
    EXPECT(known->announced == WEFT_NOBODY && !weft_alive(pid));
    EXPECT_EQ(weft_send(pid, 0, NULL, 0), WEFT_ENOPROC);
    known->announced = pid;
}
static void spawn_known(weft_runtime *runtime, weft_scope *scope, unsigned i) {
    struct known *known = &knowns[i];
    unsigned flags = i % 2 ? WEFT_SPAWN_ANNOUNCE : 0;
    weft_spawn_announcement announcement = {announce, known};
    if (scope && i % 5 == 0) flags |= WEFT_SPAWN_MONITOR;
    weft_stackful_options options = {.runtime = runtime, .flags = flags, .announcement = announcement};
    if (i % 3 == 0) {
        weft_spawn_options step = {.runtime = runtime, .flags = flags, .input = known, .announcement = announcement};
        EXPECT_EQ(weft_spawn_step(&known_behavior, &step, &known->pid), 0);
    } else if (scope && i % 5 != 0) {
        EXPECT_EQ(weft_scope_spawn_with(scope, is_known, known, &options, &known->pid), 0);
    } else {
        EXPECT_EQ(weft_spawn_with(is_known, known, &options, &known->pid), 0);
    }
    EXPECT(known->announced == (i % 2 ? known->pid : WEFT_NOBODY));
}
static void spawns_known(void *arg) {
    (void)arg;
    weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (unsigned i = 0; i < KNOWN; i++)
        spawn_known(NULL, &scope, i);
    EXPECT_EQ(weft_scope_end(&scope), 0);
}
static void known_before(void) {
    weft_pid pid;
    atom_store_rlx(&right, 0);
    memset(knowns, 0, sizeof knowns);
    EXPECT_EQ(weft_spawn_with(spawns_known, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    rt_wait(&right, KNOWN);
    rt_wait_until_none_lives();
    memset(knowns, 0, sizeof knowns);
    for (unsigned i = 0; i < KNOWN; i++) /* from this thread */
        spawn_known(rt.runtime, NULL, i);
    rt_wait(&right, 2 * KNOWN);
}
TEST(spawn_a_pid_is_known_before_its_process_runs) { rt_each(known_before); }

int main(int argc, char **argv) { return test_main(argc, argv); }
