/* Children of the operating system with pipes. */
#include "net_helpers.h"

#include <weft/child.h>

#include <signal.h>
#include <sys/wait.h>

enum { BYTES = 500000 };
static weft_child cat;
static void feeds(void *arg) {
    static char data[BYTES];
    (void)arg;
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (char)(i * 13);
    EXPECT_EQ(weft_fd_write(cat.in, data, BYTES, WEFT_FOREVER), BYTES);
    EXPECT_EQ(weft_fd_close(cat.in), 0);
    net_is_done();
}
/* Through cat and back. */
static void through_cat(void *arg) {
    static char got[BYTES + 1];
    int status;
    (void)arg;
    EXPECT_EQ(weft_child_start((const char *const[]){"cat", NULL}, WEFT_CHILD_IN | WEFT_CHILD_OUT, &cat), 0);
    EXPECT(cat.in > 0 && cat.out > 0 && cat.err == WEFT_NO_FD);
    EXPECT(weft_spawn(feeds, NULL) != WEFT_NOBODY);
    EXPECT_EQ(weft_fd_read_all(cat.out, got, sizeof got, WEFT_FOREVER), BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        if (got[i] != (char)(i * 13)) EXPECT_EQ(got[i], (char)(i * 13));
    EXPECT_EQ(weft_fd_close(cat.out), 0);
    EXPECT_EQ(weft_waitpid(cat.pid, &status, WEFT_FOREVER), 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    net_is_done();
}
static void through_cats(void) { net_run_until(through_cat, 2); }
TEST(a_child_with_pipes) { rt_each(through_cats); }

/* Exit status, standard error, signals as a program expects them, and what cannot be started. */
static void several(void *arg) {
    static const char *const script[] = {"sh", "-c", "echo out; echo err >&2; kill -PIPE $$; exit 3", NULL};
    char text[64];
    weft_child child;
    int status;
    (void)arg;
    EXPECT_EQ(weft_child_start(script, WEFT_CHILD_OUT | WEFT_CHILD_ERR, &child), 0);
    EXPECT_EQ(weft_fd_read_all(child.out, text, sizeof text, WEFT_FOREVER), 4);
    EXPECT_EQ(weft_fd_read_all(child.err, text, sizeof text, WEFT_FOREVER), 4);
    EXPECT(memcmp(text, "err\n", 4) == 0);
    EXPECT_EQ(weft_waitpid(child.pid, &status, WEFT_FOREVER), 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
    EXPECT_EQ(weft_fd_close(child.out), 0);
    EXPECT_EQ(weft_fd_close(child.err), 0);
    unsigned before = net_count_open();
    EXPECT_EQ(weft_child_start((const char *const[]){"/no/such/program", NULL}, 7, &child), WEFT_ENOENT);
    EXPECT_EQ(weft_child_start((const char *const[]){"/dev/null", NULL}, 7, &child), WEFT_EACCES);
    EXPECT_EQ(weft_child_start((const char *const[]){NULL}, 7, &child), WEFT_EINVAL);
    EXPECT_EQ(weft_child_start(script, 8, &child), WEFT_EINVAL);
    static const enum sys_net_call calls[] = {SYS_NET_PIPE, SYS_NET_POLL_CHANGE, SYS_NET_NONBLOCKING, SYS_NET_START};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned after = 0; after < (calls[i] == SYS_NET_START ? 1 : 3); after++) {
            sys_script.net[calls[i]].after = atom_load_rlx(&sys_script.counts.net[calls[i]]) + after;
            sys_script.net[calls[i]].times = 1;
            sys_script.net[calls[i]].error = -ENOMEM;
            EXPECT_EQ(weft_child_start(script, 7, &child), WEFT_ENOMEM);
            sys_script.net[calls[i]].error = 0;
            EXPECT_EQ(net_count_open(), before); /* nothing is left open */
        }
    net_is_done();
}
static void severals(void) { net_run_until(several, 1); }
TEST(children_of_all_kinds) { rt_each(severals); }

/* ---- as commands of a step process ------------------------------------------------------------------------------------------------------ */

enum { STARTED = 1, READ, ENDED, NONE };
static atom_u64 step_done;
struct starter {
    weft_child child;
    unsigned left;
};
static void starter_hears(struct starter *self, const weft_event *event, weft_out *out) {
    int status;
    if (event->tag != NONE) EXPECT_EQ(event->error, 0);
    switch (event->tag) {
    case STARTED:
        EXPECT_EQ(event->size, sizeof self->child);
        memcpy(&self->child, event->data, sizeof self->child);
        EXPECT(self->child.in > 0 && self->child.out > 0 && self->child.err == WEFT_NO_FD);
        EXPECT_EQ(weft_fd_write(self->child.in, "through\n", 8, 0), 8);
        EXPECT_EQ(weft_fd_close(self->child.in), 0);
        EXPECT_EQ(weft_out_fd_read(out, READ, self->child.out, 100, WEFT_FOREVER), 0);
        EXPECT_EQ(weft_out_waitpid(out, ENDED, self->child.pid, WEFT_FOREVER), 0);
        break;
    case READ:
        EXPECT_EQ(event->size, 14);
        EXPECT(memcmp(event->data, "a b | through\n", 14) == 0);
        EXPECT_EQ(weft_fd_close(self->child.out), 0);
        break;
    case ENDED:
        memcpy(&status, event->data, sizeof status);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3);
        break;
    case NONE: EXPECT_EQ(event->error, WEFT_ENOENT); break;
    }
    if (--self->left == 0) atom_add_rel(&step_done, 1);
}
static void starter_begins(struct starter *self, weft_out *out) {
    /* All of it is written at once, so that one read finds all. */
    static const char *const script[] = {"sh", "-c", "read word; echo \"$1 | $word\"; exit 3", "", "a b", NULL};
    static const char *const nothing[] = {"/no/such/program", NULL};
    self->left = 4;
    EXPECT_EQ(weft_out_child_start(out, STARTED, script, WEFT_CHILD_IN | WEFT_CHILD_OUT), 0);
    EXPECT_EQ(weft_out_child_start(out, NONE, nothing, 7), 0);
    EXPECT_EQ(weft_out_child_start(out, NONE, NULL, 7), WEFT_EINVAL);
    EXPECT_EQ(weft_out_waitpid(out, NONE, 0, WEFT_FOREVER), WEFT_EINVAL);
}
static int starter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool over = false;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == WEFT_EVENT_CANCEL) over = true;
        if (events[i].type == WEFT_EVENT_MESSAGE) starter_begins(self, out);
        if (events[i].type == WEFT_EVENT_COMPLETION) starter_hears(self, &events[i], out);
    }
    weft_out_status(out, over ? WEFT_STEP_DONE : WEFT_STEP_BLOCKED);
    return 0;
}
static void step_processes(void) {
    static const weft_behavior starter = {.name = "starter", .state_size = sizeof(struct starter), .step = starter_step};
    unsigned before = net_count_open();
    atom_store_rlx(&step_done, 0);
    EXPECT_EQ(weft_send(rt_spawn(&starter), 0, NULL, 0), 0);
    rt_wait(&step_done, 1);
    EXPECT(net_count_open() <= before + 2); /* the poll's own two */
}
TEST(children_of_step_processes) { rt_each(step_processes); }

/* One that ends before its child has been started: the pipes are closed, which ends this child. */
static int quitter_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    static const char *const cat_command[] = {"cat", NULL};
    (void)self, (void)events, (void)count;
    EXPECT_EQ(weft_out_child_start(out, STARTED, cat_command, 7), 0);
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static void quits(const char *policy, unsigned workers) {
    static const weft_behavior quitter = {.name = "quitter", .step = quitter_step};
    unsigned before = net_count_open();
    rt_start(policy, workers);
    for (unsigned i = 0; i < 5; i++)
        rt_spawn(&quitter);
    rt_wait_until_none_lives();
    rt_stop();
    EXPECT_EQ(net_count_open(), before);
    for (unsigned i = 0; i < 5; i++)
        EXPECT(wait(NULL) > 0);
}
TEST(children_of_those_that_end) { rt_cases(quits); }

int main(int argc, char **argv) { return test_main(argc, argv); }
