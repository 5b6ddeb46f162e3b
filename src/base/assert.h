/* Assertions: what the code does when a condition that must hold does not. Levels:
 *
 *   WEFT_ENSURE(condition, format, ...)   always checked. Our own invariant is broken: panic with the facts.
 *   WEFT_ASSERT(condition, format, ...)   checked in debug builds and under the model checker only; for hot paths.
 *   WEFT_MISUSE(function, what, remedy)   the caller of a public function broke its contract: abort, and say which
 *                                         function, what was wrong, and what to do instead.
 *   WEFT_REFUSE(function, what, remedy)   the same, before the function has changed anything or taken a lock: the process that
 *                                         called it may be ended in place of the program (fiber/contain.h).
 *
 * WEFT_PANIC(format, ...) is the unconditional form of the first. The formats are printf's; every message ends up on
 * one line of standard error before abort(). Printing does not go through the table of sys/sys.h, because a panic has
 * to work when that table is what is broken. Under the model checker the format itself, unexpanded, names the
 * violation. */
#ifndef WEFT_BASE_ASSERT_H
#define WEFT_BASE_ASSERT_H

#include "base/config.h"

#include <stdbool.h>

void assert_panic(const char *file, int line, const char *function, const char *condition, const char *format, ...)
    __attribute__((noreturn, noinline, cold, format(printf, 5, 6)));
void assert_misuse(const char *function, const char *what, const char *remedy) __attribute__((noreturn, noinline, cold));
void assert_refuse(const char *function, const char *what, const char *remedy) __attribute__((noreturn, noinline, cold));

#if WEFT_CHECK
void chk_fail(const char *what, const char *condition) __attribute__((noreturn));
#define ASSERT_FIRST(first, ...) first
#define WEFT_PANIC(...) chk_fail(ASSERT_FIRST(__VA_ARGS__, 0), "panic")
#define WEFT_ENSURE(condition, ...) ((condition) ? (void)0 : chk_fail(ASSERT_FIRST(__VA_ARGS__, 0), #condition))
#define WEFT_MISUSE(function, what, remedy) chk_fail(what, function)
#define WEFT_REFUSE(function, what, remedy) chk_fail(what, function)
#else
#define WEFT_PANIC(...) assert_panic(__FILE__, __LINE__, __func__, 0, __VA_ARGS__)
#define WEFT_ENSURE(condition, ...)                                                                                                        \
    (__builtin_expect(!!(condition), 1) ? (void)0 : assert_panic(__FILE__, __LINE__, __func__, #condition, __VA_ARGS__))
#define WEFT_MISUSE(function, what, remedy) assert_misuse(function, what, remedy)
#define WEFT_REFUSE(function, what, remedy) assert_refuse(function, what, remedy)
/* Whether this thread aborts by WEFT_REFUSE: for the handler of SIGABRT. */
extern _Thread_local bool assert_refuses __attribute__((tls_model("initial-exec")));
#endif

#if WEFT_DEBUG
#define WEFT_ASSERT(condition, ...) WEFT_ENSURE(condition, __VA_ARGS__)
#else
/* Compiled, so that it stays valid code, and never evaluated. */
#define WEFT_ASSERT(condition, ...) (0 ? (void)(condition) : (void)0)
#endif

#endif
