/* C++ programs: weft learns where the C++ library keeps the exceptions of a thread, and gives each process its own.
 *
 * Every C++ object that includes weft's headers tells when it is loaded, so there is nothing to be done, whether the C++ library is linked
 * statically or not, or loaded later. A program in C which loads, after weft_start, a library that throws and catches exceptions around
 * weft calls, and was itself compiled without these headers, calls weft_cxx_add with that library's __cxa_get_globals (dlsym).
 * docs/cxx.md says what exceptions may do, and what they may not. */
#ifndef WEFT_CXX_H
#define WEFT_CXX_H

#include <weft/api.h>
#include <weft/errors.h>

WEFT_BEGIN

/* Counted: each add wants its remove, before that library is unloaded. 0, or WEFT_ENOBUFS: there are four already. */
WEFT_API int weft_cxx_add(void *(*globals)(void));
WEFT_API void weft_cxx_remove(void *(*globals)(void));

#ifdef __cplusplus
/* Weak: a program without exceptions may be linked without the C++ library. */
extern void *weft_cxx_globals(void) __asm__("__cxa_get_globals") __attribute__((weak));
__attribute__((constructor)) static void weft_cxx_loaded(void) {
    if (&weft_cxx_globals) weft_cxx_add(weft_cxx_globals);
}
__attribute__((destructor)) static void weft_cxx_unloaded(void) {
    if (&weft_cxx_globals) weft_cxx_remove(weft_cxx_globals);
}
#endif

WEFT_END

#endif
