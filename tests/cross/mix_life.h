/* Members: what they do, how they come into the world and leave it. Spawned = ended, and a process that is joined has the reason that it
 * gave. */
#ifndef WEFT_TESTS_CROSS_MIX_LIFE_H
#define WEFT_TESTS_CROSS_MIX_LIFE_H

#include "mix_fd.h"
#include "mix_mail.h"
#include "mix_sync.h"
#include "mix_ties.h"
#include "mix_time.h"
#include "mix_victims.h"
#include "mix_work.h"

static struct {
    atom_u64 yielded, completed; /* commands of step members */
    atom_u64 deferred, undone;   /* what members left to be done at their end */
} life;

static inline void act(struct member *member);

/* ---- beginning and end ---------------------------------------------------------------------------------------------- */

/* However a member ends. Deferred, so what waits here does wait. */
static inline void member_leaves(void *arg) {
    struct member *member = arg;
    weft_msg *message;
    weft_sleep(1000);
    while (weft_recv(&message, 0) == 0)
        letter_read(member, message);
    atom_add_rel(&mix.ended, 1);
    free(member->last);
    free(member);
}

/* A number of actions, or until it is cancelled. The reason of its end follows from its number. */
static inline int member_reason(uint32_t id) { return id % 3 ? 0 : -1000 - (int)id; }
/* Of one that has begun. */
static inline uint32_t member_id(weft_pid pid) {
    uint32_t id = 0;
    while (atom_load_acq(&mix.pids[id]) != pid)
        EXPECT(++id < MEMBERS);
    return id;
}
static inline void member_main(void *arg) {
    struct member *member = arg;
    member->self = weft_self();
    atom_store_rel(&mix.pids[member->id], member->self);
    EXPECT_EQ(weft_defer(member_leaves, member), 0);
    if (member->id % PACKS_EVERY == 0 && weft_own_runtime() == rt.runtime) pack_note(member->self);
    for (uint32_t left = 1 + mix_below(member, 40); left > 0 && !weft_cancelled(); left--)
        act(member);
    if (member_reason(member->id)) weft_exit(member_reason(member->id));
}

static inline struct member *member_new(unsigned depth) {
    uint64_t id = atom_load_rlx(&mix.ids);
    do
        if (id >= MEMBERS) return NULL;
    while (!atom_cas_acqrel_rlx(&mix.ids, &id, id + 1));
    struct member *member = calloc(1, sizeof *member);
    member->last = calloc(SENDERS, sizeof *member->last);
    member->id = (uint32_t)id;
    member->depth = depth;
    rng_seed(&member->rng, mix.seed, id);
    return member;
}

/* `options` may have a runtime, a context and flags. */
static inline weft_pid member_spawn(struct member *parent, weft_scope *scope, weft_stackful_options options) {
    struct member *member = member_new(parent ? parent->depth + 1 : 0);
    weft_pid pid = WEFT_NOBODY;
    if (!member) return WEFT_NOBODY;
    options.stack_size = 96 << 10;
    options.name = "member";
    if (member->id % PACKS_EVERY == 0) options.flags |= WEFT_SPAWN_PACK;
    atom_add_rlx(&mix.begun, 1);
    int error =
        scope ? weft_scope_spawn_with(scope, member_main, member, &options, &pid) : weft_spawn_with(member_main, member, &options, &pid);
    if (!error) return pid;
    EXPECT_EQ(error, WEFT_ECANCELED);
    atom_sub_rlx(&mix.begun, 1);
    free(member->last);
    free(member);
    return WEFT_NOBODY;
}
static inline weft_pid member_spawn_flags(struct member *parent, unsigned flags) {
    return member_spawn(parent, NULL, (weft_stackful_options){.flags = flags});
}

/* ---- lives of others ------------------------------------------------------------------------------------------------ */

static inline void act_spawn(struct member *member) { member_spawn_flags(member, mix_below(member, 2) ? WEFT_SPAWN_PREEMPT : 0); }
static inline void act_join(struct member *member) {
    int reason = 1;
    weft_pid pid = member->depth < 4 ? member_spawn_flags(member, WEFT_SPAWN_JOINABLE) : WEFT_NOBODY;
    if (pid == WEFT_NOBODY) return;
    uint64_t deadline = mix_limit(member);
    int error = weft_join(pid, &reason, deadline);
    mix_expect(error, deadline);
    if (!error) EXPECT_EQ(reason, member_reason(member_id(pid)));
    else if (mix_below(member, 2)) EXPECT_EQ(weft_detach(pid), 0);
}
static inline void act_scope(struct member *member) {
    weft_scope scope;
    if (member->depth >= 3) return;
    uint64_t deadline = mix_limit(member);
    weft_scope_begin(&scope, deadline);
    for (uint32_t n = mix_below(member, 4); n > 0; n--)
        member_spawn(member, &scope, (weft_stackful_options){.flags = 0});
    bool ends = mix_below(member, 4) == 0;
    if (ends) weft_scope_cancel(&scope);
    int result = weft_scope_end(&scope);
    if (result > -1000 && !(ends && result == WEFT_ECANCELED)) mix_expect(result, deadline);
}
static inline void act_cancel(struct member *member) {
    weft_pid pid = mix_any_member(member);
    if (pid == WEFT_NOBODY || mix_below(member, 3)) return;
    int error = weft_cancel(pid);
    EXPECT(error == 0 || error == WEFT_ENOPROC || error == WEFT_EFOREIGN);
}
/* A few that a context ends, by its deadline or because it is cancelled. */
static inline void act_context(struct member *member) {
    weft_context *context;
    EXPECT_EQ(weft_context_new(weft_own_context(), &context, weft_in(mix_below(member, 1000000))), 0);
    for (uint32_t n = mix_below(member, 3); n > 0; n--)
        member_spawn(member, NULL, (weft_stackful_options){.context = context});
    if (mix_below(member, 2)) weft_context_cancel(context, weft_own_runtime());
    weft_context_drop(context);
}
static inline void act_shielded(struct member *member) {
    weft_shield_begin();
    EXPECT_EQ(weft_sleep(mix_below(member, 20000)), 0);
    act(member);
    weft_shield_end();
}
static inline void act_pinned(struct member *member) {
    weft_pin_begin();
    pid_t thread = gettid();
    act(member);
    EXPECT_EQ(gettid(), thread);
    weft_pin_end();
}
static inline void act_nopreempt(struct member *member) {
    weft_nopreempt_begin();
    act(member);
    weft_nopreempt_end();
}
static inline void act_on_big_stack(void *arg) { act(arg); }
static inline void act_big(struct member *member) { EXPECT_EQ(weft_call_big(act_on_big_stack, member, 256 << 10), 0); }
static inline void life_undo(void *arg) { atom_add_rel(&life.undone, (uint64_t)(uintptr_t)arg); }
static inline void act_defer(struct member *member) {
    atom_add_rlx(&life.deferred, 1);
    EXPECT_EQ(weft_defer(life_undo, (void *)(uintptr_t)1), 0);
    if (mix_below(member, 2)) weft_undefer(true);
}

/* ---- step processes, and what they yield ---------------------------------------------------------------------------- */

struct stepper {
    uint32_t left, waits;
    struct rng rng;
};
static inline int stepper_call(void *data, size_t size) { return (void)data, (void)size, 0; }
static inline int stepper_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    struct stepper *stepper = self;
    uint64_t id;
    (void)context, (void)method;
    memcpy(&id, input, size);
    rng_seed(&stepper->rng, mix.seed, id + (1 << 22));
    stepper->left = 1 + rng_below(&stepper->rng, 6);
    return 0;
}
static inline void stepper_yield(struct stepper *stepper, weft_out *out) {
    static const weft_command_call call = {.run = stepper_call};
    atom_add_rlx(&life.yielded, 1);
    stepper->left--;
    stepper->waits++;
    if (rng_below(&stepper->rng, 2)) EXPECT_EQ(weft_out_sleep(out, 0, rng_below(&stepper->rng, 200000)), 0);
    else EXPECT_EQ(weft_out_call(out, 0, &call, "x", 1), 0);
}
/* Also when it is cancelled: it waits for what it has yielded. */
static inline int stepper_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct stepper *stepper = self;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_COMPLETION) {
            EXPECT_EQ(events[i].error, 0);
            stepper->waits--;
            atom_add_rel(&life.completed, 1);
        }
    if (rng_below(&stepper->rng, 4) == 0) {
        EXPECT_EQ(weft_out_handoff(out, mix.server, TAGS, NULL, 0), 0);
        atom_add_rlx(&mail.posted, 1);
    }
    if (stepper->left > 0) stepper_yield(stepper, out);
    weft_out_status(out, stepper->waits ? WEFT_STEP_BLOCKED : WEFT_STEP_DONE);
    return 0;
}
static inline void stepper_close(void *self) { (void)self, atom_add_rel(&mix.ended, 1); }
static const weft_behavior stepper_behavior = {
    .name = "stepper", .state_size = sizeof(struct stepper), .init = stepper_init, .step = stepper_step, .close = stepper_close};
static inline void act_step(struct member *member) {
    weft_pid pid;
    uint64_t id = (uint64_t)member->id << 10 | mix_below(member, 1024);
    atom_add_rlx(&mix.begun, 1);
    EXPECT_EQ(weft_spawn_step(&stepper_behavior, &(weft_spawn_options){.input = &id, .input_size = sizeof id}, &pid), 0);
    if (mix_below(member, 4) == 0) weft_cancel(pid);
}

/* ---- everything ----------------------------------------------------------------------------------------------------- */

#define ACTION(id, often) {#id, act_##id, often},
/* clang-format off */
static const struct action {
    const char *name;
    void (*act)(struct member *member);
    unsigned weight;
} actions[] = {
    ACTION(send, 10) ACTION(recv, 6) ACTION(recv_tag, 3) ACTION(recv_match, 2) ACTION(handoff, 2)
    ACTION(call, 5) ACTION(ask, 3) ACTION(chan_send, 6) ACTION(chan_recv, 6) ACTION(select, 6)
    ACTION(chan_close, 1) ACTION(sem, 4) ACTION(mutex, 4) ACTION(rwlock, 4) ACTION(cond, 4)
    ACTION(once, 1) ACTION(sleep, 4) ACTION(after, 4) ACTION(every, 1) ACTION(write, 4)
    ACTION(fd_wait, 1) ACTION(connect, 1) ACTION(pair, 1) ACTION(blocking, 2) ACTION(blocking_between, 1)
    ACTION(blocking_until, 2) ACTION(fork, 1) ACTION(file, 1) ACTION(yield, 4) ACTION(compute, 2)
    ACTION(spawn, 4) ACTION(join, 3) ACTION(scope, 3) ACTION(cancel, 3) ACTION(shielded, 2)
    ACTION(pinned, 2) ACTION(nopreempt, 1) ACTION(big, 1) ACTION(defer, 2)
    ACTION(context, 2) ACTION(waitgroup, 2) ACTION(datagram, 1) ACTION(child, 1)
    ACTION(step, 2) ACTION(monitor, 3) ACTION(link, 2) ACTION(kill, 2) ACTION(victim, 4)
};
/* clang-format on */
enum { ACTIONS = sizeof actions / sizeof actions[0] };

/* WEFT_MIXTURE_WITHOUT, names with commas around and between them, leaves actions out: to find out which a failure needs. */
static inline unsigned action_weight(const struct action *action) {
    const char *without = getenv("WEFT_MIXTURE_WITHOUT");
    char name[40];
    snprintf(name, sizeof name, ",%s,", action->name);
    return without && strstr(without, name) ? 0 : action->weight;
}
static unsigned weights[ACTIONS], weight_of_all;
static inline void actions_weigh(void) {
    weight_of_all = 0;
    for (unsigned i = 0; i < ACTIONS; i++)
        weight_of_all += weights[i] = action_weight(&actions[i]);
}

static inline void act(struct member *member) {
    unsigned i = 0;
    for (uint32_t pick = mix_below(member, weight_of_all); pick >= weights[i]; i++)
        pick -= weights[i];
    actions[i].act(member);
}

static inline void life_open(void) {
    memset(&life, 0, sizeof life);
    ties_open();
    victims_open();
    actions_weigh();
}
static inline void life_close(void) {
    ties_close();
    victims_close();
    mix_balance("processes", &mix.begun, &mix.ended);
    mix_balance("commands", &life.yielded, &life.completed);
    mix_balance("deferred calls", &life.deferred, &life.undone);
    printf("  %llu members, %llu commands\n", (unsigned long long)atom_load_acq(&mix.ids),
           (unsigned long long)atom_load_acq(&life.yielded));
}

#endif
