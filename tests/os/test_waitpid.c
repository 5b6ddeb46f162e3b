/* weft_waitpid: children that end, that take their time, that are not there. */
#include "io_helpers.h"

#include <weft/blocking.h>

#include <spawn.h>

enum { STATUS = 7 };

/* A child that waits until the descriptor is closed, and ends with STATUS. It does nothing that needs another thread. */
static pid_t child_until(int *close_me) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        char byte;
        close(ends[1]);
        while (read(ends[0], &byte, 1) < 0) {}
        _exit(STATUS);
    }
    close(ends[0]);
    *close_me = ends[1];
    return pid;
}
static pid_t child_at_once(int status) {
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) _exit(status);
    return pid;
}

static pid_t waited_for;
static uint64_t wait_deadline;
static int wait_result, wait_status;
static void waits(void *arg) {
    (void)arg;
    wait_status = -1;
    atom_add_rel(&io_done, 1);
    wait_result = weft_waitpid(waited_for, &wait_status, wait_deadline);
    atom_add_rel(&io_done, 1);
}
static weft_pid begin_waiting(pid_t pid, uint64_t deadline) {
    waited_for = pid;
    wait_deadline = deadline;
    atom_store_rlx(&io_done, 0);
    weft_pid process = io_spawn(waits, NULL);
    rt_wait(&io_done, 1);
    return process;
}
static int end_waiting(void) {
    rt_wait(&io_done, 2);
    return wait_result;
}

static void children(void) {
    int held;
    io_make_poll();
    unsigned descriptors = io_descriptors();
    pid_t pid = child_at_once(3);
    begin_waiting(pid, WEFT_FOREVER);
    EXPECT_EQ(end_waiting(), 0);
    EXPECT(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 3);
    begin_waiting(pid, WEFT_FOREVER);
    EXPECT_EQ(end_waiting(), WEFT_ECHILD); /* once only */

    pid = child_until(&held);
    begin_waiting(pid, 0);
    EXPECT_EQ(end_waiting(), WEFT_ETIMEDOUT);
    begin_waiting(pid, weft_in(4 * WEFT_MILLISECOND));
    EXPECT_EQ(end_waiting(), WEFT_ETIMEDOUT);
    weft_pid process = begin_waiting(pid, WEFT_FOREVER);
    rt_pause(3 * RT_MS);
    EXPECT_EQ(weft_cancel(process), 0);
    EXPECT_EQ(end_waiting(), WEFT_ECANCELED);
    begin_waiting(pid, weft_in(20 * WEFT_SECOND));
    rt_pause(3 * RT_MS);
    EXPECT_EQ(atom_load_acq(&io_done), 1);
    close(held);
    EXPECT_EQ(end_waiting(), 0);
    EXPECT(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == STATUS);

    pid = child_until(&held);
    begin_waiting(pid, WEFT_FOREVER);
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    EXPECT_EQ(end_waiting(), 0);
    EXPECT(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL);
    close(held);

    static const pid_t no_child[] = {0, -1, -5};
    for (unsigned i = 0; i < 3; i++) {
        begin_waiting(no_child[i], WEFT_FOREVER);
        EXPECT_EQ(end_waiting(), WEFT_EINVAL);
    }
    begin_waiting(1, WEFT_FOREVER);
    EXPECT_EQ(end_waiting(), WEFT_ECHILD);
    io_expect_descriptors(descriptors);
}
TEST(child_is_waited_for) { rt_each(children); }

static void children_without_descriptors(void) {
    sys_script.file[SYS_FILE_CHILD_OPEN].error = -ENOSYS;
    children();
    sys_script.file[SYS_FILE_CHILD_OPEN].error = 0;
}
TEST(child_where_the_kernel_cannot_tell) { rt_each(children_without_descriptors); }

static void unheld(void) {
    int held;
    pid_t pid = child_until(&held);
    for (unsigned i = 0; i < 2; i++) {
        begin_waiting(pid, i == 0 ? weft_in(3 * WEFT_MILLISECOND) : WEFT_FOREVER);
        if (i == 0) EXPECT_EQ(end_waiting(), WEFT_ETIMEDOUT);
    }
    close(held);
    EXPECT_EQ(end_waiting(), 0);
}
static void children_unheld(void) {
    static const int refusals[] = {-ENOSPC, -ENOMEM, -EPERM};
    io_make_poll();
    for (unsigned i = 0; i < 3; i++) {
        sys_script.net[SYS_NET_POLL_CHANGE].error = refusals[i];
        unheld();
        sys_script.net[SYS_NET_POLL_CHANGE].error = 0;
    }
}
TEST(child_that_the_poller_cannot_hold) { rt_each(children_unheld); }

static void children_interrupted(void) {
    sys_script.file_eintr_every = sys_script.net_eintr_every = 2;
    children();
    sys_script.file_eintr_every = sys_script.net_eintr_every = 0;
}
TEST(child_interrupted_calls_go_on) { rt_each(children_interrupted); }

TEST(child_from_a_thread) {
    int status;
    EXPECT_EQ(weft_waitpid(child_at_once(9), &status, WEFT_FOREVER), 0);
    EXPECT_EQ(WEXITSTATUS(status), 9);
    EXPECT_EQ(weft_waitpid(child_at_once(9), NULL, WEFT_FOREVER), 0);
}

static void every_error(void) {
    int held;
    pid_t pid = child_until(&held);
    for (int code = 1; code < 134; code++) {
        if (code == EINTR) continue;
        sys_script.file[SYS_FILE_CHILD_REAP].error = -code;
        EXPECT_EQ(weft_waitpid(pid, NULL, WEFT_FOREVER), -code);
        sys_script.file[SYS_FILE_CHILD_REAP].error = 0;
    }
    close(held);
    EXPECT_EQ(weft_waitpid(pid, NULL, WEFT_FOREVER), 0);
}
TEST(child_every_error) {
    sys_scripted_install();
    every_error();
}

/* Between the look and the opening another thread waits for it, and its number is given to another, which does not end. */
TEST(child_whose_number_is_a_strangers) {
    int held;
    pid_t stranger = child_until(&held);
    sys_scripted_install();
    sys_script.file[SYS_FILE_CHILD_REAP].error = -ECHILD;
    sys_script.file[SYS_FILE_CHILD_REAP].at = 2;
    EXPECT_EQ(weft_waitpid(stranger, NULL, weft_in(20 * WEFT_SECOND)), WEFT_ECHILD);
    sys_script.file[SYS_FILE_CHILD_REAP].error = 0;
    close(held);
    EXPECT_EQ(weft_waitpid(stranger, NULL, WEFT_FOREVER), 0);
}

/* No thread is left: none is needed. */
static int reader_ends[2];
static void reads_one(void *arg) {
    char got;
    (void)arg;
    atom_add_rel(&io_done, 1);
    EXPECT_EQ(read(reader_ends[0], &got, 1), 1);
}
static void has_a_thread(void *arg) {
    int error;
    (void)arg;
    while ((error = weft_blocking_long(reads_one, NULL)) == WEFT_EAGAIN) /* on a busy machine an extra worker has the thread for a while */
        weft_sleep(WEFT_MILLISECOND);
    EXPECT_EQ(error, 0);
    atom_add_rel(&io_done, 1);
}
static void at_the_limit(const char *policy, unsigned workers) {
    int held;
    if (workers != 2) return;
    rt_start_with(&(weft_config){.policy = policy, .workers = 1, .seed = 1, .max_threads = 2, .at_max_threads = "error"});
    EXPECT_EQ(pipe2(reader_ends, O_CLOEXEC), 0);
    atom_store_rlx(&io_done, 0);
    io_spawn(has_a_thread, NULL);
    rt_wait(&io_done, 1);
    pid_t ended = child_at_once(4), lives = child_until(&held);
    siginfo_t info;
    EXPECT_EQ(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT), 0);
    begin_waiting(ended, 0);
    EXPECT_EQ(end_waiting(), 0);
    EXPECT_EQ(WEXITSTATUS(wait_status), 4);
    begin_waiting(lives, 0);
    EXPECT_EQ(end_waiting(), WEFT_ETIMEDOUT);
    begin_waiting(lives, WEFT_FOREVER);
    rt_pause(3 * RT_MS);
    EXPECT_EQ(atom_load_acq(&io_done), 1);
    close(held);
    EXPECT_EQ(end_waiting(), 0);
    EXPECT_EQ(WEXITSTATUS(wait_status), STATUS);
    EXPECT_EQ(write(reader_ends[1], "x", 1), 1);
    rt_wait(&io_done, 3);
    rt_stop();
    close(reader_ends[0]);
    close(reader_ends[1]);
}
TEST(child_at_the_limit_of_threads) { rt_cases(at_the_limit); }

/* Many at once, each with a process that waits for it: more than workers. */
enum { MANY = 24 };
static pid_t pids[MANY];
static void waits_for_one(void *arg) {
    int status;
    EXPECT_EQ(weft_waitpid(pids[(uintptr_t)arg], &status, WEFT_FOREVER), 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
    atom_add_rel(&io_done, 1);
}
static void many(void) {
    int held[MANY];
    if (test_emulated()) return; /* an emulator whose threads are busy may fork a child that hangs */
    atom_store_rlx(&io_done, 0);
    for (uintptr_t i = 0; i < MANY; i++) {
        pids[i] = child_until(&held[i]);
        io_spawn(waits_for_one, (void *)i);
    }
    rt_pause(2 * RT_MS);
    EXPECT_EQ(atom_load_rlx(&io_done), 0);
    for (unsigned i = 0; i < MANY; i++)
        close(held[i]);
    rt_wait(&io_done, MANY);
}
TEST(child_many_at_once) { rt_each(many); }

/* A child takes no thread: with many more of them than there may be threads, the other processes go on. */
static void goes_on(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 50; i++)
        EXPECT_EQ(weft_sleep(WEFT_MILLISECOND / 10), 0);
    atom_add_rel(&io_done, 1);
}
static void beyond_threads(const char *policy, unsigned workers) {
    int held[MANY];
    if (workers != 2 || test_emulated()) return; /* as above */
    rt_start_with(&(weft_config){.policy = policy, .workers = 2, .seed = 1, .max_threads = 4});
    atom_store_rlx(&io_done, 0);
    for (uintptr_t i = 0; i < MANY; i++) {
        pids[i] = child_until(&held[i]);
        io_spawn(waits_for_one, (void *)i);
    }
    rt_pause(20 * RT_MS);
    io_spawn(goes_on, NULL);
    rt_wait(&io_done, 1);
    for (unsigned i = 0; i < MANY; i++)
        close(held[i]);
    rt_wait(&io_done, 1 + MANY);
    rt_stop();
}
TEST(child_takes_no_thread) { rt_cases(beyond_threads); }

/* As programs do it: a process starts another program, and waits for it. */
static void starts_a_program(void *arg) {
    char *const quiet[] = {"sh", "-c", "exit 5", NULL};
    pid_t pid;
    int status;
    (void)arg;
    EXPECT_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, quiet, environ), 0);
    EXPECT_EQ(weft_waitpid(pid, &status, WEFT_FOREVER), 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    atom_add_rel(&io_done, 1);
}
static void programs(void) {
    if (test_emulated()) return; /* as above */
    atom_store_rlx(&io_done, 0);
    for (unsigned i = 0; i < 8; i++)
        io_spawn(starts_a_program, NULL);
    rt_wait(&io_done, 8);
}
TEST(child_programs_of_processes) { rt_each(programs); }
static void programs_in_a_storm(void) {
    if (rt.workers != 2) return; /* it is a storm */
    io_storm_begin();
    programs();
    children();
    io_storm_end();
}
TEST(child_in_a_storm_of_signals) { rt_each(programs_in_a_storm); }

int main(int argc, char **argv) { return test_main(argc, argv); }
