/* Memory is refused at any moment: calls answer WEFT_ENOMEM, and a program that tries again gets everything done. Nothing is lost, done twice or
 * left behind: the verdict `leak` counts what is left. */
#include "need.h"
#include "seeds.h"

#include <weft/weft.h>

enum { SEEDS = 150, MESSAGES = 10, TRIES = 1000 };
#define MS WEFT_MILLISECOND

/* Until it is not refused. A call that does not wait and was refused has done nothing. */
#define UNTIL_DONE(call)                                                                                                                   \
    for (int error_, tries_ = 0; (error_ = (int)(call)) != 0; tries_++) {                                                                  \
        NEED(error_ == WEFT_ENOMEM || error_ == WEFT_ENOSTACK || error_ == WEFT_EAGAIN);                                                   \
        NEED(tries_ < TRIES && weft_sleep(MS) == 0);                                                                                       \
    }

static void spawned(weft_entry entry, void *arg, weft_pid *pid) {
    weft_stackful_options options = {.flags = WEFT_SPAWN_JOINABLE | WEFT_SPAWN_STACK_NOW};
    UNTIL_DONE(weft_spawn_with(entry, arg, &options, pid));
}
static void joined(weft_pid pid) {
    int reason;
    NEED(weft_join(pid, &reason, WEFT_FOREVER) == 0 && reason == 0);
}

/* ---- messages ------------------------------------------------------------------------------------------------------------------ */

static void sends(void *to) {
    for (int i = 0; i < MESSAGES; i++)
        UNTIL_DONE(weft_send(*(weft_pid *)to, 1, &i, sizeof i));
}
static void messages(void) {
    weft_pid self = weft_self(), sender;
    weft_msg *message;
    spawned(sends, &self, &sender);
    for (int i = 0; i < MESSAGES; i++) {
        NEED(weft_recv_tag(1, &message, WEFT_FOREVER) == 0 && *(int *)weft_msg_data(message) == i);
        weft_msg_free(message);
    }
    joined(sender);
}

static void answers(void *arg) {
    weft_msg *message;
    (void)arg;
    for (int i = 0; i < MESSAGES; i++) {
        NEED(weft_recv(&message, WEFT_FOREVER) == 0);
        weft_request request = weft_msg_request(message);
        UNTIL_DONE(weft_reply(request, weft_msg_data(message), weft_msg_len(message)));
        weft_msg_free(message);
    }
}
static void calls(void) {
    weft_pid server;
    weft_msg *reply;
    spawned(answers, NULL, &server);
    for (int i = 0; i < MESSAGES; i++) {
        UNTIL_DONE(weft_call(server, 2, &i, sizeof i, &reply, WEFT_FOREVER));
        NEED(*(int *)weft_msg_data(reply) == i);
        weft_msg_free(reply);
    }
    joined(server);
}

static void timers(void) {
    weft_msg *message;
    weft_timer timer;
    for (int i = 0; i < MESSAGES; i++)
        UNTIL_DONE(weft_after(10 * MS, weft_self(), 3, &i, sizeof i, &timer));
    for (int i = 0; i < MESSAGES; i++) {
        NEED(weft_recv_tag(3, &message, WEFT_FOREVER) == 0 && *(int *)weft_msg_data(message) == i);
        weft_msg_free(message);
    }
}

/* ---- channels, scopes, names ----------------------------------------------------------------------------------------------------- */

static void fills(void *arg) {
    weft_chan *chan = *(weft_chan **)arg;
    for (int i = 0; i < MESSAGES; i++)
        NEED(weft_chan_send(chan, &i, WEFT_FOREVER) == 0);
    NEED(weft_chan_close(chan) == 0);
}
static void channels(void) {
    weft_chan *chan;
    weft_pid filler;
    int got, error, next = 0;
    UNTIL_DONE(weft_chan_new(sizeof(int), 2, &chan));
    spawned(fills, &chan, &filler);
    while ((error = weft_chan_recv(chan, &got, WEFT_FOREVER)) == 0)
        NEED(got == next++);
    NEED(error == WEFT_ECLOSED && next == MESSAGES);
    joined(filler);
    weft_chan_free(chan);
}

static void counts(void *counter) { __atomic_fetch_add((int *)counter, 1, __ATOMIC_RELAXED); }
static void scopes(void) {
    int count = 0, spawned_in = 0;
    weft_scope scope;
    weft_scope_begin(&scope, WEFT_FOREVER);
    for (; spawned_in < MESSAGES; spawned_in++)
        UNTIL_DONE(weft_scope_spawn(&scope, counts, &count));
    int error = weft_scope_end(&scope); /* a child that had no memory for its stack when it first ran fails the scope */
    NEED(error == 0 ? count == MESSAGES : error == WEFT_ENOSTACK || error == WEFT_ENOMEM);
}

static void names(void) {
    UNTIL_DONE(weft_register("memory", weft_self()));
    NEED(weft_whereis("memory") == weft_self());
    UNTIL_DONE(weft_group_join("memory"));
    NEED(weft_group_leave("memory") == 0 && weft_unregister(NULL, "memory") == 0);
}

/* ---- supervisors ------------------------------------------------------------------------------------------------------------------- */

static unsigned begun;

static void child(void *arg) {
    (void)arg;
    begun++;
    weft_sleep(WEFT_FOREVER);
}
static const weft_server_spec silent = {.name = "silent"}; /* answers each request by an empty reply */
static void server(void *arg) {
    (void)arg;
    weft_exit(weft_server_run(&silent, NULL));
}
static void servers(void) {
    weft_pid pid;
    weft_msg *reply;
    UNTIL_DONE(weft_server_start(&silent, NULL, NULL, &pid, WEFT_FOREVER));
    for (int i = 0; i < MESSAGES; i++) {
        UNTIL_DONE(weft_call(pid, 4, &i, sizeof i, &reply, WEFT_FOREVER));
        weft_msg_free(reply);
    }
    NEED(weft_server_stop(pid, WEFT_FOREVER) == 0);
}
static void supervisors(void) {
    const weft_child_spec leaves[] = {{.id = "leaf", .entry = child}, {.id = "server", .entry = server, .ready = true}};
    const weft_super_spec below = {.intensity = 100000, .period_ms = 1, .backoff_ms = 1, .children = leaves, .count = 2};
    const weft_child_spec children[] = {{.id = "one", .entry = child}, {.id = "below", .super = &below}};
    const weft_super_spec spec = {.name = "memory", .intensity = 100000, .period_ms = 1, .backoff_ms = 1, .children = children, .count = 2};
    weft_child_info infos[2];
    weft_pid super;
    UNTIL_DONE(weft_super_start(&spec, NULL, &super, WEFT_FOREVER));
    for (int i = 0; i < 3; i++) {
        ssize_t count;
        while ((count = weft_super_children(super, infos, 2, WEFT_FOREVER)) != 2)
            NEED(count == WEFT_ENOMEM && weft_sleep(MS) == 0);
        if (infos[i % 2].pid) weft_kill(infos[i % 2].pid);
        NEED(weft_sleep(100 * MS) == 0);
    }
    NEED(begun >= 4 && weft_super_stop(super, WEFT_FOREVER) == 0);
}

/* ---- a whole program --------------------------------------------------------------------------------------------------------------- */

static void everything(void *arg) {
    (void)arg;
    messages();
    calls();
    timers();
    channels();
    scopes();
    names();
    servers();
    supervisors();
}

static int whole_program(void) {
    weft_runtime *runtime;
    weft_pid pid;
    int error, tries = 0;
    while ((error = weft_start(&(weft_config){.workers = 2}, &runtime)) != 0)
        NEED((error == WEFT_ENOMEM || error == WEFT_EAGAIN) && ++tries < TRIES);
    weft_stackful_options options = {.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE | WEFT_SPAWN_STACK_NOW};
    while ((error = weft_spawn_with(everything, NULL, &options, &pid)) != 0)
        NEED((error == WEFT_ENOMEM || error == WEFT_ENOSTACK) && ++tries < TRIES);
    int reason;
    while ((error = weft_join(pid, &reason, WEFT_FOREVER)) != 0)
        NEED(error == WEFT_ENOMEM && ++tries < TRIES);
    NEED(reason == 0 && weft_stop(runtime, NULL, WEFT_FOREVER) == 0);
    return 0;
}
TEST_WITHIN(a_program_that_tries_again_survives_refused_memory, 300) {
    setenv("WEFT_SIM_FAULTS", "memory", 1);
    seeds_pass(test_seed(1), SEEDS * test_scale(), whole_program);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
