/* Functions of the program's that weft calls in the middle of something: init of a step process and the function of a weft_once may wait, move to
 * another thread, and end the process that called; those that must not wait abort by name. */
#include "victim.h"

#include <weft/blocking.h>

static atom_u64 inits, born, closed, done;
static const uint64_t moment = 50 * 1000; /* ns */

static void forget(void) {
    atom_store_rlx(&inits, 0);
    atom_store_rlx(&born, 0);
    atom_store_rlx(&closed, 0);
    atom_store_rlx(&done, 0);
}

/* ---- init ------------------------------------------------------------------------------------------------------------------- */

/* What init does: fails, if this is not 0. */
struct order {
    int answer;
    void (*what)(void);
};
static int waiting_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    const struct order *order = input;
    (void)context, (void)method;
    EXPECT_EQ(size, sizeof *order);
    memset(self, 0x5a, 8);
    order->what();
    atom_add_rel(&inits, 1);
    return order->answer;
}
static int born_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events, (void)count;
    EXPECT(((unsigned char *)self)[7] == 0x5a);
    atom_add_rel(&born, 1);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static void count_close(void *self) {
    EXPECT(((unsigned char *)self)[0] == 0x5a);
    atom_add_rel(&closed, 1);
}
static const weft_behavior small = {.name = "small", .state_size = 8, .init = waiting_init, .step = born_step, .close = count_close};
static const weft_behavior large = {.name = "large", .state_size = 5000, .init = waiting_init, .step = born_step, .close = count_close};

static int spawn_one(weft_runtime *runtime, weft_pid *pid, const weft_behavior *behavior, struct order order, unsigned flags) {
    weft_spawn_options options = {.runtime = runtime, .input = &order, .input_size = sizeof order, .flags = flags};
    return weft_spawn_step(behavior, &options, pid);
}

/* Until it has moved, if there is another worker that takes it. */
static void sleeps_and_yields(void) {
    uintptr_t thread = victim_thread();
    for (unsigned i = 0; i < 20 && victim_thread() == thread; i++) {
        weft_yield();
        EXPECT_EQ(weft_sleep(moment), 0);
    }
}

enum { SPAWNERS = 24, EACH = 30 };
static weft_runtime *where; /* NULL: their own */
static void spawns_with_waiting_init(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < EACH; i++) {
        weft_pid pid;
        int wanted = i % 3 == 2 ? WEFT_EIO : 0;
        unsigned flags = i % 2 ? WEFT_SPAWN_JOINABLE : 0;
        struct order order = {wanted, sleeps_and_yields};
        EXPECT_EQ(spawn_one(where, &pid, i % 4 ? &small : &large, order, flags), wanted);
        if (wanted == 0 && flags) EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    }
    atom_add_rel(&done, 1);
}
static void init_waits(void) {
    forget();
    where = NULL;
    for (unsigned i = 0; i < SPAWNERS; i++)
        victim_spawn(spawns_with_waiting_init, NULL, 0, NULL);
    rt_wait(&done, SPAWNERS);
    rt_wait(&born, SPAWNERS * EACH * 2 / 3);
    rt_wait(&closed, SPAWNERS * EACH * 2 / 3);
    EXPECT_EQ(atom_load_rlx(&inits), SPAWNERS * EACH);
}
TEST(upcall_init_waits) { rt_each(init_waits); }

/* The same into another runtime: the door is not kept meanwhile. */
static void init_waits_elsewhere(void) {
    forget();
    EXPECT_EQ(weft_start(&(weft_config){.policy = rt.policy, .workers = 2}, &where), 0);
    for (unsigned i = 0; i < SPAWNERS; i++)
        victim_spawn(spawns_with_waiting_init, NULL, 0, NULL);
    rt_wait(&done, SPAWNERS);
    rt_wait(&closed, SPAWNERS * EACH * 2 / 3);
    EXPECT_EQ(weft_stop(where, NULL, WEFT_FOREVER), 0);
}
TEST(upcall_init_waits_in_another_runtime) { rt_each(init_waits_elsewhere); }

/* A thread's init waits for others that come by every door. */
enum { THREADS = 16 };
static atom_u64 sent;
static weft_pid idle;
static void waits_for_senders(void) {
    while (atom_load_acq(&sent) < THREADS)
        EXPECT_EQ(weft_sleep(moment), 0);
}
static void *sender(void *unused) {
    rt_wait(&born, 1); /* here: init has begun */
    EXPECT_EQ(weft_send(idle, 7, NULL, 0), 0);
    atom_add_rel(&sent, 1);
    return unused;
}
static void begins_and_waits(void) {
    atom_add_rel(&born, 1);
    waits_for_senders();
}
static void waits_for_ever(void *arg) {
    (void)arg;
    weft_sleep_until(WEFT_FOREVER);
}
static void init_of_a_thread(void) {
    pthread_t threads[THREADS];
    weft_pid pid;
    forget();
    atom_store_rlx(&sent, 0);
    idle = victim_spawn(waits_for_ever, NULL, 0, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, sender, NULL), 0);
    EXPECT_EQ(spawn_one(rt.runtime, &pid, &small, (struct order){0, begins_and_waits}, WEFT_SPAWN_JOINABLE), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
TEST(upcall_init_of_a_thread_waits) { rt_each(init_of_a_thread); }

/* The runtime stops while a thread is in init: it is waited for; or not for ever, and then spawn says so. */
static atom_bool let_go;
static void waits_until_let_go(void) {
    atom_add_rel(&born, 1);
    while (!atom_load_acq(&let_go))
        usleep(1000);
}
static int spawn_answer;
static void *spawns_slowly(void *unused) {
    weft_pid pid;
    spawn_answer = spawn_one(rt.runtime, &pid, &large, (struct order){0, waits_until_let_go}, 0);
    return unused;
}
static void *lets_go_soon(void *unused) {
    rt_pause(50 * RT_MS);
    atom_store_rel(&let_go, true);
    return unused;
}
TEST(upcall_stop_waits_for_init) {
    pthread_t spawner, other;
    forget();
    atom_store_rlx(&let_go, false);
    rt_start("ring", 2);
    EXPECT_EQ(pthread_create(&spawner, NULL, spawns_slowly, NULL), 0);
    rt_wait(&born, 1);
    EXPECT_EQ(pthread_create(&other, NULL, lets_go_soon, NULL), 0);
    rt_stop();
    pthread_join(spawner, NULL);
    pthread_join(other, NULL);
    EXPECT_EQ(spawn_answer, 0);
    EXPECT_EQ(atom_load_rlx(&closed), 1);
}
TEST(upcall_stop_does_not_wait_for_init_for_ever) {
    pthread_t spawner;
    forget();
    atom_store_rlx(&let_go, false);
    rt_start("ring", 2);
    EXPECT_EQ(pthread_create(&spawner, NULL, spawns_slowly, NULL), 0);
    rt_wait(&born, 1);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_now() + 20 * RT_MS), WEFT_ETIMEDOUT);
    rt_watch_end();
    atom_store_rel(&let_go, true);
    pthread_join(spawner, NULL);
    EXPECT_EQ(spawn_answer, WEFT_ESTOPPING);
    EXPECT_EQ(atom_load_rlx(&closed), 1); /* what init has opened is closed */
}

/* The spawner ends in init: its place is free again, and the runtime can be stopped. */
static void exits(void) { weft_exit(7); }
static void defers(void) { EXPECT_EQ(weft_defer(count_close, "ZZZZZZZZ"), 0); }
static void spawns_and_exits(void *joinable) {
    weft_pid pid;
    spawn_one(where, &pid, &large, (struct order){0, exits}, joinable ? WEFT_SPAWN_JOINABLE : 0);
    EXPECT(!"weft_exit has returned");
}
static void spawns_and_defers(void *arg) {
    weft_pid pid;
    (void)arg;
    EXPECT_EQ(spawn_one(NULL, &pid, &small, (struct order){0, defers}, WEFT_SPAWN_JOINABLE), 0);
    EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
}
static void end_in_init(const char *policy, unsigned workers) {
    enum { MOST = 10 };
    forget();
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .seed = 1, .max_processes = MOST});
    where = NULL;
    for (unsigned i = 0; i < 5 * MOST; i++)
        EXPECT_EQ(victim_reason(victim_joinable(spawns_and_exits, i % 2 ? &born : NULL, 0, NULL)), 7);
    EXPECT_EQ(victim_reason(victim_joinable(spawns_and_defers, NULL, 0, NULL)), 0);
    EXPECT_EQ(atom_load_rlx(&closed), 2);
    weft_runtime *other;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1, .max_processes = 2}, &other), 0);
    where = other;
    for (unsigned i = 0; i < 5; i++)
        EXPECT_EQ(victim_reason(victim_joinable(spawns_and_exits, i % 2 ? &born : NULL, 0, NULL)), 7);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    rt_stop();
}
TEST(upcall_spawner_ends_in_init) { rt_cases(end_in_init); }

/* ---- once ------------------------------------------------------------------------------------------------------------------- */

static weft_once once;
static int once_exits(void *first) {
    if (atom_swap_rlx((atom_bool *)first, false)) weft_exit(3);
    atom_add_rel(&born, 1);
    return 0;
}
static void does_once(void *first) {
    EXPECT_EQ(weft_once_do(&once, once_exits, first, WEFT_FOREVER), 0);
    atom_add_rel(&done, 1);
}
static void once_ended(void) {
    atom_bool first;
    weft_pid pids[4];
    int failed = 0;
    forget();
    memset(&once, 0, sizeof once);
    atom_store_rlx(&first, true);
    for (unsigned i = 0; i < 4; i++)
        pids[i] = victim_joinable(does_once, &first, 0, NULL);
    for (unsigned i = 0; i < 4; i++)
        failed += victim_reason(pids[i]) == 3;
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(atom_load_rlx(&born), 1);
    EXPECT_EQ(atom_load_rlx(&done), 3);
}
TEST(upcall_runner_of_a_once_ends) { rt_each(once_ended); }

/* ---- those that must not wait ---------------------------------------------------------------------------------------------------- */

static void (*must_not)(void);
static bool wants_badly(const weft_msg *message, void *arg) {
    (void)message, (void)arg;
    must_not();
    return true;
}
static void sleeps_there(void) { weft_sleep(moment); }
static void receives_there(void) {
    weft_msg *message;
    weft_recv(&message, 0);
}
static void blocks_there(void) { weft_blocking_enter(); }
static void exits_there(void) { weft_exit(1); }
static void harmless_there(void) {
    weft_checkpoint();
    EXPECT_EQ(weft_send(weft_self(), 9, NULL, 0), 0);
    EXPECT(weft_spawn(waits_for_ever, NULL) != WEFT_NOBODY);
}
static void matches(void *arg) {
    weft_msg *message;
    (void)arg;
    EXPECT_EQ(weft_send(weft_self(), 7, NULL, 0), 0);
    EXPECT_EQ(weft_recv_match(wants_badly, NULL, &message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    EXPECT_EQ(weft_sleep(moment), 0); /* afterwards it may */
}
static void match_body(void) {
    rt_start("ring", 2);
    victim_reason(victim_joinable(matches, NULL, 0, "matcher"));
}
TEST(upcall_predicates_must_not_wait) {
    must_not = sleeps_there;
    EXPECT_ABORT(match_body, "weft_sleep", "must not wait", "weft_recv_match");
    must_not = receives_there;
    EXPECT_ABORT(match_body, "weft_recv", "must not wait");
    must_not = blocks_there;
    EXPECT_ABORT(match_body, "weft_blocking_enter", "must not wait");
    must_not = exits_there;
    EXPECT_ABORT(match_body, "weft_exit", "must not wait");
    must_not = harmless_there;
    struct child child;
    child_run(&child, match_body);
    EXPECT_EXIT(&child, 0);
}

/* close, and a command's handler: there is no process that could wait. */
static int ends_at_once(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events;
    if (count == 0) EXPECT_EQ(weft_out_yield(out, 77, 1, NULL, 0), 0);
    weft_out_status(out, count == 0 ? WEFT_STEP_BLOCKED : WEFT_STEP_DONE);
    return 0;
}
static void close_sleeps(void *self) {
    (void)self;
    weft_sleep(moment);
}
static int handler_sleeps(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)completion, (void)data, (void)size;
    weft_sleep(moment);
    return 0;
}
static int handler_refuses(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)completion, (void)data, (void)size;
    return WEFT_EIO;
}
static weft_handler handler;
static void step_body(void) {
    static const weft_behavior closes = {.name = "closes", .step = ends_at_once, .close = close_sleeps};
    rt_start("ring", 2);
    EXPECT_EQ(weft_register_command(rt.runtime, 77, handler, NULL), 0);
    rt_spawn(&closes);
    rt_wait_until_none_lives();
}
TEST(upcall_step_processes_must_not_wait) {
    handler = handler_refuses;
    EXPECT_ABORT(step_body, "weft_sleep", "outside of a stackful process");
    handler = handler_sleeps;
    EXPECT_ABORT(step_body, "weft_sleep", "outside of a stackful process");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
