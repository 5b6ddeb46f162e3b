/* The generic server: requests, messages, notices, time-outs; how it begins and how it ends. */
#include "super_helpers.h"
#include "victim.h"

enum { ADD = 1, GET, STOP, FAIL, LATER, EXIT, FAULT };

static int *volatile null_pointer = (int *)16;
static __attribute__((noinline)) void write_null(void) { *(volatile int *)null_pointer = 1; }

struct counter {
    long value;
    unsigned idles;
    weft_request kept;
};
static struct {
    atom_u32 begun, ended;
    int code;
} seen;

static int counter_init(void *state, void *arg) {
    struct counter *counter = state;
    EXPECT_EQ(counter->value, 0);
    counter->value = (long)(intptr_t)arg;
    if (counter->value < 0) return (int)counter->value;
    atom_add_rlx(&seen.begun, 1);
    return 0;
}
static int counter_call(void *state, const weft_incoming *in) {
    struct counter *counter = state;
    if (in->request.tag == STOP) {
        EXPECT_EQ(weft_reply(in->request, NULL, 0), 0);
        return WEFT_SERVER_STOP;
    }
    if (in->request.tag == FAIL) return -33;
    if (in->request.tag == EXIT) weft_exit(-34);
    if (in->request.tag == FAULT) write_null();
    if (in->request.tag == LATER) {
        counter->kept = in->request;
        return 0;
    }
    EXPECT_EQ(in->size, in->request.tag == ADD ? sizeof(long) : 0);
    if (in->request.tag == ADD) counter->value += *(const long *)in->data;
    return weft_reply(in->request, &counter->value, sizeof counter->value);
}
static int counter_cast(void *state, const weft_incoming *in) {
    struct counter *counter = state;
    if (counter->kept.reference) EXPECT_EQ(weft_reply(counter->kept, &counter->value, sizeof counter->value), 0);
    counter->kept.reference = 0;
    if (in->request.tag == ADD) counter->value += *(const long *)in->data;
    uint64_t reference;
    if (in->request.tag == GET) EXPECT_EQ(weft_monitor(in->request.from, GET, &reference), 0);
    if (in->request.tag == LATER) weft_server_idle(in->server, WEFT_MILLISECOND);
    return 0;
}
static int counter_info(void *state, const weft_incoming *in) {
    ((struct counter *)state)->value += 1000 + in->notice->reason.code;
    return 0;
}
static int counter_idle(void *state, weft_server *server) {
    struct counter *counter = state;
    if (++counter->idles == 3) weft_server_idle(server, 0);
    counter->value++;
    return 0;
}
static void counter_terminate(void *state, int code) {
    (void)state;
    EXPECT_EQ(weft_sleep(WEFT_MICROSECOND), 0); /* it may wait, cancelled or not */
    seen.code = code;
    atom_add_rel(&seen.ended, 1);
}
static const weft_server_spec counter = {.name = "counter",
                                         .state_size = sizeof(struct counter),
                                         .init = counter_init,
                                         .call = counter_call,
                                         .cast = counter_cast,
                                         .info = counter_info,
                                         .idle = counter_idle,
                                         .terminate = counter_terminate};

static weft_pid started(void) {
    weft_pid pid = WEFT_NOBODY;
    atom_store_rlx(&seen.begun, 0);
    atom_store_rlx(&seen.ended, 0);
    EXPECT_EQ(weft_server_start(&counter, NULL, &(weft_stackful_options){.runtime = rt.runtime}, &pid, WEFT_FOREVER), 0);
    EXPECT_EQ(atom_load_rlx(&seen.begun), 1);
    return pid;
}
static long asked(weft_pid pid, uint64_t tag, long value) {
    weft_msg *reply;
    EXPECT_EQ(weft_call(pid, tag, &value, tag == ADD ? sizeof value : 0, &reply, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_msg_len(reply), sizeof value);
    value = *(long *)weft_msg_data(reply);
    weft_msg_free(reply);
    return value;
}
static void ended_with(weft_pid pid, int code) {
    run_join(pid);
    EXPECT_EQ(atom_load_acq(&seen.ended), 1);
    EXPECT_EQ(seen.code, code);
}

/* ---- what comes ------------------------------------------------------------------------------------------------------------------ */

static void ends_with_5(void *server) {
    weft_send((weft_pid)(uintptr_t)server, GET, NULL, 0);
    weft_exit(5);
}
static void everything(void *unused) {
    long five = 5;
    weft_msg *reply;
    uint64_t reference;
    (void)unused;
    weft_pid pid = started();
    EXPECT_EQ(asked(pid, ADD, 7), 7);
    EXPECT_EQ(weft_send(pid, ADD, &five, sizeof five), 0);
    EXPECT_EQ(asked(pid, GET, 0), 12);
    EXPECT_EQ(weft_ask(pid, LATER, NULL, 0, &reference), 0); /* answered when the next message comes */
    EXPECT_EQ(weft_send(pid, ADD, &five, sizeof five), 0);
    EXPECT_EQ(weft_recv_reply(reference, &reply, WEFT_FOREVER), 0);
    EXPECT_EQ(*(long *)weft_msg_data(reply), 12);
    weft_msg_free(reply);
    weft_spawn(ends_with_5, (void *)(uintptr_t)pid);
    while (asked(pid, GET, 0) == 17)
        weft_yield();
    long value = asked(pid, GET, 0);
    EXPECT(value == 17 + 1005 || value == 17 + 1000 + WEFT_ENOPROC); /* it may have ended before it was monitored */
    EXPECT_EQ(weft_send(pid, LATER, NULL, 0), 0);
    while (asked(pid, GET, 0) < value + 3)
        weft_sleep(5 * WEFT_MILLISECOND);
    EXPECT_EQ(asked(pid, GET, 0), value + 3);
    EXPECT_EQ(weft_server_stop(pid, WEFT_FOREVER), 0);
    ended_with(pid, WEFT_ECANCELED);
}
static void asks_and_ends(void *server) {
    uint64_t reference;
    EXPECT_EQ(weft_ask((weft_pid)(uintptr_t)server, GET, NULL, 0, &reference), 0);
}
/* The usual `return weft_reply(...)`, and no asker any more. */
static void clients_end(void *unused) {
    (void)unused;
    weft_pid pid = started(), asker;
    for (unsigned i = 0; i < 50; i++) {
        weft_stackful_options options = {.flags = WEFT_SPAWN_JOINABLE};
        EXPECT_EQ(weft_spawn_with(asks_and_ends, (void *)(uintptr_t)pid, &options, &asker), 0);
        if (i % 2) weft_kill(asker);
        EXPECT_EQ(weft_join(asker, NULL, WEFT_FOREVER), 0);
        EXPECT_EQ(asked(pid, GET, 0), 0);
    }
    EXPECT_EQ(weft_server_stop(pid, WEFT_FOREVER), 0);
    ended_with(pid, WEFT_ECANCELED);
}
static void clients_end_body(void) { EXPECT_EQ(run(clients_end, NULL), 0); }
TEST(server_outlives_its_clients) { rt_each(clients_end_body); }

static void everything_body(void) { EXPECT_EQ(run(everything, NULL), 0); }
TEST(server_handles_what_comes) { rt_each(everything_body); }

/* ---- how it ends ------------------------------------------------------------------------------------------------------------------- */

static void by_handler(uint64_t tag, int error, int code) {
    weft_msg *reply;
    weft_pid pid = started();
    EXPECT_EQ(weft_call(pid, tag, NULL, 0, &reply, WEFT_FOREVER), error);
    if (!error) weft_msg_free(reply);
    ended_with(pid, code);
}
static void ends(void *unused) {
    (void)unused;
    by_handler(STOP, 0, 0);
    by_handler(FAIL, WEFT_ENOPROC, -33);
    by_handler(EXIT, WEFT_ENOPROC, -34);
    weft_pid pid = started();
    EXPECT_EQ(weft_kill(pid), 0);
    ended_with(pid, WEFT_EKILLED);
}
static void ends_body(void) { EXPECT_EQ(run(ends, NULL), 0); }
TEST(server_ends_and_terminates_once) { rt_each(ends_body); }

static int never(void *state, void *arg) {
    (void)state, (void)arg;
    return weft_sleep(3600 * WEFT_SECOND);
}
static void beginnings(void *unused) {
    static const weft_server_spec slow = {.name = "slow", .init = never}, silent = {.name = "silent"};
    weft_pid pid;
    weft_msg *reply;
    (void)unused;
    EXPECT_EQ(weft_server_start(&counter, (void *)(intptr_t)-44, NULL, &pid, WEFT_FOREVER), -44);
    EXPECT_EQ(weft_server_start(&slow, NULL, NULL, &pid, weft_in(5 * WEFT_MILLISECOND)), WEFT_ETIMEDOUT);
    EXPECT_EQ(weft_server_start(&silent, NULL, NULL, &pid, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_call(pid, 1, NULL, 0, &reply, WEFT_FOREVER), 0); /* an empty answer, rather than none */
    EXPECT_EQ(weft_msg_len(reply), 0);
    weft_msg_free(reply);
    EXPECT_EQ(weft_server_stop(pid, WEFT_FOREVER), 0);
}
static void beginnings_body(void) { EXPECT_EQ(run(beginnings, NULL), 0); }
TEST(server_begins_or_says_why_not) { rt_each(beginnings_body); }

static void by_a_thread_body(void) {
    weft_pid pid = started();
    EXPECT_EQ(weft_server_stop(pid, WEFT_FOREVER), 0);
    ended_with(pid, WEFT_ECANCELED);
}
TEST(server_by_a_thread) { rt_each(by_a_thread_body); }

/* ---- below a supervisor ------------------------------------------------------------------------------------------------------------ */

static void counter_child(void *unused) {
    (void)unused;
    weft_exit(weft_server_run(&counter, NULL));
}
static void supervised(void *unused) {
    const weft_child_spec children[] = {{.id = "counter", .entry = counter_child, .ready = true, .register_as = "counter"}};
    weft_msg *reply;
    (void)unused;
    weft_pid super = super_started(&SPEC(children)), first = weft_whereis("counter"), second;
    EXPECT_EQ(asked(first, ADD, 7), 7);
    EXPECT_EQ(weft_call(first, FAIL, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
    while ((second = weft_whereis("counter")) == WEFT_NOBODY || second == first)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(asked(second, GET, 0), 0);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
static void supervised_body(void) { EXPECT_EQ(run(supervised, NULL), 0); }
TEST(server_below_a_supervisor) { rt_each(supervised_body); }

/* A handler faults: the server's terminate is told so, and a supervisor starts it again. */
static void faulted(void *unused) {
    const weft_child_spec children[] = {{.id = "counter", .entry = counter_child, .ready = true, .register_as = "counter"}};
    weft_msg *reply;
    (void)unused;
    weft_pid super = super_started(&SPEC(children)), first = weft_whereis("counter"), second;
    uint32_t before = atom_load_acq(&seen.ended);
    EXPECT_EQ(weft_call(first, FAULT, NULL, 0, &reply, WEFT_FOREVER), WEFT_ENOPROC);
    EXPECT_EQ(atom_load_acq(&seen.ended), before + 1);
    EXPECT_EQ(seen.code, WEFT_EFAULTED);
    while ((second = weft_whereis("counter")) == WEFT_NOBODY || second == first)
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(asked(second, GET, 0), 0);
    EXPECT_EQ(weft_super_stop(super, WEFT_FOREVER), 0);
}
static void faulted_body(void) {
    reports_begin();
    EXPECT_EQ(run(faulted, NULL), 0);
    EXPECT_EQ(reports_with("the process ends with WEFT_EFAULTED"), 1);
    reports_end();
}
TEST(server_that_faults_terminates) {
    if (SANITIZED) return; /* faults are not contained there */
    setenv("WEFT_CONTAIN_FAULTS", "1", 1);
    rt_each(faulted_body);
    unsetenv("WEFT_CONTAIN_FAULTS");
}

int main(int argc, char **argv) { return test_main(argc, argv); }
