/* A thread's alarm: a signal that the thread has the kernel send to itself. Part of the outside-effects table.
 *
 *   kind        rings                                                     there is none
 *   COMPUTING   where the thread computes in the program's or weft's      where the kernel allows no perf events (kernel.perf_event_paranoid
 *               code, and in no system call: once the thread has had      above 2), under a seccomp filter, and when half of the descriptors
 *               a CPU for as long as the moment was ahead                 are used
 *   ANYWHERE    once the moment has come, whether the thread computes     at the limit of pending signals
 *               or sleeps in a system call, which is interrupted */
#ifndef WEFT_SYS_SYS_ALARM_H
#define WEFT_SYS_SYS_ALARM_H

#include <stdbool.h>
#include <stdint.h>

enum sys_alarm_kind { SYS_ALARM_NONE, SYS_ALARM_COMPUTING, SYS_ALARM_ANYWHERE };
typedef struct sys_alarm {
    int number; /* a descriptor, a timer */
    enum sys_alarm_kind kind;
    bool rings;  /* COMPUTING: the kernel still owes a ring */
    uint64_t id; /* likewise, the kernel's */
} sys_alarm;

/* In the handler, with its siginfo_t: whether the signal is that of the thread's alarm. An alarm of the kind ANYWHERE is known also when it has been dropped. */
bool sys_alarm_rang(sys_alarm *alarm, const void *siginfo);

/* linux_alarm.c */
int linux_alarm_make(sys_alarm *alarm, enum sys_alarm_kind kind, int signal);
void linux_alarm_set(sys_alarm *alarm, uint64_t at);
void linux_alarm_drop(sys_alarm *alarm);

#endif
