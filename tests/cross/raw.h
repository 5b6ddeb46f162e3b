/* Descriptors as the operating system has them, so that any thread can complete a call by them: the kernel's; or, where the test is built for the
 * simulation, those of the simulated world, on which the C library's calls work as well. And a child of the operating system's. */
#ifndef WEFT_TESTS_CROSS_RAW_H
#define WEFT_TESTS_CROSS_RAW_H

#include "trial.h"

#include <spawn.h>
#include <sys/wait.h>

#if WEFT_TEST_SIM
#include "sys/sys_net.h"
#include "world/child.h"
#include "world/fd.h"
#include "world/net.h"

#include <weft/sim.h>
#endif

static inline int raw_blocks(int number, bool blocks) {
    int flags = fcntl(number, F_GETFL);
    EXPECT_EQ(fcntl(number, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK), 0);
    return number;
}
/* Another number for a descriptor of weft's: what the caller closes stays open for the completer. */
static inline int raw_of(weft_fd fd) {
    int number = fcntl(weft_fd_number(fd), F_DUPFD_CLOEXEC, 0);
    EXPECT(number >= 0);
    return raw_blocks(number, false);
}

#if WEFT_TEST_SIM

static inline void raw_pipe(int pair[2], bool blocks) {
    EXPECT_EQ(sim_net.pipe(pair), 0);
    for (unsigned i = 0; i < 2; i++)
        raw_blocks(pair[i], blocks);
}
static inline int raw_socket(int family, int type, bool blocks) {
    int number = sim_net.socket(family, type, 0);
    EXPECT(number >= 0);
    return raw_blocks(number, blocks);
}

static inline int raw_child_main(const char *const *arguments, const int ends[3]) {
    char data[16];
    (void)arguments;
    while (read(ends[0], data, sizeof data) > 0) {}
    return 3;
}
/* A child that ends with the status 3 when its input does. */
static inline pid_t raw_child(int *input) {
    weft_child child;
    EXPECT_EQ(weft_sim_child("reads", &(weft_sim_program){.main = raw_child_main}), 0);
    EXPECT_EQ(weft_child_start((const char *const[]){"reads", NULL}, WEFT_CHILD_IN, &child), 0);
    *input = raw_of(child.in);
    EXPECT_EQ(weft_fd_close(child.in), 0);
    return child.pid;
}
/* Or has been reaped. */
static inline bool raw_child_ended(pid_t child) {
    struct pollfd one = {.fd = sim_child_open(child), .events = POLLIN};
    if (one.fd < 0) return true;
    bool ended = sim_fd_poll(&one, 1, 0) > 0;
    EXPECT_EQ(sim_fd_close(one.fd), 0);
    return ended;
}

#else

static inline void raw_pipe(int pair[2], bool blocks) { EXPECT_EQ(pipe2(pair, O_CLOEXEC | (blocks ? 0 : O_NONBLOCK)), 0); }
static inline int raw_socket(int family, int type, bool blocks) {
    int number = socket(family, type | SOCK_CLOEXEC | (blocks ? 0 : SOCK_NONBLOCK), 0);
    EXPECT(number >= 0);
    return number;
}

static inline pid_t raw_child(int *input) {
    char *arguments[] = {"sh", "-c", "read line; exit 3", NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child;
    raw_pipe(ends, true);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    EXPECT_EQ(posix_spawn(&child, "/bin/sh", &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    *input = ends[1];
    return child;
}
static inline bool raw_child_ended(pid_t child) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

#endif

#endif
