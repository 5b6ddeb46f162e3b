/* Processes that fail, and are started again: a tree of supervisors, as in Erlang.
 *
 *     supervisor --self-test       gives the workers good jobs and bad ones, and prints what becomes of them
 *
 *     app              one fails: it and those after it begin again
 *     |-- ledger       keeps the results; nothing else may lose them, so it does nothing that can fail
 *     `-- workers      a supervisor of its own
 *         |-- worker 1
 *         `-- worker 2
 *
 * A worker that gets nonsense crashes (a null pointer), gives up (an error) or hangs. None of them handles that: the supervisor does. */
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>

enum { ADD = 1, TOTAL, JOB, DOWN }; /* tags */
#define JOB_TIME (30 * WEFT_SECOND)

/* ---- the ledger: a server ----------------------------------------------------------------------------------------------------------- */

static int ledger_call(void *state, const weft_incoming *in) {
    long *total = state, amount = 0;
    if (in->request.tag == ADD && in->size == sizeof amount) memcpy(&amount, in->data, sizeof amount);
    *total += amount;
    weft_reply(in->request, total, sizeof *total); /* if there is no memory for it, the process that has asked gives up at its deadline */
    return 0;
}
static const weft_server_spec ledger_spec = {.name = "ledger", .state_size = sizeof(long), .call = ledger_call};
static void ledger(void *unused) { weft_exit(weft_server_run(&ledger_spec, unused)); }

static int ledger_ask(uint64_t tag, long amount, long *total) {
    weft_msg *reply;
    int error = weft_call_name("ledger", tag, &amount, sizeof amount, &reply, weft_in(10 * WEFT_SECOND));
    if (error) return error;
    memcpy(total, weft_msg_data(reply), sizeof *total);
    weft_msg_free(reply);
    return 0;
}

/* ---- a worker ------------------------------------------------------------------------------------------------------------------------- */

/* "12": adds that to the ledger. It trusts its jobs, as code does that was written in a hurry. */
static long work(const char *job) {
    if (strcmp(job, "hang") == 0) weft_exit(weft_sleep(3600 * WEFT_SECOND));
    if (strcmp(job, "give up") == 0) weft_exit(WEFT_EPROTO);
    const char *digits = strpbrk(job, "0123456789"); /* NULL, if there are none */
    long amount = 0;
    for (const volatile char *at = digits; *at; at++) /* its own code: a fault in the C library would end the program */
        amount = amount * 10 + (*at - '0');
    return amount;
}

static int worker_call(void *state, const weft_incoming *in) {
    long total;
    (void)state;
    int error = ledger_ask(ADD, work(in->data), &total);
    if (error) return error;
    weft_reply(in->request, &total, sizeof total);
    return 0;
}
static const weft_server_spec worker_spec = {.name = "worker", .call = worker_call};
static void worker(void *unused) { weft_exit(weft_server_run(&worker_spec, unused)); }

/* ---- the tree ------------------------------------------------------------------------------------------------------------------------- */

static const weft_child_spec worker_children[] = {
    {.id = "worker 1", .entry = worker, .ready = true, .stop_ms = 1000, .register_as = "worker 1"},
    {.id = "worker 2", .entry = worker, .ready = true, .stop_ms = 1000, .register_as = "worker 2"},
};
static const weft_super_spec workers = {/* more than 4 restarts in a minute: this is not going to get better */
                                        .name = "workers",  .strategy = WEFT_ONE_FOR_ONE, .intensity = 4,
                                        .period_ms = 60000, .children = worker_children,  .count = 2};
static const weft_child_spec app_children[] = {
    {.id = "ledger", .entry = ledger, .ready = true, .register_as = "ledger"},
    {.id = "workers", .super = &workers, .register_as = "workers"},
};
static const weft_super_spec app_spec = {.name = "app", .strategy = WEFT_REST_FOR_ONE, .children = app_children, .count = 2};

/* ---- a client that does not give up ---------------------------------------------------------------------------------------------------- */

/* The process that has this name, when there is one: it may be about to be started again. */
static weft_pid await_name(const char *name) {
    uint64_t deadline = weft_in(10 * WEFT_SECOND);
    weft_pid pid;
    while ((pid = weft_whereis(name)) == WEFT_NOBODY && weft_now() < deadline)
        if (weft_sleep(WEFT_MILLISECOND) != 0) break;
    return pid;
}

/* Prints the answer, or how the worker has ended. */
static void give(const char *name, const char *job, uint64_t time) {
    weft_pid pid = await_name(name);
    weft_msg *reply, *down;
    uint64_t monitor;
    char text[80];
    if (!pid || weft_monitor(pid, DOWN, &monitor) != 0) {
        printf("%s: there is no %s\n", job, name);
        return;
    }
    int error = weft_call(pid, JOB, job, strlen(job) + 1, &reply, weft_in(time));
    if (error == 0) {
        printf("%s: the total is %ld\n", job, *(const long *)weft_msg_data(reply));
        weft_msg_free(reply);
        weft_demonitor(monitor, true);
        return;
    }
    if (error == WEFT_ETIMEDOUT) weft_kill(pid); /* it has had its time: its supervisor starts another */
    if (weft_recv_tag(DOWN, &down, weft_in(10 * WEFT_SECOND)) != 0) return;
    const weft_reason *reason = &weft_msg_notice(down)->reason;
    printf("%s: %s: %s\n", job, weft_strerror(error), weft_reason_text(reason, text, sizeof text));
    weft_msg_free(down);
}

/* Waits until the process of this name is another one. */
static void await_other(const char *name, weft_pid former) {
    for (int tries = 0; tries < 10000 && (weft_whereis(name) == former || weft_whereis(name) == WEFT_NOBODY); tries++)
        if (weft_sleep(WEFT_MILLISECOND) != 0) return;
}

static int app(int argc, char **argv) {
    weft_pid super;
    long total = 0;
    (void)argv;
    if (argc != 2) {
        fprintf(stderr, "usage: supervisor --self-test\n");
        return 2;
    }
    int error = weft_super_start(&app_spec, NULL, &super, weft_in(10 * WEFT_SECOND));
    if (error) {
        fprintf(stderr, "supervisor: %s\n", weft_strerror(error));
        return 1;
    }
    weft_pid first = weft_whereis("workers");
    give("worker 1", "12", JOB_TIME);
    give("worker 1", "nonsense", JOB_TIME);
    give("worker 1", "30", JOB_TIME);
    give("worker 2", "give up", JOB_TIME);
    give("worker 2", "hang", 200 * WEFT_MILLISECOND);
    give("worker 2", "8", JOB_TIME);
    give("worker 1", "nonsense", JOB_TIME); /* the fourth restart */
    give("worker 1", "nonsense", JOB_TIME); /* the fifth is one too many: the supervisor of the workers ends, and its own starts another */
    await_other("workers", first);
    give("worker 1", "50", JOB_TIME);
    error = ledger_ask(TOTAL, 0, &total);
    printf("the ledger has %ld\n", error ? -1 : total);
    error = weft_super_stop(super, weft_in(10 * WEFT_SECOND));
    printf("%s\n", error ? weft_strerror(error) : "stopped");
    return error ? 1 : 0;
}

int main(int argc, char **argv) {
    return weft_main_with(&(weft_config){.contain_faults = true}, argc, argv, app); /* a null pointer ends one process, not the program */
}
/* Prints:
 * 12: the total is 12
 * nonsense: the process has ended, or never was: fault: SIGSEGV at (nil)
 * 30: the total is 42
 * give up: the process has ended, or never was: error -71 (WEFT_EPROTO): protocol error
 * hang: the deadline has passed: killed
 * 8: the total is 50
 * nonsense: the process has ended, or never was: fault: SIGSEGV at (nil)
 * nonsense: the process has ended, or never was: fault: SIGSEGV at (nil)
 * 50: the total is 100
 * the ledger has 100
 * stopped
 */
