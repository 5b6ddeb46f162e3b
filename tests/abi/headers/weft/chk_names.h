/* Included by force (`-include weft/chk_names.h`) before every file that the model checker explores: functions of the C library that the checker
 * supplies, because it must see what they do, and those that it refuses, because they would block or start something behind its back. Nothing else
 * includes this. docs/checking-your-code.md lists them. */
#ifndef WEFT_CHK_NAMES_H
#define WEFT_CHK_NAMES_H

/* The race detector's library does not know fences; the checker does. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#pragma GCC diagnostic ignored "-Wtsan"
#endif

/* Memory: accesses that the compiler does not report, and the heap. */
#define memcpy chk_memcpy
#define memmove chk_memmove
#define memset chk_memset
#define memcmp chk_memcmp
#define malloc chk_malloc
#define calloc chk_calloc
#define realloc chk_realloc
#define free chk_free
#define aligned_alloc chk_aligned_alloc
#define posix_memalign chk_posix_memalign

/* Endings. */
#define __assert_fail chk_assert_fail
#define abort chk_abort
#define exit chk_exit
#define _exit chk__exit

/* Mutexes. */
#define pthread_mutex_init chk_pthread_mutex_init
#define pthread_mutex_destroy chk_pthread_mutex_destroy
#define pthread_mutex_lock chk_pthread_mutex_lock
#define pthread_mutex_trylock chk_pthread_mutex_trylock
#define pthread_mutex_unlock chk_pthread_mutex_unlock
#define mtx_init chk_mtx_init
#define mtx_destroy chk_mtx_destroy
#define mtx_lock chk_mtx_lock
#define mtx_trylock chk_mtx_trylock
#define mtx_unlock chk_mtx_unlock

/* Time passes at once. */
#define sched_yield chk_sched_yield
#define thrd_yield chk_thrd_yield
#define sleep chk_sleep
#define usleep chk_usleep
#define nanosleep chk_nanosleep
#define thrd_sleep chk_thrd_sleep

/* A file's own main is not called. */
#define main chk_unused_main

/* Refused when called. */
#define pthread_create chk_refuse_pthread_create
#define pthread_join chk_refuse_pthread_join
#define pthread_self chk_refuse_pthread_self
#define pthread_once chk_refuse_pthread_once
#define pthread_cond_wait chk_refuse_pthread_cond_wait
#define pthread_cond_timedwait chk_refuse_pthread_cond_timedwait
#define pthread_cond_signal chk_refuse_pthread_cond_signal
#define pthread_cond_broadcast chk_refuse_pthread_cond_broadcast
#define pthread_rwlock_rdlock chk_refuse_pthread_rwlock_rdlock
#define pthread_rwlock_wrlock chk_refuse_pthread_rwlock_wrlock
#define pthread_spin_lock chk_refuse_pthread_spin_lock
#define pthread_barrier_wait chk_refuse_pthread_barrier_wait
#define sem_wait chk_refuse_sem_wait
#define sem_post chk_refuse_sem_post
#define thrd_create chk_refuse_thrd_create
#define thrd_join chk_refuse_thrd_join
#define thrd_current chk_refuse_thrd_current
#define call_once chk_refuse_call_once
#define cnd_wait chk_refuse_cnd_wait
#define cnd_signal chk_refuse_cnd_signal
#define cnd_broadcast chk_refuse_cnd_broadcast
#define syscall chk_refuse_syscall
#define fork chk_refuse_fork

#endif
