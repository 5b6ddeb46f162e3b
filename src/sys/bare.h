/* A system call by itself, without the C library: no cancellation point (two locked operations in a program with threads), no errno to be
 * saved and restored. Returns what the kernel returns: a result, or a negative error number.
 *
 * SYS_BARE is 0 where the library's functions are used instead: sanitizers know only those, and other machines have other registers. */
#ifndef WEFT_SYS_BARE_H
#define WEFT_SYS_BARE_H

#if defined(__has_feature)
#define SYS_BARE_FEATURE(name) __has_feature(name)
#else
#define SYS_BARE_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || SYS_BARE_FEATURE(thread_sanitizer) ||                                 \
    SYS_BARE_FEATURE(address_sanitizer) || SYS_BARE_FEATURE(memory_sanitizer)
#define SYS_BARE 0
#elif defined(__x86_64__) || defined(__aarch64__)
#define SYS_BARE 1
#else
#define SYS_BARE 0
#endif

#if SYS_BARE && defined(__x86_64__)
static inline long sys_bare(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}
#elif SYS_BARE && defined(__aarch64__)
static inline long sys_bare(long number, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
                     x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#endif

#endif
