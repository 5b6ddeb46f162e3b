/* What the tests of files share: processes that run one function, a folder of one's own, descriptors that are counted. */
#ifndef WEFT_TESTS_IO_HELPERS_H
#define WEFT_TESTS_IO_HELPERS_H

#include "runtime_helpers.h"

#include <weft/weft.h>

#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>

static atom_u64 io_done;

static inline weft_pid io_spawn(weft_entry entry, void *arg) {
    weft_pid pid = WEFT_NOBODY;
    EXPECT_EQ(weft_spawn_with(entry, arg, &(weft_stackful_options){.runtime = rt.runtime, .stack_size = 256 << 10}, &pid), 0);
    return pid;
}

/* Runs it in a process and waits for its end. */
static void (*io_body)(void);
static inline void io_run_body(void *arg) {
    (void)arg;
    io_body();
    atom_add_rel(&io_done, 1);
}
static inline void io_run(void (*body)(void)) {
    uint64_t before = atom_load_rlx(&io_done);
    io_body = body;
    io_spawn(io_run_body, NULL);
    rt_wait(&io_done, before + 1);
}

/* The runtime's poll is made with the first descriptor, and stays: for tests that count descriptors. */
static inline void io_use_poll(void) {
    weft_fd pair[2];
    EXPECT_EQ(weft_pipe(pair), 0);
    EXPECT_EQ(weft_fd_close(pair[0]), 0);
    EXPECT_EQ(weft_fd_close(pair[1]), 0);
}
static inline void io_make_poll(void) { io_run(io_use_poll); }

static char io_folder[64];
static inline void io_folder_begin(void) {
    strcpy(io_folder, "/tmp/weft-io-XXXXXX");
    EXPECT(mkdtemp(io_folder));
}
static inline void io_folder_end(void) { EXPECT_EQ(rmdir(io_folder), 0); /* and nothing is left in it */ }
/* One of a few that are in use at a time. */
static inline const char *io_path(const char *format, ...) {
    static char paths[8][128];
    static atom_u32 next;
    char *path = paths[atom_add_rlx(&next, 1) % 8];
    int length = snprintf(path, sizeof paths[0], "%s/", io_folder);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path + length, sizeof paths[0] - (size_t)length, format, arguments);
    va_end(arguments);
    return path;
}

/* Signals, a hundred thousand a second (an emulator would do nothing else), whose handler does nothing: every call of the system that can
 * be interrupted is. */
static timer_t io_storm;
static atom_u64 io_signals;
static void io_signal(int number) {
    (void)number;
    atom_add_rlx(&io_signals, 1);
}
static inline void io_storm_begin(void) {
    struct sigaction action = {.sa_handler = io_signal, .sa_flags = SA_ONSTACK}; /* and not SA_RESTART */
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    long pause = test_emulated() ? 5000000 : 10000;
    struct itimerspec every = {{0, pause}, {0, pause}};
    EXPECT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &io_storm), 0);
    EXPECT_EQ(timer_settime(io_storm, 0, &every, NULL), 0);
}
static inline void io_storm_end(void) {
    EXPECT_EQ(timer_delete(io_storm), 0);
    printf("%llu signals\n", (unsigned long long)atom_load_rlx(&io_signals));
}

/* Descriptors of the program, and that there are no more than before: for a moment there may be, when others look something up. */
static inline unsigned io_descriptors(void) {
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    EXPECT(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}
static inline void io_expect_descriptors(unsigned before) {
    for (unsigned patience = 0; io_descriptors() > before; patience++) {
        EXPECT(patience < 1000);
        usleep(500);
    }
}

#endif
