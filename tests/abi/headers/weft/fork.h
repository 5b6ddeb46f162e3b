/* Fork and join, for compute work: functions that run in parallel when workers are idle.
 *
 *     WEFT_TASK(long, fib, int, n) {
 *         if (n < 2) return n;
 *         WEFT_FORK(fib, n - 1);
 *         long b = WEFT_CALL(fib, n - 2);
 *         return WEFT_JOIN(fib) + b;
 *     }
 *     ... in a stackful process:  long f = WEFT_RUN(fib, 30);
 *
 * A forked task runs when it is joined, by a plain call, unless an idle worker took it before: then it runs there, in a process of its own,
 * and the join waits for it. So a fork costs a few nanoseconds, and results do not depend on which worker ran which task.
 *
 *   WEFT_TASK(R, name, T1, a1, ...)   defines a task that returns R, with up to six arguments of together 48 bytes; none of
 *                                     these types is aligned to more than 16
 *   WEFT_VOID_TASK(name, T1, a1, ...) one that returns nothing
 *   WEFT_TASK_DECLARE, WEFT_VOID_TASK_DECLARE    announce one, for tasks that call each other; WEFT_TASK_DEFINE,
 *                                     WEFT_VOID_TASK_DEFINE come later, with the same words and the body
 *   WEFT_RUN(name, ...)               in a stackful process: runs a task, and what it forks
 * Inside a task:
 *   WEFT_FORK(name, ...)              may begin at once, elsewhere. What its arguments point to must stay until it is joined
 *   WEFT_JOIN(name)                   the newest task that was forked and is not joined; the same name
 *   WEFT_CALL(name, ...)              a plain call
 *
 * Rules. A task joins all that it forked before it returns, the newest first. At most 1,048,570 tasks of a process are forked and not
 * joined at a time. A task does not wait for anything but its own tasks: a call that would (weft_recv, weft_sleep, a mutex that is
 * taken...) aborts the program, unless it is between WEFT_TASK_WAIT_BEGIN() and WEFT_TASK_WAIT_END(), and so does weft_exit. A task that
 * another worker took has the errno, mailbox and PID of the process that it runs in, and the stack size of the process that forked it.
 *
 * Each process that is in WEFT_RUN has 64 MiB of address space for its tasks, and no more memory than they touch. If there is no such
 * address space the program aborts.
 *
 * A cancelled process still runs its tasks to their end: they would otherwise have no results. A task that may take long calls
 * weft_fork_cancelled() now and then, which tells of the process that called WEFT_RUN, whichever process runs the task. */
#ifndef WEFT_FORK_H
#define WEFT_FORK_H

#include <weft/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

WEFT_BEGIN

/* One cache line of a process's stack of tasks. Not to be touched but by the macros below. */
typedef struct weft_task weft_task;
typedef void weft_task_run(weft_task *task, weft_task *at);
struct weft_task {
    weft_task_run *run; /* forked, and private to its process; NULL: free, or open to thieves */
    uint64_t state;     /* the library's */
    union {
        unsigned char bytes[48];
        long double aligned;
    } data; /* the arguments, later the result */
} __attribute__((aligned(64)));

/* The size of a stack of tasks, which begins at a multiple of it. Its first word is an address: forks and joins there or above take the
 * slow path. It is 0 when an idle worker asks for a task. */
#define WEFT_TASKS_BYTES ((uintptr_t)64 << 20)

/* The slow parts. */
WEFT_API weft_task *weft_tasks_open(const char *name);
WEFT_API void weft_tasks_close(weft_task **at);
WEFT_API void weft_task_share(weft_task *at);
WEFT_API bool weft_task_settle(weft_task *at, weft_task_run *run);
WEFT_API void weft_task_not_joined(weft_task *at) __attribute__((noreturn, cold));
WEFT_API void weft_task_wait_begin(weft_task *at);
WEFT_API void weft_task_wait_end(weft_task *at);

/* Whether the process that called WEFT_RUN has been cancelled. In a task. */
WEFT_API bool weft_fork_cancelled(void);

static inline __attribute__((always_inline)) weft_task *weft_task_push(weft_task **top) {
    weft_task *at = (*top)++;
    if (__builtin_expect(at->run != NULL, 0)) weft_task_not_joined(at);
    return at;
}

static inline __attribute__((always_inline)) bool weft_task_asked(weft_task *at) {
    const uintptr_t *limit = (const uintptr_t *)((uintptr_t)at & ~(WEFT_TASKS_BYTES - 1));
    return __builtin_expect((uintptr_t)at >= __atomic_load_n(limit, __ATOMIC_RELAXED), 0);
}

static inline __attribute__((always_inline)) void weft_task_pushed(weft_task *at) {
    if (weft_task_asked(at)) weft_task_share(at);
}

/* True: the caller runs the newest task. False: its result is there. */
static inline __attribute__((always_inline)) bool weft_task_pop(weft_task *at, weft_task_run *run) {
    if (__builtin_expect(at->run != run || weft_task_asked(at), 0) && !weft_task_settle(at, run)) return false;
    at->run = NULL;
    return true;
}

WEFT_END

/* By name and arguments. */
#define WEFT_FORK(...) WEFT_TASK_PICK(WEFT_TASK_DO_, WEFT_TASK_COUNT(__VA_ARGS__))(fork, __VA_ARGS__)
#define WEFT_CALL(...) WEFT_TASK_PICK(WEFT_TASK_DO_, WEFT_TASK_COUNT(__VA_ARGS__))(call, __VA_ARGS__)
#define WEFT_JOIN(name) name##_weft_join(&weft_at)
#define WEFT_RUN(...) WEFT_TASK_PICK(WEFT_TASK_RUN_, WEFT_TASK_COUNT(__VA_ARGS__))(__VA_ARGS__)

/* Between these a task may wait. What it has forked so far is open to thieves meanwhile, and it may go on on another worker. */
#define WEFT_TASK_WAIT_BEGIN() weft_task_wait_begin(weft_at)
#define WEFT_TASK_WAIT_END() weft_task_wait_end(weft_at)

#define WEFT_TASK(...)                                                                                                                     \
    WEFT_TASK_DECLARE(__VA_ARGS__);                                                                                                        \
    WEFT_TASK_DEFINE(__VA_ARGS__)
#define WEFT_VOID_TASK(...)                                                                                                                \
    WEFT_VOID_TASK_DECLARE(__VA_ARGS__);                                                                                                   \
    WEFT_VOID_TASK_DEFINE(__VA_ARGS__)
#define WEFT_TASK_DECLARE(...) WEFT_TASK_PICK(WEFT_TASK_DECLARE_, WEFT_TASK_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define WEFT_TASK_DEFINE(...) WEFT_TASK_PICK(WEFT_TASK_DEFINE_, WEFT_TASK_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define WEFT_VOID_TASK_DECLARE(...) WEFT_TASK_PICK(WEFT_VOID_TASK_DECLARE_, WEFT_TASK_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define WEFT_VOID_TASK_DEFINE(...) WEFT_TASK_PICK(WEFT_VOID_TASK_DEFINE_, WEFT_TASK_COUNT(__VA_ARGS__))(__VA_ARGS__)

/* ---- what they are made of -------------------------------------------------------------------------------------------- */

/* Into a task, and in its place there. */
#define WEFT_TASK_FITS(type)                                                                                                               \
    typedef char type##_fits[sizeof(type) <= sizeof(((weft_task *)0)->data) && __alignof__(type) <= 16 ? 1 : -1] __attribute__((unused))

/* A task with a result, and one without. */
#define WEFT_TASK_VALUE(R, name, ...)                                                                                                      \
    typedef struct __attribute__((may_alias)) {                                                                                            \
        R value;                                                                                                                           \
    } name##_weft_result;                                                                                                                  \
    WEFT_TASK_FITS(name##_weft_result);                                                                                                    \
    WEFT_TASK_PARTS(R, name, WEFT_TASK_KEEP, WEFT_TASK_GIVE, WEFT_TASK_BACK, __VA_ARGS__)
#define WEFT_TASK_KEEP(name, at, call) ((name##_weft_result *)&(at)->data)->value = call
#define WEFT_TASK_GIVE(name, at) return ((name##_weft_result *)&(at)->data)->value
#define WEFT_TASK_BACK(call) return call
#define WEFT_TASK_NO_VALUE(name, ...)                                                                                                      \
    WEFT_TASK_PARTS(void, name, WEFT_TASK_KEEP_VOID, WEFT_TASK_GIVE_VOID, WEFT_TASK_BACK_VOID, __VA_ARGS__)
#define WEFT_TASK_KEEP_VOID(name, at, call) call
#define WEFT_TASK_GIVE_VOID(name, at) return
#define WEFT_TASK_BACK_VOID(call) call

/* The lists of arguments are in parentheses: PARAMS, LOADS and NAMES with a comma in front. */
#define WEFT_TASK_PARTS(...) WEFT_TASK_PARTS_OF(__VA_ARGS__)
#define WEFT_TASK_PARTS_OF(R, name, KEEP, GIVE, BACK, PARAMS, ALONE, FIELDS, STORES, LOADS, NAMES)                                         \
    typedef struct __attribute__((may_alias)) {                                                                                            \
        WEFT_TASK_OPEN FIELDS                                                                                                              \
    } name##_weft_args;                                                                                                                    \
    WEFT_TASK_FITS(name##_weft_args);                                                                                                      \
    static R name##_weft_body(weft_task *weft_at WEFT_TASK_OPEN PARAMS);                                                                   \
    static __attribute__((unused)) void name##_weft_run(weft_task *weft_self, weft_task *weft_at) {                                        \
        const name##_weft_args *weft_args = (const name##_weft_args *)&weft_self->data;                                                    \
        (void)weft_args;                                                                                                                   \
        KEEP(name, weft_self, name##_weft_body(weft_at WEFT_TASK_OPEN LOADS));                                                             \
    }                                                                                                                                      \
    WEFT_TASK_INLINE void name##_weft_fork(weft_task **weft_top WEFT_TASK_OPEN PARAMS) {                                                   \
        weft_task *weft_at = weft_task_push(weft_top);                                                                                     \
        name##_weft_args *weft_args = (name##_weft_args *)&weft_at->data;                                                                  \
        (void)weft_args;                                                                                                                   \
        WEFT_TASK_OPEN STORES weft_at->run = name##_weft_run;                                                                              \
        weft_task_pushed(weft_at);                                                                                                         \
    }                                                                                                                                      \
    WEFT_TASK_INLINE R name##_weft_join(weft_task **weft_top) {                                                                            \
        weft_task *weft_at = --*weft_top;                                                                                                  \
        const name##_weft_args *weft_args = (const name##_weft_args *)&weft_at->data;                                                      \
        (void)weft_args;                                                                                                                   \
        if (!weft_task_pop(weft_at, name##_weft_run)) GIVE(name, weft_at);                                                                 \
        BACK(name##_weft_body(weft_at WEFT_TASK_OPEN LOADS));                                                                              \
    }                                                                                                                                      \
    WEFT_TASK_INLINE R name##_weft_call(weft_task **weft_top WEFT_TASK_OPEN PARAMS) {                                                      \
        BACK(name##_weft_body(*weft_top WEFT_TASK_OPEN NAMES));                                                                            \
    }                                                                                                                                      \
    static inline __attribute__((unused)) R name##_weft_enter ALONE {                                                                      \
        weft_task *weft_at __attribute__((cleanup(weft_tasks_close))) = weft_tasks_open(#name);                                            \
        BACK(name##_weft_body(weft_at WEFT_TASK_OPEN NAMES));                                                                              \
    }                                                                                                                                      \
    typedef int name##_weft_end __attribute__((unused))
#define WEFT_TASK_HEAD(R, name, ...) WEFT_TASK_HEAD_OF(R, name, __VA_ARGS__)
#define WEFT_TASK_HEAD_OF(R, name, PARAMS, ALONE, FIELDS, STORES, LOADS, NAMES)                                                            \
    static R name##_weft_body(weft_task *weft_at __attribute__((unused)) WEFT_TASK_OPEN PARAMS)
#define WEFT_TASK_OPEN(...) __VA_ARGS__
#define WEFT_TASK_INLINE static inline __attribute__((unused, always_inline))

/* By the number of words. */
#define WEFT_TASK_COUNT(...) WEFT_TASK_16TH(__VA_ARGS__, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define WEFT_TASK_16TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, count, ...) count
#define WEFT_TASK_JOINED(a, b) a##b
#define WEFT_TASK_PICK(what, count) WEFT_TASK_JOINED(what, count)
/* A comma within an argument makes two words of it, which is harmless. */
#define WEFT_TASK_DO_1(what, name) name##_weft_##what(&weft_at)
#define WEFT_TASK_DO_2(what, name, a) name##_weft_##what(&weft_at, a)
#define WEFT_TASK_DO_3(what, name, a, b) name##_weft_##what(&weft_at, a, b)
#define WEFT_TASK_DO_4(what, name, a, b, c) name##_weft_##what(&weft_at, a, b, c)
#define WEFT_TASK_DO_5(what, name, a, b, c, d) name##_weft_##what(&weft_at, a, b, c, d)
#define WEFT_TASK_DO_6(what, name, a, b, c, d, e) name##_weft_##what(&weft_at, a, b, c, d, e)
#define WEFT_TASK_DO_7(what, name, a, b, c, d, e, f) name##_weft_##what(&weft_at, a, b, c, d, e, f)
#define WEFT_TASK_DO_8(what, name, a, b, c, d, e, f, g) name##_weft_##what(&weft_at, a, b, c, d, e, f, g)
#define WEFT_TASK_DO_9(what, name, a, b, c, d, e, f, g, h) name##_weft_##what(&weft_at, a, b, c, d, e, f, g, h)
#define WEFT_TASK_DO_10(what, name, a, b, c, d, e, f, g, h, i) name##_weft_##what(&weft_at, a, b, c, d, e, f, g, h, i)
#define WEFT_TASK_DO_11(what, name, a, b, c, d, e, f, g, h, i, j) name##_weft_##what(&weft_at, a, b, c, d, e, f, g, h, i, j)
#define WEFT_TASK_DO_12(what, name, a, b, c, d, e, f, g, h, i, j, k) name##_weft_##what(&weft_at, a, b, c, d, e, f, g, h, i, j, k)
#define WEFT_TASK_RUN_1(name) name##_weft_enter()
#define WEFT_TASK_RUN_2(name, a) name##_weft_enter(a)
#define WEFT_TASK_RUN_3(name, a, b) name##_weft_enter(a, b)
#define WEFT_TASK_RUN_4(name, a, b, c) name##_weft_enter(a, b, c)
#define WEFT_TASK_RUN_5(name, a, b, c, d) name##_weft_enter(a, b, c, d)
#define WEFT_TASK_RUN_6(name, a, b, c, d, e) name##_weft_enter(a, b, c, d, e)
#define WEFT_TASK_RUN_7(name, a, b, c, d, e, f) name##_weft_enter(a, b, c, d, e, f)
#define WEFT_TASK_RUN_8(name, a, b, c, d, e, f, g) name##_weft_enter(a, b, c, d, e, f, g)
#define WEFT_TASK_RUN_9(name, a, b, c, d, e, f, g, h) name##_weft_enter(a, b, c, d, e, f, g, h)
#define WEFT_TASK_RUN_10(name, a, b, c, d, e, f, g, h, i) name##_weft_enter(a, b, c, d, e, f, g, h, i)
#define WEFT_TASK_RUN_11(name, a, b, c, d, e, f, g, h, i, j) name##_weft_enter(a, b, c, d, e, f, g, h, i, j)
#define WEFT_TASK_RUN_12(name, a, b, c, d, e, f, g, h, i, j, k) name##_weft_enter(a, b, c, d, e, f, g, h, i, j, k)

#define WEFT_TASK_STORED(a) weft_args->a = a;
#define WEFT_TASK_LISTS_0 (), (void), (char weft_none;), (), (), ()
#define WEFT_TASK_LISTS_1(T, a) (, T a), (T a), (T a;), (WEFT_TASK_STORED(a)), (, weft_args->a), (, a)
#define WEFT_TASK_LISTS_2(T, a, U, b)                                                                                                      \
    (, T a, U b), (T a, U b), (T a; U b;), (WEFT_TASK_STORED(a) WEFT_TASK_STORED(b)), (, weft_args->a, weft_args->b), (, a, b)
#define WEFT_TASK_LISTS_3(T, a, U, b, V, c)                                                                                                \
    (, T a, U b, V c), (T a, U b, V c), (T a; U b; V c;), (WEFT_TASK_STORED(a) WEFT_TASK_STORED(b) WEFT_TASK_STORED(c)),                   \
        (, weft_args->a, weft_args->b, weft_args->c), (, a, b, c)
#define WEFT_TASK_LISTS_4(T, a, U, b, V, c, W, d)                                                                                          \
    (, T a, U b, V c, W d), (T a, U b, V c, W d), (T a; U b; V c; W d;),                                                                   \
        (WEFT_TASK_STORED(a) WEFT_TASK_STORED(b) WEFT_TASK_STORED(c) WEFT_TASK_STORED(d)),                                                 \
        (, weft_args->a, weft_args->b, weft_args->c, weft_args->d), (, a, b, c, d)
#define WEFT_TASK_LISTS_5(T, a, U, b, V, c, W, d, X, e)                                                                                    \
    (, T a, U b, V c, W d, X e), (T a, U b, V c, W d, X e), (T a; U b; V c; W d; X e;),                                                    \
        (WEFT_TASK_STORED(a) WEFT_TASK_STORED(b) WEFT_TASK_STORED(c) WEFT_TASK_STORED(d) WEFT_TASK_STORED(e)),                             \
        (, weft_args->a, weft_args->b, weft_args->c, weft_args->d, weft_args->e), (, a, b, c, d, e)
#define WEFT_TASK_LISTS_6(T, a, U, b, V, c, W, d, X, e, Y, f)                                                                              \
    (, T a, U b, V c, W d, X e, Y f), (T a, U b, V c, W d, X e, Y f), (T a; U b; V c; W d; X e; Y f;),                                     \
        (WEFT_TASK_STORED(a) WEFT_TASK_STORED(b) WEFT_TASK_STORED(c) WEFT_TASK_STORED(d) WEFT_TASK_STORED(e) WEFT_TASK_STORED(f)),         \
        (, weft_args->a, weft_args->b, weft_args->c, weft_args->d, weft_args->e, weft_args->f), (, a, b, c, d, e, f)

#define WEFT_TASK_DECLARE_2(R, name) WEFT_TASK_VALUE(R, name, WEFT_TASK_LISTS_0)
#define WEFT_TASK_DEFINE_2(R, name) WEFT_TASK_HEAD(R, name, WEFT_TASK_LISTS_0)
#define WEFT_VOID_TASK_DECLARE_1(name) WEFT_TASK_NO_VALUE(name, WEFT_TASK_LISTS_0)
#define WEFT_VOID_TASK_DEFINE_1(name) WEFT_TASK_HEAD(void, name, WEFT_TASK_LISTS_0)
#define WEFT_TASK_DECLARE_4(R, name, T, a) WEFT_TASK_VALUE(R, name, WEFT_TASK_LISTS_1(T, a))
#define WEFT_TASK_DEFINE_4(R, name, T, a) WEFT_TASK_HEAD(R, name, WEFT_TASK_LISTS_1(T, a))
#define WEFT_VOID_TASK_DECLARE_3(name, T, a) WEFT_TASK_NO_VALUE(name, WEFT_TASK_LISTS_1(T, a))
#define WEFT_VOID_TASK_DEFINE_3(name, T, a) WEFT_TASK_HEAD(void, name, WEFT_TASK_LISTS_1(T, a))
#define WEFT_TASK_DECLARE_6(R, name, T, a, U, b) WEFT_TASK_VALUE(R, name, WEFT_TASK_LISTS_2(T, a, U, b))
#define WEFT_TASK_DEFINE_6(R, name, T, a, U, b) WEFT_TASK_HEAD(R, name, WEFT_TASK_LISTS_2(T, a, U, b))
#define WEFT_VOID_TASK_DECLARE_5(name, T, a, U, b) WEFT_TASK_NO_VALUE(name, WEFT_TASK_LISTS_2(T, a, U, b))
#define WEFT_VOID_TASK_DEFINE_5(name, T, a, U, b) WEFT_TASK_HEAD(void, name, WEFT_TASK_LISTS_2(T, a, U, b))
#define WEFT_TASK_DECLARE_8(R, name, T, a, U, b, V, c) WEFT_TASK_VALUE(R, name, WEFT_TASK_LISTS_3(T, a, U, b, V, c))
#define WEFT_TASK_DEFINE_8(R, name, T, a, U, b, V, c) WEFT_TASK_HEAD(R, name, WEFT_TASK_LISTS_3(T, a, U, b, V, c))
#define WEFT_VOID_TASK_DECLARE_7(name, T, a, U, b, V, c) WEFT_TASK_NO_VALUE(name, WEFT_TASK_LISTS_3(T, a, U, b, V, c))
#define WEFT_VOID_TASK_DEFINE_7(name, T, a, U, b, V, c) WEFT_TASK_HEAD(void, name, WEFT_TASK_LISTS_3(T, a, U, b, V, c))
#define WEFT_TASK_DECLARE_10(R, name, T, a, U, b, V, c, W, d) WEFT_TASK_VALUE(R, name, WEFT_TASK_LISTS_4(T, a, U, b, V, c, W, d))
#define WEFT_TASK_DEFINE_10(R, name, T, a, U, b, V, c, W, d) WEFT_TASK_HEAD(R, name, WEFT_TASK_LISTS_4(T, a, U, b, V, c, W, d))
#define WEFT_VOID_TASK_DECLARE_9(name, T, a, U, b, V, c, W, d) WEFT_TASK_NO_VALUE(name, WEFT_TASK_LISTS_4(T, a, U, b, V, c, W, d))
#define WEFT_VOID_TASK_DEFINE_9(name, T, a, U, b, V, c, W, d) WEFT_TASK_HEAD(void, name, WEFT_TASK_LISTS_4(T, a, U, b, V, c, W, d))
#define WEFT_TASK_DECLARE_12(R, name, T, a, U, b, V, c, W, d, X, e)                                                                        \
    WEFT_TASK_VALUE(R, name, WEFT_TASK_LISTS_5(T, a, U, b, V, c, W, d, X, e))
#define WEFT_TASK_DEFINE_12(R, name, T, a, U, b, V, c, W, d, X, e) WEFT_TASK_HEAD(R, name, WEFT_TASK_LISTS_5(T, a, U, b, V, c, W, d, X, e))
#define WEFT_VOID_TASK_DECLARE_11(name, T, a, U, b, V, c, W, d, X, e)                                                                      \
    WEFT_TASK_NO_VALUE(name, WEFT_TASK_LISTS_5(T, a, U, b, V, c, W, d, X, e))
#define WEFT_VOID_TASK_DEFINE_11(name, T, a, U, b, V, c, W, d, X, e)                                                                       \
    WEFT_TASK_HEAD(void, name, WEFT_TASK_LISTS_5(T, a, U, b, V, c, W, d, X, e))
#define WEFT_TASK_DECLARE_14(R, name, T, a, U, b, V, c, W, d, X, e, Y, f)                                                                  \
    WEFT_TASK_VALUE(R, name, WEFT_TASK_LISTS_6(T, a, U, b, V, c, W, d, X, e, Y, f))
#define WEFT_TASK_DEFINE_14(R, name, T, a, U, b, V, c, W, d, X, e, Y, f)                                                                   \
    WEFT_TASK_HEAD(R, name, WEFT_TASK_LISTS_6(T, a, U, b, V, c, W, d, X, e, Y, f))
#define WEFT_VOID_TASK_DECLARE_13(name, T, a, U, b, V, c, W, d, X, e, Y, f)                                                                \
    WEFT_TASK_NO_VALUE(name, WEFT_TASK_LISTS_6(T, a, U, b, V, c, W, d, X, e, Y, f))
#define WEFT_VOID_TASK_DEFINE_13(name, T, a, U, b, V, c, W, d, X, e, Y, f)                                                                 \
    WEFT_TASK_HEAD(void, name, WEFT_TASK_LISTS_6(T, a, U, b, V, c, W, d, X, e, Y, f))

#endif
