/* What files that are checked call instead of the C library's functions (weft/chk_names.h): memory, endings, time, and what is refused. */
#include "chk.h"
#include "intercept.h"
#include "memory.h"
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PC ((uintptr_t)__builtin_return_address(0))

/* ---- memory: the compiler reports no access inside these ----------------------------------------------------------- */

void *chk_memcpy(void *to, const void *from, size_t size);
void *chk_memcpy(void *to, const void *from, size_t size) {
    intercept_reads(from, size, PC);
    intercept_writes(to, size, PC);
    return memcpy(to, from, size);
}
void *chk_memmove(void *to, const void *from, size_t size);
void *chk_memmove(void *to, const void *from, size_t size) {
    intercept_reads(from, size, PC);
    intercept_writes(to, size, PC);
    return memmove(to, from, size);
}
void *chk_memset(void *to, int byte, size_t size);
void *chk_memset(void *to, int byte, size_t size) {
    intercept_writes(to, size, PC);
    return memset(to, byte, size);
}
int chk_memcmp(const void *a, const void *b, size_t size);
int chk_memcmp(const void *a, const void *b, size_t size) {
    intercept_reads(a, size, PC);
    intercept_reads(b, size, PC);
    return memcmp(a, b, size);
}

/* ---- the heap: every block begins on a cache line of its own, zeroed -------------------------------------------------- */

enum { LINE = 64, PAGE = 4096 };

static void *allocate(size_t size, size_t alignment, uintptr_t pc) {
    run.pc = pc;
    return memory_alloc_aligned(size, alignment > LINE ? alignment : LINE);
}

static bool fits(size_t alignment) { return alignment <= PAGE && (alignment & (alignment - 1)) == 0; }

void *chk_malloc(size_t size);
void *chk_malloc(size_t size) { return allocate(size, LINE, PC); }
void *chk_calloc(size_t count, size_t size);
void *chk_calloc(size_t count, size_t size) {
    size_t all;
    return __builtin_mul_overflow(count, size, &all) ? NULL : allocate(all, LINE, PC);
}
void *chk_aligned_alloc(size_t alignment, size_t size);
void *chk_aligned_alloc(size_t alignment, size_t size) { return fits(alignment) ? allocate(size, alignment, PC) : NULL; }
int chk_posix_memalign(void **block, size_t alignment, size_t size);
int chk_posix_memalign(void **block, size_t alignment, size_t size) {
    if (!fits(alignment)) return EINVAL;
    *block = allocate(size, alignment, PC);
    return 0;
}

void chk_free(void *block);
void chk_free(void *block) {
    run.pc = PC;
    if (block) memory_free(block);
}

void *chk_realloc(void *block, size_t size);
void *chk_realloc(void *block, size_t size) {
    void *bigger = allocate(size, LINE, PC);
    if (!block) return bigger;
    size_t old = memory_size(block), kept = old < size ? old : size;
    intercept_reads(block, kept, PC);
    memcpy(bigger, block, kept);
    memory_free(block);
    return bigger;
}

/* ---- endings ---------------------------------------------------------------------------------------------------- */

void chk_assert_fail(const char *condition, const char *file, unsigned line, const char *function) __attribute__((noreturn));
void chk_assert_fail(const char *condition, const char *file, unsigned line, const char *function) {
    (void)file, (void)line;
    run_place("the assertion", run.current, PC);
    run_violation(CHK_ASSERT, "assert(%s) in %s", condition, function);
}

static void ends(const char *how, uintptr_t pc) __attribute__((noreturn));
static void ends(const char *how, uintptr_t pc) {
    run_place("the call", run.current, pc);
    run_violation(CHK_CRASH, "%s is called", how);
}
void chk_abort(void) __attribute__((noreturn));
void chk_abort(void) { ends("abort", PC); }
void chk_exit(int status) __attribute__((noreturn));
void chk_exit(int status) {
    (void)status;
    ends("exit", PC);
}
void chk__exit(int status) __attribute__((noreturn));
void chk__exit(int status) {
    (void)status;
    ends("_exit", PC);
}

/* ---- time passes at once ------------------------------------------------------------------------------------------ */

#define NOTHING(name)                                                                                                                      \
    int chk_##name(void);                                                                                                                  \
    int chk_##name(void) { return 0; }
NOTHING(sched_yield)
NOTHING(thrd_yield)
NOTHING(sleep)
NOTHING(usleep)
NOTHING(nanosleep)
NOTHING(thrd_sleep)

/* ---- refused ---------------------------------------------------------------------------------------------------- */

static void refuse(const char *name, const char *instead) {
    fprintf(stderr, "weft check: %s calls %s, which the checker does not know: %s\n", run.scenario->name, name, instead);
    exit(3);
}

static const char threads[] = "a scenario's threads are those in its `threads`, and chk_self() is a thread's number";
static const char waits[] = "it knows mutexes, and atomic objects waited for in a loop";
static const char outside[] = "only memory is modelled, no system call";

#define REFUSE(name, instead)                                                                                                              \
    void chk_refuse_##name(void);                                                                                                          \
    void chk_refuse_##name(void) { refuse(#name, instead); }
REFUSE(pthread_create, threads)
REFUSE(pthread_join, threads)
REFUSE(pthread_self, threads)
REFUSE(thrd_create, threads)
REFUSE(thrd_join, threads)
REFUSE(thrd_current, threads)
REFUSE(pthread_once, waits)
REFUSE(pthread_cond_wait, waits)
REFUSE(pthread_cond_timedwait, waits)
REFUSE(pthread_cond_signal, waits)
REFUSE(pthread_cond_broadcast, waits)
REFUSE(pthread_rwlock_rdlock, waits)
REFUSE(pthread_rwlock_wrlock, waits)
REFUSE(pthread_spin_lock, waits)
REFUSE(pthread_barrier_wait, waits)
REFUSE(sem_wait, waits)
REFUSE(sem_post, waits)
REFUSE(call_once, waits)
REFUSE(cnd_wait, waits)
REFUSE(cnd_signal, waits)
REFUSE(cnd_broadcast, waits)
REFUSE(syscall, outside)
REFUSE(fork, outside)
