/* C++ programs: weft learns where the C++ library keeps the exceptions of a thread, and gives each process its own.
 *
 * Every C++ object that includes weft's headers registers itself when it is loaded, so there is nothing to be done, whether the C++ library
 * is linked statically or not, or loaded later. A program in C which loads, after weft_start, a library that throws and catches exceptions
 * around weft calls, and was itself compiled without these headers, calls weft_cxx_add with what it finds by dlsym.
 * docs/cxx.md says what exceptions may do, and what they may not. */
#ifndef WEFT_CXX_H
#define WEFT_CXX_H

#include <weft/api.h>
#include <weft/errors.h>

#include <stddef.h>
#include <stdint.h>

WEFT_BEGIN

/* Functions of a C++ library and of its unwinder, by their names in the C++ ABI. Those of the unwinder may be NULL, all of them: then
 * weft's own are used, if it was linked with one. */
typedef struct weft_cxx {
    void *(*globals)(void);                                     /* __cxa_get_globals */
    void (*resume)(void *exception);                            /* _Unwind_Resume */
    int (*forced)(void *exception, void *stop, void *argument); /* _Unwind_ForcedUnwind */
    uintptr_t (*frame)(void *context);                          /* _Unwind_GetCFA */
    void (*go_on_at)(void *context, uintptr_t address);         /* _Unwind_SetIP */
} weft_cxx;

/* Copied. Counted: each add needs its remove, before that library is unloaded. 0, or WEFT_ENOBUFS: there are four already. */
WEFT_API int weft_cxx_add_sized(const weft_cxx *library, size_t library_size);
WEFT_API void weft_cxx_remove_sized(const weft_cxx *library, size_t library_size);
static inline int weft_cxx_add(const weft_cxx *library) { return weft_cxx_add_sized(library, sizeof *library); }
static inline void weft_cxx_remove(const weft_cxx *library) { weft_cxx_remove_sized(library, sizeof *library); }

#ifdef __cplusplus
/* Weak: a program without exceptions may be linked without the C++ library. */
extern void *weft_cxx_globals(void) __asm__("__cxa_get_globals") __attribute__((weak));
extern void weft_cxx_resume(void *) __asm__("_Unwind_Resume") __attribute__((weak));
extern int weft_cxx_forced(void *, void *, void *) __asm__("_Unwind_ForcedUnwind") __attribute__((weak));
extern uintptr_t weft_cxx_frame(void *) __asm__("_Unwind_GetCFA") __attribute__((weak));
extern void weft_cxx_go_on_at(void *, uintptr_t) __asm__("_Unwind_SetIP") __attribute__((weak));
static inline weft_cxx weft_cxx_own(void) {
    weft_cxx own = {weft_cxx_globals, weft_cxx_resume, weft_cxx_forced, weft_cxx_frame, weft_cxx_go_on_at};
    return own;
}
__attribute__((constructor)) static void weft_cxx_loaded(void) {
    weft_cxx own = weft_cxx_own();
    if (own.globals) weft_cxx_add(&own);
}
__attribute__((destructor)) static void weft_cxx_unloaded(void) {
    weft_cxx own = weft_cxx_own();
    if (own.globals) weft_cxx_remove(&own);
}
#endif

WEFT_END

#endif
