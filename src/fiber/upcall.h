/* Calls from weft back into the program, in a process: its entry function, what it deferred, a function of weft_once_do...
 *
 * Whoever calls out this way knows that the function may wait, so that the process may have moved to another worker when it returns: it looks
 * for the worker anew, and holds nothing. So the process may also be stopped in there (preempt/preempt.h). For that the call leaves a mark,
 * fiber->floor: above it are frames of weft's, which are ready for anything; below it there are none, unless the program has
 * called weft again.
 *
 * Functions that must not wait (the predicate of weft_recv_match, `release` of a moved payload) are called plainly, and not stopped. */
#ifndef WEFT_FIBER_UPCALL_H
#define WEFT_FIBER_UPCALL_H

#include "fiber/fiber.h"

/* How such a function was left, if not by returning: by a C++ exception, or because the process ends (ending.h). The call out returns all the same,
 * so that its caller sets things right as ever; when it has, upcall_pass_on goes on with what was on its way. */
struct upcall {
    void *thrown;       /* NULL: it has returned. Else the result means nothing */
    const char *strict; /* not NULL: exceptions must not leave it; which call of weft's that is */
};

/* Calls function(a, b) of whatever type (words and pointers), having written to *floor where its own frame is, and returns what that
 * returned. upcall_back is where it goes on afterwards. There is nothing of weft's between it and the function. */
uintptr_t upcall_call(uintptr_t function, void **floor, uintptr_t a, uintptr_t b, struct upcall *upcall)
    __attribute__((visibility("hidden")));
extern const char upcall_back[] __attribute__((visibility("hidden")));

/* ending.c: does not return if there is something to pass on. */
#if WEFT_CHECK
static inline void upcall_pass_on(struct upcall *upcall) { (void)upcall; }
#else
void upcall_go_on(struct upcall *upcall) __attribute__((noreturn, cold));
static inline void upcall_pass_on(struct upcall *upcall) {
    if (__builtin_expect(upcall->thrown != NULL, 0)) upcall_go_on(upcall);
}
#endif

/* By the thread that runs the process. */
static inline void upcall(struct fiber *fiber, void (*fn)(void *arg), void *arg, struct upcall *upcall) {
    void *outer = fiber->floor;
    upcall_call((uintptr_t)fn, &fiber->floor, (uintptr_t)arg, 0, upcall);
    fiber->floor = outer; /* NULL: only weft is here now */
}

/* The same for functions of other types, in whatever process this is; where there is none, or it is a step process, a plain call. */
#if WEFT_CHECK
static inline uintptr_t upcall_here(uintptr_t function, uintptr_t a, uintptr_t b, struct upcall *upcall) {
    (void)upcall;
    return ((uintptr_t(*)(uintptr_t, uintptr_t))function)(a, b);
}
#else
uintptr_t upcall_here(uintptr_t function, uintptr_t a, uintptr_t b, struct upcall *upcall);
#endif

#endif
