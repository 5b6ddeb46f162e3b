/* Messages sent later: once, in order, periodically; cancelled at every moment; from processes of both kinds and from threads. */
#include "runtime_helpers.h"

#include <weft/weft.h>

enum { STOP = 1000000 };

/* Counts what comes; tags must not go back. */
static struct {
    atom_u64 count, sum, backwards;
    uint64_t last; /* the process's own */
} box;

static int counter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            continue;
        }
        if (events[i].tag < box.last) atom_add_rlx(&box.backwards, 1);
        box.last = events[i].tag;
        if (events[i].size) {
            uint64_t value;
            EXPECT_EQ(events[i].size % sizeof value, 0);
            memcpy(&value, events[i].data, sizeof value);
            atom_add_rlx(&box.sum, value);
        }
        if (events[i].tag == STOP) weft_out_status(out, WEFT_STEP_DONE);
        atom_add_rel(&box.count, 1);
    }
    return 0;
}
static const weft_behavior counter = {.name = "counter", .step = counter_step};

static weft_pid box_open(void) {
    atom_store_rlx(&box.count, 0);
    atom_store_rlx(&box.sum, 0);
    atom_store_rlx(&box.backwards, 0);
    box.last = 0;
    return rt_spawn(&counter);
}

/* ---- in order, wherever they were armed ----------------------------------------------------------------------------------- */

enum { ORDER_ROUNDS = 60, ORDER_TIMERS = 20 };

/* It goes from worker to worker between two of them: with several workers, some of the timers lie beside others' threads. */
static void order_arms(weft_pid to) {
    for (uint64_t i = 0; i < ORDER_TIMERS; i++) {
        EXPECT_EQ(weft_after(300 * WEFT_MICROSECOND, to, i, NULL, 0, NULL), 0);
        weft_yield();
    }
}
static void order_expects(void) {
    for (uint64_t i = 0; i < ORDER_TIMERS; i++) {
        weft_msg *message;
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_msg_tag(message), i);
        weft_msg_free(message);
    }
}
static void order_arms_and_receives(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < ORDER_ROUNDS / (RT_SLOW > 1 ? 3 : 1); round++) {
        order_arms(weft_self());
        order_expects();
    }
}
static weft_pid order_spawn(void (*function)(void *)) {
    weft_pid pid = WEFT_NOBODY;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE};
    EXPECT_EQ(weft_spawn_with(function, NULL, &options, &pid), 0);
    return pid;
}
static void order_body(void) {
    weft_pid pids[3];
    for (unsigned i = 0; i < 3; i++)
        pids[i] = order_spawn(order_arms_and_receives);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_join(pids[i], NULL, WEFT_FOREVER), 0);
}
TEST(after_keeps_the_order_of_one_receiver) { rt_each(order_body); }

/* Workers come and go meanwhile: none of the timers stays behind with one that has gone. */
static void resize_body(void) {
    weft_pid pids[3];
    for (unsigned i = 0; i < 3; i++)
        pids[i] = order_spawn(order_arms_and_receives);
    for (unsigned i = 0; i < 40; i++) {
        int error = weft_set_workers(rt.runtime, 1 + i % 4);
        EXPECT(error == 0 || error == WEFT_EAGAIN);
        rt_pause(RT_MS);
    }
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_join(pids[i], NULL, WEFT_FOREVER), 0);
}
TEST(after_while_workers_come_and_go) { rt_each(resize_body); }

/* Some are pending while a worker goes and comes back; they have gone to the first worker, and so do those that are armed later. The clock
 * stands until all are armed: a thread that is kept waiting between two calls does not make one of them later than was meant. Then all are
 * due at once. */
enum { RETURN_ARMERS = 8 };
static atom_u64 return_begun, return_armed, return_back;
static void return_arms(uint64_t first) {
    for (uint64_t i = first; i < ORDER_TIMERS; i += 2)
        EXPECT_EQ(weft_after((1 + i) * RT_MS, weft_self(), i, NULL, 0, NULL), 0);
    atom_add_rel(&return_armed, 1);
}
static void return_arms_and_receives(void *unused) {
    (void)unused;
    atom_add_rel(&return_begun, 1);
    rt_wait(&return_begun, rt.workers < RETURN_ARMERS ? rt.workers : RETURN_ARMERS); /* one on each worker */
    return_arms(0);
    while (atom_load_acq(&return_back) == 0)
        weft_yield();
    return_arms(1);
    order_expects();
}
static bool return_gone(unsigned workers) {
    const char *text = rt_dump_text();
    for (unsigned i = 1; i < workers; i++) {
        char line[40];
        snprintf(line, sizeof line, "worker %u: no thread", i);
        if (!strstr(text, line)) return false;
    }
    return true;
}
static void return_body(void) {
    weft_pid pids[RETURN_ARMERS];
    atom_store_rlx(&return_begun, 0);
    atom_store_rlx(&return_armed, 0);
    atom_store_rlx(&return_back, 0);
    sys_scripted_freeze();
    for (unsigned i = 0; i < RETURN_ARMERS; i++)
        pids[i] = order_spawn(return_arms_and_receives);
    rt_wait(&return_armed, RETURN_ARMERS);
    EXPECT_EQ(weft_set_workers(rt.runtime, 1), 0);
    while (!return_gone(rt.workers)) /* in vain, the watchdog ends it */
        rt_pause(RT_MS);
    EXPECT_EQ(weft_set_workers(rt.runtime, rt.workers), 0);
    atom_store_rel(&return_back, 1);
    rt_wait(&return_armed, 2 * RETURN_ARMERS);
    sys_scripted_jump((int64_t)RT_SECOND);
    sys_scripted_unfreeze();
    for (unsigned i = 0; i < RETURN_ARMERS; i++)
        EXPECT_EQ(weft_join(pids[i], NULL, WEFT_FOREVER), 0);
}
TEST(after_keeps_the_order_when_a_worker_comes_back) { rt_each(return_body); }

/* ---- once --------------------------------------------------------------------------------------------------------------- */

static void once_body(void) {
    enum { N = 300 };
    weft_pid pid = box_open();
    uint64_t sum = 0, begin = weft_now();
    static char large[1 << 16];
    for (uint64_t i = 0; i < N; i++) { /* the last armed is the first to come */
        sum += i;
        EXPECT_EQ(weft_after((N - i) * 10 * WEFT_MICROSECOND + RT_MS, pid, N - i, &i, sizeof i, NULL), 0);
    }
    EXPECT_EQ(weft_after(WEFT_FOREVER, pid, 0, large, sizeof large, NULL), 0); /* never; it is freed with the runtime */
    EXPECT_EQ(weft_after(3600 * RT_SECOND, pid, 0, large, sizeof large, NULL), 0);
    rt_wait(&box.count, N);
    EXPECT(weft_now() - begin >= RT_MS + 10 * WEFT_MICROSECOND * N);
    EXPECT_EQ(atom_load_rlx(&box.sum), sum);
}
TEST(after_sends_once) { rt_each(once_body); }

/* Late, all at once: each once, and in order. */
TEST(after_sends_in_order) {
    enum { N = 1000 };
    rt_start("ring", 1);
    weft_pid pid = box_open();
    sys_scripted_freeze();
    for (uint64_t i = 0; i < N; i++)
        EXPECT_EQ(weft_after(RT_SECOND + (i * 7 % N) * 10, pid, i * 7 % N, NULL, 0, NULL), 0);
    sys_scripted_jump((int64_t)(60 * RT_SECOND));
    rt_wait(&box.count, N);
    EXPECT_EQ(atom_load_rlx(&box.backwards), 0);
    rt_pause(5 * RT_MS);
    EXPECT_EQ(atom_load_rlx(&box.count), N);
    sys_scripted_unfreeze();
    rt_stop();
}

/* An idle runtime is woken for an earlier timer. */
static void wakes_body(void) {
    weft_pid pid = box_open();
    for (uint64_t i = 1; i <= 10; i++) {
        rt_pause(3 * RT_MS); /* asleep, until the one armed before */
        EXPECT_EQ(weft_after(3600 * RT_SECOND / i, pid, 0, NULL, 0, NULL), 0);
        EXPECT_EQ(weft_after(RT_MS, pid, 0, NULL, 0, NULL), 0);
        rt_wait(&box.count, i);
    }
}
TEST(after_wakes_a_sleeping_runtime) { rt_each(wakes_body); }

/* ---- from processes -------------------------------------------------------------------------------------------------------- */

static weft_pid target;
static int arming_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    for (uint64_t i = 0; i < 10; i++)
        EXPECT_EQ(weft_after(i * 100 * WEFT_MICROSECOND, target, 0, &i, sizeof i, NULL), 0);
    weft_out_status(out, WEFT_STEP_DONE); /* it need not be there when they come */
    return 0;
}
static const weft_behavior arming = {.name = "arming", .step = arming_step};
static void processes_body(void) {
    target = box_open();
    for (unsigned i = 0; i < 10; i++)
        rt_spawn(&arming);
    rt_wait(&box.count, 100);
    EXPECT_EQ(atom_load_rlx(&box.sum), 450);
}
TEST(after_from_step_processes) { rt_each(processes_body); }

static void stackful_process(void *unused) {
    (void)unused;
    weft_timer timers[20];
    for (uint64_t i = 0; i < 20; i++) /* those that are to be cancelled do not come before that, however slow the machine is */
        EXPECT_EQ(weft_after(i % 2 ? 3600 * RT_SECOND : 2 * RT_MS, weft_self(), i, NULL, 0, &timers[i]), 0);
    for (uint64_t i = 1; i < 20; i += 2) {
        EXPECT_EQ(weft_timer_cancel(timers[i]), 0);
        EXPECT_EQ(weft_timer_cancel(timers[i]), WEFT_ENOENT);
    }
    for (uint64_t i = 0; i < 20; i += 2) {
        weft_msg *message;
        EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_msg_tag(message), i);
        EXPECT(weft_msg_from(message) == weft_self());
        weft_msg_free(message);
        EXPECT_EQ(weft_timer_cancel(timers[i]), WEFT_ENOENT);
    }
    weft_timer tick;
    EXPECT_EQ(weft_every(500 * WEFT_MICROSECOND, weft_self(), 7, &target, sizeof target, &tick), 0);
    for (unsigned i = 0; i < 6; i++) {
        weft_msg *message;
        EXPECT_EQ(weft_recv_tag(7, &message, weft_in(60 * RT_SECOND)), 0);
        EXPECT_EQ(weft_msg_len(message), sizeof target);
        weft_msg_free(message);
    }
    EXPECT_EQ(weft_timer_cancel(tick), 0);
    weft_msg *message;
    int error;
    while ((error = weft_recv(&message, weft_in(2 * RT_MS))) == 0) /* what was sent before the cancel */
        weft_msg_free(message);
    EXPECT_EQ(error, WEFT_ETIMEDOUT);
}
static void stackful_body(void) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_with(stackful_process, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid), 0);
    int error = weft_join(pid, NULL, WEFT_FOREVER);
    EXPECT(error == 0 || error == WEFT_ENOPROC);
}
TEST(after_from_stackful_processes) { rt_each(stackful_body); }

/* ---- again and again --------------------------------------------------------------------------------------------------------- */

static void every_body(void) {
    weft_pid pid = box_open();
    weft_timer timer;
    uint64_t begin = weft_now(), period = 2 * RT_MS;
    EXPECT_EQ(weft_every(0, pid, 0, NULL, 0, &timer), WEFT_EINVAL);
    EXPECT_EQ(weft_every(period, pid, 0, NULL, 0, &timer), 0);
    rt_wait(&box.count, 5);
    uint64_t came = atom_load_acq(&box.count), passed = weft_now() - begin;
    EXPECT(came * period <= passed); /* not more than there were periods */
    EXPECT_EQ(weft_timer_cancel(timer), 0);
    EXPECT_EQ(weft_timer_cancel(timer), WEFT_ENOENT);
    for (uint64_t now; (now = atom_load_acq(&box.count)) != came; came = now)
        rt_pause(3 * period); /* what was sent before may still have to be read; in vain, the watchdog ends it */
    /* Until the receiver has ended. */
    EXPECT_EQ(weft_every(RT_MS, pid, STOP, NULL, 0, &timer), 0);
    rt_wait_until_none_lives();
    while (rt_stats().messages_refused == 0)
        rt_pause(RT_MS);
    EXPECT_EQ(weft_timer_cancel(timer), WEFT_ENOENT); /* it has given up by itself */
}
TEST(every_sends_until_cancelled) { rt_each(every_body); }

/* A clock that jumps over a thousand periods: one message, and then on in phase. */
TEST(every_leaves_out_what_was_missed) {
    rt_start("ring", 2);
    weft_pid pid = box_open();
    weft_timer timer;
    sys_scripted_freeze();
    EXPECT_EQ(weft_every(RT_SECOND, pid, 0, NULL, 0, &timer), 0);
    sys_scripted_jump((int64_t)(1000 * RT_SECOND + RT_SECOND / 2));
    rt_wait(&box.count, 1);
    rt_pause(5 * RT_MS);
    EXPECT_EQ(atom_load_acq(&box.count), 1);
    sys_scripted_jump((int64_t)(RT_SECOND / 2 - RT_MS));
    rt_pause(5 * RT_MS);
    EXPECT_EQ(atom_load_acq(&box.count), 1);
    sys_scripted_jump((int64_t)RT_MS);
    rt_wait(&box.count, 2);
    sys_scripted_unfreeze();
    rt_stop();
}

/* ---- cancelled at every moment ------------------------------------------------------------------------------------------------- */

struct duel {
    weft_pid pid;
    uint64_t seed, cancelled, rounds;
    bool periodic;
};
static void *duellist(void *arg) {
    struct duel *duel = arg;
    struct rng rng;
    rng_seed(&rng, duel->seed, 0);
    for (uint64_t i = 0; i < duel->rounds; i++) {
        weft_timer timer;
        uint64_t wait = rng_below(&rng, 100) * WEFT_MICROSECOND, one = 1;
        if (duel->periodic) EXPECT_EQ(weft_every(10 * WEFT_MICROSECOND, duel->pid, 0, &one, sizeof one, &timer), 0);
        else EXPECT_EQ(weft_after(50 * WEFT_MICROSECOND, duel->pid, 0, &one, sizeof one, &timer), 0);
        for (uint64_t end = sys_linux.now() + wait; sys_linux.now() < end;)
            if (i % 2) sched_yield(); /* so that it comes at any moment of the other's */
        int error = weft_timer_cancel(timer);
        EXPECT(error == 0 || (error == WEFT_ENOENT && !duel->periodic));
        duel->cancelled += error == 0;
    }
    return NULL;
}
static void duel_body(void) {
    enum { N = 3 };
    weft_pid pid = box_open();
    for (unsigned periodic = 0; periodic < 2; periodic++) {
        pthread_t threads[N];
        struct duel duels[N];
        uint64_t cancelled = 0, rounds = 0, before = atom_load_acq(&box.sum);
        for (unsigned i = 0; i < N; i++) {
            duels[i] = (struct duel){.pid = pid, .seed = i, .rounds = 300 / RT_SLOW, .periodic = periodic};
            EXPECT_EQ(pthread_create(&threads[i], NULL, duellist, &duels[i]), 0);
        }
        for (unsigned i = 0; i < N; i++) {
            pthread_join(threads[i], NULL);
            cancelled += duels[i].cancelled;
            rounds += duels[i].rounds;
        }
        if (periodic) { /* all were cancelled: nothing comes any more */
            for (uint64_t came = UINT64_MAX, now; (now = atom_load_acq(&box.count)) != came; came = now)
                rt_pause(5 * RT_MS); /* what was sent before may still have to be read; in vain, the watchdog ends it */
            continue;
        }
        rt_wait(&box.sum, before + rounds - cancelled); /* each was sent or cancelled */
        rt_pause(2 * RT_MS);
        EXPECT_EQ(atom_load_acq(&box.sum), before + rounds - cancelled);
    }
}
TEST(after_is_sent_or_cancelled) { rt_each(duel_body); }

/* ---- no receiver, no memory ------------------------------------------------------------------------------------------------------- */

static void no_process_body(void) {
    weft_pid pid = box_open();
    static char large[1 << 16];
    weft_timer timer;
    for (unsigned i = 0; i < 10; i++)
        EXPECT_EQ(weft_after(RT_MS, pid, 0, large, i % 2 ? sizeof large : 8, NULL), 0);
    EXPECT_EQ(weft_send(pid, STOP, NULL, 0), 0);
    rt_wait_until_none_lives();
    EXPECT_EQ(weft_after(0, pid, 0, large, sizeof large, &timer), 0);
    EXPECT_EQ(weft_after(0, pid + (1ull << 56), 0, NULL, 0, &timer), WEFT_EFOREIGN);
    EXPECT_EQ(weft_timer_cancel(timer), WEFT_ENOENT);
    rt_pause(3 * RT_MS);
}
TEST(after_the_receiver_has_ended) { rt_each(no_process_body); }

TEST(after_without_memory) {
    rt_start("ring", 1);
    weft_pid pid = box_open();
    static char large[1 << 16];
    weft_timer timer;
    unsigned refused = 0;
    for (unsigned n = 1; n < 6; n++) {
        sys_scripted_recount();
        sys_script.alloc_fail_at = n;
        int error = weft_after(3600 * RT_SECOND, pid, 0, large, sizeof large, &timer);
        sys_script.alloc_fail_at = 0;
        EXPECT(error == 0 || error == WEFT_ENOMEM);
        EXPECT_EQ(weft_timer_cancel(timer), error ? WEFT_ENOENT : 0);
        refused += error != 0;
    }
    EXPECT(refused > 0);
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
