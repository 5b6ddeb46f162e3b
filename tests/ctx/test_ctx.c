/* The context switch: gifts, stacks, floating-point modes, nesting. */
#include "flow.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct flow home, one;

/* ---- gifts ------------------------------------------------------------------------------------------------------- */

static void adds_one(void *gift) {
    annotate_after_switch(&one.annotate);
    for (;;)
        gift = flow_switch(&one, &home, (char *)gift + 1);
}

TEST(ctx_gives_gifts) {
    flow_home(&home);
    flow_make(&one, adds_one);
    for (uintptr_t i = 0; i < 1000; i++)
        EXPECT_EQ(flow_switch(&home, &one, (void *)i), i + 1);
    flow_free(&one);
}

/* The compilers rely on it, for vectors on the stack. */
static void looks_at_alignment(void *gift) {
    annotate_after_switch(&one.annotate);
    volatile _Alignas(16) char here[16];
    uintptr_t *answer = gift;
    answer[0] = (uintptr_t)here % 16;
    answer[1] = (uintptr_t)__builtin_frame_address(0) % 16;
    answer[2] = (uintptr_t)(one.low + FLOW_STACK) - (uintptr_t)here;
    flow_end(&one, &home, NULL);
}

TEST(ctx_aligns_the_stack) {
    for (unsigned odd = 0; odd < 16; odd++) {
        uintptr_t answer[3] = {1, 1, 0};
        flow_home(&home);
        flow_make(&one, looks_at_alignment);
        ctx_make(&one.ctx, one.low + FLOW_STACK - odd, looks_at_alignment);
        flow_switch(&home, &one, answer);
        EXPECT_EQ(answer[0], 0);
        EXPECT_EQ(answer[1], 0);
        EXPECT(answer[2] < 4096); /* and little of it is gone */
        flow_free(&one);
    }
}

static void returns(void *gift) { (void)gift; }

TEST(ctx_traps_when_an_entry_returns) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        flow_home(&home);
        flow_make(&one, returns);
        ctx_switch(&home.ctx, &one.ctx, NULL);
        _exit(0);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

/* ---- floating-point modes ---------------------------------------------------------------------------------------- */

/* Rounding, 0 is nearest. (The C library's functions for it are in libm.) */
static unsigned rounding(void) {
#if defined(__x86_64__)
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    return mxcsr >> 13 & 3;
#else
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return (unsigned)(fpcr >> 22 & 3);
#endif
}

static void set_rounding(unsigned mode) {
#if defined(__x86_64__)
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    mxcsr = (mxcsr & ~UINT32_C(0x6000)) | mode << 13;
    __asm__ volatile("ldmxcsr %0" ::"m"(mxcsr));
#else
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = (fpcr & ~(UINT64_C(3) << 22)) | (uint64_t)mode << 22;
    __asm__ volatile("msr fpcr, %0" ::"r"(fpcr));
#endif
}

static unsigned seen_rounding;
static void rounds_as_3(void *gift) {
    (void)gift;
    annotate_after_switch(&one.annotate);
    for (;;) {
        seen_rounding = rounding();
        set_rounding(3);
        flow_switch(&one, &home, NULL);
    }
}

TEST(ctx_has_modes_of_its_own) {
    flow_home(&home);
    flow_make(&one, rounds_as_3);
    flow_switch(&home, &one, NULL);
    EXPECT_EQ(seen_rounding, 0);
    EXPECT_EQ(rounding(), 0);
    set_rounding(2);
    flow_switch(&home, &one, NULL);
    EXPECT_EQ(seen_rounding, 3);
    EXPECT_EQ(rounding(), 2);
    flow_free(&one);

    flow_make(&one, rounds_as_3); /* not from the thread that makes it ... */
    flow_switch(&home, &one, NULL);
    EXPECT_EQ(seen_rounding, 0);
    flow_free(&one);

    ctx_adopt(); /* ... unless told so */
    set_rounding(0);
    flow_make(&one, rounds_as_3);
    flow_switch(&home, &one, NULL);
    EXPECT_EQ(seen_rounding, 2);
    EXPECT_EQ(rounding(), 0);
    flow_free(&one);
}

/* ---- what the compiler may believe ------------------------------------------------------------------------------- */

static unsigned shared_count; /* its address is taken nowhere */

static __attribute__((noinline)) unsigned switches_away(unsigned depth) {
    if (depth) return switches_away(depth - 1) + 1;
    flow_switch(&home, &one, NULL);
    return 0;
}

static void counts(void *gift) {
    (void)gift;
    annotate_after_switch(&one.annotate);
    for (;;) {
        shared_count++;
        flow_switch(&one, &home, NULL);
    }
}

TEST(ctx_others_change_static_variables) {
    flow_home(&home);
    flow_make(&one, counts);
    for (unsigned i = 0; i < 100; i++) {
        unsigned before = shared_count;
        switches_away(3);
        EXPECT_EQ(shared_count, before + 1);
    }
    flow_free(&one);
}

TEST(ctx_to_nowhere_aborts) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct ctx never = {NULL};
        ctx_switch(&home.ctx, &never, NULL);
        _exit(0);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

/* ---- nesting ----------------------------------------------------------------------------------------------------- */

enum { NESTED = 100 };
static struct flow nest[NESTED + 1];

/* Each makes the next one, gives it work, and answers with one more. */
static void nests(void *gift) {
    uintptr_t me = (uintptr_t)gift, answer = me;
    annotate_after_switch(&nest[me].annotate);
    for (;;) {
        if (me < NESTED) {
            if (!nest[me + 1].low) flow_make(&nest[me + 1], nests);
            answer = (uintptr_t)flow_switch(&nest[me], &nest[me + 1], (void *)(me + 1)) + 1;
        }
        flow_switch(&nest[me], &nest[me - 1], (void *)answer);
    }
}

TEST(ctx_nests) {
    flow_home(&nest[0]);
    flow_make(&nest[1], nests);
    for (unsigned round = 0; round < 100; round++)
        EXPECT_EQ(flow_switch(&nest[0], &nest[1], (void *)1), NESTED + NESTED - 1);
    for (unsigned i = 1; i <= NESTED; i++)
        flow_free(&nest[i]);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
