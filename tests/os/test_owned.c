/* Children that belong to a process: none is left when it ends, in whatever way, and with a group nothing of what they have started. */
#include "mailbox_helpers.h"
#include "net_helpers.h"

#include <weft/child.h>

#include <signal.h>
#include <sys/wait.h>

static pid_t leader, below;
static atom_u64 started;

/* Whether it runs; one that has been killed and not been reaped by its parent, which may be any program, does not. */
static bool runs(pid_t pid) {
    char path[64], text[512], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const char *end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    if (end) sscanf(end + 1, " %c", &state);
    fclose(file);
    return state != 'Z' && state != 'X';
}
static void wait_until_gone(pid_t pid) { /* in vain, the watchdog ends it */
    while (runs(pid))
        usleep(1000);
}
static void none_is_left(void) {
    wait_until_gone(leader);
    wait_until_gone(below);
    EXPECT(waitpid(leader, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static bool ignores_term(pid_t pid) {
    char path[64], line[256];
    unsigned long long ignored = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "SigIgn: %llx", &ignored);
    if (file) fclose(file);
    return ignored >> (SIGTERM - 1) & 1;
}

/* A shell with a child of its own, which ignores what asks it to end. Prints the PID of that one. */
static void start_family(unsigned flags, weft_child *child) {
    static const char *const script[] = {"sh", "-c", "trap '' TERM INT HUP; sleep 1000 & echo $!; wait", NULL};
    char text[32] = "";
    EXPECT_EQ(weft_child_start_with(script, &(weft_child_options){.pipes = WEFT_CHILD_OUT, .flags = flags}, child), 0);
    EXPECT(weft_fd_read(child->out, text, sizeof text - 1, WEFT_FOREVER) > 0);
    leader = child->pid;
    below = (pid_t)atoi(text);
    EXPECT(below > 0 && runs(leader) && runs(below));
}

enum way { RETURNS, EXITS, CANCELLED, KILLED };
static void owner(void *arg) {
    enum way way = *(enum way *)arg;
    weft_child child;
    start_family(WEFT_CHILD_OWNED | WEFT_CHILD_GROUP, &child);
    EXPECT_EQ(weft_fd_close(child.out), 0);
    atom_add_rel(&started, 1);
    if (way == RETURNS) return;
    if (way == EXITS) weft_exit(3);
    EXPECT_EQ(weft_waitpid(child.pid, NULL, WEFT_FOREVER), WEFT_ECANCELED);
    if (way == KILLED) expect_the_end();
}
static void ends_of_owners(void) {
    for (enum way way = RETURNS; way <= KILLED; way++) {
        atom_store_rlx(&started, 0);
        weft_pid pid = run_flags(owner, &way, WEFT_SPAWN_JOINABLE);
        rt_wait(&started, 1);
        if (way == CANCELLED) EXPECT_EQ(weft_cancel(pid), 0);
        if (way == KILLED) EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(weft_join(pid, NULL, WEFT_FOREVER), 0);
        none_is_left();
    }
}
TEST(an_owned_child_ends_with_its_process) { rt_each(ends_of_owners); }

/* A leader that ends by itself and leaves something running. */
static void leaves_some(void *arg) {
    static const char *const script[] = {"sh", "-c", "sleep 1000 & echo $!; exit 5", NULL};
    weft_child child;
    char text[32] = "";
    int status;
    (void)arg;
    weft_child_options options = {.pipes = WEFT_CHILD_OUT, .flags = WEFT_CHILD_OWNED | WEFT_CHILD_GROUP};
    EXPECT_EQ(weft_child_start_with(script, &options, &child), 0);
    EXPECT(weft_fd_read(child.out, text, sizeof text - 1, WEFT_FOREVER) > 0);
    leader = child.pid, below = (pid_t)atoi(text);
    EXPECT_EQ(weft_waitpid(child.pid, &status, WEFT_FOREVER), 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    EXPECT_EQ(weft_fd_close(child.out), 0);
}
static void leavings(void) {
    run(leaves_some, NULL);
    none_is_left();
}
TEST(what_an_owned_child_has_left_ends_too) { rt_each(leavings); }

/* ---- ending one ------------------------------------------------------------------------------------------------------------------------- */

static void ends_it(void *arg) {
    weft_child child;
    int status;
    (void)arg;
    start_family(WEFT_CHILD_GROUP, &child);
    EXPECT_EQ(weft_child_signal(child.pid, 0), 0);
    weft_cancel(weft_self());                                     /* also then */
    EXPECT_EQ(weft_child_end(child.pid, 20 * RT_MS, &status), 0); /* it ignores SIGTERM */
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_EQ(weft_child_end(child.pid, RT_MS, &status), WEFT_ECHILD);
    EXPECT_EQ(weft_child_end(0, RT_MS, &status), WEFT_EINVAL);
    EXPECT_EQ(weft_child_signal(-1, SIGTERM), WEFT_EINVAL);
    EXPECT_EQ(weft_fd_close(child.out), 0);
}
static void obeys(void *arg) {
    weft_child child;
    int status;
    (void)arg;
    EXPECT_EQ(weft_child_start_with((const char *const[]){"sleep", "1000", NULL}, NULL, &child), 0); /* it leads no group */
    EXPECT_EQ(weft_child_end(child.pid, WEFT_FOREVER, &status), 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}
/* A leader that ends when it is asked to, and leaves something that does not. */
static void ends_the_rest(void *arg) {
    static const char *const script[] = {"sh", "-c", "(trap '' TERM INT HUP; exec sleep 1000) & echo $!; wait", NULL};
    weft_child child;
    char text[32] = "";
    int status;
    (void)arg;
    EXPECT_EQ(weft_child_start_with(script, &(weft_child_options){.pipes = WEFT_CHILD_OUT, .flags = WEFT_CHILD_GROUP}, &child), 0);
    EXPECT(weft_fd_read(child.out, text, sizeof text - 1, WEFT_FOREVER) > 0);
    leader = child.pid, below = (pid_t)atoi(text);
    while (!ignores_term(below))
        weft_sleep(RT_MS);
    EXPECT_EQ(weft_child_end(child.pid, 20 * WEFT_SECOND, &status), 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    EXPECT_EQ(weft_fd_close(child.out), 0);
}
/* Killed while it waits for the end of a child that ignores SIGTERM: no grace any more, and none is left. */
static void is_killed_ending(void *arg) {
    weft_child child;
    (void)arg;
    start_family(WEFT_CHILD_GROUP, &child);
    EXPECT_EQ(weft_fd_close(child.out), 0);
    atom_add_rel(&started, 1);
    EXPECT_EQ(weft_child_end(child.pid, WEFT_FOREVER, NULL), 0);
    expect_the_end();
}
/* The same in what it has deferred, when it was killed before. */
static void ends_deferred(void *arg) { EXPECT_EQ(weft_child_end(((weft_child *)arg)->pid, WEFT_FOREVER, NULL), 0); }
static void ends_it_killed(void *arg) {
    weft_child child;
    (void)arg;
    start_family(WEFT_CHILD_GROUP, &child);
    EXPECT_EQ(weft_fd_close(child.out), 0);
    EXPECT_EQ(weft_defer(ends_deferred, &child), 0);
    EXPECT_EQ(weft_kill(weft_self()), 0);
    expect_the_end();
}
static void endings(void) {
    run(ends_it, NULL);
    none_is_left();
    run(obeys, NULL);
    run(ends_the_rest, NULL);
    none_is_left();
    atom_store_rlx(&started, 0);
    weft_pid pid = run_flags(is_killed_ending, NULL, WEFT_SPAWN_JOINABLE);
    rt_wait(&started, 1);
    EXPECT_EQ(weft_kill(pid), 0);
    EXPECT_EQ(run_join(pid), WEFT_EKILLED);
    none_is_left();
    EXPECT_EQ(run_join(run_flags(ends_it_killed, NULL, WEFT_SPAWN_JOINABLE)), WEFT_EKILLED);
    none_is_left();
}
TEST(a_child_and_its_group_are_ended) { rt_each(endings); }

/* The leader ends just when it was found to live. */
static atom_u64 peeks;
static int peek_and_it_ends(int pid) {
    int ended = sys_linux_file.child_peek(pid);
    if (pid != leader || ended != 0 || atom_add_rlx(&peeks, 1) > 0) return ended;
    kill(pid, SIGKILL);
    while (sys_linux_file.child_peek(pid) == 0)
        usleep(1000);
    return 0;
}
static void ends_it_meanwhile(void *arg) {
    weft_child child;
    int status;
    (void)arg;
    start_family(WEFT_CHILD_GROUP, &child);
    EXPECT_EQ(weft_child_end(child.pid, 20 * WEFT_SECOND, &status), 0);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_EQ(weft_fd_close(child.out), 0);
}
TEST(a_leader_that_ends_between_two_looks_leaves_nothing) {
    static struct sys_file file;
    static struct sys table;
    rt_count_memory();
    file = *sys->file;
    table = *sys;
    file.child_peek = peek_and_it_ends;
    table.file = &file;
    sys = &table; /* before there are threads */
    EXPECT_EQ(weft_start(&(weft_config){.workers = 2, .seed = 1}, &rt.runtime), 0);
    rt_watch_begin(rt.runtime, RT_WATCH_SECONDS);
    run(ends_it_meanwhile, NULL);
    EXPECT(atom_load_acq(&peeks) > 0);
    none_is_left();
    rt_stop();
}

/* ---- killed at any moment -------------------------------------------------------------------------------------------------------------- */

static const char *const sleeps[] = {"sleep", "1000", NULL};
static unsigned start_flags;
static weft_child child[3]; /* not in the process's frame: in a program with C++ that is gone before what was deferred is called */

static void close_ends(void *arg) {
    weft_child *child = arg;
    weft_fd_close(child->in); /* without effect if it is WEFT_NO_FD */
    weft_fd_close(child->out);
    weft_fd_close(child->err);
    weft_fd_close(child->terminal);
}
/* What it has started is closed by what it defers; deferring does not end a process. */
static void starts_some(void *unused) {
    (void)unused;
    for (unsigned i = 0; i < 3; i++) {
        unsigned pipes = start_flags & WEFT_CHILD_TERMINAL ? 0 : WEFT_CHILD_IN | WEFT_CHILD_OUT | WEFT_CHILD_ERR;
        if (weft_child_start_with(sleeps, &(weft_child_options){.pipes = pipes, .flags = start_flags}, &child[i]) != 0) break;
        EXPECT_EQ(weft_defer(close_ends, &child[i]), 0);
    }
    weft_sleep(3600 * WEFT_SECOND);
    expect_the_end();
}
static void starts_a_pipeline(void *bad) {
    const char *const no_program[] = {"/no/such/program", NULL};
    const char *const *const programs[] = {sleeps, sleeps, bad ? no_program : sleeps};
    weft_child_options options = {.pipes = WEFT_CHILD_IN | WEFT_CHILD_OUT, .flags = start_flags};
    int error = weft_pipeline_start(programs, 3, &options, child);
    EXPECT_EQ(error, bad ? WEFT_ENOENT : 0);
    for (unsigned i = 0; i < 3 && !error; i++)
        EXPECT_EQ(weft_defer(close_ends, &child[i]), 0);
    weft_sleep(3600 * WEFT_SECOND);
    expect_the_end();
}
/* The test starts no children but these. */
static bool has_children(void) { return waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD; }

static void kill_some(weft_entry entry, void *arg, unsigned flags, uint64_t seed) {
    struct rng rng;
    unsigned before = rt_descriptors();
    rng_seed(&rng, test_seed(seed), 0);
    start_flags = flags;
    for (unsigned i = 0; i < 24 * test_scale() / RT_SLOW; i++) {
        weft_pid pid = run_flags(entry, arg, WEFT_SPAWN_JOINABLE);
        rt_pause(rng_below(&rng, 3 * RT_MS));
        EXPECT_EQ(weft_kill(pid), 0);
        EXPECT_EQ(run_join(pid), WEFT_EKILLED);
        EXPECT(!has_children());
        EXPECT_EQ(rt_descriptors(), before);
    }
}
TEST_WITHIN(an_owner_that_is_killed_while_it_starts_leaves_nothing, 60) {
    rt_start("ring", 2);
    run(obeys, NULL); /* what the runtime itself opens for children is open */
    kill_some(starts_some, NULL, WEFT_CHILD_OWNED, 1);
    kill_some(starts_some, NULL, WEFT_CHILD_OWNED | WEFT_CHILD_GROUP, 2);
    kill_some(starts_some, NULL, WEFT_CHILD_OWNED | WEFT_CHILD_TERMINAL, 3);
    kill_some(starts_a_pipeline, NULL, WEFT_CHILD_OWNED, 4);
    kill_some(starts_a_pipeline, (void *)1, 0, 5); /* undone, owned or not */
    rt_wait_until_none_lives();
    rt_stop();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
