/* Commands: from a yield to its handler and back, at once, later, from foreign threads, in any order, or never. */
#include "runtime_helpers.h"

#include "sched/runtime.h"

enum { NOW = 1, LATER, FAIL, UNKNOWN };
enum { HANDLER_ERROR = -900, RESULT_ERROR = -901 };

static struct {
    pthread_mutex_t lock;
    weft_completion waiting[4096];
    unsigned count;
} later = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atom_u64 later_count, handled, completed, closed, done;
static atom_u64 last_error, last_size, last_tag;

static int now_handler(void *user, weft_completion completion, const void *data, size_t size) {
    EXPECT(user == &handled);
    EXPECT(completion.pid != WEFT_NOBODY);
    EXPECT_EQ(weft_self(), WEFT_NOBODY); /* after the step, not in it */
    EXPECT(weft_own_runtime() == rt.runtime);
    EXPECT(my_worker->local.closed_size != ALL_STACKS); /* so that its calls of weft do not look like a signal handler's */
    atom_add_rlx(&handled, 1);
    EXPECT_EQ(weft_complete(completion, 0, data, size), 0); /* the result is what was given */
    return 0;
}
static int later_handler(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)data, (void)size;
    pthread_mutex_lock(&later.lock);
    later.waiting[later.count++] = completion;
    pthread_mutex_unlock(&later.lock);
    atom_add_rel(&later_count, 1);
    return 0;
}
static int fail_handler(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user, (void)completion, (void)data, (void)size;
    return HANDLER_ERROR;
}

static void begin(void) {
    later.count = 0;
    atom_u64 *const cells[] = {&later_count, &handled, &completed, &closed, &done, &last_error, &last_size, &last_tag};
    for (unsigned i = 0; i < sizeof cells / sizeof cells[0]; i++)
        atom_store_rlx(cells[i], 0);
    EXPECT_EQ(weft_register_command(rt.runtime, NOW, now_handler, &handled), 0);
    EXPECT_EQ(weft_register_command(rt.runtime, LATER, later_handler, NULL), 0);
    EXPECT_EQ(weft_register_command(rt.runtime, FAIL, fail_handler, NULL), 0);
}

/* ---- the registry -------------------------------------------------------------------------------------------------- */

static void registry(void) {
    EXPECT_EQ(weft_register_command(rt.runtime, 0, now_handler, NULL), WEFT_EINVAL);
    EXPECT_EQ(weft_register_command(rt.runtime, 5, NULL, NULL), WEFT_EINVAL);
    EXPECT_EQ(weft_register_command(rt.runtime, 5, now_handler, NULL), 0);
    EXPECT_EQ(weft_register_command(rt.runtime, 5, later_handler, NULL), WEFT_EEXIST);
    EXPECT_EQ(weft_register_command(rt.runtime, UINT32_MAX, now_handler, NULL), 0);
    sys_script.alloc_fail_from = 1;
    EXPECT_EQ(weft_register_command(rt.runtime, 6, now_handler, NULL), WEFT_ENOMEM);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(weft_register_command(rt.runtime, 6, now_handler, NULL), 0);
}
TEST(command_registry) { rt_each(registry); }

/* ---- one command ------------------------------------------------------------------------------------------------------ */

/* Yields what a message says, reports the completion, waits for the next message. */
struct order {
    uint32_t command;
    uint32_t size;
    uint64_t tag;
    bool end; /* in the same step */
};
static unsigned char pattern[200000];

static int yielder_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            struct order order;
            memcpy(&order, events[i].data, sizeof order);
            EXPECT_EQ(weft_out_yield(out, order.command, order.tag, pattern, order.size), 0);
            weft_out_status(out, order.end ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
        }
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        EXPECT_EQ(events[i].from, WEFT_NOBODY);
        EXPECT(events[i].size == 0 || memcmp(events[i].data, pattern, events[i].size) == 0);
        atom_store_rlx(&last_error, (uint64_t)(int64_t)events[i].error);
        atom_store_rlx(&last_size, events[i].size);
        atom_store_rlx(&last_tag, events[i].tag);
        atom_add_rel(&completed, 1);
    }
    return 0;
}
static void count_close(void *self) {
    (void)self;
    atom_add_rel(&closed, 1);
}
static const weft_behavior yielder = {.name = "yielder", .step = yielder_step, .close = count_close};

static void give_order(weft_pid pid, uint32_t command, size_t size, uint64_t tag, bool end) {
    struct order order = {command, (uint32_t)size, tag, end};
    EXPECT_EQ(weft_send(pid, 0, &order, sizeof order), 0);
}
static void expect_completion(uint64_t number, uint64_t tag, int error, size_t size) {
    rt_wait(&completed, number);
    EXPECT_EQ(atom_load_rlx(&completed), number);
    EXPECT_EQ(atom_load_rlx(&last_tag), tag);
    EXPECT_EQ((int64_t)atom_load_rlx(&last_error), error);
    EXPECT_EQ(atom_load_rlx(&last_size), size);
}
static weft_completion take_later(uint64_t number) {
    rt_wait(&later_count, number);
    pthread_mutex_lock(&later.lock);
    weft_completion completion = later.waiting[--later.count];
    pthread_mutex_unlock(&later.lock);
    return completion;
}

static void one_by_one(void) {
    static const size_t sizes[] = {0, 1, 32, 33, 100, 2000, 2100, 150000};
    uint64_t n = 0;
    begin();
    for (unsigned i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i * 7);
    weft_pid pid = rt_spawn(&yielder);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t tag = UINT64_C(0xfedcba9876543210) + i;
        give_order(pid, NOW, sizes[i], tag, false);
        expect_completion(++n, tag, 0, sizes[i]);
        give_order(pid, LATER, sizes[i], tag, false);
        weft_completion completion = take_later(i + 1);
        EXPECT_EQ(completion.pid, pid);
        EXPECT_EQ(completion.tag, tag);
        EXPECT_EQ(weft_complete(completion, i % 2 ? RESULT_ERROR : 0, pattern, sizes[i]), 0);
        expect_completion(++n, tag, i % 2 ? RESULT_ERROR : 0, sizes[i]);
    }
    give_order(pid, FAIL, 10, 1, false);
    expect_completion(++n, 1, HANDLER_ERROR, 0);
    give_order(pid, UNKNOWN, 10, 2, false);
    expect_completion(++n, 2, WEFT_ENOENT, 0);
    give_order(pid, 0, 10, 3, false);
    expect_completion(++n, 3, WEFT_ENOENT, 0);
    EXPECT_EQ(rt_stats().late_completions, 0);
}
TEST(command_completed_at_once_later_and_with_errors) { rt_each(one_by_one); }

/* ---- late completions ------------------------------------------------------------------------------------------------- */

static void too_late(void) {
    begin();
    weft_pid pid = rt_spawn(&yielder);
    give_order(pid, LATER, 5, 11, true); /* yields and ends */
    weft_completion completion = take_later(1);
    rt_wait(&closed, 1);
    while (weft_alive(pid))
        usleep(50);
    EXPECT_EQ(weft_complete(completion, 0, pattern, 100), WEFT_ENOPROC);
    EXPECT_EQ(rt_stats().late_completions, 1);
    /* Handler errors and unknown commands of a process that ends in the same step. */
    pid = rt_spawn(&yielder);
    give_order(pid, LATER, 5, 12, false);
    completion = take_later(2);
    EXPECT_EQ(weft_cancel(pid), 0);
    rt_wait(&closed, 2);
    while (weft_alive(pid))
        usleep(50);
    /* Many tenants of its slot later, too. */
    for (unsigned i = 0; i < 3000; i++) {
        weft_pid next = rt_spawn(&yielder);
        EXPECT_EQ(weft_cancel(next), 0);
    }
    rt_wait(&closed, 3002);
    for (unsigned i = 0; i < 100; i++)
        rt_spawn(&yielder);
    EXPECT_EQ(weft_complete(completion, 0, "x", 1), WEFT_ENOPROC);
    EXPECT_EQ(rt_stats().late_completions, 2);
    EXPECT_EQ(atom_load_rlx(&completed), 0); /* it was given to no process */
}
TEST(command_late_completions_are_dropped_and_counted) { rt_each(too_late); }

/* After the runtime has gone, from a foreign thread that never noticed. */
TEST(command_completed_after_the_runtime_has_gone) {
    rt_start("ring", 2);
    begin();
    weft_pid pid = rt_spawn(&yielder);
    give_order(pid, LATER, 5, 11, false);
    weft_completion completion = take_later(1);
    rt_stop();
    EXPECT_EQ(weft_complete(completion, 0, "result", 7), WEFT_ENOPROC);
    rt_start("deque", 2);
    EXPECT_EQ(weft_complete(completion, 0, "result", 7), WEFT_ENOPROC);
    rt_stop();
}

/* ---- several outstanding ------------------------------------------------------------------------------------------------ */

enum { MANY = 200 };
struct batch {
    uint64_t seen[(MANY + 63) / 64];
    uint32_t outstanding, largest;
    bool begun;
};
/* Yields MANY at once and waits, blocked, for all of them, in whatever portions they come. */
static int batch_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct batch *batch = self;
    if (!batch->begun) {
        batch->begun = true;
        for (uint64_t tag = 0; tag < MANY; tag++)
            EXPECT_EQ(weft_out_yield(out, tag % 3 == 0 ? NOW : LATER, tag, &tag, sizeof tag), 0);
        batch->outstanding = MANY;
    }
    if (count > batch->largest) batch->largest = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        uint64_t bit = UINT64_C(1) << events[i].tag % 64;
        EXPECT(events[i].tag < MANY && !(batch->seen[events[i].tag / 64] & bit)); /* each once */
        batch->seen[events[i].tag / 64] |= bit;
        EXPECT_EQ(events[i].size, sizeof(uint64_t));
        EXPECT(memcmp(events[i].data, &events[i].tag, sizeof(uint64_t)) == 0);
        batch->outstanding--;
    }
    weft_out_status(out, batch->outstanding ? WEFT_STEP_BLOCKED : WEFT_STEP_DONE);
    if (!batch->outstanding) atom_add_rel(&done, 1);
    return 0;
}
static const weft_behavior batch_behavior = {.name = "batch", .state_size = sizeof(struct batch), .step = batch_step};

/* Completes what there is, in random order, in portions. */
static uint64_t seed;
static void *finisher(void *number) {
    struct rng rng;
    rng_seed(&rng, seed, (uintptr_t)number);
    while (!atom_load_acq(&done)) {
        pthread_mutex_lock(&later.lock);
        weft_completion completion = {0};
        bool any = later.count > 0;
        if (any) {
            unsigned at = rng_below(&rng, later.count);
            completion = later.waiting[at];
            later.waiting[at] = later.waiting[--later.count];
        }
        pthread_mutex_unlock(&later.lock);
        if (any) EXPECT_EQ(weft_complete(completion, 0, &completion.tag, sizeof completion.tag), 0);
        if (!any || rng_below(&rng, 8) == 0) usleep(rng_below(&rng, 50));
    }
    return NULL;
}
static void many_at_once(void) {
    pthread_t threads[2];
    seed = test_seed(1);
    begin();
    rt_spawn(&batch_behavior);
    for (uintptr_t i = 0; i < 2; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, finisher, (void *)i), 0);
    rt_wait(&done, 1);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    EXPECT_EQ(atom_load_rlx(&handled), (MANY + 2) / 3);
}
TEST(command_many_outstanding) { rt_each(many_at_once); }

/* A blocked process hears messages too, and completions come to an idle one. */
static int deaf_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (count == 0) EXPECT_EQ(weft_out_yield(out, LATER, 1, NULL, 0), 0);
    weft_out_status(out, count == 0 ? WEFT_STEP_BLOCKED : WEFT_STEP_IDLE);
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_MESSAGE) atom_add_rel(&done, 1);
        if (events[i].type == WEFT_EVENT_COMPLETION) atom_add_rel(&completed, 1);
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
    }
    return 0;
}
static void both_heard(void) {
    static const weft_behavior deaf = {.name = "deaf", .step = deaf_step};
    begin();
    weft_pid pid = rt_spawn(&deaf);
    weft_completion completion = take_later(1);
    rt_pause(RT_MS); /* it is blocked now, most likely */
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    rt_wait(&done, 1);
    rt_pause(RT_MS);
    EXPECT_EQ(weft_complete(completion, 0, NULL, 0), 0);
    rt_wait(&completed, 1);
}
TEST(command_blocked_processes_hear_messages) { rt_each(both_heard); }

/* No memory: no completion for what could not be yielded; a result that finds no room comes as an error. */
static int short_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type == WEFT_EVENT_COMPLETION) {
            atom_store_rlx(&last_error, (uint64_t)(int64_t)events[i].error);
            atom_store_rlx(&last_size, events[i].size);
            atom_add_rel(&completed, 1);
        }
        if (events[i].type == WEFT_EVENT_MESSAGE) {
            atom_store_rlx(&last_error, (uint64_t)(int64_t)weft_out_yield(out, LATER, 5, pattern, events[i].tag));
            atom_add_rel(&done, 1);
        }
    }
    return 0;
}
static void short_of_memory(void) {
    static const weft_behavior behavior = {.name = "short", .step = short_step};
    begin();
    weft_pid pid = rt_spawn(&behavior);
    EXPECT_EQ(weft_send(pid, 10, NULL, 0), 0);
    rt_wait(&done, 1);
    EXPECT_EQ(atom_load_rlx(&last_error), 0);
    weft_completion completion = take_later(1);
    sys_script.alloc_fail_from = 1;
    sys_scripted_recount();
    EXPECT_EQ(weft_complete(completion, 0, pattern, 100000), 0); /* never fails for want of memory */
    rt_wait(&completed, 1);
    EXPECT_EQ((int64_t)atom_load_rlx(&last_error), WEFT_ENOMEM);
    EXPECT_EQ(atom_load_rlx(&last_size), 0);
    EXPECT_EQ(weft_send(pid, 100000, NULL, 0), 0);
    rt_wait(&done, 2);
    EXPECT_EQ((int64_t)atom_load_rlx(&last_error), WEFT_ENOMEM);
    sys_script.alloc_fail_from = 0;
    rt_pause(RT_MS);
    EXPECT_EQ(atom_load_rlx(&later_count), 1);
}
TEST(command_without_memory) { rt_each(short_of_memory); }

int main(int argc, char **argv) { return test_main(argc, argv); }
