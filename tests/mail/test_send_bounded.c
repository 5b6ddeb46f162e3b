/* Sending to a full mailbox whose senders wait: all kinds of senders, and all that may end their wait. */
#include "bounds_helpers.h"

#include <signal.h>

static struct receiver it;
static const weft_mailbox one = {.messages = 1}, two = {.messages = 2};

/* ---- processes -------------------------------------------------------------------------------------------------------- */

struct job {
    uint64_t tag, deadline;
    int error;
    atom_u64 done;
};
static void sends(void *arg) {
    struct job *job = arg;
    job->error = weft_send_until(it.pid, job->tag, &job->tag, sizeof job->tag, job->deadline);
    atom_store_rel(&job->done, 1);
}
static int job_wait(struct job *job) {
    rt_wait(&job->done, 1);
    return job->error;
}

/* One after the other, so that their order is known. */
static void in_order_body(bool stackful) {
    static struct job jobs[20];
    it = (struct receiver){.want = 22};
    weft_pid pid = receiver_spawn(&it, stackful, &two);
    EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    for (uint64_t i = 0; i < 20; i++) {
        jobs[i] = (struct job){.tag = i + 2, .deadline = WEFT_FOREVER};
        run_spawn(sends, &jobs[i]);
        wait_for_senders(pid, i + 1);
    }
    EXPECT_EQ(usage(pid).messages, 2);
    receiver_open(&it);
    receiver_wait(&it, 22);
    for (uint64_t i = 0; i < 22; i++)
        EXPECT_EQ(it.got[i], i);
    for (uint64_t i = 0; i < 20; i++)
        EXPECT_EQ(job_wait(&jobs[i]), 0);
    rt_expect_sent(22);
}
TEST(senders_wait_and_are_admitted_in_order) { bounds_both(in_order_body); }

static void *thread_sends(void *arg) {
    sends(arg);
    return NULL;
}
static void thread_body(bool stackful) {
    struct job job = {.tag = 7, .deadline = WEFT_FOREVER};
    pthread_t thread;
    it = (struct receiver){.want = 2};
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    EXPECT_EQ(weft_send_until(pid, 2, NULL, 0, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_send_until(pid, 2, NULL, 0, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(pthread_create(&thread, NULL, thread_sends, &job), 0);
    wait_for_senders(pid, 1);
    receiver_open(&it);
    pthread_join(thread, NULL);
    EXPECT_EQ(job.error, 0);
    receiver_wait(&it, 2);
    EXPECT_EQ(it.got[1], 7);
}
TEST(a_thread_waits) { bounds_both(thread_body); }

static void deadline_body(bool stackful) {
    struct job soon = {.tag = 2, .deadline = weft_in(5 * WEFT_MILLISECOND)}, now = {.tag = 3, .deadline = 0};
    it = (struct receiver){.want = 1};
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    run_spawn(sends, &soon);
    run_spawn(sends, &now);
    EXPECT_EQ(job_wait(&soon), WEFT_ETIMEDOUT);
    EXPECT_EQ(job_wait(&now), WEFT_ETIMEDOUT);
    EXPECT_EQ(usage(pid).waiting, 0);
    receiver_open(&it);
    receiver_wait(&it, 1);
}
TEST(a_deadline_ends_the_wait) { bounds_both(deadline_body); }

static void cancel_body(bool stackful) {
    struct job job = {.tag = 2, .deadline = WEFT_FOREVER}, last = {.tag = 3, .deadline = WEFT_FOREVER};
    it = (struct receiver){.want = 2};
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    weft_pid sender = run_spawn(sends, &job);
    wait_for_senders(pid, 1);
    run_spawn(sends, &last);
    wait_for_senders(pid, 2);
    EXPECT_EQ(weft_cancel(sender), 0);
    EXPECT_EQ(job_wait(&job), WEFT_ECANCELED);
    EXPECT_EQ(usage(pid).waiting, 1);
    receiver_open(&it);
    EXPECT_EQ(job_wait(&last), 0);
    receiver_wait(&it, 2);
    EXPECT_EQ(it.got[1], 3);
}
TEST(a_cancellation_ends_the_wait) { bounds_both(cancel_body); }

/* One that is cancelled already does what can be done at once, and nothing else. */
static void sends_cancelled(void *arg) {
    struct job *job = arg;
    weft_cancel(weft_self());
    EXPECT_EQ(weft_send(it.pid, 1, NULL, 0), 0);
    sends(job);
}
static void cancelled_body(bool stackful) {
    struct job job = {.tag = 2, .deadline = 0};
    it = (struct receiver){.want = 1};
    receiver_spawn(&it, stackful, &one);
    run_spawn(sends_cancelled, &job);
    EXPECT_EQ(job_wait(&job), WEFT_ECANCELED);
    receiver_open(&it);
}
TEST(a_cancelled_sender_does_not_wait) { bounds_both(cancelled_body); }

static void end_body(bool stackful) {
    struct job job = {.tag = 2, .deadline = WEFT_FOREVER}, far = {.tag = 3, .deadline = WEFT_FOREVER};
    pthread_t thread;
    it = (struct receiver){.want = 0};
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    run_spawn(sends, &job);
    wait_for_senders(pid, 1);
    EXPECT_EQ(pthread_create(&thread, NULL, thread_sends, &far), 0);
    wait_for_senders(pid, 2);
    it.want = 0;
    EXPECT_EQ(weft_cancel(pid), 0);
    if (stackful) { /* it ends without having received anything */
        atom_store_rel(&it.open, 1);
    } else {
        receiver_open(&it);
    }
    int error = job_wait(&job);
    pthread_join(thread, NULL);
    /* What it took before it saw that it was cancelled made room. */
    EXPECT(error == WEFT_ENOPROC || error == 0);
    EXPECT(far.error == WEFT_ENOPROC || far.error == 0);
}
TEST(the_end_of_the_receiver_ends_the_wait) { bounds_both(end_body); }

/* It never receives. */
static void deaf(void *arg) {
    struct receiver *self = arg;
    atom_store_rel(&self->begun, 1);
    while (!atom_load_acq(&self->open) && weft_sleep(WEFT_MILLISECOND) == 0) {}
}
static weft_pid deaf_spawn(const weft_mailbox *mailbox) {
    it = (struct receiver){.want = 0};
    weft_stackful_options options = {.runtime = rt.runtime, .name = "deaf", .mailbox = mailbox};
    EXPECT_EQ(weft_spawn_with(deaf, &it, &options, &it.pid), 0);
    rt_wait(&it.begun, 1);
    return it.pid;
}
static void deaf_body(void) {
    struct job jobs[8];
    weft_pid pid = deaf_spawn(&one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    for (uint64_t i = 0; i < 8; i++) {
        jobs[i] = (struct job){.tag = i, .deadline = i % 2 ? WEFT_FOREVER : weft_in(3600 * WEFT_SECOND)};
        run_spawn(sends, &jobs[i]);
    }
    wait_for_senders(pid, 8);
    receiver_open(&it);
    for (unsigned i = 0; i < 8; i++)
        EXPECT_EQ(job_wait(&jobs[i]), WEFT_ENOPROC);
}
TEST(the_end_of_a_deaf_receiver_ends_the_wait) { rt_each(deaf_body); }

/* The runtime stops: processes are cancelled, a thread learns that the receiver has ended. */
static void stop_case(const char *policy, unsigned workers) {
    struct job job = {.tag = 2, .deadline = WEFT_FOREVER}, far = {.tag = 3, .deadline = WEFT_FOREVER};
    pthread_t thread;
    rt_start(policy, workers);
    weft_pid pid = deaf_spawn(&one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    run_spawn(sends, &job);
    EXPECT_EQ(pthread_create(&thread, NULL, thread_sends, &far), 0);
    wait_for_senders(pid, 2);
    weft_stop_report report;
    EXPECT_EQ(weft_stop(rt.runtime, &report, WEFT_FOREVER), 0);
    rt_watch_end();
    pthread_join(thread, NULL);
    EXPECT(job.error == WEFT_ECANCELED || job.error == WEFT_ENOPROC);
    EXPECT_EQ(far.error, WEFT_ENOPROC);
    while (rt_live_memory() > 0) /* the thread was the last to know the mailbox */
        usleep(100);
}
TEST(the_runtime_stops) { rt_cases(stop_case); }

/* A process that cannot be ended has the mailbox. */
static void stuck(void *arg) {
    struct receiver *self = arg;
    atom_store_rel(&self->begun, 1);
    while (!atom_load_acq(&self->open)) {}
}
static void stops_around(void) { /* the runtime's memory stays */
    struct job far = {.tag = 3, .deadline = WEFT_FOREVER};
    pthread_t thread;
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2, .grace_ms = 1}, &rt.runtime), 0);
    it = (struct receiver){.want = 0};
    EXPECT_EQ(weft_spawn_with(stuck, &it, &(weft_stackful_options){.runtime = rt.runtime, .mailbox = &one}, &it.pid), 0);
    rt_wait(&it.begun, 1);
    EXPECT_EQ(weft_send(it.pid, 1, NULL, 0), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, thread_sends, &far), 0);
    wait_for_senders(it.pid, 1);
    EXPECT_EQ(weft_stop(rt.runtime, NULL, weft_in(10 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    pthread_join(thread, NULL);
    EXPECT_EQ(far.error, WEFT_ENOPROC);
    _exit(0);
}
TEST(the_runtime_stops_around_a_receiver_that_does_not_end) {
    static struct child child;
    child_run(&child, stops_around);
    EXPECT_EXIT(&child, 0);
}

/* ---- bytes: a long message waits in its place ---------------------------------------------------------------------------- */

static void long_sends(void *arg) {
    struct job *job = arg;
    char data[80] = "";
    job->error = weft_send_until(it.pid, job->tag, data, job->tag, job->deadline); /* its tag is its length */
    atom_store_rel(&job->done, 1);
}
static void bytes_body(bool stackful) {
    struct job big = {.tag = 80, .deadline = WEFT_FOREVER}, small = {.tag = 10, .deadline = WEFT_FOREVER};
    it = (struct receiver){.want = 3};
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.bytes = 100});
    EXPECT_EQ(weft_send(pid, 1, "0123456789012345678901234567890123456789", 40), 0);
    run_spawn(long_sends, &big);
    wait_for_senders(pid, 1);
    run_spawn(long_sends, &small);
    wait_for_senders(pid, 2); /* it would fit, but does not overtake */
    receiver_open(&it);
    receiver_wait(&it, 3);
    EXPECT(it.got[0] == 1 && it.got[1] == 80 && it.got[2] == 10);
    EXPECT(job_wait(&big) == 0 && job_wait(&small) == 0);
}
TEST(a_long_message_is_not_overtaken) { bounds_both(bytes_body); }

/* When the long one gives up, those behind it come in, although the receiver has taken nothing. */
static void gives_up_body(bool stackful) {
    struct job big = {.tag = 80, .deadline = WEFT_FOREVER}, small = {.tag = 10, .deadline = WEFT_FOREVER};
    it = (struct receiver){.want = 2};
    weft_pid pid = receiver_spawn(&it, stackful, &(weft_mailbox){.bytes = 100});
    EXPECT_EQ(weft_send(pid, 1, "0123456789012345678901234567890123456789", 40), 0);
    weft_pid sender = run_spawn(long_sends, &big);
    wait_for_senders(pid, 1);
    run_spawn(long_sends, &small);
    wait_for_senders(pid, 2);
    EXPECT_EQ(weft_cancel(sender), 0);
    EXPECT_EQ(job_wait(&big), WEFT_ECANCELED);
    EXPECT_EQ(job_wait(&small), 0);
    EXPECT_EQ(usage(pid).bytes, 50);
    receiver_open(&it);
    receiver_wait(&it, 2);
}
TEST(a_sender_that_gives_up_makes_way) { bounds_both(gives_up_body); }

/* The same where the receiver waits for a message that it wants: it must be woken. */
static void wants_ten(void *arg) {
    struct receiver *self = arg;
    weft_msg *message;
    atom_store_rel(&self->begun, 1);
    EXPECT_EQ(weft_recv_tag(10, &message, WEFT_FOREVER), 0);
    weft_msg_free(message);
    receiver_note(self, 10);
}
static void wakes_body(void) {
    struct job big = {.tag = 80, .deadline = WEFT_FOREVER}, small = {.tag = 10, .deadline = WEFT_FOREVER};
    it = (struct receiver){.want = 0};
    weft_stackful_options options = {.runtime = rt.runtime, .mailbox = &(weft_mailbox){.bytes = 100}};
    EXPECT_EQ(weft_spawn_with(wants_ten, &it, &options, &it.pid), 0);
    EXPECT_EQ(weft_send(it.pid, 1, "0123456789012345678901234567890123456789", 40), 0); /* is put aside, and counts */
    weft_pid sender = run_spawn(long_sends, &big);
    wait_for_senders(it.pid, 1);
    run_spawn(long_sends, &small);
    wait_for_senders(it.pid, 2);
    EXPECT_EQ(weft_cancel(sender), 0);
    EXPECT_EQ(job_wait(&big), WEFT_ECANCELED); /* its sender uses it until then */
    EXPECT_EQ(job_wait(&small), 0);
    receiver_wait(&it, 1);
}
TEST(a_sender_that_gives_up_wakes_the_receiver) { rt_each(wakes_body); }

/* ---- step processes as senders ----------------------------------------------------------------------------------------------- */

enum { ROOM = 1000 };
struct step_sender {
    uint64_t sent, again;
};
static atom_u64 step_sent, step_again, step_last;
static int step_sends(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct step_sender *self = state;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) {
            weft_out_status(out, WEFT_STEP_DONE);
            return 0;
        }
        if (events[i].type != WEFT_EVENT_COMPLETION) continue;
        EXPECT_EQ(events[i].tag, ROOM);
        if (events[i].error == WEFT_ENOPROC) {
            atom_store_rel(&step_last, 1);
            weft_out_status(out, WEFT_STEP_DONE);
            return 0;
        }
        EXPECT_EQ(events[i].error, 0);
    }
    while (self->sent < 50) {
        int error = self->sent % 2 ? weft_out_handoff(out, it.pid, self->sent, NULL, 0) : weft_send(it.pid, self->sent, NULL, 0);
        if (error == WEFT_EAGAIN) {
            atom_add_rlx(&step_again, 1);
            EXPECT_EQ(weft_out_await_room(out, it.pid, ROOM), 0);
            weft_out_status(out, WEFT_STEP_BLOCKED);
            return 0;
        }
        EXPECT_EQ(error, 0);
        self->sent++;
        atom_add_rel(&step_sent, 1);
    }
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior step_sender = {.name = "step sender", .state_size = sizeof(struct step_sender), .step = step_sends};

static void step_body(bool stackful) {
    it = (struct receiver){.want = 50};
    atom_store_rlx(&step_sent, 0), atom_store_rlx(&step_again, 0);
    weft_pid pid = receiver_spawn(&it, stackful, &two);
    rt_spawn(&step_sender);
    wait_for_senders(pid, 1); /* its helper */
    EXPECT_EQ(atom_load_rlx(&step_sent), 2);
    receiver_open(&it);
    receiver_wait(&it, 50);
    for (uint64_t i = 0; i < 50; i++)
        EXPECT_EQ(it.got[i], i);
    EXPECT(atom_load_rlx(&step_again) >= 1);
}
TEST(a_step_process_is_told_of_room) { bounds_both(step_body); }

static void step_end_body(void) {
    weft_pid pid = deaf_spawn(&one);
    atom_store_rlx(&step_last, 0);
    rt_spawn(&step_sender);
    wait_for_senders(pid, 1);
    receiver_open(&it);
    rt_wait(&step_last, 1);
}
TEST(a_step_process_is_told_of_the_end) { rt_each(step_end_body); }

/* It ends while its helper waits, which leaves the list. */
static void step_gone_body(void) {
    weft_pid pid = deaf_spawn(&one), sender = rt_spawn(&step_sender);
    wait_for_senders(pid, 1);
    EXPECT_EQ(weft_cancel(sender), 0);
    wait_for_senders(pid, 0);
    receiver_open(&it);
}
TEST(a_step_process_ends_that_waits_for_room) { rt_each(step_gone_body); }

/* ---- other calls that send ------------------------------------------------------------------------------------------------------ */

static atom_u64 released;
static void release(void *buffer, size_t size, void *user) {
    (void)size, (void)user;
    free(buffer);
    atom_add_rlx(&released, 1);
}
static void moves(void *arg) {
    struct job *job = arg;
    void *buffer = malloc(100);
    job->error = weft_send_move(it.pid, job->tag, buffer, 100, release, NULL);
    if (job->error) free(buffer); /* still ours */
    atom_store_rel(&job->done, 1);
}
static void hands_off(void *arg) {
    struct job *job = arg;
    job->error = weft_handoff(it.pid, job->tag, NULL, 0);
    atom_store_rel(&job->done, 1);
}
static void asks(void *arg) {
    struct job *job = arg;
    weft_msg *reply;
    job->error = weft_call(it.pid, job->tag, NULL, 0, &reply, job->deadline);
    if (!job->error) weft_msg_free(reply);
    atom_store_rel(&job->done, 1);
}
static void others_body(bool stackful) {
    struct job job[3] = {{.tag = 11}, {.tag = 12}, {.tag = 13, .deadline = WEFT_FOREVER}};
    weft_entry calls[3] = {moves, hands_off, asks};
    it = (struct receiver){.want = 4};
    atom_store_rlx(&released, 0);
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 10, NULL, 0), 0);
    for (unsigned i = 0; i < 3; i++) {
        run_spawn(calls[i], &job[i]);
        wait_for_senders(pid, i + 1);
    }
    receiver_open(&it);
    receiver_wait(&it, 4);
    for (uint64_t i = 0; i < 4; i++)
        EXPECT_EQ(it.got[i], 10 + i);
    EXPECT(job_wait(&job[0]) == 0 && job_wait(&job[1]) == 0);
    EXPECT_EQ(job_wait(&job[2]), WEFT_ENOPROC); /* it was received, and the receiver has ended without an answer */
    rt_wait(&released, 1);
}
TEST(moves_handoffs_and_calls_wait) { bounds_both(others_body); }

static void others_fail_body(bool stackful) {
    struct job job[3] = {{.tag = 11}, {.tag = 12}, {.tag = 13, .deadline = weft_in(5 * WEFT_MILLISECOND)}};
    it = (struct receiver){.want = 1};
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 10, NULL, 0), 0);
    weft_pid mover = run_spawn(moves, &job[0]), handing = run_spawn(hands_off, &job[1]);
    run_spawn(asks, &job[2]);
    EXPECT_EQ(job_wait(&job[2]), WEFT_ETIMEDOUT);
    wait_for_senders(pid, 2);
    EXPECT(weft_cancel(mover) == 0 && weft_cancel(handing) == 0);
    EXPECT_EQ(job_wait(&job[0]), WEFT_ECANCELED);
    EXPECT_EQ(job_wait(&job[1]), WEFT_ECANCELED);
    receiver_open(&it);
    receiver_wait(&it, 1);
}
TEST(moves_handoffs_and_calls_give_up) { bounds_both(others_fail_body); }

/* A request is not dropped: its sender would wait for nothing. */
static void request_body(void) {
    struct job job = {.tag = 1, .deadline = WEFT_FOREVER};
    static const enum weft_full policies[] = {WEFT_FULL_FAIL, WEFT_FULL_DROP_NEWEST, WEFT_FULL_DROP_OLDEST};
    for (unsigned i = 0; i < 3; i++) {
        deaf_spawn(&(weft_mailbox){.messages = 1, .when_full = policies[i]});
        run_spawn(asks, &job);
        while (usage(it.pid).messages == 0)
            usleep(100);
        struct job second = {.tag = 2, .deadline = WEFT_FOREVER};
        run_spawn(asks, &second);
        EXPECT_EQ(job_wait(&second), WEFT_ENOBUFS);
        EXPECT_EQ(usage(it.pid).messages, 1);
        receiver_open(&it);
        EXPECT_EQ(job_wait(&job), WEFT_ENOPROC);
        atom_store_rlx(&job.done, 0);
    }
}
TEST(requests_are_not_dropped) { rt_each(request_body); }

/* Replies pass: a process whose mailbox is full can call. */
static void answers(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        EXPECT_EQ(weft_reply(weft_msg_request(message), "answer", 6), 0);
        weft_msg_free(message);
    }
}
static void calls_when_full(void *arg) {
    weft_msg *reply;
    EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
    EXPECT_EQ(weft_call(*(weft_pid *)arg, 2, NULL, 0, &reply, WEFT_FOREVER), 0);
    weft_msg_free(reply);
    EXPECT_EQ(usage(weft_self()).messages, 1);
    expect_next(1);
}
static void reply_body(void) {
    weft_pid server = run_spawn(answers, NULL), pid;
    weft_stackful_options options = {.runtime = rt.runtime, .flags = WEFT_SPAWN_JOINABLE, .mailbox = &one};
    EXPECT_EQ(weft_spawn_with(calls_when_full, &server, &options, &pid), 0);
    EXPECT_EQ(run_join(pid), 0);
}
TEST(replies_pass) { rt_each(reply_body); }

/* ---- timers and signals ------------------------------------------------------------------------------------------------------------ */

static void timer_body(bool stackful) {
    it = (struct receiver){.want = 3};
    weft_timer timer;
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    EXPECT_EQ(weft_every(WEFT_MILLISECOND, pid, 2, NULL, 0, &timer), 0);
    while (usage(pid).dropped < 3)
        usleep(100);
    EXPECT_EQ(usage(pid).messages, 1);
    EXPECT_EQ(weft_timer_cancel(timer), 0);
    EXPECT_EQ(weft_after(1, pid, 3, NULL, 0, NULL), 0); /* passes */
    while (usage(pid).messages < 2)
        usleep(100);
    EXPECT_EQ(weft_send_until(pid, 4, NULL, 0, 0), WEFT_ETIMEDOUT);
    receiver_open(&it);
    receiver_wait(&it, 2);
    EXPECT(it.got[0] == 1 && it.got[1] == 3);
    EXPECT_EQ(weft_every(WEFT_MILLISECOND, pid, 5, NULL, 0, &timer), 0); /* comes when there is room */
    receiver_wait(&it, 3);
    EXPECT_EQ(it.got[2], 5);
}
TEST(timers_never_wait) { bounds_both(timer_body); }

static void handler(int number) {
    (void)number;
    if (weft_signal_send(it.pid, 77, NULL, 0) != 0) abort();
}
static void signal_body(bool stackful) {
    it = (struct receiver){.want = 3};
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    EXPECT(signal(SIGUSR1, handler) != SIG_ERR);
    raise(SIGUSR1);
    raise(SIGUSR1);
    while (usage(pid).messages < 3)
        usleep(100);
    receiver_open(&it);
    receiver_wait(&it, 3);
    EXPECT(it.got[1] == 77 && it.got[2] == 77);
}
TEST(signals_pass) { bounds_both(signal_body); }

/* ---- another runtime ------------------------------------------------------------------------------------------------------------------ */

static void abroad_body(bool stackful) {
    weft_runtime *other;
    weft_pid sender;
    struct job job = {.tag = 2, .deadline = WEFT_FOREVER}, late = {.tag = 3, .deadline = weft_in(5 * WEFT_MILLISECOND)};
    EXPECT_EQ(weft_start(&(weft_config){.workers = 1}, &other), 0);
    it = (struct receiver){.want = 2};
    weft_pid pid = receiver_spawn(&it, stackful, &one);
    EXPECT_EQ(weft_send(pid, 1, NULL, 0), 0);
    EXPECT_EQ(weft_spawn_with(sends, &job, &(weft_stackful_options){.runtime = other}, &sender), 0);
    wait_for_senders(pid, 1);
    EXPECT_EQ(weft_spawn_with(sends, &late, &(weft_stackful_options){.runtime = other}, &sender), 0);
    EXPECT_EQ(job_wait(&late), WEFT_ETIMEDOUT);
    receiver_open(&it);
    EXPECT_EQ(job_wait(&job), 0);
    receiver_wait(&it, 2);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
}
TEST(a_process_of_another_runtime_waits) { bounds_both(abroad_body); }

/* ---- code that must not wait ------------------------------------------------------------------------------------------------------------ */

static bool sends_within(const weft_msg *message, void *arg) {
    (void)message;
    EXPECT_EQ(weft_send(*(weft_pid *)arg, 2, NULL, 0), WEFT_EAGAIN);
    return true;
}
static void predicate(void *unused) {
    weft_msg *message;
    (void)unused;
    EXPECT_EQ(weft_send(it.pid, 1, NULL, 0), 0);
    EXPECT_EQ(weft_send(weft_self(), 1, NULL, 0), 0);
    EXPECT_EQ(weft_recv_match(sends_within, &it.pid, &message, WEFT_FOREVER), 0);
    weft_msg_free(message);
}
static void predicate_body(void) {
    deaf_spawn(&one);
    EXPECT_EQ(run(predicate, NULL), 0);
    receiver_open(&it);
}
TEST(a_predicate_does_not_wait) { rt_each(predicate_body); }

int main(int argc, char **argv) { return test_main(argc, argv); }
