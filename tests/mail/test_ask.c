/* Request and reply: answers find their requests, late ones none; the one asked may end. */
#include "mailbox_helpers.h"

enum { DOUBLE = 1, STOP, SILENT, TWICE, LATE, DELEGATE };

/* Doubles numbers, or does worse, as the tag says. */
static void server(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        uint64_t tag = weft_msg_tag(message), answer = weft_msg_len(message) ? 2 * msg_u64(message) : 0;
        weft_pid from = weft_msg_from(message);
        EXPECT(weft_msg_request(message).reference != 0 || tag == STOP);
        for (unsigned i = 0; i < (tag == DOUBLE ? 1 : tag == TWICE ? 2 : 0); i++) {
            int error = weft_reply(weft_msg_request(message), &answer, sizeof answer);
            EXPECT(error == 0 || error == WEFT_ENOPROC); /* the process that asked may have ended */
        }
        if (tag == LATE) {
            expect_next(LATE); /* a plain message: the caller has given up */
            EXPECT_EQ(weft_reply(weft_msg_request(message), &answer, sizeof answer), 0);
            EXPECT_EQ(weft_send(from, LATE, NULL, 0), 0);
        }
        weft_msg_free(message);
        if (tag == STOP) weft_exit(7);
    }
}

static uint64_t call_double(weft_pid to, uint64_t tag, uint64_t value) {
    weft_msg *reply;
    EXPECT_EQ(weft_call(to, tag, &value, sizeof value, &reply, WEFT_FOREVER), 0);
    EXPECT(weft_msg_from(reply) == to);
    EXPECT_EQ(weft_msg_tag(reply), tag);
    uint64_t answer = msg_u64(reply);
    weft_msg_free(reply);
    return answer;
}

static void calls(void *unused) {
    (void)unused;
    weft_pid pid = weft_spawn_joinable(server, NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        if (i % 10 == 0) EXPECT_EQ(weft_send(weft_self(), i, NULL, 0), 0);
        EXPECT_EQ(call_double(pid, DOUBLE, i), 2 * i);
    }
    for (uint64_t i = 0; i < 1000; i += 10)
        expect_next(i);
    EXPECT_EQ(weft_send(pid, STOP, NULL, 0), 0);
    EXPECT_EQ(run_join(pid), 7);
}
static void calls_body(void) { EXPECT_EQ(run(calls, NULL), 0); }
TEST(call_is_answered) { rt_each(calls_body); }

static void answered_twice(void *unused) {
    (void)unused;
    weft_pid pid = weft_spawn(server, NULL);
    for (uint64_t i = 0; i < 100; i++)
        EXPECT_EQ(call_double(pid, i % 3 ? DOUBLE : TWICE, i), 2 * i);
    weft_msg *none;
    run_others();
    EXPECT_EQ(weft_recv(&none, 0), WEFT_ETIMEDOUT); /* never as a message */
    EXPECT_EQ(weft_cancel(pid), 0);
    run_join(pid);
}
static void twice_body(void) { EXPECT_EQ(run(answered_twice, NULL), 0); }
TEST(call_drops_a_second_answer) { rt_each(twice_body); }

static void too_late(void *unused) {
    weft_msg *reply;
    (void)unused;
    weft_pid pid = weft_spawn(server, NULL);
    for (uint64_t i = 1; i <= 20; i++) {
        EXPECT_EQ(weft_call(pid, LATE, &i, sizeof i, &reply, i % 2 ? weft_in(WEFT_MILLISECOND) : 0), WEFT_ETIMEDOUT);
        EXPECT_EQ(weft_send(pid, LATE, NULL, 0), 0);
        if (i % 4 < 2) expect_next(LATE); /* its answer has come before */
        EXPECT_EQ(call_double(pid, DOUBLE, i), 2 * i);
        if (i % 4 >= 2) expect_next(LATE);
    }
    EXPECT_EQ(weft_recv(&reply, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_cancel(pid), 0);
    run_join(pid);
}
static void late_body(void) { EXPECT_EQ(run(too_late, NULL), 0); }
TEST(call_drops_late_answers) { rt_each(late_body); }

/* ---- with unread mail ---------------------------------------------------------------------------------------------------- */

enum { MAIL_ROUNDS = 20 };

/* What lies unread when it calls: a plain message, or the late answer to a call that was given up. */
static void mail_leave(weft_pid pid, unsigned round) {
    weft_msg *reply;
    uint64_t value = round;
    if (round % 2) {
        EXPECT_EQ(weft_send(weft_self(), round, NULL, 0), 0);
        return;
    }
    EXPECT_EQ(weft_call(pid, LATE, &value, sizeof value, &reply, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_send(pid, LATE, NULL, 0), 0);
}

/* Another puts it there while the caller sleeps: what the wake-up was for has not been seen. */
static void calls_beside_mail(void *unused) {
    (void)unused;
    weft_pid pid = weft_spawn(server, NULL);
    for (unsigned round = 0; round < MAIL_ROUNDS; round++) {
        mail_leave(pid, round);
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND), 0); /* the server sleeps again */
        EXPECT_EQ(call_double(pid, DOUBLE, round), 2 * (uint64_t)round);
        expect_next(round % 2 ? round : LATE);
    }
    EXPECT_EQ(weft_cancel(pid), 0);
    run_join(pid);
}
static void beside_mail_body(void) { EXPECT_EQ(run(calls_beside_mail, NULL), 0); }
TEST(call_is_answered_beside_unread_mail) { rt_each(beside_mail_body); }

/* ---- the one asked ends ---------------------------------------------------------------------------------------------- */

static void called_ends(void *unused) {
    weft_msg *reply;
    (void)unused;
    for (unsigned i = 0; i < 200 / RT_SLOW; i++) {
        weft_pid pid = weft_spawn(server, NULL);
        if (i % 3 == 0) run_others();
        EXPECT_EQ(weft_call(pid, STOP, NULL, 0, &reply, i % 5 ? WEFT_FOREVER : weft_in(60 * WEFT_SECOND)), WEFT_ENOPROC);
        EXPECT_EQ(weft_call(pid, DOUBLE, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
    }
    EXPECT_EQ(weft_call(weft_self() + (1ull << 56), DOUBLE, NULL, 0, &reply, WEFT_FOREVER), WEFT_EFOREIGN);
}
static void ends_body(void) { EXPECT_EQ(run(called_ends, NULL), 0); }
TEST(call_of_one_that_ends) { rt_each(ends_body); }

/* Answers and ends: the answer counts. */
static void answers_and_ends(void *unused) {
    weft_msg *message;
    (void)unused;
    if (weft_recv(&message, WEFT_FOREVER)) return;
    EXPECT_EQ(weft_reply(weft_msg_request(message), "x", 1), 0);
    weft_msg_free(message);
}
static void last_words(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 300 / RT_SLOW; i++) {
        weft_msg *reply;
        weft_pid pid = weft_spawn(answers_and_ends, NULL);
        if (i % 2) run_others();
        EXPECT_EQ(weft_call(pid, 1, NULL, 0, &reply, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_msg_len(reply), 1);
        weft_msg_free(reply);
    }
}
static void last_words_body(void) { EXPECT_EQ(run(last_words, NULL), 0); }
TEST(call_answered_by_one_that_ends) { rt_each(last_words_body); }

static void waits_in_vain(void *to) {
    weft_msg *reply;
    EXPECT_EQ(weft_call(*(weft_pid *)to, SILENT, NULL, 0, &reply, WEFT_FOREVER), WEFT_ECANCELED);
    EXPECT_EQ(weft_call(*(weft_pid *)to, SILENT, NULL, 0, &reply, WEFT_FOREVER), WEFT_ECANCELED);
}
static void cancels_a_caller(void *unused) {
    (void)unused;
    weft_pid pid = weft_spawn(server, NULL), caller = weft_spawn(waits_in_vain, &pid);
    run_others();
    EXPECT_EQ(weft_cancel(caller), 0);
    run_join(caller);
    EXPECT_EQ(weft_cancel(pid), 0);
    run_join(pid);
}
static void cancel_body(void) { EXPECT_EQ(run(cancels_a_caller, NULL), 0); }
TEST(call_is_cancelled) { rt_each(cancel_body); }

/* One that is cancelled before is told at each call, although its server could be run, and answer, at once. */
static void calls_cancelled(void *to) {
    weft_msg *reply;
    EXPECT_EQ(weft_cancel(weft_self()), 0);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(weft_call(*(weft_pid *)to, 7, "x", 1, &reply, WEFT_FOREVER), WEFT_ECANCELED);
    weft_shield_begin();
    EXPECT_EQ(weft_call(*(weft_pid *)to, 7, "x", 1, &reply, WEFT_FOREVER), 0);
    weft_msg_free(reply);
    weft_shield_end();
    weft_exit(5);
}
static atom_u64 requests;
static void counting_server(void *unused) {
    weft_msg *message;
    (void)unused;
    while (weft_recv(&message, WEFT_FOREVER) == 0) {
        atom_add_rel(&requests, 1);
        weft_reply(weft_msg_request(message), NULL, 0);
        weft_msg_free(message);
    }
}
static void calls_when_cancelled(void *unused) {
    weft_pid pid = weft_spawn(counting_server, NULL);
    int reason;
    (void)unused;
    atom_store_rlx(&requests, 0);
    EXPECT_EQ(weft_join(run_flags(calls_cancelled, &pid, WEFT_SPAWN_JOINABLE), &reason, WEFT_FOREVER), 0);
    EXPECT_EQ(reason, 5);
    EXPECT_EQ(atom_load_acq(&requests), 1); /* the shielded one */
    EXPECT_EQ(weft_cancel(pid), 0);
}
static void when_cancelled_body(void) { EXPECT_EQ(run(calls_when_cancelled, NULL), 0); }
TEST(call_of_a_cancelled_process_sends_nothing) { rt_each(when_cancelled_body); }

/* ---- several at once ---------------------------------------------------------------------------------------------------- */

static void asks_several(void *unused) {
    enum { SERVERS = 5 };
    weft_pid pids[SERVERS];
    uint64_t references[SERVERS], unknown = 0;
    weft_msg *reply;
    (void)unused;
    for (unsigned i = 0; i < SERVERS; i++)
        pids[i] = weft_spawn(server, NULL);
    for (uint64_t round = 0; round < 100 / RT_SLOW; round++) {
        for (uint64_t i = 0; i < SERVERS; i++)
            EXPECT_EQ(weft_ask(pids[i], DOUBLE, &i, sizeof i, &references[i]), 0);
        EXPECT_EQ(call_double(pids[2], DOUBLE, 100), 200); /* in between */
        weft_forget(references[1]);
        for (unsigned i = SERVERS; i-- > 0;) {
            if (i == 1) continue;
            EXPECT_EQ(weft_recv_reply(references[i], &reply, WEFT_FOREVER), 0);
            EXPECT_EQ(msg_u64(reply), 2 * i);
            weft_msg_free(reply);
            EXPECT_EQ(weft_recv_reply(references[i], &reply, WEFT_FOREVER), WEFT_ENOENT);
        }
    }
    EXPECT_EQ(weft_recv_reply(unknown, &reply, WEFT_FOREVER), WEFT_ENOENT);
    /* Waited for twice; then given up; then by ending. */
    EXPECT_EQ(weft_ask(pids[0], SILENT, NULL, 0, &references[0]), 0);
    EXPECT_EQ(weft_recv_reply(references[0], &reply, 0), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_recv_reply(references[0], &reply, weft_in(WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_send(pids[0], STOP, NULL, 0), 0);
    EXPECT_EQ(weft_recv_reply(references[0], &reply, WEFT_FOREVER), WEFT_ENOPROC);
    EXPECT_EQ(weft_ask(pids[0], DOUBLE, NULL, 0, &references[0]), WEFT_ENOPROC);
    EXPECT_EQ(weft_ask(pids[1], DOUBLE, &unknown, sizeof unknown, &references[1]), 0);
    for (unsigned i = 1; i < SERVERS; i++)
        EXPECT_EQ(weft_cancel(pids[i]), 0);
}
static void several_body(void) { EXPECT_EQ(run(asks_several, NULL), 0); }
TEST(call_in_two_parts) { rt_each(several_body); }

/* ---- step processes answer ------------------------------------------------------------------------------------------------ */

struct stepper {
    weft_request kept;
    uint64_t value;
};
/* Answers at once, or to the one before, as the tag says; a third process may do it too. */
static int stepper_step(void *state, const weft_event *events, size_t count, weft_out *out) {
    struct stepper *self = state;
    for (size_t i = 0; i < count; i++) {
        uint64_t answer = 0;
        if (events[i].type == WEFT_EVENT_CANCEL) weft_out_status(out, WEFT_STEP_DONE);
        if (events[i].type != WEFT_EVENT_REQUEST) {
            EXPECT_EQ(weft_event_request(&events[i]).reference, 0);
            EXPECT_EQ(weft_reply(weft_event_request(&events[i]), NULL, 0), WEFT_EINVAL);
            continue;
        }
        EXPECT_EQ(events[i].size, sizeof answer);
        memcpy(&answer, events[i].data, sizeof answer);
        answer *= 2;
        if (events[i].tag == DOUBLE) EXPECT_EQ(weft_reply(weft_event_request(&events[i]), &answer, sizeof answer), 0);
        if (events[i].tag == DELEGATE) {
            if (self->kept.reference) EXPECT_EQ(weft_reply(self->kept, &self->value, sizeof self->value), 0);
            self->kept = weft_event_request(&events[i]);
            self->value = answer;
        }
    }
    return 0;
}
static const weft_behavior stepper = {.name = "stepper", .state_size = sizeof(struct stepper), .step = stepper_step};

static void calls_a_step(void *unused) {
    weft_pid pid;
    (void)unused;
    EXPECT_EQ(weft_spawn_step(&stepper, NULL, &pid), 0);
    EXPECT_EQ(weft_send(pid, 0, NULL, 0), 0);
    for (uint64_t i = 0; i < 500; i++)
        EXPECT_EQ(call_double(pid, DOUBLE, i), 2 * i);
    uint64_t references[10];
    for (uint64_t i = 0; i < 10; i++)
        EXPECT_EQ(weft_ask(pid, DELEGATE, &i, sizeof i, &references[i]), 0);
    for (uint64_t i = 0; i < 9; i++) {
        weft_msg *reply;
        EXPECT_EQ(weft_recv_reply(references[i], &reply, WEFT_FOREVER), 0);
        EXPECT_EQ(msg_u64(reply), 2 * i);
        weft_msg_free(reply);
    }
    EXPECT_EQ(weft_cancel(pid), 0);
    weft_msg *reply;
    EXPECT_EQ(weft_recv_reply(references[9], &reply, WEFT_FOREVER), WEFT_ENOPROC);
}
static void step_body(void) { EXPECT_EQ(run(calls_a_step, NULL), 0); }
TEST(call_of_a_step_process) { rt_each(step_body); }

/* ---- stress ------------------------------------------------------------------------------------------------------------------ */

static struct {
    weft_pid servers[4];
    uint64_t seed;
} hall;

/* Calls at random, with deadlines that may pass; every answer must be to the question. */
static void customer(void *seed) {
    struct rng rng;
    rng_seed(&rng, hall.seed, (unsigned)(uintptr_t)seed);
    for (uint64_t i = 0; i < 300 / RT_SLOW * test_scale(); i++) {
        uint64_t value = rng_next(&rng) >> 1;
        weft_msg *reply;
        weft_pid to = hall.servers[rng_below(&rng, 4)];
        uint64_t deadline = rng_below(&rng, 3) ? WEFT_FOREVER : weft_in(rng_below(&rng, 30) * WEFT_MICROSECOND);
        int error = weft_call(to, rng_below(&rng, 8) ? DOUBLE : TWICE, &value, sizeof value, &reply, deadline);
        EXPECT(error == 0 || (error == WEFT_ETIMEDOUT && deadline != WEFT_FOREVER));
        if (error) continue;
        EXPECT(msg_u64(reply) == 2 * value);
        weft_msg_free(reply);
    }
}
static void hall_open(void *unused) {
    weft_pid customers[30];
    (void)unused;
    for (unsigned i = 0; i < 4; i++)
        hall.servers[i] = weft_spawn(server, NULL);
    for (uintptr_t i = 0; i < 30; i++)
        customers[i] = weft_spawn(customer, (void *)i);
    for (unsigned i = 0; i < 30; i++)
        run_join(customers[i]);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(weft_cancel(hall.servers[i]), 0);
}
static void hall_body(void) {
    hall.seed = test_seed(3);
    EXPECT_EQ(run(hall_open, NULL), 0);
}
TEST(call_by_many) { rt_each(hall_body); }

/* Servers end in the middle of it, callers are cancelled. */
static void mortal(void *unused) {
    weft_msg *message;
    (void)unused;
    for (unsigned i = 0; i < 5; i++) {
        if (weft_recv(&message, WEFT_FOREVER)) return;
        if (i < 4) weft_reply(weft_msg_request(message), NULL, 0);
        weft_msg_free(message);
    }
}
static void caller_of_mortals(void *to) {
    for (unsigned i = 0; i < 20; i++) {
        weft_msg *reply;
        int error = weft_call(*(weft_pid *)to, 1, NULL, 0, &reply, WEFT_FOREVER);
        EXPECT(error == 0 || error == WEFT_ENOPROC || error == WEFT_ECANCELED);
        if (!error) weft_msg_free(reply);
    }
}
static void mortals(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 40 / RT_SLOW * test_scale(); round++) {
        weft_pid pid = weft_spawn(mortal, NULL), callers[6];
        for (unsigned i = 0; i < 6; i++)
            callers[i] = weft_spawn(caller_of_mortals, &pid);
        weft_cancel(callers[round % 6]);
        for (unsigned i = 0; i < 6; i++)
            run_join(callers[i]);
        run_join(pid);
    }
}
static void mortals_body(void) { EXPECT_EQ(run(mortals, NULL), 0); }
TEST(call_while_all_is_ending) { rt_each(mortals_body); }

/* ---- two runtimes ------------------------------------------------------------------------------------------------------------- */

static void calls_far(void *to) {
    weft_pid pid = *(weft_pid *)to;
    for (uint64_t i = 0; i < 200; i++)
        EXPECT_EQ(call_double(pid, DOUBLE, i), 2 * i);
    weft_msg *reply;
    EXPECT_EQ(weft_call(pid, STOP, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
}
TEST(call_into_another_runtime) {
    weft_runtime *other;
    weft_pid pid;
    rt_start("ring", 2);
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2, .policy = "deque"}, &other), 0);
    EXPECT_EQ(weft_spawn_with(server, NULL, &(weft_stackful_options){.runtime = other}, &pid), 0);
    EXPECT_EQ(run(calls_far, &pid), 0);
    EXPECT_EQ(weft_stop(other, NULL, WEFT_FOREVER), 0);
    rt_stop();
}

/* Without memory: no request is left over. */
static atom_u64 quiet;
static void calls_without_memory(void *to) {
    weft_msg *reply;
    static char large[1 << 20];
    sys_script.alloc_fail_from = 1;
    int error = weft_call(*(weft_pid *)to, DOUBLE, large, sizeof large, &reply, WEFT_FOREVER);
    sys_script.alloc_fail_from = 0;
    EXPECT_EQ(error, WEFT_ENOMEM);
    EXPECT_EQ(call_double(*(weft_pid *)to, DOUBLE, 4), 8);
    atom_store_rel(&quiet, 1);
}
TEST(call_without_memory) {
    rt_start("ring", 1);
    weft_pid pid = run_spawn(server, NULL);
    run_spawn(calls_without_memory, &pid);
    rt_wait(&quiet, 1); /* no other thread allocates meanwhile */
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
