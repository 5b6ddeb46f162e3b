/* Children of the operating system with pipes. */
#include "net_helpers.h"

#include <weft/child.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { BYTES = 500000 };
static weft_child cat;
static void feeds(void *arg) {
    static char data[BYTES];
    (void)arg;
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (char)(i * 13);
    EXPECT_EQ(weft_fd_write_all(cat.in, data, BYTES, NULL, WEFT_FOREVER), 0);
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
    EXPECT_EQ(net_read_to_end(cat.out, got, sizeof got), BYTES);
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
    EXPECT_EQ(net_read_to_end(child.out, text, sizeof text), 4);
    EXPECT_EQ(net_read_to_end(child.err, text, sizeof text), 4);
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
        EXPECT_EQ(weft_fd_write_all(self->child.in, "through\n", 8, NULL, 0), 0);
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

/* ---- with options ------------------------------------------------------------------------------------------------------------------------- */

/* What a script prints, which is started with these options; how it ended is in *status. */
static const char *said_by(const char *script, weft_child_options options, int *status) {
    static char text[4096];
    weft_child child;
    options.pipes |= WEFT_CHILD_OUT;
    EXPECT_EQ(weft_child_start_with((const char *const[]){"sh", "-c", script, NULL}, &options, &child), 0);
    text[net_read_to_end(child.out, text, sizeof text - 1)] = '\0';
    EXPECT_EQ(weft_fd_close(child.out), 0);
    EXPECT_EQ(weft_waitpid(child.pid, status, WEFT_FOREVER), 0);
    return text;
}
#define EXPECT_TEXT(got, wanted) EXPECT(strcmp(got, wanted) == 0)
static void with_options(void *arg) {
    static const char *const environment[] = {"COLOUR=green", NULL};
    static const weft_child_limit limits[] = {{RLIMIT_NOFILE, 33, 44}, {RLIMIT_CORE, 0, 0}};
    int status;
    (void)arg;
    EXPECT_TEXT(said_by("echo $COLOUR $HOME", (weft_child_options){.environment = environment}, &status), "green\n");
    EXPECT_TEXT(said_by("pwd", (weft_child_options){.directory = "/usr"}, &status), "/usr\n");
    EXPECT_TEXT(said_by("ulimit -Sn; ulimit -Hn; ulimit -c", (weft_child_options){.limits = limits, .limit_count = 2}, &status),
                "33\n44\n0\n");
    EXPECT_TEXT(said_by("echo one; echo two >&2", (weft_child_options){.flags = WEFT_CHILD_ERR_TO_OUT}, &status), "one\ntwo\n");
    EXPECT_TEXT(said_by("cat; readlink /proc/$$/fd/0; readlink /proc/$$/fd/2",
                        (weft_child_options){.flags = WEFT_CHILD_NULL_IN | WEFT_CHILD_NULL_ERR}, &status),
                "/dev/null\n/dev/null\n");
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TEXT(said_by("test $(ps -o pgid= -p $$) = $$ && echo leads", (weft_child_options){.flags = WEFT_CHILD_GROUP}, &status),
                "leads\n");
    net_is_done();
}
static void all_options(void) { net_run_until(with_options, 1); }
TEST(a_child_with_options) { rt_each(all_options); }

static void refused_options(void *arg) {
    static const char *const arguments[] = {"true", NULL};
    static const weft_child_limit above = {RLIMIT_NOFILE, 100, 50};
    static const weft_child_options senseless[] = {
        {.pipes = 8},
        {.flags = 128},
        {.pipes = WEFT_CHILD_IN, .flags = WEFT_CHILD_NULL_IN},
        {.pipes = WEFT_CHILD_ERR, .flags = WEFT_CHILD_ERR_TO_OUT},
        {.flags = WEFT_CHILD_NULL_ERR | WEFT_CHILD_ERR_TO_OUT},
        {.pipes = WEFT_CHILD_OUT, .flags = WEFT_CHILD_TERMINAL},
        {.flags = WEFT_CHILD_NULL_OUT | WEFT_CHILD_TERMINAL},
        {.limits = &above, .limit_count = 1},
    };
    weft_child child;
    int status;
    (void)arg;
    said_by("true", (weft_child_options){.pipes = 7 - WEFT_CHILD_IN - WEFT_CHILD_ERR},
            &status); /* what a first pipe needs is there afterwards */
    unsigned before = net_count_open();
    for (unsigned i = 0; i < sizeof senseless / sizeof *senseless; i++)
        EXPECT_EQ(weft_child_start_with(arguments, &senseless[i], &child), WEFT_EINVAL);
    EXPECT_EQ(weft_child_start_with(arguments, &(weft_child_options){.directory = "/no/such/place", .pipes = 7}, &child), WEFT_ENOENT);
    EXPECT_EQ(weft_child_start_with(arguments, &(weft_child_options){.directory = "/dev/null", .flags = WEFT_CHILD_OWNED}, &child),
              -ENOTDIR);
    EXPECT_EQ(net_count_open(), before);
    EXPECT_EQ(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    net_is_done();
}
static void refusals(void) { net_run_until(refused_options, 1); }
TEST(options_that_are_refused) { rt_each(refusals); }

/* A terminal: it is one, of this size, and the child's own. */
static void at_a_terminal(void *arg) {
    static const unsigned sizes[][2] = {{24, 80}, {0, 80}, {24, 0}, {0, 0}};
    const unsigned *size = sizes[(uintptr_t)arg];
    static const char *const script[] = {"sh", "-c", "read word; test -t 0 && test -t 1 && test -t 2 && echo $word $(stty size) > /dev/tty",
                                         NULL};
    weft_child child;
    char text[256];
    char words[32];
    size_t length = 0;
    int status;
    weft_child_options options = {.flags = WEFT_CHILD_TERMINAL, .rows = size[0], .columns = size[1]};
    snprintf(words, sizeof words, "typed %u %u", size[0], size[1]);
    EXPECT_EQ(weft_child_start_with(script, &options, &child), 0);
    EXPECT(child.in == WEFT_NO_FD && child.out == WEFT_NO_FD && child.err == WEFT_NO_FD && child.terminal > 0);
    EXPECT_EQ(weft_fd_write_all(child.terminal, "typed\n", 6, NULL, WEFT_FOREVER), 0);
    for (;;) {
        ssize_t n = weft_fd_read(child.terminal, text + length, sizeof text - 1 - length, WEFT_FOREVER);
        if (n <= 0) EXPECT_EQ(n, WEFT_EIO); /* the child has closed it */
        if (n <= 0) break;
        length += (size_t)n;
    }
    text[length] = '\0';
    EXPECT(strstr(text, words));
    EXPECT_EQ(weft_waitpid(child.pid, &status, WEFT_FOREVER), 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(weft_fd_close(child.terminal), 0);
    net_is_done();
}
static void terminals(void) {
    atom_store_rlx(&net_done, 0);
    for (uintptr_t size = 0; size < 4; size++) {
        net_spawn(at_a_terminal, (void *)size);
        rt_wait(&net_done, size + 1);
    }
}
TEST(a_child_at_a_terminal) { rt_each(terminals); }

/* ---- pipelines ------------------------------------------------------------------------------------------------------------------------------ */

static void in_a_row(void *arg) {
    static const char *const first[] = {"cat", NULL}, *const second[] = {"tr", "a-z", "A-Z", NULL},
                             *const third[] = {"sh", "-c", "sed s/O/0/g; echo done >&2; exit 3", NULL},
                             *const none[] = {"/no/such/program", NULL};
    const char *const *const programs[] = {first, second, third, none};
    weft_child children[4];
    char text[64];
    int status;
    (void)arg;
    weft_child_options options = {.pipes = 7, .flags = WEFT_CHILD_OWNED | WEFT_CHILD_GROUP};
    EXPECT_EQ(weft_pipeline_start(programs, 3, &options, children), 0);
    EXPECT(children[0].in > 0 && children[0].out == WEFT_NO_FD && children[1].in == WEFT_NO_FD && children[1].out == WEFT_NO_FD &&
           children[2].out > 0);
    EXPECT_EQ(weft_fd_write_all(children[0].in, "hello world\n", 12, NULL, WEFT_FOREVER), 0);
    EXPECT_EQ(weft_fd_close(children[0].in), 0);
    EXPECT_EQ(net_read_to_end(children[2].out, text, sizeof text), 12);
    EXPECT(memcmp(text, "HELL0 W0RLD\n", 12) == 0);
    EXPECT_EQ(net_read_to_end(children[2].err, text, sizeof text), 5);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(weft_waitpid(children[i].pid, &status, WEFT_FOREVER), 0);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == (i == 2 ? 3 : 0));
        EXPECT_EQ(weft_fd_close(children[i].err), 0);
    }
    EXPECT_EQ(weft_fd_close(children[2].out), 0);
    unsigned before = net_count_open();
    EXPECT_EQ(weft_pipeline_start(programs, 4, &options, children), WEFT_ENOENT); /* and none of them runs */
    options.flags = 0;
    EXPECT_EQ(weft_pipeline_start(programs, 4, &options, children), WEFT_ENOENT);
    EXPECT_EQ(weft_pipeline_start(programs, 0, &options, children), WEFT_EINVAL);
    options.flags = WEFT_CHILD_TERMINAL;
    EXPECT_EQ(weft_pipeline_start(programs, 1, &options, children), WEFT_EINVAL);
    EXPECT_EQ(net_count_open(), before);
    EXPECT_EQ(waitpid(-1, NULL, WNOHANG), -1);
    net_is_done();
}
static void rows(void) { net_run_until(in_a_row, 1); }
TEST(a_pipeline) { rt_each(rows); }

int main(int argc, char **argv) { return test_main(argc, argv); }
