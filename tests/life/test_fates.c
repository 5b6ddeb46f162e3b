/* Ends, crossed: a process in one of many states, what ends it, when and by whom, and all those who are to be told. By seed.
 *
 *   everyone is told, exactly once and by the same reason, the one that the act must have
 *   who is told finds nothing left of the process: not its name, nor its membership, nor its PID
 *   what it had deferred has been called
 *   nothing is left when the runtime stops: processes, memory */
#include "mailbox_helpers.h"

enum { TAG_DOWN = 1, TAG_EXIT, TAG_GO, TAG_NEVER, CODE_LINKED = 1000, CODE_CANCELLED = 77, OBSERVERS_MOST = 6, FATES = 6 };

enum act { ACT_KILL, ACT_CANCEL, ACT_LINK, ACT_LINK_KILL, ACT_CONTEXT, ACTS };
enum moment { WHEN_NEWBORN, WHEN_WAITING, WHEN_ANY, MOMENTS };
enum actor { BY_DIRECTOR, BY_PROCESS, BY_STEP, BY_THREAD, ACTORS };

struct fate {
    uint64_t noise;
    int (*state)(struct fate *fate); /* NULL: a step process */
    enum act act;
    enum moment moment;
    enum actor actor;
    bool shielded, joinable;
    char name[32];
    weft_pid silent, partner;
    weft_pid target; /* before anyone else is started who asks for it */
    weft_context *context;
    weft_chan *channel;
    weft_mutex mutex, other;
    weft_cond cond;
    weft_sem sem;
    weft_fd ends[2];
    atom_u64 spawned, begun, deferred, cleaned, ready;
};

static unsigned pick(struct fate *fate, unsigned bound) {
    fate->noise = fate->noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(fate->noise >> 33) % bound;
}

/* ---- what the process does -------------------------------------------------------------------------------------------------- */

static int in_recv(struct fate *fate) {
    weft_msg *message;
    (void)fate;
    return weft_recv(&message, WEFT_FOREVER);
}
static int in_recv_tag(struct fate *fate) {
    weft_msg *message;
    (void)fate;
    return weft_recv_tag(TAG_NEVER, &message, weft_in(3600 * WEFT_SECOND));
}
static int in_call(struct fate *fate) {
    weft_msg *reply;
    return weft_call(fate->silent, TAG_NEVER, NULL, 0, &reply, WEFT_FOREVER);
}
static int in_join(struct fate *fate) { return weft_join(fate->silent, NULL, WEFT_FOREVER); }
static int in_channel(struct fate *fate) { return weft_chan_recv(fate->channel, NULL, WEFT_FOREVER); }
static int in_select(struct fate *fate) {
    weft_case cases[] = {weft_case_recv(fate->channel, NULL), weft_case_recv(NULL, NULL)};
    return weft_select(cases, 2, WEFT_FOREVER);
}
static int in_mutex(struct fate *fate) { return weft_mutex_lock(&fate->mutex, WEFT_FOREVER); }
static int in_cond(struct fate *fate) {
    EXPECT_EQ(weft_mutex_lock(&fate->other, 0), 0);
    int error = weft_cond_wait(&fate->cond, &fate->other, WEFT_FOREVER);
    weft_mutex_unlock(&fate->other);
    return error;
}
static int in_sem(struct fate *fate) { return weft_sem_acquire(&fate->sem, 1, WEFT_FOREVER); }
static int in_sleep(struct fate *fate) {
    (void)fate;
    return weft_sleep(3600 * WEFT_SECOND);
}
static int in_socket(struct fate *fate) {
    char byte;
    return (int)weft_fd_read(fate->ends[0], &byte, 1, WEFT_FOREVER);
}
static void scope_child(void *fate) { in_recv(fate); }
static int in_scope(struct fate *fate) {
    weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    weft_scope_spawn(&scope, scope_child, fate);
    weft_scope_end(&scope); /* what it says depends on which of them was ended first */
    return WEFT_ECANCELED;
}
static int in_yields(struct fate *fate) {
    (void)fate;
    while (!weft_cancelled())
        weft_yield();
    return WEFT_ECANCELED;
}
static int (*const states[])(struct fate *fate) = {in_recv, in_recv_tag, in_call,  in_join,   in_channel, in_select, in_mutex,
                                                   in_cond, in_sem,      in_sleep, in_socket, in_scope,   in_yields, NULL};
enum { STATES = sizeof states / sizeof *states };

static void clean(void *opaque) {
    struct fate *fate = opaque;
    EXPECT_EQ(weft_sleep(1000), 0); /* it waits, whatever its process ends of */
    atom_add_rel(&fate->cleaned, 1);
}

static void begin(struct fate *fate) {
    EXPECT_EQ(weft_group_join(fate->name), 0);
    atom_store_rel(&fate->begun, 1);
}

static void target(void *opaque) {
    struct fate *fate = opaque;
    EXPECT_EQ(weft_defer(clean, fate), 0);
    atom_add_rel(&fate->deferred, 1);
    begin(fate);
    if (fate->shielded) { /* the act comes within it, or later */
        weft_shield_begin();
        weft_yield();
        weft_shield_end();
    }
    EXPECT_EQ(fate->state(fate), WEFT_ECANCELED);
    weft_exit(CODE_CANCELLED);
}

static int init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(self, input, size);
    return 0;
}
static int step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct fate *fate = *(struct fate **)self;
    (void)out;
    if (!atom_load_rlx(&fate->begun)) begin(fate);
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) return -CODE_CANCELLED;
    return 0;
}
static const weft_behavior step_target = {.name = "target", .state_size = sizeof(void *), .init = init, .step = step};

/* ---- those who are told -------------------------------------------------------------------------------------------------------- */

static int expected(const struct fate *fate) {
    if (fate->act == ACT_LINK) return CODE_LINKED;
    if (fate->act == ACT_KILL || fate->act == ACT_LINK_KILL) return WEFT_EKILLED;
    return fate->state ? CODE_CANCELLED : -CODE_CANCELLED;
}

/* Its end was told. Nothing may be left of it. */
static void expect_gone(const struct fate *fate, const weft_reason *reason) {
    weft_pid members[2];
    weft_process_info info;
    bool linked = fate->act == ACT_LINK;
    EXPECT_EQ(reason->code, expected(fate));
    EXPECT_EQ(reason->size, linked ? sizeof fate->name : 0);
    EXPECT(!linked || memcmp(reason->data, fate->name, sizeof fate->name) == 0);
    EXPECT_EQ(weft_whereis_in(rt.runtime, fate->name), WEFT_NOBODY);
    EXPECT_EQ(weft_group_members_in(rt.runtime, fate->name, members, 2), 0);
    EXPECT(!weft_alive(fate->target));
    EXPECT_EQ(weft_info(fate->target, &info), WEFT_ENOPROC);
    EXPECT_EQ(weft_kill(fate->target), WEFT_ENOPROC);
}

/* Whether it came too late to know the reason. */
static bool too_late(const struct fate *fate, int code) { return code == WEFT_ENOPROC && fate->moment != WHEN_WAITING; }

static void expect_notice(struct fate *fate, uint64_t tag, uint64_t reference) {
    weft_msg *message;
    EXPECT_EQ(weft_recv_tag(tag, &message, WEFT_FOREVER), 0);
    const weft_notice *notice = weft_msg_notice(message);
    EXPECT(notice != NULL);
    EXPECT_EQ(notice->pid, fate->target);
    EXPECT_EQ(notice->reference, reference);
    if (!too_late(fate, notice->reason.code)) expect_gone(fate, &notice->reason);
    weft_msg_free(message);
    EXPECT_EQ(weft_recv(&message, 0), WEFT_ETIMEDOUT);
}

static void monitors(void *opaque) {
    struct fate *fate = opaque;
    uint64_t reference, second;
    EXPECT_EQ(weft_monitor(fate->target, TAG_DOWN, &reference), 0);
    EXPECT_EQ(weft_monitor(fate->target, TAG_NEVER, &second), 0);
    int taken = weft_demonitor(second, true);
    EXPECT(taken == 0 || taken == WEFT_ENOENT);
    atom_add_rel(&fate->ready, 1);
    expect_notice(fate, TAG_DOWN, reference);
    EXPECT_EQ(weft_demonitor(reference, false), WEFT_ENOENT);
}
static void traps(void *opaque) {
    struct fate *fate = opaque;
    EXPECT_EQ(weft_trap_exit(true, TAG_EXIT), 0);
    int error = weft_link(fate->target);
    atom_add_rel(&fate->ready, 1);
    if (error) EXPECT(too_late(fate, error));
    else expect_notice(fate, TAG_EXIT, 0);
    EXPECT_EQ(weft_unlink(fate->target), WEFT_ENOENT);
}
static void joins(void *opaque) {
    struct fate *fate = opaque;
    weft_reason reason;
    atom_add_rel(&fate->ready, 1);
    int error = weft_join_reason(fate->target, &reason, WEFT_FOREVER); /* it may have been told to another before it came here */
    EXPECT(error == 0 || error == WEFT_ENOPROC);
    if (error) return;
    expect_gone(fate, &reason);
    weft_reason_free(&reason);
}
static void calls(void *opaque) {
    struct fate *fate = opaque;
    weft_msg *reply;
    atom_add_rel(&fate->ready, 1);
    EXPECT_EQ(weft_call(fate->target, TAG_GO, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
}
static void *joins_in_a_thread(void *fate) {
    joins(fate);
    return NULL;
}

/* ---- the act --------------------------------------------------------------------------------------------------------------------- */

static void act(void *opaque) {
    struct fate *fate = opaque;
    if (fate->act == ACT_KILL) EXPECT_EQ(weft_kill(fate->target), 0);
    else if (fate->act == ACT_CANCEL) EXPECT_EQ(weft_cancel(fate->target), 0);
    else if (fate->act == ACT_LINK) EXPECT_EQ(weft_send(fate->partner, TAG_GO, NULL, 0), 0);
    else if (fate->act == ACT_LINK_KILL) EXPECT_EQ(weft_kill(fate->partner), 0);
    else weft_context_cancel(fate->context, rt.runtime);
}
static void *act_in_a_thread(void *fate) {
    act(fate);
    return NULL;
}
static int act_in_a_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    act(*(struct fate **)self);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior step_actor = {.name = "actor", .state_size = sizeof(void *), .init = init, .step = act_in_a_step};

static void act_by(struct fate *fate) {
    pthread_t thread;
    weft_pid pid;
    weft_spawn_options options = {.input = &fate, .input_size = sizeof fate, .flags = WEFT_SPAWN_JOINABLE};
    if (fate->actor == BY_DIRECTOR || fate->moment == WHEN_NEWBORN) act(fate);
    else if (fate->actor == BY_PROCESS) run_join(run_flags(act, fate, WEFT_SPAWN_JOINABLE));
    else if (fate->actor == BY_STEP) {
        EXPECT_EQ(weft_spawn_step(&step_actor, &options, &pid), 0);
        run_join(pid);
    } else {
        EXPECT_EQ(pthread_create(&thread, NULL, act_in_a_thread, fate), 0);
        weft_blocking_enter();
        pthread_join(thread, NULL);
        weft_blocking_leave();
    }
}

/* ---- one fate ---------------------------------------------------------------------------------------------------------------------- */

static void silent(void *unused) {
    (void)unused;
    expect_tag(TAG_GO);
}

static void spawn_target(struct fate *fate, unsigned flags) {
    weft_pid pid;
    flags |= fate->joinable ? WEFT_SPAWN_JOINABLE : 0;
    if (fate->state) {
        weft_stackful_options options = {.context = fate->context, .flags = flags, .register_as = fate->name};
        EXPECT_EQ(weft_spawn_with(target, fate, &options, &pid), 0);
    } else {
        weft_spawn_options options = {.context = fate->context, .flags = flags, .register_as = fate->name};
        options.input = &fate;
        options.input_size = sizeof fate;
        EXPECT_EQ(weft_spawn_step(&step_target, &options, &pid), 0);
    }
    fate->target = pid;
    atom_store_rel(&fate->spawned, 1);
}

static void partner(void *opaque) {
    struct fate *fate = opaque;
    weft_msg *message;
    spawn_target(fate, WEFT_SPAWN_LINK);
    if (weft_recv_tag(TAG_GO, &message, WEFT_FOREVER) != 0) weft_exit(1); /* it was killed */
    weft_msg_free(message);
    weft_exit_with(CODE_LINKED, fate->name, sizeof fate->name);
}

static void wait_for(atom_u64 *cell, uint64_t value) {
    while (atom_load_acq(cell) < value)
        weft_sleep(20 * WEFT_MICROSECOND);
}

static void wait_for_the_moment(struct fate *fate, unsigned observers) {
    weft_process_info info;
    if (fate->moment == WHEN_ANY) weft_sleep(pick(fate, 200) * WEFT_MICROSECOND);
    if (fate->moment != WHEN_WAITING) return;
    wait_for(&fate->begun, 1);
    wait_for(&fate->ready, observers);
    while (fate->state != in_yields && (weft_info(fate->target, &info) != 0 || info.state != WEFT_STATE_WAITING))
        weft_sleep(20 * WEFT_MICROSECOND);
}

static void set_up(struct fate *fate) {
    fate->silent = run_flags(silent, NULL, WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(weft_chan_new(1, 0, &fate->channel), 0);
    EXPECT_EQ(weft_mutex_lock(&fate->mutex, 0), 0);
    EXPECT_EQ(weft_net_pair(fate->ends), 0);
    if (fate->act == ACT_CONTEXT) EXPECT_EQ(weft_context_new(NULL, &fate->context, WEFT_FOREVER), 0);
    if (fate->act == ACT_LINK || fate->act == ACT_LINK_KILL) fate->partner = run_spawn(partner, fate);
    else spawn_target(fate, 0);
    wait_for(&fate->spawned, 1);
}

static void tear_down(struct fate *fate) {
    EXPECT_EQ(weft_send(fate->silent, TAG_GO, NULL, 0), 0);
    EXPECT_EQ(run_join(fate->silent), 0);
    weft_mutex_unlock(&fate->mutex);
    weft_chan_free(fate->channel);
    weft_fd_close(fate->ends[0]);
    weft_fd_close(fate->ends[1]);
    weft_context_drop(fate->context);
    EXPECT_EQ(atom_load_acq(&fate->cleaned), atom_load_acq(&fate->deferred));
}

static void direct(void *opaque) {
    static const weft_entry kinds[] = {monitors, monitors, traps, joins, calls};
    struct fate *fate = opaque;
    weft_pid observers[OBSERVERS_MOST];
    unsigned count = 1 + pick(fate, OBSERVERS_MOST);
    pthread_t thread;
    set_up(fate);
    if (fate->moment == WHEN_NEWBORN) act_by(fate);
    for (unsigned i = 0; i < count; i++)
        observers[i] = run_flags(fate->state == in_recv ? monitors : kinds[pick(fate, 5)], fate, WEFT_SPAWN_JOINABLE);
    EXPECT_EQ(pthread_create(&thread, NULL, joins_in_a_thread, fate), 0);
    wait_for_the_moment(fate, count + 1);
    if (fate->moment != WHEN_NEWBORN) act_by(fate);
    for (unsigned i = 0; i < count; i++)
        EXPECT_EQ(run_join(observers[i]), 0);
    weft_blocking_enter();
    pthread_join(thread, NULL);
    weft_blocking_leave();
    tear_down(fate);
}

static void fates(uint64_t seed) {
    static const char *const policies[] = {"ring", "deque", "line"};
    static struct fate all[FATES];
    weft_pid directors[FATES];
    test_doing("WEFT_TEST_SEED=%lu", (unsigned long)seed);
    rt_start(policies[seed % 3], 1U << seed / 3 % 3);
    for (unsigned i = 0; i < FATES; i++) {
        struct fate *fate = &all[i];
        *fate = (struct fate){.noise = seed * FATES + i};
        pick(fate, 2);
        fate->state = states[pick(fate, STATES)];
        fate->act = (enum act)pick(fate, ACTS);
        fate->moment = (enum moment)pick(fate, MOMENTS);
        fate->actor = (enum actor)pick(fate, ACTORS);
        fate->shielded = pick(fate, 2);
        fate->joinable = pick(fate, 2);
        snprintf(fate->name, sizeof fate->name, "fate %u of seed %lu", i, (unsigned long)seed);
        directors[i] = run_flags(direct, fate, WEFT_SPAWN_JOINABLE);
    }
    for (unsigned i = 0; i < FATES; i++)
        EXPECT_EQ(run_join(directors[i]), 0);
    rt_stop();
}

TEST_WITHIN(everyone_is_told_of_every_end, 120) {
    uint64_t given = test_seed(0), seeds = 160 * test_scale() / RT_SLOW;
    for (uint64_t seed = given ? given : 1; seed <= (given ? given : seeds); seed++)
        fates(seed);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
