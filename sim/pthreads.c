/* The program's own threads, mutexes, condition variables and semaphores, by the names that the C library has for them: they take part in
 * the simulation. A thread that would wait in the kernel for another one is blocked in the simulation instead.
 *
 * Locks are the C library's, taken without waiting: so their kinds (recursive, error checking, robust) behave as ever. */
#include "clock.h"
#include "real.h"
#include "sim.h"

#include <errno.h>

/* ---- threads ------------------------------------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *arg) {
    struct sim_thread *started;
    if (!sim_me()) return real()->pthread_create(thread, attributes, entry, arg);
    sim_effect("pthread_create", sim_thread_count());
    if (sim_fault(SIM_FAULT_THREAD, SIM_THREAD)) return EAGAIN;
    int error = sim_thread_start_with(&started, attributes, entry, arg);
    if (!error) *thread = (pthread_t)started->handle;
    return -error;
}

/* The thread with that handle which has not been joined; NULL: the simulation has none. */
static struct sim_thread *threads_find(pthread_t handle) {
    for (unsigned i = sim_thread_count(); i > 0; i--) {
        struct sim_thread *thread = sim_thread_at(i - 1);
        if (thread->handle == (uint64_t)handle && !thread->joined) return thread;
    }
    return NULL;
}

int pthread_join(pthread_t handle, void **result) {
    struct sim_thread *thread = sim_me() ? threads_find(handle) : NULL;
    if (!thread) return real()->pthread_join(handle, result);
    sim_effect("pthread_join", thread->index);
    sim_thread_wait(thread);
    return real()->pthread_join(handle, result);
}

/* It ends when it sleeps: wherever else the C library has it, it would be in the kernel, and here it is not. */
int pthread_cancel(pthread_t handle) {
    struct sim_thread *thread = sim_me() ? threads_find(handle) : NULL;
    if (thread) sim_effect("pthread_cancel", thread->index);
    int error = real()->pthread_cancel(handle);
    if (thread && !error && thread->on == thread) sim_unblock_thread(thread, 0);
    return error;
}

/* ---- locks --------------------------------------------------------------------------------------------------------------- */

/* Takes a lock by trying, blocked in between. Returns what `try` returns when that is not EBUSY, or ETIMEDOUT. */
static int lock_by(int (*try)(void *), void *lock, const char *why, uint64_t deadline) {
    int error;
    sim_effect(why, 0);
    while ((error = try(lock)) == EBUSY)
        if (sim_block(why, lock, deadline) == -ETIMEDOUT) return ETIMEDOUT;
    return error;
}

static void lock_left(void *lock, unsigned count) { sim_unblock(lock, count, 0); }

static int try_mutex(void *mutex) { return real()->pthread_mutex_trylock(mutex); }
static int try_read(void *lock) { return real()->pthread_rwlock_tryrdlock(lock); }
static int try_write(void *lock) { return real()->pthread_rwlock_trywrlock(lock); }

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!sim_me()) return real()->pthread_mutex_lock(mutex);
    return lock_by(try_mutex, mutex, "pthread_mutex_lock", SIM_FOREVER);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until) {
    if (!sim_me()) return real()->pthread_mutex_timedlock(mutex, until);
    return lock_by(try_mutex, mutex, "pthread_mutex_lock", clock_moment(until));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int error = real()->pthread_mutex_unlock(mutex);
    if (sim_me() && !error) lock_left(mutex, 1);
    return error;
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    if (!sim_me()) return real()->pthread_rwlock_rdlock(lock);
    return lock_by(try_read, lock, "pthread_rwlock_rdlock", SIM_FOREVER);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    if (!sim_me()) return real()->pthread_rwlock_wrlock(lock);
    return lock_by(try_write, lock, "pthread_rwlock_wrlock", SIM_FOREVER);
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    int error = real()->pthread_rwlock_unlock(lock);
    if (sim_me() && !error) lock_left(lock, SIM_ALL);
    return error;
}

/* ---- condition variables -------------------------------------------------------------------------------------------------- */

static int cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline) {
    sim_effect("pthread_cond_wait", 0);
    int error = pthread_mutex_unlock(mutex);
    if (error) return error;
    bool early = sim_fault(SIM_FAULT_WAKE, SIM_SPURIOUS);
    int result = early ? 0 : deadline <= sim_now() ? -ETIMEDOUT : sim_block("pthread_cond_wait", cond, deadline);
    error = pthread_mutex_lock(mutex);
    return error ? error : -result;
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
    return sim_me() ? cond_wait_until(cond, mutex, SIM_FOREVER) : real()->pthread_cond_wait(cond, mutex);
}
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    return sim_me() ? cond_wait_until(cond, mutex, clock_moment(until)) : real()->pthread_cond_timedwait(cond, mutex, until);
}
int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    return sim_me() ? cond_wait_until(cond, mutex, clock_moment(until)) : real()->pthread_cond_clockwait(cond, mutex, clock, until);
}

static int cond_wake(pthread_cond_t *cond, unsigned count) {
    sim_effect("pthread_cond_signal", count);
    sim_unblock(cond, count, 0);
    return 0;
}
int pthread_cond_signal(pthread_cond_t *cond) { return sim_me() ? cond_wake(cond, 1) : real()->pthread_cond_signal(cond); }
int pthread_cond_broadcast(pthread_cond_t *cond) { return sim_me() ? cond_wake(cond, SIM_ALL) : real()->pthread_cond_broadcast(cond); }

/* ---- semaphores ----------------------------------------------------------------------------------------------------------- */

static int sem_wait_until(sem_t *semaphore, uint64_t deadline) {
    sim_effect("sem_wait", 0);
    while (real()->sem_trywait(semaphore) != 0) {
        if (errno != EAGAIN) return -1;
        if (sim_block("sem_wait", semaphore, deadline) != -ETIMEDOUT) continue;
        errno = ETIMEDOUT;
        return -1;
    }
    return 0;
}
int sem_wait(sem_t *semaphore) { return sim_me() ? sem_wait_until(semaphore, SIM_FOREVER) : real()->sem_wait(semaphore); }
int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    return sim_me() ? sem_wait_until(semaphore, clock_moment(until)) : real()->sem_timedwait(semaphore, until);
}

int sem_post(sem_t *semaphore) {
    if (sim_me()) sim_effect("sem_post", 0);
    int error = real()->sem_post(semaphore);
    if (sim_me() && !error) sim_unblock(semaphore, 1, 0);
    return error;
}
