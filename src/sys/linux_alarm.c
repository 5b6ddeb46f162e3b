/* A thread's alarms: one counts the time that the thread computes for (perf events), the other is a timer of the kernel's. */
#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ns. The kernel allows 10,000; but then a virtual machine may be busy with the clock's interrupts alone: the next one comes before the signal of the first is delivered (2 to 4 ms were seen). */
enum { ALARM_SOONEST = 50000 };

/* ---- while the thread computes ---------------------------------------------------------------------------------------- */

/* A clock that stands still while the thread has no CPU. In the kernel it does not ring: `exclude_kernel`, which is also what lets a program without privileges have it. */
static int alarm_open(void) {
    struct perf_event_attr clock = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof clock,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = UINT64_C(1000000000),
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .wakeup_events = 1,
    };
    return (int)syscall(SYS_perf_event_open, &clock, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}
/* At least half of the program's descriptors are left to it; and 0 to 2, which it may have closed. */
static int alarm_move(int fd) {
    struct rlimit most;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3), error = moved < 0 ? -errno : 0;
    close(fd);
    if (error || getrlimit(RLIMIT_NOFILE, &most) != 0 || (rlim_t)moved < most.rlim_cur / 2) return error ? error : moved;
    close(moved);
    return -EMFILE;
}
static int alarm_make_computing(sys_alarm *alarm, int signal) {
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
    /* A filter may end the program for a call that it does not expect, as systemd's do. */
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0) return -EPERM;
    int fd = alarm_open();
    if (fd < 0) return -errno;
    if ((fd = alarm_move(fd)) < 0) return fd;
    if (fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 || fcntl(fd, F_SETSIG, signal) != 0 || fcntl(fd, F_SETOWN_EX, &owner) != 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    *alarm = (sys_alarm){.number = fd, .kind = SYS_ALARM_COMPUTING};
    ioctl(fd, PERF_EVENT_IOC_ID, &alarm->id);
    return 0;
}

/* Each PERF_EVENT_IOC_REFRESH is a ring more: so only if none is owed. */
static void alarm_set_computing(sys_alarm *alarm, uint64_t at) {
    if (at == 0) {
        ioctl(alarm->number, PERF_EVENT_IOC_DISABLE, 0);
        return;
    }
    uint64_t now = sys->now(), ahead = at > now + ALARM_SOONEST ? at - now : ALARM_SOONEST;
    if (ioctl(alarm->number, PERF_EVENT_IOC_PERIOD, &ahead) != 0) return;
    if (alarm->rings) ioctl(alarm->number, PERF_EVENT_IOC_ENABLE, 0);
    else alarm->rings = ioctl(alarm->number, PERF_EVENT_IOC_REFRESH, 1) == 0;
}
/* Its last ring is a hang-up. If the signal of that was lost beside another one that was pending, a ring seemed to be owed, and the clock is without a limit now. */
static bool alarm_rang_computing(sys_alarm *alarm, const siginfo_t *info) {
    if ((info->si_code != POLL_IN && info->si_code != POLL_HUP) || info->si_fd != alarm->number) return false;
    if (info->si_code == POLL_IN) ioctl(alarm->number, PERF_EVENT_IOC_DISABLE, 0);
    alarm->rings = false;
    return true;
}

/* A child of fork may have the descriptor too. If the program has closed it, its number may be that of a file of the program's by now. */
static void alarm_drop_computing(sys_alarm *alarm) {
    uint64_t id = 0;
    if (ioctl(alarm->number, PERF_EVENT_IOC_ID, &id) != 0 || id != alarm->id) return;
    ioctl(alarm->number, PERF_EVENT_IOC_DISABLE, 0);
    close(alarm->number);
}

/* ---- whatever the thread does ----------------------------------------------------------------------------------------- */

/* The kernel's timers without the C library, whose timer_create allocates: the caller may have interrupted malloc. */
static int alarm_make_anywhere(sys_alarm *alarm, int signal) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
    event.sigev_value.sival_ptr = &sys;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid); /* sigev_notify_thread_id, where the C library has that name */
    int timer;
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return -errno;
    *alarm = (sys_alarm){.number = timer, .kind = SYS_ALARM_ANYWHERE};
    return 0;
}
static void alarm_set_anywhere(int timer, uint64_t at) {
    struct itimerspec when = {.it_value = {(time_t)(at / UINT64_C(1000000000)), (long)(at % UINT64_C(1000000000))}};
    syscall(SYS_timer_settime, timer, TIMER_ABSTIME, &when, NULL);
}

/* ---- both ------------------------------------------------------------------------------------------------------------- */

int linux_alarm_make(sys_alarm *alarm, enum sys_alarm_kind kind, int signal) {
    int before = errno;
    int error = kind == SYS_ALARM_COMPUTING ? alarm_make_computing(alarm, signal) : alarm_make_anywhere(alarm, signal);
    errno = before;
    return error;
}

void linux_alarm_set(sys_alarm *alarm, uint64_t at) {
    int before = errno;
    if (alarm->kind == SYS_ALARM_COMPUTING) alarm_set_computing(alarm, at);
    else alarm_set_anywhere(alarm->number, at);
    errno = before;
}

void linux_alarm_drop(sys_alarm *alarm) {
    int before = errno;
    if (alarm->kind == SYS_ALARM_COMPUTING) alarm_drop_computing(alarm);
    else syscall(SYS_timer_delete, alarm->number);
    alarm->kind = SYS_ALARM_NONE;
    errno = before;
}

bool sys_alarm_rang(sys_alarm *alarm, const void *siginfo) {
    const siginfo_t *info = siginfo;
    if (info->si_code == SI_TIMER) return info->si_value.sival_ptr == &sys;
    return alarm && alarm->kind == SYS_ALARM_COMPUTING && alarm_rang_computing(alarm, info);
}
