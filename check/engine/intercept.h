/* Accesses that the compiler does not report, because a function of the C library makes them (libc.c). */
#ifndef CHECK_INTERCEPT_H
#define CHECK_INTERCEPT_H

#include <stddef.h>
#include <stdint.h>

/* By the current thread, in a function called at `pc`. */
void intercept_reads(const void *address, size_t size, uintptr_t pc);
void intercept_writes(void *address, size_t size, uintptr_t pc);

#endif
