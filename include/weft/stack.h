/* Stacks of stackful processes: how deep they are used, more room for a call that needs it, staying on one thread, and a check on
 * mutexes of the C library.
 *
 * A process whose stack overflows is reported on standard error with its PID, its entry function and the size that would have been enough.
 * If it was in its own code just then and holds nothing that weft knows of, it alone ends, with WEFT_ESTACK as its reason, and its deferred
 * functions run on another stack. Otherwise (inside of weft, of the C library or of another library, or with a mutex) the state that it
 * leaves behind is unknown: the program aborts with a dump of all processes. Below each stack are 16 KiB that cannot be touched; a
 * function with more than that in local arrays may jump over them unless it is compiled with -fstack-clash-protection, which the flags of
 * pkg-config and of the CMake package have. */
#ifndef WEFT_STACK_H
#define WEFT_STACK_H

#include <weft/stackful.h>

#include <pthread.h>

WEFT_BEGIN

/* What is known about the processes of one entry function, with one size of stacks. */
typedef struct weft_stack_mark {
    weft_entry entry;
    char name[32]; /* as given when one of them was spawned, shortened; "" when none was given */
    size_t stack_size;
    uint64_t measured;  /* how many of those that ended had been measured: the first of each worker, then one now and then */
    uint64_t overflows; /* of all processes, measured or not */
    size_t high_water;  /* the most that one of these has used, in whole pages; stack_size after an overflow */
} weft_stack_mark;

/* Writes up to `room` of them; returns how many there are. From anywhere. */
WEFT_API size_t weft_stack_marks_sized(weft_runtime *runtime, weft_stack_mark *marks, size_t mark_size, size_t room);
static inline size_t weft_stack_marks(weft_runtime *runtime, weft_stack_mark *marks, size_t room) {
    return weft_stack_marks_sized(runtime, marks, sizeof *marks, room);
}
/* How deep the calling process's stack has been used so far, in whole pages (by it, or by processes that had the stack before). */
WEFT_API size_t weft_stack_used(void);

/* Calls fn(arg) with at least that much stack, for libraries that need more than most processes have. In a stackful process; fn may
 * wait like its other code. 0 when fn has returned, or WEFT_ENOSTACK, WEFT_EINVAL (more than 8 MiB): then fn was not called. */
WEFT_API int weft_call_big(void (*fn)(void *arg), void *arg, size_t stack_size);

/* Between these the calling process stays on its thread, whatever it waits for: for libraries with thread-local state. They nest. No other
 * worker can run the process, so it waits while other processes keep that thread busy: those that compute, and blocking calls of processes
 * that are pinned to it too (weft/blocking.h). weft_set_workers does not end the thread. A hand-off to the process is an ordinary message.
 * The end of the process ends the pinning too. */
WEFT_API void weft_pin_begin(void);
WEFT_API void weft_pin_end(void);

/* pthread_mutex_lock and so on, for processes: a mutex of the C library belongs to a thread. A process that waits in weft while it holds
 * one may go on on another thread; and a process that blocks on one may hold the thread on which the owner has to run to unlock it. With
 * these weft knows what a process holds: in debug builds, or with weft_config.check_mutexes, waiting, yielding or ending with one aborts
 * the program, with the name of the call that locked it. Results as from pthread. In threads of the program's own they do nothing more than
 * the pthread calls. */
WEFT_API int weft_debug_mutex_lock(pthread_mutex_t *mutex);
WEFT_API int weft_debug_mutex_trylock(pthread_mutex_t *mutex);
WEFT_API int weft_debug_mutex_unlock(pthread_mutex_t *mutex);

WEFT_END

#endif
