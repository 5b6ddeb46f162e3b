/* The leak detector looks for pointers in what malloc has given out. Memory that comes from the kernel is told to it here: what only that points
 * to is no leak then. Nothing, where there is no leak detector. */
#ifndef WEFT_SYS_LEAK_ROOTS_H
#define WEFT_SYS_LEAK_ROOTS_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define LEAK_ROOTS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAK_ROOTS 1
#endif
#endif
#ifndef LEAK_ROOTS
#define LEAK_ROOTS 0
#endif

#if LEAK_ROOTS
void __lsan_register_root_region(const void *begin, size_t size);
void __lsan_unregister_root_region(const void *begin, size_t size);
static inline void leak_root(const void *memory, size_t size) { __lsan_register_root_region(memory, size); }
static inline void leak_uproot(const void *memory, size_t size) { __lsan_unregister_root_region(memory, size); }
#else
static inline void leak_root(const void *memory, size_t size) { (void)memory, (void)size; }
static inline void leak_uproot(const void *memory, size_t size) { (void)memory, (void)size; }
#endif

#endif
