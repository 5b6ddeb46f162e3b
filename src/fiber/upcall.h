/* Upcalls: calls from weft into the program, in a process: its entry function, what it deferred, a function of weft_once_do...
 *
 * The function may wait, so the process may be on another worker when it returns. The caller therefore holds no lock and no worker across
 * an upcall, and looks up the worker again. So the process may also be stopped in the function (preempt/preempt.h). For that the upcall
 * leaves a mark, fiber->floor: above it are frames of weft, which allow that; below it there are none, unless the program calls weft again.
 *
 * Functions that must not wait (the predicate of weft_recv_match, `release` of a moved payload) are called plainly, and not stopped. */
#ifndef WEFT_FIBER_UPCALL_H
#define WEFT_FIBER_UPCALL_H

#include "fiber/fiber.h"

/* How the function was left, if not by returning: by a C++ exception, or because the process ends (ending.h). The upcall returns all the
 * same, so that its caller can clean up as usual; the caller then calls upcall_pass_on, which resumes the exception or the ending. */
struct upcall {
    void *thrown;       /* NULL: it has returned. Else the result means nothing */
    const char *strict; /* not NULL: exceptions must not leave it; the name of the weft call */
};

/* Calls function(a, b), of any type with words and pointers, and returns its result. Before, it writes to *floor where its own frame is.
 * upcall_back is the return address. There is no other frame of weft between it and the function. */
uintptr_t upcall_call(uintptr_t function, void **floor, uintptr_t a, uintptr_t b, struct upcall *upcall)
    __attribute__((visibility("hidden")));
extern const char upcall_back[] __attribute__((visibility("hidden")));

/* ending.c: does not return if upcall->thrown is set. */
#if WEFT_CHECK
static inline void upcall_pass_on(struct upcall *upcall) { (void)upcall; }
#else
void upcall_go_on(struct upcall *upcall) __attribute__((noreturn, cold));
static inline void upcall_pass_on(struct upcall *upcall) {
    if (__builtin_expect(upcall->thrown != NULL, 0)) upcall_go_on(upcall);
}
#endif

/* Called by the thread that runs the process. */
static inline void upcall(struct fiber *fiber, void (*fn)(void *arg), void *arg, struct upcall *upcall) {
    void *outer = fiber->floor;
    upcall_call((uintptr_t)fn, &fiber->floor, (uintptr_t)arg, 0, upcall);
    fiber->floor = outer; /* NULL: only frames of weft are left */
}

/* The same for functions of other types, in the calling process; a plain call in a step process or outside of processes. */
#if WEFT_CHECK
static inline uintptr_t upcall_here(uintptr_t function, uintptr_t a, uintptr_t b, struct upcall *upcall) {
    (void)upcall;
    return ((uintptr_t(*)(uintptr_t, uintptr_t))function)(a, b);
}
#else
uintptr_t upcall_here(uintptr_t function, uintptr_t a, uintptr_t b, struct upcall *upcall);
#endif

#endif
