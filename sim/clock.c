/* The program's own clocks and sleeps, by the names that the C library has for them: virtual time. So code that knows nothing of the
 * simulation takes part in it.
 *
 * All clocks are one: those that count from the start of the machine, and the time of day, which is later by CLOCK_DAY seconds. */
#include "clock.h"

#include "real.h"
#include "sim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>

#define CLOCK_SECOND UINT64_C(1000000000)
#define CLOCK_DAY UINT64_C(1800000000) /* a day in 2027 */

static uint64_t clock_length(const struct timespec *time) {
    uint64_t seconds = (uint64_t)time->tv_sec;
    return seconds > SIM_FOREVER / CLOCK_SECOND - 1 ? SIM_FOREVER : seconds * CLOCK_SECOND + (uint64_t)time->tv_nsec;
}

uint64_t clock_moment(const struct timespec *time) {
    uint64_t seconds = (uint64_t)time->tv_sec;
    if (time->tv_sec < 0) return 0;
    if (seconds >= CLOCK_DAY) seconds -= CLOCK_DAY;
    return clock_length(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = time->tv_nsec});
}

static bool clock_is_of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI || clock == CLOCK_REALTIME_ALARM;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    struct sim_thread *me = sim_me();
    if (!me) return real()->clock_gettime(clock, time);
    uint64_t now = sim_now();
    if (clock < 0 || clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_PROCESS_CPUTIME_ID) now = me->time;
    time->tv_sec = (time_t)(now / CLOCK_SECOND + (clock_is_of_day(clock) ? CLOCK_DAY : 0));
    time->tv_nsec = (long)(now % CLOCK_SECOND);
    return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
    struct timespec now;
    (void)zone;
    int error = clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return error;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

/* Where pthread_cancel ends a thread. */
static void clock_sleep(uint64_t moment) {
    struct sim_thread *me = sim_me();
    sim_effect("sleep", moment - sim_now());
    pthread_testcancel();
    while (sim_now() < moment) {
        sim_block("a sleep of the program's", me, moment);
        pthread_testcancel();
    }
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *rest) {
    if (!sim_me()) return real()->clock_nanosleep(clock, flags, request, rest);
    if (request->tv_nsec < 0 || request->tv_nsec >= (long)CLOCK_SECOND || request->tv_sec < 0) return EINVAL;
    clock_sleep(flags & TIMER_ABSTIME ? clock_moment(request) : sim_in(clock_length(request)));
    return 0;
}

int nanosleep(const struct timespec *request, struct timespec *rest) {
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, request, rest);
    if (error) errno = error;
    return error ? -1 : 0;
}

int usleep(useconds_t time) {
    return nanosleep(&(struct timespec){.tv_sec = time / 1000000, .tv_nsec = (long)(time % 1000000) * 1000}, NULL);
}

unsigned sleep(unsigned seconds) {
    nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
    return 0;
}

int sched_yield(void) {
    if (!sim_me()) return real()->sched_yield();
    sim_spin();
    return 0;
}
