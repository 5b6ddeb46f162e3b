/* A thread's alarms, against what the kernel promises. */
#include "sys/sys.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 1000 * 1000 };

/* ---- timers ------------------------------------------------------------------------------------------------------------ */

static atom_u64 rings;
static void rung(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &sys) atom_add_rlx(&rings, 1);
}
static void wait_for_ring(uint64_t ring) {
    while (atom_load_rlx(&rings) < ring) {}
}

TEST(alarm_rings_once_when_its_time_has_come) {
    sys_alarm alarm, other;
    struct sigaction action = {.sa_sigaction = rung, .sa_flags = SA_SIGINFO};
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    errno = 77;
    EXPECT_EQ(sys->alarm_make(&alarm, SYS_ALARM_ANYWHERE, SIGUSR1), 0);
    EXPECT_EQ(sys->alarm_make(&other, SYS_ALARM_ANYWHERE, SIGUSR1), 0);
    uint64_t at = sys->now() + 5 * MS;
    sys->alarm_set(&alarm, at + UINT64_C(3600000) * MS);
    sys->alarm_set(&alarm, at); /* and not in an hour */
    wait_for_ring(1);
    EXPECT(sys->now() >= at);
    sys->alarm_set(&alarm, 1); /* past */
    wait_for_ring(2);
    sys->alarm_set(&alarm, sys->now() + 20 * MS);
    sys->alarm_drop(&alarm);
    sys->alarm_set(&other, sys->now() + 40 * MS);
    wait_for_ring(3);
    EXPECT_EQ(atom_load_rlx(&rings), 3);
    sys->alarm_drop(&other);
    EXPECT_EQ(errno, 77);
}

static void *makes_an_alarm(void *arg) {
    sys_alarm *alarm = arg;
    EXPECT_EQ(sys->alarm_make(alarm, SYS_ALARM_ANYWHERE, SIGUSR1), 0);
    sys->alarm_set(alarm, sys->now() + 5 * MS);
    pause();
    EXPECT_EQ(atom_load_rlx(&rings), 1);
    return NULL;
}
TEST(alarm_interrupts_the_thread_that_made_it) {
    sys_alarm alarm;
    pthread_t thread;
    struct sigaction action = {.sa_sigaction = rung, .sa_flags = SA_SIGINFO};
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    EXPECT_EQ(pthread_create(&thread, NULL, makes_an_alarm, &alarm), 0);
    EXPECT_EQ(pthread_join(thread, NULL), 0);
    sys->alarm_drop(&alarm);
}

TEST(alarm_is_refused) {
    sys_alarm alarm = {0};
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){0, 0}), 0);
    struct rlimit descriptors;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, descriptors.rlim_max}), 0);
    errno = 77;
    EXPECT_EQ(sys->alarm_make(&alarm, SYS_ALARM_ANYWHERE, SIGUSR1), -EAGAIN);
    EXPECT(sys->alarm_make(&alarm, SYS_ALARM_COMPUTING, SIGUSR1) < 0); /* EMFILE, or EACCES and the like where the kernel allows none */
    EXPECT_EQ(alarm.kind, SYS_ALARM_NONE);
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
}

/* ---- alarms that count the time that a thread computes for ------------------------------------------------------------- */

static sys_alarm clock_alarm;
static void clock_rung(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    if (!sys_alarm_rang(&clock_alarm, info)) return;
    atom_add_rlx(&rings, 1);
}
static bool clock_begin(void) {
    struct sigaction action = {.sa_sigaction = clock_rung, .sa_flags = SA_SIGINFO};
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    int error = sys->alarm_make(&clock_alarm, SYS_ALARM_COMPUTING, SIGUSR1);
    if (error) printf("note: the kernel allows no alarms that count computing time: %s\n", strerror(-error));
    return !error;
}
static void compute_for(uint64_t time) {
    for (uint64_t until = sys->now() + time; sys->now() < until;) {}
}

TEST(computing_alarm_rings_when_its_time_has_come) {
    if (!clock_begin()) return;
    errno = 77;
    uint64_t at = sys->now() + 5 * MS;
    sys->alarm_set(&clock_alarm, at + UINT64_C(3600000) * MS);
    sys->alarm_set(&clock_alarm, at); /* and not in an hour */
    wait_for_ring(1);
    EXPECT(sys->now() >= at);
    sys->alarm_set(&clock_alarm, sys->now() + 5 * MS);
    compute_for(2 * MS);
    at = sys->now() + 5 * MS;
    sys->alarm_set(&clock_alarm, at); /* the time that it has counted is forgotten */
    wait_for_ring(2);
    EXPECT(sys->now() >= at);
    sys->alarm_set(&clock_alarm, 1); /* past */
    wait_for_ring(3);
    sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
    sys->alarm_set(&clock_alarm, 0);
    compute_for(10 * MS);
    sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
    sys->alarm_drop(&clock_alarm);
    compute_for(10 * MS);
    EXPECT_EQ(atom_load_rlx(&rings), 3); /* each has rung once */
    EXPECT_EQ(errno, 77);
}

enum { CLOCK_PIPED = 500000 };
static void *clock_drains(void *arg) {
    static char some[16 << 10];
    while (read(*(int *)arg, some, sizeof some) > 0)
        usleep(200);
    return NULL;
}
/* It waits until the thread computes again: calls that sleep are not interrupted, and transfers not cut short. */
TEST(computing_alarm_does_not_ring_in_a_system_call) {
    static char all[CLOCK_PIPED];
    struct timespec time = {0, 20 * 1000 * 1000};
    pthread_t reader;
    int ends[2];
    if (!clock_begin()) return;
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(pthread_create(&reader, NULL, clock_drains, &ends[0]), 0);
    for (unsigned i = 0; i < 20; i++) {
        sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
        EXPECT_EQ(nanosleep(&time, NULL), 0);
        EXPECT_EQ(write(ends[1], all, sizeof all), (ssize_t)sizeof all);
        EXPECT_EQ(atom_load_rlx(&rings), i);
        wait_for_ring(i + 1);
    }
    sys->alarm_drop(&clock_alarm);
    close(ends[1]);
    pthread_join(reader, NULL);
    close(ends[0]);
}

/* A child of fork has the descriptor too: the alarm is gone all the same. */
TEST(computing_alarm_dropped_beside_a_child) {
    int ends[2];
    if (!clock_begin()) return;
    EXPECT_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
    sys->alarm_drop(&clock_alarm);
    compute_for(10 * MS);
    EXPECT_EQ(atom_load_rlx(&rings), 0);
    close(ends[1]);
    int status;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

/* The program has closed the descriptor, and its number is that of a file of its own now. */
TEST(computing_alarm_whose_descriptor_is_another_file) {
    int ends[2];
    if (!clock_begin()) return;
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_EQ(dup2(ends[1], clock_alarm.number), clock_alarm.number);
    sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
    compute_for(10 * MS);
    int number = clock_alarm.number;
    sys->alarm_drop(&clock_alarm);
    EXPECT_EQ(write(number, "x", 1), 1);
    EXPECT_EQ(atom_load_rlx(&rings), 0);
}

/* The program has closed 0, 1 and 2: they are not for weft. */
TEST(computing_alarm_is_no_standard_descriptor) {
    int kept = dup(0);
    close(0);
    if (clock_begin()) {
        EXPECT(clock_alarm.number >= 3);
        EXPECT_EQ(fcntl(0, F_GETFD), -1);
        sys->alarm_drop(&clock_alarm);
    }
    if (kept >= 0) dup2(kept, 0);
}

/* Half of the descriptors are the program's. */
TEST(computing_alarm_leaves_descriptors) {
    struct rlimit before;
    if (!clock_begin()) return;
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){2 * (rlim_t)(clock_alarm.number + 1), before.rlim_max}), 0);
    sys_alarm other = {0};
    EXPECT_EQ(sys->alarm_make(&other, SYS_ALARM_COMPUTING, SIGUSR1), -EMFILE);
    EXPECT_EQ(fcntl(clock_alarm.number + 1, F_GETFD), -1);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    sys->alarm_drop(&clock_alarm);
}

/* A filter that ends the program for the call is not put to the test. */
TEST(computing_alarm_under_a_filter) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        printf("note: the kernel has no filters\n");
        return;
    }
    EXPECT_EQ(sys->alarm_make(&clock_alarm, SYS_ALARM_COMPUTING, SIGUSR1), -EPERM);
}

/* A ring whose signal was lost beside one that was pending: the clock stops at the next. */
TEST(computing_alarm_after_a_lost_signal) {
    if (!clock_begin()) return;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
    compute_for(10 * MS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    EXPECT_EQ(atom_load_rlx(&rings), 0);
    sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
    wait_for_ring(1);
    compute_for(20 * MS);
    EXPECT_EQ(atom_load_rlx(&rings), 1);
    sys->alarm_set(&clock_alarm, sys->now() + 2 * MS);
    wait_for_ring(2);
    compute_for(20 * MS);
    EXPECT_EQ(atom_load_rlx(&rings), 2);
    sys->alarm_drop(&clock_alarm);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
