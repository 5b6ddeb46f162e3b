/* Floods: many senders, more than the receiver takes. In a mailbox whose senders wait nothing is lost, and the order of each sender's messages
 * stays; the memory that all of it takes does not grow. */
#include "bounds_helpers.h"

#include "sanitized.h"

enum { SENDERS = 8, EACH = 20000, LIMIT = 64 };

/* The tag is the sender, the data the number of the message. */
static struct flood {
    weft_pid pid;
    uint64_t next[SENDERS];
    atom_u64 received, worst;
    bool selective; /* every now and then receives one sender's messages first */
} flood;
static uint64_t flood_each(void) { return (uint64_t)EACH / RT_SLOW / (test_emulated() ? 10 : 1); }
static uint64_t flood_all(void) { return SENDERS * flood_each(); }

static void flood_got(uint64_t sender, uint64_t number) {
    EXPECT(sender < SENDERS);
    EXPECT_EQ(number, flood.next[sender]);
    flood.next[sender]++;
    atom_store_rel(&flood.received, atom_load_rlx(&flood.received) + 1);
    if (number % 64 == 0) {
        uint64_t now = usage(flood.pid).messages;
        if (now > atom_load_rlx(&flood.worst)) atom_store_rlx(&flood.worst, now);
    }
}

static void flood_receiver(void *unused) {
    weft_msg *message;
    (void)unused;
    for (uint64_t i = 0; i < flood_all(); i++) {
        if (!flood.selective || i % 3 || weft_recv_tag(i % SENDERS, &message, 0) != 0) EXPECT_EQ(weft_recv(&message, WEFT_FOREVER), 0);
        flood_got(weft_msg_tag(message), msg_u64(message));
        weft_msg_free(message);
    }
}
static int flood_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    (void)state;
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        if (events[i].type == WEFT_EVENT_CANCEL) continue;
        memcpy(&number, events[i].data, sizeof number);
        flood_got(events[i].tag, number);
    }
    if (atom_load_rlx(&flood.received) == flood_all()) weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior flood_behavior = {.name = "flood receiver", .step = flood_step};

static void flood_send(uint64_t sender) {
    for (uint64_t i = 0; i < flood_each(); i++)
        EXPECT_EQ(weft_send(flood.pid, sender, &i, sizeof i), 0);
}
static void sender_main(void *arg) { flood_send((uintptr_t)arg); }
static void *sender_thread(void *arg) {
    flood_send((uintptr_t)arg);
    return NULL;
}
struct step_sender {
    uint64_t sender, number;
};
static int sender_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct step_sender *self = state;
    (void)events, (void)count;
    for (unsigned i = 0; i < 32 && self->number < flood_each(); i++) {
        int error = weft_send(flood.pid, self->sender, &self->number, sizeof self->number);
        if (error == WEFT_EAGAIN) {
            EXPECT_EQ(weft_out_await_room(out, flood.pid, 0), 0);
            weft_out_status(out, WEFT_STEP_BLOCKED);
            return 0;
        }
        EXPECT_EQ(error, 0);
        self->number++;
    }
    weft_out_status(out, self->number < flood_each() ? WEFT_STEP_CONTINUE : WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior sender_behavior = {
    .name = "flood sender", .state_size = sizeof(struct step_sender), .init = receiver_init, .step = sender_step};

static void flood_run(bool stackful, bool selective) {
    weft_mailbox mailbox = {.messages = LIMIT};
    pthread_t threads[2];
    memset(&flood, 0, sizeof flood);
    flood.selective = selective;
    weft_stackful_options with = {.runtime = rt.runtime, .mailbox = &mailbox};
    weft_spawn_options step = {.runtime = rt.runtime, .mailbox = &mailbox};
    EXPECT_EQ(stackful ? weft_spawn_with(flood_receiver, NULL, &with, &flood.pid) : weft_spawn_step(&flood_behavior, &step, &flood.pid), 0);
    for (uintptr_t i = 0; i < 4; i++)
        run_spawn(sender_main, (void *)i);
    for (uint64_t i = 4; i < 6; i++)
        rt_spawn_with(&sender_behavior, &(struct step_sender){i, 0}, sizeof(struct step_sender));
    for (uintptr_t i = 0; i < 2; i++)
        EXPECT_EQ(pthread_create(&threads[i], NULL, sender_thread, (void *)(6 + i)), 0);
    rt_wait(&flood.received, flood_all());
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < SENDERS; i++)
        EXPECT_EQ(flood.next[i], flood_each());
    EXPECT(atom_load_rlx(&flood.worst) <= LIMIT);
    rt_wait_until_none_lives();
    rt_expect_sent(flood_all());
}
static void flood_step_body(void) { flood_run(false, false); }
static void flood_stackful_body(void) { flood_run(true, false); }
static void flood_selective_body(void) { flood_run(true, true); }
TEST_WITHIN(flood_of_a_step_process, 300) { rt_each(flood_step_body); }
TEST_WITHIN(flood_of_a_stackful_process, 300) { rt_each(flood_stackful_body); }
TEST_WITHIN(flood_of_a_process_that_selects, 300) { rt_each(flood_selective_body); }

/* ---- the limit of the whole program -------------------------------------------------------------------------------------------- */

enum { CAP = 16 << 20, PIECE = 1000, CAPPED_SENDERS = 6 };
static struct receiver deaf;
static atom_u64 accepted, refusals;

static size_t resident(void) {
    unsigned long pages, unused;
    FILE *file = fopen("/proc/self/statm", "r");
    EXPECT(file && fscanf(file, "%lu %lu", &unused, &pages) == 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Sends until it is refused. */
static void floods(uint64_t pieces) {
    static const char piece[PIECE];
    int error;
    while ((error = weft_send(deaf.pid, 1, piece, pieces)) == 0)
        atom_add_rlx(&accepted, 1);
    EXPECT_EQ(error, WEFT_ENOBUFS);
    atom_add_rel(&refusals, 1);
}
static void flooder(void *unused) {
    (void)unused;
    floods(PIECE);
}
static void *flooding_thread(void *unused) {
    flooder(unused);
    return NULL;
}

static void keep(void *buffer, size_t size, void *user) {
    (void)size, (void)user;
    free(buffer);
}
/* Nothing large fits any more, and what could not be moved is still ours. */
static void expect_full(void) {
    void *buffer = calloc(1, 1 << 20);
    weft_mailbox_use use;
    EXPECT_EQ(weft_send(deaf.pid, 2, buffer, 1 << 20), WEFT_ENOBUFS);
    EXPECT_EQ(weft_send_move(deaf.pid, 2, buffer, 1 << 20, keep, NULL), WEFT_ENOBUFS);
    EXPECT_EQ(weft_mailbox_usage(deaf.pid, &use), WEFT_ENOTSUP);
    free(buffer);
}

static void deaf_main(void *arg) {
    struct receiver *self = arg;
    weft_msg *message;
    while (!atom_load_acq(&self->open) && weft_sleep(WEFT_MILLISECOND) == 0) {}
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        weft_msg_free(message);
        atom_add_rel(&self->count, 1);
    }
}

static void capped_body(const char *policy, unsigned workers) {
    pthread_t thread;
    rt_start_with(&(weft_config){.policy = policy, .workers = workers, .seed = 1, .max_mail_bytes = CAP});
    memset(&deaf, 0, sizeof deaf);
    atom_store_rlx(&accepted, 0), atom_store_rlx(&refusals, 0);
    size_t before = resident();
    deaf.pid = run_spawn(deaf_main, &deaf);
    for (unsigned i = 0; i + 1 < CAPPED_SENDERS; i++)
        run_spawn(flooder, NULL);
    EXPECT_EQ(pthread_create(&thread, NULL, flooding_thread, NULL), 0);
    pthread_join(thread, NULL);
    rt_wait(&refusals, CAPPED_SENDERS);
    uint64_t bytes = atom_load_rlx(&accepted) * PIECE;
    EXPECT(bytes > CAP / 2 && bytes <= CAP);
    if (!SANITIZED) EXPECT(resident() < before + CAP + (16 << 20)); /* and stacks, and the program itself */
    expect_full();
    atom_store_rel(&deaf.open, 1);
    rt_wait(&deaf.count, atom_load_rlx(&accepted));
    /* All is free again, also for messages of other sizes. */
    atom_store_rlx(&deaf.count, 0);
    char *large = calloc(1, CAP / 4);
    for (unsigned i = 1; i <= 20; i++) {
        while (weft_send(deaf.pid, 3, large, i % 2 ? CAP / 4 : 300) != 0) /* what a worker's cache keeps comes back by and by */
            usleep(1000);
        rt_wait(&deaf.count, i);
    }
    free(large);
    rt_stop();
}
TEST_WITHIN(flood_up_to_the_limit_of_the_program, 300) { rt_cases(capped_body); }

TEST(limits_that_make_no_sense) {
    weft_runtime *runtime;
    rt_count_memory();
    EXPECT_EQ(weft_start(&(weft_config){.max_mail_bytes = 4096}, &runtime), WEFT_EINVAL);
    setenv("WEFT_MAX_MAIL_BYTES", "1000", 1);
    EXPECT_EQ(weft_start(NULL, &runtime), WEFT_EINVAL);
    EXPECT_EQ(rt_live_memory(), 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
