/* Messages: order, sizes, oneself, many foreign threads, two runtimes, the router. */
#include "proc/proc.h"
#include "runtime_helpers.h"

#include <weft/router.h>

static atom_u64 heard, total, done;

static void forget(void) {
    atom_store_rlx(&heard, 0);
    atom_store_rlx(&total, 0);
    atom_store_rlx(&done, 0);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------ */

static unsigned char pattern[1 << 20];
static int echo_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        EXPECT_EQ(events[i].size, events[i].tag);
        EXPECT_EQ((uintptr_t)events[i].data % 8, 0);
        EXPECT(memcmp(events[i].data, pattern, events[i].size) == 0);
        atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior echo = {.name = "echo", .step = echo_step};

static int repeat_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_pid *to = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        else if (*to == WEFT_NOBODY) memcpy(to, events[i].data, sizeof *to);
        else EXPECT_EQ(weft_send(*to, events[i].tag, events[i].data, events[i].size), 0);
    }
    return 0;
}
static const weft_behavior repeat = {.name = "repeat", .state_size = sizeof(weft_pid), .step = repeat_step};

static void all_sizes(void) {
    static const size_t sizes[] = {0,  1,  2,  3,   4,   5,   7,    8,    9,    15,   16,    17,     24,     31,     32,
                                   33, 96, 97, 224, 480, 992, 2015, 2016, 2017, 4096, 65536, 262112, 262144, 1 << 20};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    forget();
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i * 13 + (i >> 8));
    weft_pid to = rt_spawn(&echo), by = rt_spawn(&repeat);
    EXPECT_EQ(weft_send(by, 0, &to, sizeof to), 0);
    for (unsigned i = 0; i < SIZES; i++) {
        EXPECT_EQ(weft_send(to, sizes[i], pattern, sizes[i]), 0);
        EXPECT_EQ(weft_send(by, sizes[i], pattern, sizes[i]), 0);
    }
    rt_wait(&heard, 2 * SIZES);
}
TEST(send_all_sizes) { rt_each(all_sizes); }

/* ---- order -------------------------------------------------------------------------------------------------------------- */

/* Senders of all kinds, one receiver: each sender's messages arrive in order, all of them. */
enum { SENDERS = 12, THREADS = 12, ALL = SENDERS + THREADS };
static struct {
    uint64_t count; /* each */
    weft_pid to;
} order;

static int receiver_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint64_t *next = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        uint64_t sender = events[i].tag >> 32, number = events[i].tag & UINT32_MAX;
        EXPECT(sender < ALL);
        EXPECT_EQ(number, next[sender]);
        EXPECT((events[i].from == WEFT_NOBODY) == (sender >= SENDERS));
        next[sender]++;
        atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior receiver = {.name = "receiver", .state_size = ALL * sizeof(uint64_t), .step = receiver_step};

struct sender {
    uint64_t id, next;
};
static int sender_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method;
    memcpy(&((struct sender *)self)->id, input, size);
    return 0;
}
static int sender_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct sender *sender = self;
    (void)events, (void)count;
    for (unsigned burst = 1 + sender->next % 7; burst > 0 && sender->next < order.count; burst--) {
        uint64_t tag = sender->id << 32 | sender->next++;
        /* Hand-offs in between: the order is that of the calls, not of how they were made. */
        int error = burst % 3 == 1 ? weft_out_handoff(out, order.to, tag, NULL, 0) : weft_send(order.to, tag, NULL, 0);
        EXPECT_EQ(error, 0);
    }
    weft_out_status(out, sender->next < order.count ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior sender_behavior = {
    .name = "sender", .state_size = sizeof(struct sender), .init = sender_init, .step = sender_step};

static void *sender_thread(void *id) {
    for (uint64_t i = 0; i < order.count; i++)
        EXPECT_EQ(weft_send(order.to, (uint64_t)(uintptr_t)id << 32 | i, NULL, 0), 0);
    return NULL;
}

static void in_order(void) {
    pthread_t threads[THREADS];
    forget();
    order.count = 3000 / RT_SLOW * test_scale();
    order.to = rt_spawn(&receiver);
    for (uintptr_t i = 0; i < THREADS; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, sender_thread, (void *)(SENDERS + i)), 0);
    for (uint64_t i = 0; i < SENDERS; i++)
        rt_spawn_with(&sender_behavior, &i, sizeof i);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rt_wait(&heard, order.count * ALL);
    rt_expect_sent(order.count * ALL);
}
TEST(send_in_order_from_processes_and_threads) { rt_each(in_order); }

/* ---- to oneself ------------------------------------------------------------------------------------------------------------ */

static int self_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    uint64_t *next = self;
    for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(events[i].type, WEFT_EVENT_MESSAGE);
        EXPECT_EQ(events[i].from, weft_self());
        EXPECT_EQ(events[i].tag, *next / 2 * 2 + (*next % 2)); /* in order */
        (*next)++;
    }
    if (*next >= 1000) {
        weft_out_status(out, WEFT_STEP_DONE);
        atom_add_rel(&done, 1);
        return 0;
    }
    EXPECT(*next % 2 == 0); /* both come in one step, though the process says it is idle */
    EXPECT_EQ(weft_send(weft_self(), *next, NULL, 0), 0);
    EXPECT_EQ(weft_out_handoff(out, weft_self(), *next + 1, NULL, 0), 0);
    return 0;
}
static void to_oneself(void) {
    static const weft_behavior behavior = {.name = "self", .state_size = 8, .step = self_step};
    forget();
    rt_spawn(&behavior);
    rt_wait(&done, 1);
}
TEST(send_to_oneself) { rt_each(to_oneself); }

/* ---- many foreign threads ----------------------------------------------------------------------------------------------------- */

enum { CROWD = 32, TARGETS = 64 };
static weft_pid targets[TARGETS];
static int adder_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        atom_add_rlx(&total, events[i].tag);
        atom_add_rel(&heard, 1);
    }
    return 0;
}
static const weft_behavior adder = {.name = "adder", .step = adder_step};
static void *crowd_thread(void *number) {
    unsigned each = 1000 / RT_SLOW;
    for (unsigned i = 0; i < each; i++)
        EXPECT_EQ(weft_send(targets[((uintptr_t)number * 7 + i) % TARGETS], i, pattern, i % 100), 0);
    return NULL;
}
static void many_threads(void) {
    pthread_t threads[CROWD];
    uint64_t each = 1000 / RT_SLOW;
    forget();
    for (unsigned i = 0; i < TARGETS; i++)
        targets[i] = rt_spawn(&adder);
    for (uintptr_t i = 0; i < CROWD; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, crowd_thread, (void *)i), 0);
    for (unsigned i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    rt_wait(&heard, CROWD * each);
    EXPECT_EQ(atom_load_rlx(&total), CROWD * (each * (each - 1) / 2));
}
TEST(send_from_many_foreign_threads) { rt_each(many_threads); }

/* ---- two runtimes -------------------------------------------------------------------------------------------------------------- */

struct player {
    weft_pid other;
    uint64_t left;
};
static int player_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct player *player = self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            return 0;
        }
        if (events[i].size == sizeof *player) {
            memcpy(player, events[i].data, sizeof *player);
            if (events[i].tag == 0) continue;
        } else {
            EXPECT_EQ(events[i].from, player->other);
            if (--player->left == 0) atom_add_rel(&done, 1);
        }
        if (player->left > 0) {
            int error = i % 2 ? weft_out_handoff(out, player->other, 0, NULL, 0) : weft_send(player->other, 0, NULL, 0);
            EXPECT(error == 0 || error == WEFT_EFOREIGN);
            if (error) atom_add_rel(&heard, 1);
        }
    }
    return 0;
}
static const weft_behavior player_behavior = {.name = "player", .state_size = sizeof(struct player), .step = player_step};

static weft_pid spawn_in(weft_runtime *runtime, const weft_behavior *behavior) {
    weft_pid pid;
    EXPECT_EQ(weft_spawn_step(behavior, &(weft_spawn_options){.runtime = runtime}, &pid), 0);
    return pid;
}

static void two_runtimes(void) {
    enum { PAIRS = 10 };
    uint64_t rounds = 2000 / RT_SLOW;
    weft_runtime *other;
    forget();
    EXPECT_EQ(weft_start(&(weft_config){.workers = rt.workers, .policy = "deque"}, &other), 0);
    for (unsigned i = 0; i < PAIRS; i++) {
        weft_pid here = spawn_in(rt.runtime, &player_behavior), there = spawn_in(other, &player_behavior);
        EXPECT(pid_instance(here) != pid_instance(there));
        struct player a = {there, rounds}, b = {here, rounds};
        EXPECT_EQ(weft_send(there, 0, &b, sizeof b), 0);
        EXPECT_EQ(weft_send(here, 1, &a, sizeof a), 0);
    }
    rt_wait(&done, PAIRS); /* the one that was served to counts the last ball */
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
}
TEST(send_between_two_runtimes) { rt_each(two_runtimes); }

/* One is stopped while the other sends to it: an error, no crash. */
static void one_goes(void) {
    weft_runtime *other;
    forget();
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2, .policy = "ring"}, &other), 0);
    weft_pid here = spawn_in(rt.runtime, &player_behavior), there = spawn_in(other, &adder);
    (void)here;
    weft_pid senders[4];
    for (unsigned i = 0; i < 4; i++) {
        senders[i] = spawn_in(rt.runtime, &repeat);
        EXPECT_EQ(weft_send(senders[i], 0, &there, sizeof there), 0);
    }
    /* `repeat` expects every send to work: it is told to send only while the other is there. */
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(weft_send(senders[i % 4], 1, NULL, 0), 0);
    rt_wait(&heard, 100);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_send(there, 1, NULL, 0), WEFT_EFOREIGN);
    struct player lonely = {there, 5};
    EXPECT_EQ(weft_send(here, 1, &lonely, sizeof lonely), 0);
    rt_wait(&heard, 101);
}
TEST(send_to_a_runtime_that_has_gone) { rt_each(one_goes); }

/* ---- the router --------------------------------------------------------------------------------------------------------------- */

static struct {
    weft_pid from, to;
    uint64_t tag;
    char data[16];
    size_t size;
    atom_u64 calls;
} routed;
static int router(void *user, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size) {
    EXPECT(user == &routed);
    routed.from = from;
    routed.to = to;
    routed.tag = tag;
    routed.size = size;
    memcpy(routed.data, data, size);
    atom_add_rel(&routed.calls, 1);
    return tag == 13 ? -77 : 0;
}
static int far_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_MESSAGE) continue;
        weft_pid far;
        memcpy(&far, events[i].data, sizeof far);
        EXPECT_EQ(weft_send(far, 21, "inside", 7), 0);
        rt_wait(&routed.calls, events[i].tag);
        EXPECT_EQ(routed.from, weft_self());
        EXPECT_EQ(weft_out_handoff(out, far, 22, "handed", 7), 0);
        rt_wait(&routed.calls, events[i].tag + 1);
        EXPECT_EQ(routed.tag, 22);
        atom_add_rel(&done, 1);
    }
    return 0;
}
static void routing(void) {
    static const weft_behavior behavior = {.name = "far", .step = far_step};
    forget();
    memset(&routed, 0, sizeof routed);
    weft_pid here = rt_spawn(&behavior), far = pid_make((pid_instance(here) + 100) % 256, 1, 5);
    EXPECT_EQ(weft_send(far, 1, "x", 1), WEFT_EFOREIGN);
    EXPECT_EQ(weft_set_router(router, &routed), 0);
    EXPECT_EQ(weft_set_router(router, NULL), WEFT_EBUSY);
    EXPECT_EQ(weft_send(far, 12, "outside", 8), 0);
    EXPECT_EQ(atom_load_rlx(&routed.calls), 1);
    EXPECT(routed.from == WEFT_NOBODY && routed.to == far && routed.tag == 12 && routed.size == 8);
    EXPECT(strcmp(routed.data, "outside") == 0);
    EXPECT_EQ(weft_send(far, 13, "", 1), -77);
    EXPECT_EQ(atom_load_rlx(&routed.calls), 2);
    EXPECT_EQ(weft_send(here, 3, &far, sizeof far), 0); /* not for the router */
    rt_wait(&done, 1);
    EXPECT_EQ(atom_load_rlx(&routed.calls), 4);
    EXPECT_EQ(weft_set_router(NULL, NULL), 0);
    EXPECT_EQ(weft_send(far, 1, "x", 1), WEFT_EFOREIGN);
    EXPECT_EQ(atom_load_rlx(&routed.calls), 4);
}
TEST(send_through_a_router) { rt_each(routing); }

/* ---- no memory ------------------------------------------------------------------------------------------------------------------ */

static void without_memory(void) {
    forget();
    weft_pid pid = rt_spawn(&adder);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    rt_wait(&heard, 1);
    rt_pause(RT_MS);
    sys_script.alloc_fail_from = 1;
    EXPECT_EQ(weft_send(pid, 1, pattern, 100000), WEFT_ENOMEM);
    EXPECT_EQ(weft_send(pid, 1, NULL, SIZE_MAX / 2), WEFT_ENOMEM);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(weft_send(pid, 1, NULL, (size_t)UINT32_MAX + 1), WEFT_ENOMEM); /* more than a message can hold */
    EXPECT_EQ(weft_send(pid, 1, pattern, 100000), 0);
    rt_wait(&heard, 2);
}
TEST(send_without_memory) { rt_each(without_memory); }

int main(int argc, char **argv) { return test_main(argc, argv); }
