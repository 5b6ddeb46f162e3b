/* The outside-effects table of the enumerator: it has no outside, and refuses scenarios that want one. */
#include "sys/sys.h"

#include "chk.h"

void axioms_refuse(const char *why) __attribute__((noreturn));

/* What instrumented files call for the C library's functions of these names (cmake/checker.cmake). */
void *chk_memcpy(void *to, const void *from, size_t size);
void *chk_memcpy(void *to, const void *from, size_t size) {
    (void)to, (void)from, (void)size;
    axioms_refuse("memcpy");
}
void *chk_memmove(void *to, const void *from, size_t size);
void *chk_memmove(void *to, const void *from, size_t size) {
    (void)to, (void)from, (void)size;
    axioms_refuse("memmove");
}
void *chk_memset(void *to, int byte, size_t size);
void *chk_memset(void *to, int byte, size_t size) {
    (void)to, (void)byte, (void)size;
    axioms_refuse("memset");
}
int chk_memcmp(const void *a, const void *b, size_t size);
int chk_memcmp(const void *a, const void *b, size_t size) {
    (void)a, (void)b, (void)size;
    axioms_refuse("memcmp");
}

static uint64_t now(void) { return 0; }
static int futex_wait(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    (void)word, (void)expected, (void)deadline;
    axioms_refuse("a futex");
}
static int futex_wake(atom_u32 *word, uint32_t count) {
    (void)word, (void)count;
    axioms_refuse("a futex");
}
static void *alloc(size_t size) {
    (void)size;
    axioms_refuse("memory from the heap");
}
static void release(void *memory, size_t size) {
    (void)memory, (void)size;
    axioms_refuse("memory from the heap");
}
static void yield(void) {}
static int fill_random(void *bytes, size_t size) {
    (void)bytes, (void)size;
    axioms_refuse("randomness");
}
static unsigned cpus(void) { return 2; }

static const struct sys sys_none = {
    .now = now,
    .futex_wait = futex_wait,
    .futex_wake = futex_wake,
    .alloc = alloc,
    .free = release,
    .yield = yield,
    .fence_heavy = chk_fence_heavy,
    .random = fill_random,
    .cpus = cpus,
};
const struct sys *sys = &sys_none;
