/* Mutex, condition, semaphore, read-write lock, once, wait group, barrier, rate limiter: for processes, and for threads that are not workers.
 *
 * A caller that has to wait parks: a process gives its worker to other processes, a thread sleeps. Step processes must not wait; what can
 * be done at once they may do, with the deadline 0.
 *
 * Calls that may wait take a deadline: a moment of the monotonic clock (weft_in(...)), WEFT_FOREVER for none, 0 for "only if it can be done
 * at once". They return 0, or WEFT_ETIMEDOUT, or WEFT_ECANCELED when the process has been cancelled and it cannot be done at once, whatever
 * the deadline (weft/stackful.h); then nothing has happened. Waiters are served in the order in which they came.
 *
 * All of these are plain memory: zeroed is ready for use, and so are the WEFT_..._INIT. There is nothing to destroy. The memory may be
 * freed, or used for something else, when there are no waiters and no more calls will be made. A waiter that was let in by another caller
 * (by its unlock, its release, the last done) need not wait for that call's return. They are not to be copied or moved. */
#ifndef WEFT_SYNC_H
#define WEFT_SYNC_H

#include <weft/time.h>

WEFT_BEGIN

/* ---- mutex ---------------------------------------------------------------------------------------------------------
 * Unlocking hands it to the waiter that has waited longest. Not recursive. Belongs to the process, or thread, that locked it; builds with
 * debug assertions abort when another one unlocks it, or when its owner locks it again. */
typedef struct weft_mutex {
    uint64_t opaque[6];
} weft_mutex;
#define WEFT_MUTEX_INIT                                                                                                                    \
    {                                                                                                                                      \
        { 0 }                                                                                                                              \
    }

WEFT_API int weft_mutex_lock(weft_mutex *mutex, uint64_t deadline);
WEFT_API void weft_mutex_unlock(weft_mutex *mutex);

/* ---- condition -----------------------------------------------------------------------------------------------------
 * The caller holds the mutex, and holds it again when the call returns, for whatever reason; getting it back is bound by no deadline and
 * ended by no cancellation. There are no spurious wake-ups, but another process may have held the mutex first: check the condition again. A
 * signal is never lost on a waiter that gives up at the same moment: it goes to the next waiter, or the call returns 0. */
typedef struct weft_cond {
    uint64_t opaque[6];
} weft_cond;
#define WEFT_COND_INIT                                                                                                                     \
    {                                                                                                                                      \
        { 0 }                                                                                                                              \
    }

WEFT_API int weft_cond_wait(weft_cond *cond, weft_mutex *mutex, uint64_t deadline);
WEFT_API void weft_cond_signal(weft_cond *cond);
WEFT_API void weft_cond_broadcast(weft_cond *cond);

/* ---- semaphore -----------------------------------------------------------------------------------------------------
 * A number of permits. A waiter that asks for many is not overtaken by callers that ask for few. */
typedef struct weft_sem {
    uint64_t opaque[6];
} weft_sem;
#define WEFT_SEM_MAX (UINT32_MAX >> 1)
#define WEFT_SEM_INIT(permits)                                                                                                             \
    {                                                                                                                                      \
        { (uint64_t)(permits) << 1 }                                                                                                       \
    }

WEFT_API void weft_sem_init(weft_sem *sem, uint32_t permits);
WEFT_API int weft_sem_acquire(weft_sem *sem, uint32_t permits, uint64_t deadline);
/* Aborts if there are more than WEFT_SEM_MAX in all then. */
WEFT_API void weft_sem_release(weft_sem *sem, uint32_t permits);
/* How many are available this moment. */
WEFT_API uint32_t weft_sem_available(const weft_sem *sem);

/* ---- read-write lock -----------------------------------------------------------------------------------------------
 * Many readers or one writer, in the order in which they came: a reader that comes while a writer waits waits too, so neither side
 * starves the other. It follows that a reader must not lock it a second time. */
typedef struct weft_rwlock {
    uint64_t opaque[6];
} weft_rwlock;
#define WEFT_RWLOCK_INIT                                                                                                                   \
    {                                                                                                                                      \
        { 0 }                                                                                                                              \
    }

WEFT_API int weft_rwlock_read(weft_rwlock *rwlock, uint64_t deadline);
WEFT_API void weft_rwlock_read_end(weft_rwlock *rwlock);
WEFT_API int weft_rwlock_write(weft_rwlock *rwlock, uint64_t deadline);
WEFT_API void weft_rwlock_write_end(weft_rwlock *rwlock);

/* ---- once ----------------------------------------------------------------------------------------------------------
 * The first caller runs the function; the others wait for it. When it returns 0 it is done, for good, and every call returns 0. Anything
 * else is a failure: the caller that ran it gets that number, and the caller that has waited longest runs it next. So a function that was
 * cancelled returns WEFT_ECANCELED, and another process does the work. The same happens when the function ends its process by weft_exit. */
typedef struct weft_once {
    uint64_t opaque[6];
} weft_once;
#define WEFT_ONCE_INIT                                                                                                                     \
    {                                                                                                                                      \
        { 0 }                                                                                                                              \
    }

WEFT_API int weft_once_do(weft_once *once, int (*function)(void *arg), void *arg, uint64_t deadline);

/* ---- wait group ----------------------------------------------------------------------------------------------------
 * Counts what is under way; weft_waitgroup_wait returns when the count is 0. Add before starting the processes that will call done. Below
 * 0, or above WEFT_WAITGROUP_MAX: aborts. */
typedef struct weft_waitgroup {
    uint64_t opaque[6];
} weft_waitgroup;
#define WEFT_WAITGROUP_INIT                                                                                                                \
    {                                                                                                                                      \
        { 0 }                                                                                                                              \
    }
#define WEFT_WAITGROUP_MAX (UINT32_MAX >> 1)

WEFT_API void weft_waitgroup_add(weft_waitgroup *group, uint32_t count);
WEFT_API void weft_waitgroup_done(weft_waitgroup *group);
WEFT_API int weft_waitgroup_wait(weft_waitgroup *group, uint64_t deadline);

/* ---- barrier -------------------------------------------------------------------------------------------------------
 * So many callers wait for each other, round after round. Unlike the others it has to be initialised: its count is 1 or more.
 *
 * weft_barrier_wait returns 1 to the caller that came last, and 0 to the others. With WEFT_ETIMEDOUT or WEFT_ECANCELED the caller does not
 * count as having come, and the round goes on without it; it may come again. A killed process does not count either. What callers have done before the call is seen
 * by all when it returns. The memory may be freed when all calls have returned. */
typedef struct weft_barrier {
    uint64_t opaque[6];
} weft_barrier;
#define WEFT_BARRIER_INIT(count)                                                                                                           \
    {                                                                                                                                      \
        { (uint64_t)(count) }                                                                                                              \
    }

WEFT_API void weft_barrier_init(weft_barrier *barrier, uint32_t count);
WEFT_API int weft_barrier_wait(weft_barrier *barrier, uint64_t deadline);

/* ---- rate limiter --------------------------------------------------------------------------------------------------
 * Permits that come back with time: `permits` in each `period` of nanoseconds, evenly, and at most `burst` saved up. It begins with `burst`. At most a
 * thousand million permits a second; more aborts, and so does 0 for any of the three. */
typedef struct weft_limiter {
    uint64_t opaque[6];
} weft_limiter;

WEFT_API void weft_limiter_init(weft_limiter *limiter, uint32_t permits, uint64_t period, uint32_t burst);
/* Takes so many permits, or waits until they have come; more than `burst` at a time just take longer. 0, or WEFT_ETIMEDOUT: they will not have come by the
 * deadline, which is known at once, so the call does not wait for it. Or WEFT_ECANCELED. Then none were taken. Callers are served in the order in which they came. */
WEFT_API int weft_limiter_take(weft_limiter *limiter, uint32_t permits, uint64_t deadline);

WEFT_END

#endif
