/* The C library's own functions of which the simulation has one of the same name (sim/pthreads.c, sim/clock.c, sim/world/libc.c). */
#ifndef WEFT_SIM_REAL_H
#define WEFT_SIM_REAL_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#define SIM_REAL(X)                                                                                                                        \
    X(pthread_create, int, (pthread_t * thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *arg))                      \
    X(pthread_cancel, int, (pthread_t thread))                                                                                             \
    X(pthread_join, int, (pthread_t thread, void **result))                                                                                \
    X(pthread_mutex_lock, int, (pthread_mutex_t * mutex))                                                                                  \
    X(pthread_mutex_trylock, int, (pthread_mutex_t * mutex))                                                                               \
    X(pthread_mutex_timedlock, int, (pthread_mutex_t * mutex, const struct timespec *until))                                               \
    X(pthread_mutex_unlock, int, (pthread_mutex_t * mutex))                                                                                \
    X(pthread_cond_wait, int, (pthread_cond_t * cond, pthread_mutex_t * mutex))                                                            \
    X(pthread_cond_timedwait, int, (pthread_cond_t * cond, pthread_mutex_t * mutex, const struct timespec *until))                         \
    X(pthread_cond_clockwait, int, (pthread_cond_t * cond, pthread_mutex_t * mutex, clockid_t clock, const struct timespec *until))        \
    X(pthread_cond_signal, int, (pthread_cond_t * cond))                                                                                   \
    X(pthread_cond_broadcast, int, (pthread_cond_t * cond))                                                                                \
    X(pthread_rwlock_rdlock, int, (pthread_rwlock_t * lock))                                                                               \
    X(pthread_rwlock_tryrdlock, int, (pthread_rwlock_t * lock))                                                                            \
    X(pthread_rwlock_wrlock, int, (pthread_rwlock_t * lock))                                                                               \
    X(pthread_rwlock_trywrlock, int, (pthread_rwlock_t * lock))                                                                            \
    X(pthread_rwlock_unlock, int, (pthread_rwlock_t * lock))                                                                               \
    X(sem_wait, int, (sem_t * semaphore))                                                                                                  \
    X(sem_timedwait, int, (sem_t * semaphore, const struct timespec *until))                                                               \
    X(sem_trywait, int, (sem_t * semaphore))                                                                                               \
    X(sem_post, int, (sem_t * semaphore))                                                                                                  \
    X(clock_gettime, int, (clockid_t clock, struct timespec * time))                                                                       \
    X(clock_nanosleep, int, (clockid_t clock, int flags, const struct timespec *request, struct timespec *rest))                           \
    X(sched_yield, int, (void))                                                                                                            \
    X(read, ssize_t, (int number, void *data, size_t size))                                                                                \
    X(write, ssize_t, (int number, const void *data, size_t size))                                                                         \
    X(recv, ssize_t, (int number, void *data, size_t size, int flags))                                                                     \
    X(send, ssize_t, (int number, const void *data, size_t size, int flags))                                                               \
    X(close, int, (int number))                                                                                                            \
    X(shutdown, int, (int number, int how))                                                                                                \
    X(setsockopt, int, (int number, int level, int option, const void *value, socklen_t size))                                             \
    X(getsockopt, int, (int number, int level, int option, void *value, socklen_t *size))                                                  \
    X(fcntl, int, (int number, int command, ...))                                                                                          \
    X(bind, int, (int number, const struct sockaddr *address, socklen_t size))                                                             \
    X(listen, int, (int number, int backlog))                                                                                              \
    X(accept, int, (int number, struct sockaddr *address, socklen_t *size))                                                                \
    X(getsockname, int, (int number, struct sockaddr *address, socklen_t *size))                                                           \
    X(sendto, ssize_t, (int number, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length))           \
    X(sendmsg, ssize_t, (int number, const struct msghdr *message, int flags))                                                             \
    X(connect, int, (int number, const struct sockaddr *address, socklen_t size))                                                          \
    X(kill, int, (pid_t pid, int signal))

struct real {
#define X(name, type, arguments) type(*name) arguments;
    SIM_REAL(X)
#undef X
};

/* Finds them at the first call: constructors of other libraries may come before the simulation's. */
const struct real *real(void);

#endif
