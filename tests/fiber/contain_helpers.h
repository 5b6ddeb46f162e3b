/* Faults, each kind of them, for the tests of containment. */
#ifndef WEFT_TESTS_FIBER_CONTAIN_HELPERS_H
#define WEFT_TESTS_FIBER_CONTAIN_HELPERS_H

#include "victim.h"

#include <assert.h>
#include <sys/mman.h>

/* Sanitizers have handlers of their own, and faults are not contained there. */
#define UNLESS_SANITIZED                                                                                                                   \
    if (SANITIZED) return

static volatile int zero;
static int *volatile null_pointer = (int *)16;

static __attribute__((noinline, unused)) void write_null(void) { *(volatile int *)null_pointer = 1; }
static inline void null_deref(void *arg) {
    (void)arg;
    write_null();
    abort();
}
static inline void illegal(void *arg) {
    (void)arg;
#if defined(__x86_64__)
    __asm__ volatile("ud2");
#else
    __asm__ volatile(".inst 0");
#endif
}
/* A file that is shorter than what is mapped of it. */
static char *bus_page;
static inline void bus(void *arg) {
    (void)arg;
    bus_page[0] = 1;
}
static inline void bus_prepare(void) {
    FILE *file = tmpfile();
    bus_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    EXPECT(bus_page != MAP_FAILED);
}
static void (*volatile nowhere)(void) = (void (*)(void))16;
static char *data_page;
static __attribute__((noinline, unused)) int jumps(void (*to)(void)) {
    to();
    return zero + 1; /* so that it is a call, and not a jump */
}
static inline void wild_jump(void *arg) {
    (void)arg;
    zero = jumps(nowhere) - 1;
}
static inline void jump_to_data(void *arg) {
    (void)arg;
    zero = jumps((void (*)(void))(uintptr_t)data_page) - 1;
}
static inline void aborts(void *arg) {
    (void)arg;
    abort();
}
static inline void asserts(void *arg) {
    (void)arg;
    assert(zero == 1); // NOLINT(cert-dcl03-c,misc-static-assert): it fails at run time
}
#if defined(__x86_64__)
static inline void divide(void *arg) {
    (void)arg;
    zero = 100 / zero;
}
static inline void non_canonical(void *arg) {
    (void)arg;
    *(volatile char *)((uintptr_t)null_pointer | UINT64_C(1) << 62) = 1;
}
#endif

static const struct {
    weft_entry entry;
    int number;
    uintptr_t address;
    const char *said;
} kinds[] = {
    {null_deref, SIGSEGV, 16, "SIGSEGV at 0x10; entry test_contain"},
    {illegal, SIGILL, 0, "SIGILL at 0x"},
    {bus, SIGBUS, 0, "SIGBUS at 0x"},
    {wild_jump, SIGSEGV, 16, "SIGSEGV at 0x10"},
    {jump_to_data, SIGSEGV, 0, "SIGSEGV at 0x"},
    {aborts, SIGABRT, 0, "SIGABRT; entry"},
    {asserts, SIGABRT, 0, "SIGABRT; entry"},
#if defined(__x86_64__)
    {divide, SIGFPE, 0, "SIGFPE at 0x"},
    {non_canonical, SIGSEGV, 0, "SIGSEGV at 0"},
#endif
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* It goes on beside them. */
static atom_bool bystander_over;
static atom_u64 bystander_turns;
static inline void bystander(void *arg) {
    (void)arg;
    while (!atom_load_acq(&bystander_over)) {
        weft_sleep(100 * WEFT_MICROSECOND);
        atom_add_rlx(&bystander_turns, 1);
    }
}

/* ---- steps that lock ------------------------------------------------------------------------------------------------------- */

/* A step for each character: 1 and 2 lock and unlock a mutex of weft's, 3 and 4 one of the C library's, 7 is a fault. */
static weft_mutex step_mutex = WEFT_MUTEX_INIT;
static pthread_mutex_t step_pthread_mutex = PTHREAD_MUTEX_INITIALIZER;
static inline void step_locks(uint64_t tag) {
    if (tag == 1) EXPECT_EQ(weft_mutex_lock(&step_mutex, 0), 0);
    else if (tag == 2) weft_mutex_unlock(&step_mutex);
    else if (tag == 3) EXPECT_EQ(weft_debug_mutex_lock(&step_pthread_mutex), 0);
    else if (tag == 4) EXPECT_EQ(weft_debug_mutex_unlock(&step_pthread_mutex), 0);
    else if (tag == 7) write_null();
}
static inline int locking_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)out;
    for (size_t i = 0; i < count; i++)
        step_locks(events[i].tag);
    return 0;
}
static const weft_behavior locking = {.name = "child", .step = locking_step};
static inline weft_pid step_told(weft_runtime *runtime, const char *tags) {
    weft_pid pid;
    weft_spawn_step(&locking, &(weft_spawn_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid);
    for (; *tags; tags++) {
        weft_send(pid, (uint64_t)(*tags - '0'), NULL, 0);
        usleep(1000); /* mostly a step for each; the outcome does not depend on it */
    }
    return pid;
}

#endif
