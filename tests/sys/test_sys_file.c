/* Files, descriptors and children of the outside-effects table: the real ones, and what the script can do to them. */
#include "scripted.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MS = 1000 * 1000 };

/* Errors are the result, and errno stays as it was. */
TEST(file_errors_are_results) {
    struct stat info;
    struct iovec part = {&info, sizeof info};
    struct pollfd none = {.fd = -1};
    errno = 77;
    EXPECT_EQ(sys->file->open("/nowhere/at/all", O_RDONLY, 0), -ENOENT);
    EXPECT_EQ(sys->file->close(-1), -EBADF);
    EXPECT_EQ(sys->file->read(-1, &part, 1, -1, false), -EBADF);
    EXPECT_EQ(sys->file->read(-1, &part, 1, 5, false), -EBADF);
    EXPECT_EQ(sys->file->read(-1, &part, 1, -1, true), -EBADF);
    EXPECT_EQ(sys->file->write(-1, &part, 1, -1, false), -EBADF);
    EXPECT_EQ(sys->file->sync(-1, false), -EBADF);
    EXPECT_EQ(sys->file->sync(-1, true), -EBADF);
    EXPECT_EQ(sys->file->truncate(-1, 0), -EBADF);
    EXPECT_EQ(sys->file->stat(-1, &info), -EBADF);
    EXPECT_EQ(sys->file->stat_path("/nowhere", &info, true), -ENOENT);
    EXPECT_EQ(sys->file->unlink("/nowhere", false), -ENOENT);
    EXPECT_EQ(sys->file->unlink("/nowhere", true), -ENOENT);
    EXPECT_EQ(sys->file->rename("/nowhere", "/nothing"), -ENOENT);
    EXPECT_EQ(sys->file->mkdir("/", 0), -EEXIST);
    EXPECT_EQ(sys->file->list(-1, &info, sizeof info), -EBADF);
    EXPECT_EQ(sys->file->poll(&none, 1, 0), 0);
    EXPECT(sys->file->child_open(0x7fffffff) < 0);
    EXPECT_EQ(sys->file->child_reap(getpid(), NULL), -ECHILD);
    EXPECT_EQ(errno, 77);
}

TEST(file_events_and_deadlines) {
    int event = sys->file->event_open();
    struct pollfd watched = {.fd = event, .events = POLLIN};
    EXPECT(event >= 0 && (fcntl(event, F_GETFD) & FD_CLOEXEC));
    EXPECT_EQ(sys->file->poll(&watched, 1, 0), 0);
    uint64_t deadline = sys->now() + 3 * MS;
    EXPECT_EQ(sys->file->poll(&watched, 1, deadline), 0);
    EXPECT(sys->now() >= deadline);
    sys->file->event_signal(event);
    sys->file->event_signal(event);
    EXPECT_EQ(sys->file->poll(&watched, 1, SYS_FOREVER), 1);
    EXPECT_EQ(sys->file->poll(&watched, 1, 0), 1); /* and stays so */
    EXPECT_EQ(sys->file->close(event), 0);
}

/* A pipe is asked not to block, where the kernel can; at offsets, and in parts. */
TEST(file_parts_and_offsets) {
    char left[3] = "abc", right[3] = "def", all[8] = {0};
    struct iovec parts[2] = {{left, 3}, {right, 3}}, one = {all, sizeof all};
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    int64_t n = sys->file->read(ends[0], &one, 1, -1, true);
    EXPECT(n == -EAGAIN || n == -EOPNOTSUPP);
    EXPECT_EQ(sys->file->write(ends[1], parts, 2, -1, false), 6);
    EXPECT_EQ(sys->file->read(ends[0], &one, 1, -1, n == -EAGAIN), 6);
    EXPECT(strcmp(all, "abcdef") == 0);
    EXPECT_EQ(sys->file->read(ends[0], &one, 1, 0, false), -ESPIPE);
    FILE *file = tmpfile();
    int fd = fileno(file);
    EXPECT_EQ(sys->file->write(fd, parts, 2, 4, false), 6);
    EXPECT_EQ(sys->file->read(fd, parts, 2, 5, false), 5);
    EXPECT(memcmp(left, "bcd", 3) == 0 && memcmp(right, "ef", 2) == 0);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
    fclose(file);
}

TEST(file_children) {
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            pause();
    }
    int status, watched = sys->file->child_open(pid);
    EXPECT_EQ(sys->file->child_reap(pid, &status), 0);
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    if (watched >= 0) {
        struct pollfd poll = {.fd = watched, .events = POLLIN};
        EXPECT_EQ(sys->file->poll(&poll, 1, SYS_FOREVER), 1);
        EXPECT_EQ(sys->file->close(watched), 0);
    }
    int ended;
    while ((ended = sys->file->child_reap(pid, &status)) == 0)
        usleep(100);
    EXPECT_EQ(ended, pid);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* ---- the script -------------------------------------------------------------------------------------------------------------- */

TEST(file_scripted_errors) {
    struct stat info;
    sys_scripted_install();
    EXPECT_EQ(sys->file->stat_path("/", &info, true), 0);
    sys_script.file[SYS_FILE_STAT_PATH].error = -EIO;
    EXPECT_EQ(sys->file->stat_path("/", &info, true), -EIO);
    EXPECT_EQ(sys->file->stat_path("/", &info, true), -EIO);
    sys_script.file[SYS_FILE_STAT_PATH].at = 5;
    EXPECT_EQ(sys->file->stat_path("/", &info, true), 0);
    EXPECT_EQ(sys->file->stat_path("/", &info, true), -EIO);
    EXPECT_EQ(sys->file->stat_path("/", &info, true), 0);
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.file[SYS_FILE_STAT_PATH]), 6);
    sys_scripted_recount();
    EXPECT_EQ(atom_load_rlx(&sys_script.counts.file[SYS_FILE_STAT_PATH]), 0);
    sys_scripted_reset();
    EXPECT(sys->file == &sys_linux_file);
}

TEST(file_scripted_interruptions_and_portions) {
    char data[10];
    struct iovec part = {data, sizeof data};
    sys_scripted_install();
    int fd = sys->file->open("/dev/zero", O_RDONLY, 0);
    sys_script.file_eintr_every = 2;
    EXPECT_EQ(sys->file->read(fd, &part, 1, -1, false), 10);
    EXPECT_EQ(sys->file->read(fd, &part, 1, -1, false), -EINTR);
    sys_script.file_eintr_every = 0;
    sys_script.file_most = 4;
    EXPECT_EQ(sys->file->read(fd, &part, 1, -1, false), 4);
    sys_script.nowait_refused = true;
    EXPECT_EQ(sys->file->read(fd, &part, 1, -1, true), -EOPNOTSUPP);
    sys_script.file[SYS_FILE_CLOSE].error = -EIO;
    EXPECT_EQ(sys->file->close(fd), -EIO);
    EXPECT_EQ(fcntl(fd, F_GETFD), -1); /* closed all the same */
    EXPECT_EQ(sys->file->close(fd), -EBADF);
    sys_scripted_reset();
}

/* The scripted clock reaches calls that wait for a descriptor. */
TEST(file_scripted_clock) {
    struct pollfd none = {.fd = -1};
    sys_scripted_install();
    sys_scripted_freeze();
    uint64_t now = sys->now();
    EXPECT_EQ(sys->file->poll(&none, 1, now), 0);
    sys_scripted_unfreeze();
    sys_scripted_jump(INT64_C(3600) * 1000 * MS);
    EXPECT_EQ(sys->file->poll(&none, 1, now + UINT64_C(3600) * 1000 * MS), 0); /* at once */
    sys_scripted_reset();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
