/* Tells tools about stacks and switches: address sanitizer, thread sanitizer, Valgrind. In a plain build all functions
 * are empty, and so is `struct annotate`.
 *
 * Every context that is switched from or to has a `struct annotate` beside it. Around each switch, in one function
 * with it:
 *
 *     annotate_before_switch(&mine, &theirs, false);
 *     gift = ctx_switch(&my_ctx, &their_ctx, gift);
 *     annotate_after_switch(&mine);
 *
 *   operation                 when
 *   annotate_thread           once on each thread, for the context that is its own stack
 *   annotate_create           before the first switch to a new context, made by ctx_make on that stack
 *   annotate_before_switch    right before; `ends` when the flow that switches away will never be resumed
 *   annotate_after_switch     first thing where a flow resumes, and first thing in an entry function
 *   annotate_destroy          after the last switch away from it, on another stack
 *   annotate_unjudged_begin   until annotate_unjudged_end the thread sanitizer reports no racy reads: the reader discards values that have
 *                             changed meanwhile. (An attribute of the function does so for plain reads only.)
 *
 * The thread sanitizer counts contexts as threads, of which it can have about 8,000 at a time. It takes a switch as
 * happens-before, which it is. The functions are forced inline: the sanitizer keeps a call stack for each context, and a
 * call or return between telling it and the switch would be recorded on the wrong one. */
#ifndef WEFT_CTX_ANNOTATE_H
#define WEFT_CTX_ANNOTATE_H

#include "base/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_feature)
#define ANNOTATE_FEATURE(name) __has_feature(name)
#else
#define ANNOTATE_FEATURE(name) 0
#endif

/* The model checker uses the instrumentation of the thread sanitizer, but not its library. */
#if WEFT_CHECK
#define ANNOTATE_ADDRESS 0
#define ANNOTATE_THREAD 0
#else
#if defined(__SANITIZE_ADDRESS__) || ANNOTATE_FEATURE(address_sanitizer)
#define ANNOTATE_ADDRESS 1
#else
#define ANNOTATE_ADDRESS 0
#endif
#if defined(__SANITIZE_THREAD__) || ANNOTATE_FEATURE(thread_sanitizer)
#define ANNOTATE_THREAD 1
#else
#define ANNOTATE_THREAD 0
#endif
#endif

/* Not with the address sanitizer, which does not run under Valgrind anyway: Valgrind's requests keep an array on the stack, and gcc leaves
 * its end-of-scope poison behind when they are inlined into a function that is not sanitized. */
#if !WEFT_CHECK && !ANNOTATE_ADDRESS && defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#define ANNOTATE_VALGRIND 1
#endif
#endif
#if !defined(ANNOTATE_VALGRIND)
#define ANNOTATE_VALGRIND 0
#endif

#if ANNOTATE_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if ANNOTATE_THREAD
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#endif
#if ANNOTATE_VALGRIND
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#endif

#define ANNOTATE_INLINE static inline __attribute__((always_inline, unused))

struct annotate {
#if ANNOTATE_ADDRESS
    void *fake; /* what the sanitizer keeps for a flow that does not run */
    const void *low;
    size_t size;
#endif
#if ANNOTATE_THREAD
    void *fiber;
#endif
};

#if ANNOTATE_ADDRESS
/* Only the sanitizer knows where a thread's stack is, and it reports only which stack a switch came from: so pretend to
 * switch to nowhere and back. */
ANNOTATE_INLINE void annotate_thread_address(struct annotate *mine) {
    __sanitizer_start_switch_fiber(&mine->fake, mine, sizeof *mine);
    __sanitizer_finish_switch_fiber(mine->fake, &mine->low, &mine->size);
    __sanitizer_start_switch_fiber(&mine->fake, mine->low, mine->size);
    __sanitizer_finish_switch_fiber(mine->fake, NULL, NULL);
}
#endif

ANNOTATE_INLINE void annotate_thread(struct annotate *mine) {
    (void)mine;
#if ANNOTATE_ADDRESS
    annotate_thread_address(mine);
#endif
#if ANNOTATE_THREAD
    mine->fiber = __tsan_get_current_fiber();
#endif
}

ANNOTATE_INLINE void annotate_create(struct annotate *a, void *low, void *top) {
    (void)a, (void)low, (void)top;
#if ANNOTATE_ADDRESS
    a->fake = NULL;
    a->low = low;
    a->size = (size_t)((char *)top - (char *)low);
    /* The calls of the last process on this stack did not return: their variables are still poisoned. */
    __asan_unpoison_memory_region(low, a->size);
#endif
#if ANNOTATE_THREAD
    a->fiber = __tsan_create_fiber(0);
#endif
}

ANNOTATE_INLINE void annotate_destroy(struct annotate *a) {
    (void)a;
#if ANNOTATE_THREAD
    __tsan_destroy_fiber(a->fiber);
    a->fiber = NULL;
#endif
}

ANNOTATE_INLINE void annotate_unjudged_begin(void) {
#if ANNOTATE_THREAD
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
#endif
}
ANNOTATE_INLINE void annotate_unjudged_end(void) {
#if ANNOTATE_THREAD
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

ANNOTATE_INLINE void annotate_before_switch(struct annotate *from, struct annotate *to, bool ends) {
    (void)from, (void)to, (void)ends;
#if ANNOTATE_ADDRESS
    __sanitizer_start_switch_fiber(ends ? NULL : &from->fake, to->low, to->size);
#endif
#if ANNOTATE_THREAD
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
}

ANNOTATE_INLINE void annotate_after_switch(struct annotate *mine) {
    (void)mine;
#if ANNOTATE_ADDRESS
    __sanitizer_finish_switch_fiber(mine->fake, NULL, NULL);
#endif
}

/* Memory that is used as a stack from now on, by one process after another: called once per stack, by mem/stack. */
ANNOTATE_INLINE void annotate_stack(void *low, void *top) {
    (void)low, (void)top;
#if ANNOTATE_VALGRIND
    (void)VALGRIND_STACK_REGISTER(low, top);
#endif
}

/* Memory that was used for stacks and is given back to the system: processes that ended in the middle of their calls have left poison of
 * the address sanitizer here, which would cause false reports for the next user of these addresses. */
ANNOTATE_INLINE void annotate_forget(void *memory, size_t size) {
    (void)memory, (void)size;
#if ANNOTATE_ADDRESS
    __asan_unpoison_memory_region(memory, size);
#endif
}

/* The frames of the running stack will not return, and new frames will overwrite them: clears their poison. */
ANNOTATE_INLINE void annotate_unwind(void) {
#if ANNOTATE_ADDRESS
    __asan_handle_no_return();
#endif
}

/* Bytes of a free stack that are about to be read, whatever its last process did there. (The address sanitizer is
 * told by an attribute of the function that reads.) */
ANNOTATE_INLINE void annotate_readable(void *at, size_t size) {
    (void)at, (void)size;
#if ANNOTATE_VALGRIND
    (void)VALGRIND_MAKE_MEM_DEFINED(at, size);
#endif
}

#endif
