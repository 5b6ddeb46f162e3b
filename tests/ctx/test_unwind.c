/* Following frames by tables, from a signal handler, at random moments: the same as the C library finds, and nothing worse happens where the
 * tables are wrong. */
#include "test.h"

#include "base/atom.h"
#include "ctx/annotate.h"
#include "ctx/unwind.h"

#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__) && !ANNOTATE_THREAD

enum { FRAMES = 60, SAMPLES = 1500, LAST = 1024 };
static volatile unsigned samples, same, shorter, wrong;
static volatile uintptr_t bottom; /* of the stack, as far as it is looked at */
static void *wrong_at;

static void from_context(struct unwind *unwind, const ucontext_t *context) {
    static const unsigned char order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                          REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < sizeof order; i++)
        unwind->registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    unwind->known = 0xffff;
    unwind->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    unwind->called = false;
    unwind->low = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    unwind->high = bottom;
}

static void sample(int number, siginfo_t *info, void *context) {
    void *theirs[FRAMES];
    struct unwind unwind;
    (void)number, (void)info;
    int count = backtrace(theirs, FRAMES), at = 0;
    from_context(&unwind, context);
    while (at < count && theirs[at] != (void *)unwind.pc)
        at++;
    samples++;
    for (at++; at < count; at++) {
        if (!unwind_step(&unwind)) break;
        if (theirs[at] == (void *)unwind.pc) continue;
        wrong++;
        wrong_at = theirs[at];
        return;
    }
    if (unwind.registers[UNWIND_SP] > bottom - LAST) same++; /* as far as it may look */
    else shorter++;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static __attribute__((noinline)) unsigned busy(unsigned depth) {
    char text[64], *texts[40];
    if (depth > 0) return busy(depth - 1) + depth;
    for (unsigned i = 0; i < 40; i++) {
        snprintf(text, sizeof text, "%u %f", i * 7919 % 40, i / 3.0);
        texts[i] = strdup(text);
    }
    qsort(texts, 40, sizeof *texts, by_text);
    for (unsigned i = 0; i < 40; i++)
        free(texts[i]);
    return 0;
}

static void timer(bool on) {
    struct itimerval every = {{0, on ? 500 : 0}, {0, on ? 500 : 0}};
    setitimer(ITIMER_REAL, &every, NULL);
}

TEST_WITHIN(unwind_as_the_c_library_does, 60) {
    void *warm[4];
    backtrace(warm, 4); /* loads a library, the first time */
    bottom = (uintptr_t)__builtin_frame_address(0) + 16;
    sigaction(SIGALRM, &(struct sigaction){.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART}, NULL);
    timer(true);
    unsigned sum = 0;
    while (samples < SAMPLES)
        sum += busy(sum % 20);
    timer(false);
    printf("note: %u samples: %u the same, %u not to the end, %u different (%p)\n", samples, same, shorter, wrong, wrong_at);
    EXPECT(wrong * 50 <= samples); /* at some instructions of assembler the C library itself is not right */
    EXPECT(same * 10 > samples * 8);
}

/* Says that the frame is where a register points that holds anything, and that another was saved there. */
void lies(uint64_t spins);
__asm__(".text\n\t.globl lies\n\t.type lies, @function\nlies:\n\t.cfi_startproc\n\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n\t"
        "mov $0x123456789abcde, %rbx\n\t.cfi_def_cfa rbx, 4096\n\t.cfi_offset rbp, -4000\n"
        "1:\n\tdec %rdi\n\tjne 1b\n\tpop %rbx\n\t.cfi_def_cfa rsp, 8\n\tret\n\t.cfi_endproc\n\t.size lies, . - lies\n");
static volatile unsigned steps, in_lies;
static void sample_lies(int number, siginfo_t *info, void *context) {
    struct unwind unwind;
    (void)number, (void)info;
    from_context(&unwind, context);
    for (unsigned i = 0; i < FRAMES && unwind_step(&unwind); i++)
        steps++;
    in_lies++;
}
TEST(unwind_is_not_led_astray) {
    bottom = (uintptr_t)__builtin_frame_address(0) + 512;
    sigaction(SIGALRM, &(struct sigaction){.sa_sigaction = sample_lies, .sa_flags = SA_SIGINFO | SA_RESTART}, NULL);
    timer(true);
    while (in_lies < 100)
        lies(100000);
    timer(false);
    printf("note: %u steps in %u walks\n", steps, in_lies);
}

#else
TEST(unwind_as_the_c_library_does) { printf("note: for x86-64 only, and not under the thread sanitizer\n"); }
#endif

int main(int argc, char **argv) { return test_main(argc, argv); }
