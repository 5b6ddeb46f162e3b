/* The real table's way to start a child: posix_spawn, which copies nothing of this program. */
#include "sys/sys_net.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

/* Signals as a new program expects them: none blocked, and SIGPIPE ends it, whatever this program does with SIGPIPE. */
static int linux_start_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, pipes;
    sigemptyset(&none);
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    int error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(attributes, &pipes);
    return error;
}

int linux_net_start(const char *const *arguments, const int ends[3], pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int before = errno, error = posix_spawn_file_actions_init(&actions);
    if (error) return -error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = linux_start_attributes(&attributes);
        for (int i = 0; i < 3 && !error; i++)
            if (ends[i] >= 0) error = posix_spawn_file_actions_adddup2(&actions, ends[i], i);
        if (!error) error = posix_spawnp(child, arguments[0], &actions, &attributes, (char *const *)(uintptr_t)arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    errno = before;
    return -error;
}
