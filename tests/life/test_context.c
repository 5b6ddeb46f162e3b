/* Contexts: deadlines, values, inheritance, and cancelling a whole tree of processes. */
#include "runtime_helpers.h"

#include <weft/weft.h>

#define FAR_AWAY (UINT64_MAX / 2)
static char key_a, key_b;
static atom_u64 cancels, born, closes, ready_count;

TEST(context_has_the_earliest_deadline) {
    weft_context *root, *early, *late, *value;
    uint64_t soon = weft_in(1000);
    sys_scripted_install();
    EXPECT_EQ(weft_context_deadline(NULL), WEFT_FOREVER);
    EXPECT_EQ(weft_context_new(NULL, &root, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_context_deadline(root), WEFT_FOREVER);
    EXPECT_EQ(weft_context_new(root, &early, soon), 0);
    EXPECT_EQ(weft_context_new(early, &late, soon + 1000), 0);
    EXPECT_EQ(weft_context_with(late, &key_a, &key_b, &value), 0);
    EXPECT_EQ(weft_context_deadline(early), soon);
    EXPECT_EQ(weft_context_deadline(late), soon);
    EXPECT_EQ(weft_context_deadline(value), soon);
    EXPECT_EQ(weft_context_deadline(root), WEFT_FOREVER);
    weft_context_drop(root);
    weft_context_drop(early);
    weft_context_drop(late);
    EXPECT_EQ(sys_scripted_live(), 4); /* the last one holds them all */
    weft_context_drop(value);
    EXPECT_EQ(sys_scripted_live(), 0);
}

TEST(context_is_over_when_its_deadline_has_passed) {
    weft_context *context, *below;
    sys_scripted_install();
    sys_scripted_freeze();
    uint64_t deadline = weft_now() + 1000;
    EXPECT_EQ(weft_context_new(NULL, &context, deadline), 0);
    EXPECT_EQ(weft_context_new(context, &below, WEFT_FOREVER), 0);
    EXPECT(!weft_context_cancelled(NULL) && !weft_context_cancelled(context) && !weft_context_cancelled(below));
    sys_scripted_jump(999);
    EXPECT(!weft_context_cancelled(context) && !weft_context_cancelled(below));
    sys_scripted_jump(1);
    EXPECT(weft_context_cancelled(context) && weft_context_cancelled(below));
    weft_context_drop(context);
    weft_context_drop(below);
    EXPECT_EQ(sys_scripted_live(), 0);
}

TEST(context_has_the_nearest_value) {
    weft_context *one, *two, *three;
    int a, b, c;
    sys_scripted_install();
    EXPECT_EQ(weft_context_with(NULL, &key_a, &a, &one), 0);
    EXPECT_EQ(weft_context_with(one, &key_b, &b, &two), 0);
    EXPECT_EQ(weft_context_with(two, &key_a, &c, &three), 0);
    EXPECT(weft_context_value(one, &key_a) == &a && weft_context_value(one, &key_b) == NULL);
    EXPECT(weft_context_value(two, &key_a) == &a && weft_context_value(two, &key_b) == &b);
    EXPECT(weft_context_value(three, &key_a) == &c && weft_context_value(three, &key_b) == &b);
    EXPECT(weft_context_value(NULL, &key_a) == NULL && weft_context_value(one, NULL) == NULL);
    weft_context_hold(three);
    weft_context_drop(three);
    EXPECT(weft_context_value(three, &key_a) == &c);
    weft_context_drop(one);
    weft_context_drop(two);
    weft_context_drop(three);
    weft_context_drop(NULL);
    EXPECT_EQ(sys_scripted_live(), 0);
}

TEST(context_without_memory) {
    weft_context *one, *two;
    sys_scripted_install();
    EXPECT_EQ(weft_context_new(NULL, &one, weft_in(7)), 0);
    sys_script.alloc_fail_from = 1;
    EXPECT_EQ(weft_context_new(one, &two, weft_in(5)), WEFT_ENOMEM);
    EXPECT_EQ(weft_context_with(one, &key_a, NULL, &two), WEFT_ENOMEM);
    weft_context_drop(one);
    EXPECT_EQ(sys_scripted_live(), 0);
}

/* ---- inheritance ------------------------------------------------------------------------------------------------------- */

/* A family three generations deep: each member has its parent's context unless it is given another. */
struct member {
    uint32_t depth;
};
static const weft_behavior member_behavior;
static int member_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)method, (void)size;
    ((struct member *)self)->depth = *(const uint32_t *)input;
    EXPECT(weft_context_value(context, &key_a) == &key_a);
    EXPECT_EQ(weft_context_deadline(context), FAR_AWAY);
    atom_add_rlx(&born, 1);
    return 0;
}
static int member_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct member *member = self;
    EXPECT(weft_context_value(weft_own_context(), &key_a) == &key_a);
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) {
            atom_add_rlx(&cancels, 1);
            weft_out_status(out, WEFT_STEP_DONE);
            return 0;
        }
    if (count == 0 && member->depth < 3)
        for (unsigned i = 0; i < 3; i++) {
            uint32_t depth = member->depth + 1;
            weft_pid child;
            EXPECT_EQ(weft_spawn_step(&member_behavior, &(weft_spawn_options){.input = &depth, .input_size = sizeof depth}, &child), 0);
        }
    atom_add_rel(&ready_count, 1);
    return 0;
}
static void count_close(void *self) {
    (void)self;
    atom_add_rel(&closes, 1);
}
static const weft_behavior member_behavior = {
    .name = "member", .state_size = sizeof(struct member), .init = member_init, .step = member_step, .close = count_close};

static void forget(void) {
    atom_store_rlx(&cancels, 0);
    atom_store_rlx(&born, 0);
    atom_store_rlx(&closes, 0);
    atom_store_rlx(&ready_count, 0);
}

static weft_pid spawn_family(weft_context *context) {
    weft_pid pid;
    uint32_t depth = 0;
    weft_spawn_options options = {.runtime = rt.runtime, .input = &depth, .input_size = sizeof depth, .context = context};
    EXPECT_EQ(weft_spawn_step(&member_behavior, &options, &pid), 0);
    return pid;
}

enum { FAMILY = 1 + 3 + 9 + 27 };
static void trees(void) {
    weft_context *root, *left, *right, *leaf;
    forget();
    EXPECT_EQ(weft_context_new(NULL, &root, FAR_AWAY), 0);
    EXPECT_EQ(weft_context_with(root, &key_a, &key_a, &left), 0);
    EXPECT_EQ(weft_context_with(root, &key_a, &key_a, &right), 0);
    EXPECT_EQ(weft_context_with(left, &key_b, &key_a, &leaf), 0);
    spawn_family(left);
    spawn_family(leaf);
    weft_pid right_one = spawn_family(right);
    rt_wait(&ready_count, 3 * FAMILY);
    weft_context_cancel(leaf, rt.runtime);
    EXPECT(weft_context_cancelled(leaf) && !weft_context_cancelled(left) && !weft_context_cancelled(root));
    rt_wait(&closes, FAMILY);
    EXPECT_EQ(atom_load_rlx(&cancels), FAMILY);
    weft_context_cancel(left, rt.runtime);
    EXPECT(weft_context_cancelled(left) && !weft_context_cancelled(right) && !weft_context_cancelled(root));
    rt_wait(&closes, 2 * FAMILY);
    EXPECT_EQ(atom_load_rlx(&cancels), 2 * FAMILY);
    EXPECT(weft_alive(right_one));
    weft_context_cancel(root, rt.runtime);
    EXPECT(weft_context_cancelled(right));
    rt_wait(&closes, 3 * FAMILY);
    EXPECT_EQ(atom_load_rlx(&cancels), 3 * FAMILY);
    weft_context_drop(left);
    weft_context_drop(leaf);
    weft_context_drop(right);
    weft_context_drop(root);
}
TEST(context_cancels_what_is_below_it) { rt_each(trees); }

/* A process that is spawned with a context that is over is told so at once. */
static int listener_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count > 0 && events[0].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior listener = {.name = "listener", .step = listener_step, .close = count_close};
static void too_late(void) {
    weft_context *root, *context, *overdue;
    forget();
    EXPECT_EQ(weft_context_new(NULL, &root, FAR_AWAY), 0);
    EXPECT_EQ(weft_context_with(root, &key_a, &key_a, &context), 0);
    weft_context_cancel(root, rt.runtime);
    spawn_family(context);
    rt_wait(&closes, 1);
    EXPECT_EQ(atom_load_rlx(&cancels), 1);
    EXPECT_EQ(atom_load_rlx(&born), 1);
    EXPECT_EQ(weft_context_new(NULL, &overdue, weft_now()), 0);
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&listener, &(weft_spawn_options){.runtime = rt.runtime, .context = overdue}, &pid), 0);
    rt_wait(&closes, 2);
    weft_context_drop(overdue);
    weft_context_drop(context);
    weft_context_drop(root);
}
TEST(context_that_is_over_cancels_newcomers) { rt_each(too_late); }

/* ---- its deadline comes --------------------------------------------------------------------------------------------------- */

static weft_context *timed(uint64_t nanoseconds) {
    weft_context *root, *context;
    EXPECT_EQ(weft_context_new(NULL, &root, weft_in(nanoseconds)), 0);
    EXPECT_EQ(weft_context_with(root, &key_a, &key_a, &context), 0); /* below it */
    weft_context_drop(root);
    return context;
}

/* Both kinds of process, spawned from outside and by one another, live and wait when the deadline comes. */
static void waits_for_the_end(void *deadline) {
    atom_add_rel(&ready_count, 1);
    EXPECT_EQ(weft_sleep(3600 * WEFT_SECOND), WEFT_ECANCELED);
    EXPECT(weft_now() >= *(uint64_t *)deadline);
    atom_add_rel(&closes, 1);
}
static void spawns_and_waits(void *deadline) {
    EXPECT(weft_spawn(waits_for_the_end, deadline) != WEFT_NOBODY);
    waits_for_the_end(deadline);
}
static void spawn_listener(weft_context *context) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(&listener, &(weft_spawn_options){.runtime = rt.runtime, .context = context}, &pid), 0);
}
static void spawn_waiter(weft_entry entry, uint64_t *deadline, weft_context *context) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_with(entry, deadline, &(weft_stackful_options){.runtime = rt.runtime, .context = context}, &pid), 0);
}
static void deadline_comes(void) {
    forget();
    weft_context *soon = timed(20 * WEFT_MILLISECOND), *never = timed(3600 * WEFT_SECOND);
    static uint64_t deadline; /* some outlive this function */
    deadline = weft_context_deadline(soon);
    for (unsigned i = 0; i < 10; i++) {
        spawn_listener(soon);
        spawn_waiter(spawns_and_waits, &deadline, soon);
        spawn_waiter(spawns_and_waits, &deadline, NULL);
    }
    weft_pid other;
    EXPECT_EQ(weft_spawn_step(&listener, &(weft_spawn_options){.runtime = rt.runtime, .context = never}, &other), 0);
    rt_wait(&closes, 30);
    EXPECT(weft_now() >= deadline);
    rt_wait(&ready_count, 40);
    EXPECT(weft_alive(other));
    EXPECT_EQ(atom_load_acq(&closes), 30); /* those without the context live on */
    weft_context_drop(soon);
    weft_context_drop(never);
}
TEST(context_cancels_the_living_at_its_deadline) { rt_each(deadline_comes); }

/* They end by themselves at about that time. */
static void ends_at_about(void *deadline) {
    weft_sleep_until(*(uint64_t *)deadline + weft_self() % 7 * 10 * WEFT_MICROSECOND - 30 * WEFT_MICROSECOND);
    atom_add_rel(&closes, 1);
}
static void ends_with_its_deadline(void) {
    unsigned rounds = 40 / (RT_SLOW > 1 ? 4 : 1) * test_scale();
    forget();
    for (unsigned round = 0; round < rounds; round++) {
        weft_context *context = timed(300 * WEFT_MICROSECOND);
        uint64_t deadline = weft_context_deadline(context);
        for (unsigned i = 0; i < 20; i++)
            spawn_waiter(ends_at_about, &deadline, context);
        weft_context_drop(context);
        rt_wait(&closes, 20 * (round + 1));
    }
}
TEST(context_whose_processes_end_when_its_deadline_comes) { rt_each(ends_with_its_deadline); }

/* ---- cancelled while its processes come and go --------------------------------------------------------------------------- */

static struct {
    atom_bool over;
    atom_u64 cancelled_contexts, spawned, ended;
} crowd;

static int visitor_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint32_t *left = self;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            return 0;
        }
    if ((*left)++ >= 3) weft_out_status(out, weft_self() % 4 ? WEFT_STEP_DONE : WEFT_STEP_IDLE); /* some wait to be cancelled */
    else weft_out_status(out, WEFT_STEP_CONTINUE);
    return 0;
}
static void visitor_close(void *self) {
    (void)self;
    atom_add_rel(&crowd.ended, 1);
}
static const weft_behavior visitor = {.name = "visitor", .state_size = 4, .step = visitor_step, .close = visitor_close};

/* Spawns with a context of its own, which it then cancels; the next one. */
static void *host(void *argument) {
    unsigned rounds = *(unsigned *)argument;
    for (unsigned round = 0; round < rounds; round++) {
        weft_context *root, *context;
        EXPECT_EQ(weft_context_new(NULL, &root, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_context_with(root, &key_a, &round, &context), 0);
        for (unsigned i = 0; i < 20; i++) {
            weft_pid pid;
            if (i == 10) weft_context_cancel(root, rt.runtime); /* those before and those after */
            EXPECT_EQ(weft_spawn_step(&visitor, &(weft_spawn_options){.runtime = rt.runtime, .context = context}, &pid), 0);
            atom_add_rlx(&crowd.spawned, 1);
        }
        weft_context_drop(context);
        weft_context_drop(root);
    }
    return NULL;
}

static void coming_and_going(void) {
    unsigned rounds = 60 / (RT_SLOW > 1 ? 3 : 1) * test_scale();
    pthread_t threads[3];
    memset(&crowd, 0, sizeof crowd);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, host, &rounds), 0);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    /* Every one had a context that was cancelled, before it was born or after: none may be left. */
    rt_wait(&crowd.ended, atom_load_rlx(&crowd.spawned));
}
TEST(context_cancelled_while_processes_come_and_go) { rt_each(coming_and_going); }

int main(int argc, char **argv) { return test_main(argc, argv); }
