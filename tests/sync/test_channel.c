/* Channels: nothing is lost or doubled, the order is kept, no process waits for ever. */
#include "crowd.h"
#include "sync/chan.h"

static weft_chan *chan_make(size_t size, size_t capacity) {
    weft_chan *chan = NULL;
    EXPECT_EQ(weft_chan_new(size, capacity, &chan), 0);
    return chan;
}

/* ---- from a thread: what does not wait ------------------------------------------------------------------------------- */

TEST(channel_keeps_order) {
    weft_chan *chan = chan_make(sizeof(uint64_t), 3);
    uint64_t got = 0;
    EXPECT_EQ(weft_chan_cap(chan), 3);
    for (uint64_t round = 0; round < 5; round++) { /* over the end of the ring */
        for (uint64_t i = 0; i < 3; i++)
            EXPECT_EQ(weft_chan_send(chan, &(uint64_t){10 * round + i}, 0), 0);
        EXPECT_EQ(weft_chan_send(chan, &got, 0), WEFT_ETIMEDOUT);
        EXPECT_EQ(weft_chan_len(chan), 3);
        for (uint64_t i = 0; i < 3; i++) {
            EXPECT_EQ(weft_chan_recv(chan, &got, 0), 0);
            EXPECT_EQ(got, 10 * round + i);
        }
        EXPECT_EQ(weft_chan_recv(chan, &got, 0), WEFT_ETIMEDOUT);
        EXPECT_EQ(got, 10 * round + 2);
        EXPECT_EQ(weft_chan_send(chan, &got, 0), 0);
        EXPECT_EQ(weft_chan_recv(chan, NULL, 0), 0);
    }
    weft_chan_free(chan);
}

TEST(channel_elements_of_all_sizes) {
    for (size_t size = 0; size <= 40; size++) {
        unsigned char sent[40], got[40] = {0};
        weft_chan *chan = chan_make(size, 2);
        for (size_t i = 0; i < sizeof sent; i++)
            sent[i] = (unsigned char)(i + 1);
        EXPECT_EQ(weft_chan_send(chan, sent, 0), 0);
        EXPECT_EQ(weft_chan_recv(chan, got, 0), 0);
        EXPECT_EQ(memcmp(sent, got, size), 0);
        for (size_t i = size; i < sizeof got; i++)
            EXPECT_EQ(got[i], 0);
        weft_chan_free(chan);
    }
}

TEST(channel_closed_is_drained_first) {
    weft_chan *chan = chan_make(sizeof(int), 2);
    int got = 0;
    EXPECT_EQ(weft_chan_send(chan, &(int){7}, 0), 0);
    EXPECT_EQ(weft_chan_close(chan), 0);
    EXPECT_EQ(weft_chan_close(chan), WEFT_ECLOSED);
    EXPECT_EQ(weft_chan_send(chan, &got, WEFT_FOREVER), WEFT_ECLOSED);
    EXPECT_EQ(weft_chan_recv(chan, &got, WEFT_FOREVER), 0);
    EXPECT_EQ(got, 7);
    EXPECT_EQ(weft_chan_recv(chan, &got, WEFT_FOREVER), WEFT_ECLOSED);
    weft_chan_free(chan);
}

TEST(channel_refuses_what_cannot_be_had) {
    weft_chan *chan = NULL;
    EXPECT_EQ(weft_chan_new(SIZE_MAX / 2, 3, &chan), WEFT_ENOMEM);
    EXPECT_EQ(weft_chan_new(SIZE_MAX / 4, 2, &chan), WEFT_ENOMEM);
    EXPECT(!chan);
    weft_chan_free(NULL);
}

/* ---- conservation ---------------------------------------------------------------------------------------------------- */

enum { SIDES = 4 };
struct item {
    uint64_t from, number, check;
};
struct market {
    weft_chan *chan;
    uint64_t each, seed;
    bool hurried; /* short deadlines */
    atom_u64 sent, received, sum_sent, sum_received, late, receivers_done;
} market;

static uint64_t some_deadline(struct rng *rng) {
    if (!market.hurried) return WEFT_FOREVER;
    uint32_t kind = rng_below(rng, 4);
    return kind == 0 ? 0 : kind == 1 ? weft_now() : weft_in(rng_below(rng, 50) * WEFT_MICROSECOND);
}

static void market_send(uintptr_t self) {
    struct rng rng;
    rng_seed(&rng, market.seed, self);
    for (uint64_t i = 1; i <= market.each;) {
        struct item item = {self, i, self * 31 + i};
        int error = weft_chan_send(market.chan, &item, some_deadline(&rng));
        if (error == WEFT_ETIMEDOUT) {
            atom_add_rlx(&market.late, 1);
            if (rng_below(&rng, 8) == 0) i++; /* gives it up for good */
            if (weft_self() != WEFT_NOBODY) weft_yield();
            else sched_yield();
            continue;
        }
        EXPECT_EQ(error, 0);
        atom_add_rlx(&market.sent, 1);
        atom_add_rlx(&market.sum_sent, item.check);
        i++;
    }
}

static void market_receive(uintptr_t self) {
    struct rng rng;
    uint64_t last[2 * SIDES] = {0};
    rng_seed(&rng, market.seed, 100 + self);
    for (;;) {
        struct item item = {0};
        int error = weft_chan_recv(market.chan, &item, some_deadline(&rng));
        if (error == WEFT_ECLOSED) break;
        if (error == WEFT_ETIMEDOUT) {
            EXPECT_EQ(item.check, 0);
            if (weft_self() != WEFT_NOBODY) weft_yield();
            else sched_yield();
            continue;
        }
        EXPECT_EQ(error, 0);
        EXPECT_EQ(item.check, item.from * 31 + item.number);
        EXPECT(item.from < 2 * SIDES && item.number > last[item.from]); /* in order */
        last[item.from] = item.number;
        atom_add_rlx(&market.received, 1);
        atom_add_rlx(&market.sum_received, item.check);
    }
    atom_add_rel(&market.receivers_done, 1);
}

static atom_u64 senders_done;
static void sends(void *self) {
    market_send((uintptr_t)self);
    atom_add_rel(&senders_done, 1);
}
static void receives(void *self) { market_receive((uintptr_t)self); }
static void *thread_sends(void *self) {
    sends(self);
    return NULL;
}
static void *thread_receives(void *self) {
    receives(self);
    return NULL;
}

static void market_day(size_t capacity, uint64_t each, bool hurried, unsigned threads) {
    pthread_t thread[2 * SIDES];
    memset(&market, 0, sizeof market);
    market.chan = chan_make(sizeof(struct item), capacity);
    market.each = each;
    market.hurried = hurried;
    market.seed = test_seed(capacity * 7 + 1);
    atom_store_rlx(&senders_done, 0);
    for (uintptr_t i = 0; i < SIDES; i++) {
        crowd_spawn(receives, (void *)i);
        crowd_spawn(sends, (void *)i);
    }
    for (uintptr_t i = 0; i < threads; i++) {
        thread[2 * i] = crowd_thread(thread_sends, (void *)(SIDES + i));
        thread[2 * i + 1] = crowd_thread(thread_receives, (void *)(SIDES + i));
    }
    rt_wait(&senders_done, SIDES + threads);
    EXPECT_EQ(weft_chan_close(market.chan), 0);
    rt_wait(&market.receivers_done, SIDES + threads);
    for (unsigned i = 0; i < 2 * threads; i++)
        crowd_gather(thread[i]);
    EXPECT_EQ(atom_load_rlx(&market.sent), atom_load_rlx(&market.received));
    EXPECT_EQ(atom_load_rlx(&market.sum_sent), atom_load_rlx(&market.sum_received));
    if (!hurried) EXPECT_EQ(atom_load_rlx(&market.sent), each * (SIDES + threads));
    weft_chan_free(market.chan);
}

static const size_t capacities[] = {0, 1, 7, 64};
static void conserves(void) {
    for (unsigned i = 0; i < 4; i++)
        market_day(capacities[i], 3000 * test_scale() / RT_SLOW, false, 0);
}
TEST_WITHIN(channel_conserves, 120) { rt_each(conserves); }

static void conserves_with_threads(void) {
    for (unsigned i = 0; i < 3; i++)
        market_day(capacities[i], 800 * test_scale() / RT_SLOW, false, 2);
}
TEST_WITHIN(channel_conserves_with_threads, 120) { rt_each(conserves_with_threads); }

static void conserves_in_a_hurry(void) {
    for (unsigned i = 0; i < 3; i++)
        market_day(capacities[i], 600 * test_scale() / RT_SLOW, true, i);
}
TEST_WITHIN(channel_conserves_with_deadlines, 120) { rt_each(conserves_in_a_hurry); }

/* ---- cancellation, deadlines, closing -------------------------------------------------------------------------------- */

enum { CROWD = 20 };
static weft_chan *place;
static atom_u64 canceled, late, closed, happened, unexpected;
static uint64_t patience;

static void wait_for_senders(size_t count) { crowd_queue(&chan_of(place)->lock, &chan_of(place)->senders, count); }
static void wait_for_receivers(size_t count) { crowd_queue(&chan_of(place)->lock, &chan_of(place)->receivers, count); }

static void forget(size_t capacity) {
    place = chan_make(sizeof(uint64_t), capacity);
    atom_u64 *const all[] = {&canceled, &late, &closed, &happened, &unexpected};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        atom_store_rlx(all[i], 0);
    patience = WEFT_FOREVER;
}

static void count_answer(int error) {
    atom_add_rel(error == 0                ? &happened
                 : error == WEFT_ECANCELED ? &canceled
                 : error == WEFT_ETIMEDOUT ? &late
                 : error == WEFT_ECLOSED   ? &closed
                                           : &unexpected,
                 1);
}
static void waits_to_send(void *unused) {
    (void)unused;
    count_answer(weft_chan_send(place, &(uint64_t){1}, patience));
}
static void waits_to_receive(void *unused) {
    uint64_t got = 77;
    (void)unused;
    int error = weft_chan_recv(place, &got, patience);
    EXPECT(error == 0 || got == 77);
    count_answer(error);
}

static void cancels_wake(void) {
    weft_pid pids[CROWD];
    for (int side = 0; side < 2; side++) {
        forget(0);
        for (unsigned i = 0; i < CROWD; i++)
            pids[i] = crowd_spawn(side ? waits_to_send : waits_to_receive, NULL);
        if (side) wait_for_senders(CROWD);
        else wait_for_receivers(CROWD);
        for (unsigned i = 0; i < CROWD; i += 2)
            weft_cancel(pids[i]);
        rt_wait(&canceled, CROWD / 2);
        /* The others are still there, and served. */
        for (unsigned i = 1; i < CROWD; i += 2)
            EXPECT_EQ(side ? weft_chan_recv(place, NULL, WEFT_FOREVER) : weft_chan_send(place, &(uint64_t){2}, WEFT_FOREVER), 0);
        rt_wait(&happened, CROWD / 2);
        EXPECT_EQ(weft_chan_len(place), 0);
        rt_wait_until_none_lives();
        weft_chan_free(place);
    }
}
TEST(channel_cancel) { rt_each(cancels_wake); }

static void deadlines_end(void) {
    for (int side = 0; side < 2; side++) {
        forget(0);
        uint64_t before = weft_now();
        patience = weft_in(5 * WEFT_MILLISECOND);
        for (unsigned i = 0; i < CROWD; i++)
            crowd_spawn(side ? waits_to_send : waits_to_receive, NULL);
        EXPECT_EQ(side ? weft_chan_send(place, &before, patience) : weft_chan_recv(place, &before, patience), WEFT_ETIMEDOUT);
        EXPECT(weft_now() >= patience);
        rt_wait(&late, CROWD);
        EXPECT_EQ(weft_chan_recv(place, NULL, 0), WEFT_ETIMEDOUT);
        rt_wait_until_none_lives();
        weft_chan_free(place);
    }
}
TEST(channel_deadlines) { rt_each(deadlines_end); }

static void *thread_waits_to_receive(void *unused) {
    waits_to_receive(unused);
    return NULL;
}
static void closing_wakes(void) {
    for (int side = 0; side < 2; side++) {
        forget(0);
        for (unsigned i = 0; i < CROWD; i++)
            crowd_spawn(side ? waits_to_send : waits_to_receive, NULL);
        pthread_t thread = 0;
        if (!side) thread = crowd_thread(thread_waits_to_receive, NULL);
        if (side) wait_for_senders(CROWD);
        else wait_for_receivers(CROWD + 1);
        EXPECT_EQ(weft_chan_close(place), 0);
        rt_wait(&closed, CROWD + !side);
        if (!side) crowd_gather(thread);
        rt_wait_until_none_lives();
        weft_chan_free(place);
    }
}
TEST(channel_close) { rt_each(closing_wakes); }

/* ---- first come, first served ---------------------------------------------------------------------------------------- */

static void waits_for_its_number(void *number) {
    uint64_t got = UINT64_MAX;
    EXPECT_EQ(weft_chan_recv(place, &got, WEFT_FOREVER), 0);
    EXPECT_EQ(got, (uintptr_t)number);
    atom_add_rel(&happened, 1);
}
static void serves_in_order(void) {
    forget(0);
    for (uintptr_t i = 0; i < CROWD; i++) {
        crowd_spawn(waits_for_its_number, (void *)i);
        wait_for_receivers(i + 1);
    }
    for (uint64_t i = 0; i < CROWD; i++)
        EXPECT_EQ(weft_chan_send(place, &i, 0), 0);
    rt_wait(&happened, CROWD);
    rt_wait_until_none_lives();
    weft_chan_free(place);
}
TEST(channel_serves_in_order) { rt_each(serves_in_order); }

/* ---- where there is no process that could give way ------------------------------------------------------------------- */

static int ends_late(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct worker *worker = worker_here();
    (void)self, (void)events, (void)count;
    /* As sysmon does with one that has been at it for long. */
    atom_store_rlx(&worker->give_way, atom_load_rlx(&worker->local.counters.steps));
    budget_end(worker);
    EXPECT_EQ(weft_chan_send(place, &(uint64_t){1}, 0), 0);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static void sends_in_close(void *self) {
    (void)self;
    EXPECT_EQ(weft_chan_send(place, &(uint64_t){2}, 0), 0);
    EXPECT_EQ(weft_chan_recv(place, NULL, 0), 0);
    weft_case one = weft_case_send(place, &(uint64_t){3});
    EXPECT_EQ(weft_select(&one, 1, 0), 0);
    atom_add_rel(&happened, 1);
}
static const weft_behavior closer = {.name = "closer", .step = ends_late, .close = sends_in_close};
static void used_in_close(void) {
    uint64_t got = 0;
    forget(3);
    rt_spawn(&closer);
    rt_wait(&happened, 1);
    for (uint64_t i = 2; i <= 3; i++) {
        EXPECT_EQ(weft_chan_recv(place, &got, 0), 0);
        EXPECT_EQ(got, i);
    }
    rt_wait_until_none_lives();
    weft_chan_free(place);
}
TEST(channel_used_between_two_processes) { rt_each(used_in_close); }

/* ---- between two runtimes -------------------------------------------------------------------------------------------- */

static void spawn_in(weft_runtime *runtime, weft_entry entry, void *arg) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = runtime}, &pid), 0);
}
static void between_runtimes(void) {
    weft_runtime *other;
    EXPECT_EQ(weft_start(&(weft_config){.policy = rt.policy, .workers = 2}, &other), 0);
    for (unsigned i = 0; i < 2; i++) {
        memset(&market, 0, sizeof market);
        market.chan = chan_make(sizeof(struct item), i);
        market.each = 500 / RT_SLOW;
        market.seed = 1;
        atom_store_rlx(&senders_done, 0);
        for (uintptr_t side = 0; side < 2; side++) {
            spawn_in(side ? rt.runtime : other, sends, (void *)side);
            spawn_in(side ? other : rt.runtime, receives, (void *)side);
        }
        rt_wait(&senders_done, 2);
        EXPECT_EQ(weft_chan_close(market.chan), 0);
        rt_wait(&market.receivers_done, 2);
        EXPECT_EQ(atom_load_rlx(&market.received), 2 * market.each);
        EXPECT_EQ(atom_load_rlx(&market.sum_sent), atom_load_rlx(&market.sum_received));
        rt_wait_until_none_lives();
        weft_stop_report report;
        if (i == 1) EXPECT_EQ(weft_stop(other, &report, WEFT_FOREVER), 0);
        weft_chan_free(market.chan);
    }
}
TEST(channel_between_runtimes) { rt_each(between_runtimes); }

/* ---- the receiver of the last element frees the channel---------------------------------------------------------------- */

static void replies(void *chan) { EXPECT_EQ(weft_chan_send(chan, &(uint64_t){42}, WEFT_FOREVER), 0); }
static void asks(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 300 / RT_SLOW; i++) {
        weft_chan *reply = chan_make(sizeof(uint64_t), i % 2);
        uint64_t got = 0;
        EXPECT(weft_spawn(replies, reply) != WEFT_NOBODY);
        EXPECT_EQ(weft_chan_recv(reply, &got, WEFT_FOREVER), 0);
        weft_chan_free(reply);
        EXPECT_EQ(got, 42);
    }
    atom_add_rel(&happened, 1);
}
static void frees_at_once(void) {
    forget(0);
    for (unsigned i = 0; i < 8; i++)
        crowd_spawn(asks, NULL);
    rt_wait(&happened, 8);
    rt_wait_until_none_lives();
    weft_chan_free(place);
}
TEST(channel_freed_by_the_receiver) { rt_each(frees_at_once); }

/* ---- step processes, misuse ------------------------------------------------------------------------------------------ */

static bool step_waits;
static int uses_channel(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    uint64_t got = 0;
    EXPECT_EQ(weft_chan_send(place, &(uint64_t){5}, 0), 0);
    EXPECT_EQ(weft_chan_send(place, &(uint64_t){5}, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_chan_recv(place, &got, 0), 0);
    EXPECT_EQ(got, 5);
    EXPECT_EQ(weft_chan_recv(place, &got, 0), WEFT_ETIMEDOUT);
    if (step_waits) weft_chan_recv(place, &got, WEFT_FOREVER);
    atom_add_rel(&happened, 1);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior stepper = {.name = "stepper", .step = uses_channel};

static void steps_may_try(void) {
    forget(1);
    rt_spawn(&stepper);
    rt_wait(&happened, 1);
    rt_wait_until_none_lives();
    weft_chan_free(place);
}
TEST(channel_step_processes_may_try) { rt_each(steps_may_try); }

static void step_that_waits(void) {
    rt_start("ring", 2);
    forget(1);
    step_waits = true;
    rt_spawn(&stepper);
    rt_wait(&happened, 1);
}
TEST(channel_step_processes_must_not_wait) { EXPECT_ABORT(step_that_waits, "weft_chan_recv", "stackful"); }

static void free_with_a_waiter(void) {
    rt_start("ring", 2);
    forget(0);
    crowd_spawn(waits_to_receive, NULL);
    wait_for_receivers(1);
    weft_chan_free(place);
}
TEST(channel_free_with_a_waiter_aborts) { EXPECT_ABORT(free_with_a_waiter, "weft_chan_free", "waits at the channel"); }

/* ---- elements of a size of their own ------------------------------------------------------------------------------------ */

TEST(channel_of_bytes_alone) {
    weft_chan *chan;
    char got[40];
    size_t size;
    EXPECT_EQ(weft_chan_new_bytes(32, 2, &chan), 0);
    EXPECT_EQ(weft_chan_send_bytes(chan, got, 33, 0), WEFT_EMSGSIZE);
    for (unsigned i = 0; i < 6; i++) { /* over the end of the ring */
        EXPECT_EQ(weft_chan_send_bytes(chan, "0123456789012345678901234567890", i * 6, 0), 0);
        EXPECT_EQ(weft_chan_send(chan, &(weft_bytes){"abc", 3}, 0), 0);
        EXPECT_EQ(weft_chan_send_bytes(chan, "x", 1, 0), WEFT_ETIMEDOUT);
        memset(got, 'z', sizeof got);
        EXPECT_EQ(weft_chan_recv_bytes(chan, got, 8, &size, 0), 0); /* cut off */
        EXPECT_EQ(size, i * 6);
        EXPECT(memcmp(got, "01234567zz", size < 8 ? size : 10) == 0);
        EXPECT_EQ(weft_chan_recv_bytes(chan, got, sizeof got, NULL, 0), 0);
        EXPECT(memcmp(got, "abc", 3) == 0);
    }
    EXPECT_EQ(weft_chan_send_bytes(chan, NULL, 0, 0), 0);
    EXPECT_EQ(weft_chan_recv(chan, NULL, 0), 0);
    weft_chan_close(chan);
    EXPECT_EQ(weft_chan_recv_bytes(chan, got, sizeof got, &size, WEFT_FOREVER), WEFT_ECLOSED);
    weft_chan_free(chan);
    EXPECT_EQ(weft_chan_new_bytes(0, 1, &chan), 0);
    EXPECT_EQ(weft_chan_send_bytes(chan, NULL, 0, 0), 0);
    EXPECT_EQ(weft_chan_recv_bytes(chan, NULL, 0, &size, 0), 0);
    EXPECT_EQ(size, 0);
    weft_chan_free(chan);
    EXPECT_EQ(weft_chan_new_bytes(SIZE_MAX, 1, &chan), WEFT_ENOMEM);
}

/* What is in a channel when it is freed: told in order, over the end of the ring. */
static void told_numbers(void *element, void *user) {
    unsigned **next = user;
    *(*next)++ = *(unsigned *)element;
}
static void told_bytes(void *element, void *user) {
    const weft_bytes *bytes = element;
    unsigned **next = user;
    EXPECT_EQ(bytes->size, 2);
    *(*next)++ = ((const unsigned char *)bytes->data)[1];
}
TEST(channel_freed_with_what_is_in_it) {
    unsigned told[4] = {0}, *next = told;
    weft_chan *chan;
    weft_chan_free_with(NULL, told_numbers, &next);
    EXPECT_EQ(weft_chan_new(sizeof(unsigned), 3, &chan), 0);
    for (unsigned i = 1; i <= 4; i++) {
        EXPECT_EQ(weft_chan_send(chan, &i, 0), 0);
        if (i < 3) EXPECT_EQ(weft_chan_recv(chan, NULL, 0), 0);
    }
    weft_chan_free_with(chan, told_numbers, &next);
    EXPECT(next == told + 2 && told[0] == 3 && told[1] == 4);
    EXPECT_EQ(weft_chan_new_bytes(4, 2, &chan), 0);
    EXPECT_EQ(weft_chan_send_bytes(chan, "a\7", 2, 0), 0);
    weft_chan_free_with(chan, told_bytes, &next);
    EXPECT(next == told + 3 && told[2] == 7);
    EXPECT_EQ(weft_chan_new(sizeof(unsigned), 0, &chan), 0);
    weft_chan_free_with(chan, told_numbers, &next);
    EXPECT(next == told + 3);
}

/* A line of so many letters; which, its length says. */
static void sends_lines(void *arg) {
    char line[64];
    (void)arg;
    for (unsigned i = 0; i < 300; i++) {
        unsigned length = i % 60;
        memset(line, 'a' + (int)(length % 26), sizeof line);
        if (i % 2) EXPECT_EQ(weft_chan_send_bytes(place, line, length, WEFT_FOREVER), 0);
        else EXPECT_EQ(weft_select(&(weft_case[]){weft_case_send(place, &(weft_bytes){line, length})}[0], 1, WEFT_FOREVER), 0);
    }
    atom_add_rel(&happened, 1);
}
static void receives_lines(void *arg) {
    char line[64];
    weft_bytes bytes;
    (void)arg;
    for (unsigned i = 0; i < 300; i++) {
        bytes = (weft_bytes){line, sizeof line};
        if (i % 2) EXPECT_EQ(weft_chan_recv_bytes(place, line, sizeof line, &bytes.size, WEFT_FOREVER), 0);
        else EXPECT_EQ(weft_select(&(weft_case[]){weft_case_recv(place, &bytes)}[0], 1, WEFT_FOREVER), 0);
        EXPECT(bytes.size < 60);
        for (size_t at = 0; at < bytes.size; at++)
            EXPECT_EQ(line[at], 'a' + (int)(bytes.size % 26));
    }
    atom_add_rel(&happened, 1);
}
static void lines(void) {
    for (size_t capacity = 0; capacity < 3; capacity++) { /* 0: straight from the sender to the receiver */
        atom_store_rlx(&happened, 0);
        EXPECT_EQ(weft_chan_new_bytes(60, capacity, &place), 0);
        for (unsigned i = 0; i < 3; i++) {
            crowd_spawn(sends_lines, NULL);
            crowd_spawn(receives_lines, NULL);
        }
        rt_wait(&happened, 6);
        rt_wait_until_none_lives();
        weft_chan_free(place);
    }
}
TEST(channel_of_bytes) { rt_each(lines); }

static void too_long(void) {
    weft_chan *chan;
    char bytes[100] = {0};
    weft_chan_new_bytes(10, 1, &chan);
    weft_chan_send(chan, &(weft_bytes){bytes, sizeof bytes}, 0);
}
static void of_one_size(void) { weft_chan_send_bytes(chan_make(8, 1), "x", 1, 0); }
TEST(channel_of_bytes_misuse_aborts) {
    EXPECT_ABORT(too_long, "weft_chan_send_bytes");
    EXPECT_ABORT(of_one_size, "weft_chan_send_bytes");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
