/* All registers of x86-64 that a program can see, and a function that holds them for a while. */
#ifndef WEFT_TESTS_PREEMPT_REGISTERS_X86_64_H
#define WEFT_TESTS_PREEMPT_REGISTERS_X86_64_H

#include "preempt_helpers.h"

enum { PREEMPTIONS = 10000 };

struct image {
    uint64_t general[14]; /* rax rbx rdx rsi rdi rbp r8 ... r15; rcx counts */
    uint64_t flags;
    uint32_t mxcsr;
    uint16_t control;
    uint16_t level; /* 0: sse; 1: avx; 2: avx512 */
    unsigned char x87[8][16];
    unsigned char vector[32][64];
    uint64_t mask[8];
};
_Static_assert(offsetof(struct image, flags) == 112 && offsetof(struct image, mxcsr) == 120 && offsetof(struct image, control) == 124 &&
                   offsetof(struct image, level) == 126 && offsetof(struct image, x87) == 128 && offsetof(struct image, vector) == 256 &&
                   offsetof(struct image, mask) == 2304,
               "the assembler knows the offsets");

/* Loads all of *in, waits, and stores all to *out. */
void hold_registers(const struct image *in, struct image *out, uint64_t spins);

#define EACH16(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH16_HIGH(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define EACH8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define LOAD_SSE(n) "movdqu 256+64*" #n "(%rdi), %xmm" #n "\n\t"
#define LOAD_AVX(n) "vmovdqu 256+64*" #n "(%rdi), %ymm" #n "\n\t"
#define LOAD_512(n) "vmovdqu64 256+64*" #n "(%rdi), %zmm" #n "\n\t"
#define LOAD_MASK(n) "kmovw 2304+8*" #n "(%rdi), %k" #n "\n\t"
#define SAVE_SSE(n) "movdqu %xmm" #n ", 256+64*" #n "(%rdi)\n\t"
#define SAVE_AVX(n) "vmovdqu %ymm" #n ", 256+64*" #n "(%rdi)\n\t"
#define SAVE_512(n) "vmovdqu64 %zmm" #n ", 256+64*" #n "(%rdi)\n\t"
#define SAVE_MASK(n) "kmovw %k" #n ", 2304+8*" #n "(%rdi)\n\t"
#define LOAD_X87(n) "fldt 128+16*" #n "(%rdi)\n\t"

__asm__(
    ".text\n\t.globl hold_registers\n\t.type hold_registers, @function\nhold_registers:\n\t.cfi_startproc\n\t"
    "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t.cfi_adjust_cfa_offset 48\n\t"
    ".cfi_offset rbx, -16\n\t.cfi_offset rbp, -24\n\t.cfi_offset r12, -32\n\t.cfi_offset r13, -40\n\t.cfi_offset r14, -48\n\t"
    ".cfi_offset r15, -56\n\t"
    "sub $24, %rsp\n\t.cfi_adjust_cfa_offset 24\n\t"
    "stmxcsr (%rsp)\n\tfnstcw 4(%rsp)\n\tmov %rsi, 8(%rsp)\n\tmov %rdx, %rcx\n\t"
    "cmpw $1, 126(%rdi)\n\tja 3f\n\tje 2f\n\t" EACH16(
        LOAD_SSE) "jmp 4f\n"
                  "2:\n\t" EACH16(
                      LOAD_AVX) "jmp 4f\n"
                                "3:\n\t" EACH16(LOAD_512) EACH16_HIGH(LOAD_512) EACH8(
                                    LOAD_MASK) "\n"
                                               "4:\n\tldmxcsr 120(%rdi)\n\tfninit\n\tfldcw 124(%rdi)\n\t" EACH8(
                                                   LOAD_X87) "mov 0(%rdi), %rax\n\tmov 8(%rdi), %rbx\n\tmov 16(%rdi), %rdx\n\tmov 24(%rdi), %rsi\n\tmov 40(%rdi), %rbp\n\t"
                                                             "mov 48(%rdi), %r8\n\tmov 56(%rdi), %r9\n\tmov 64(%rdi), %r10\n\tmov 72(%rdi), %r11\n\tmov 80(%rdi), %r12\n\t"
                                                             "mov 88(%rdi), %r13\n\tmov 96(%rdi), %r14\n\tmov 104(%rdi), %r15\n\t"
                                                             "pushq 112(%rdi)\n\t.cfi_adjust_cfa_offset 8\n\tmov 32(%rdi), %rdi\n\tpopfq\n\t.cfi_adjust_cfa_offset -8\n"
                                                             /* None of these changes a flag. */
                                                             "1:\n\tlea -1(%rcx), %rcx\n\tjrcxz 5f\n\tjmp 1b\n"
                                                             "5:\n\tpushfq\n\tcld\n\tpush %rdi\n\tmov 24(%rsp), %rdi\n\t.cfi_adjust_cfa_offset 16\n\t"
                                                             "mov %rax, 0(%rdi)\n\tmov %rbx, 8(%rdi)\n\tmov %rdx, 16(%rdi)\n\tmov %rsi, 24(%rdi)\n\tpopq 32(%rdi)\n\t"
                                                             "mov %rbp, 40(%rdi)\n\tmov %r8, 48(%rdi)\n\tmov %r9, 56(%rdi)\n\tmov %r10, 64(%rdi)\n\tmov %r11, 72(%rdi)\n\t"
                                                             "mov %r12, 80(%rdi)\n\tmov %r13, 88(%rdi)\n\tmov %r14, 96(%rdi)\n\tmov %r15, 104(%rdi)\n\tpopq 112(%rdi)\n\t"
                                                             ".cfi_adjust_cfa_offset -16\n\t"
                                                             "stmxcsr 120(%rdi)\n\tfnstcw 124(%rdi)\n\t"
                                                             "fstpt 240(%rdi)\n\tfstpt 224(%rdi)\n\tfstpt 208(%rdi)\n\tfstpt 192(%rdi)\n\tfstpt 176(%rdi)\n\tfstpt 160(%rdi)\n\t"
                                                             "fstpt 144(%rdi)\n\tfstpt 128(%rdi)\n\t"
                                                             "cmpw $1, 126(%rdi)\n\tja 7f\n\tje 6f\n\t" EACH16(
                                                                 SAVE_SSE) "jmp 8f\n"
                                                                           "6:\n\t" EACH16(
                                                                               SAVE_AVX) "vzeroupper\n\tjmp 8f\n"
                                                                                         "7:\n\t" EACH16(SAVE_512) EACH16_HIGH(SAVE_512) EACH8(
                                                                                             SAVE_MASK) "vzeroupper\n"
                                                                                                        "8:\n\tfninit\n\tldmxcsr (%rsp)\n\tfldcw 4(%rsp)\n\tadd $24, %rsp\n\t.cfi_adjust_cfa_offset -24\n\t"
                                                                                                        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\t.cfi_adjust_cfa_offset -48\n\tret\n\t"
                                                                                                        ".cfi_endproc\n\t.size hold_registers, . - hold_registers\n");

/* What was filled in at random becomes what registers can hold. */
static inline void image_tame(struct image *image) {
    image->flags = 0x202 | (image->flags & 0xcd5);   /* carry, parity, auxiliary, zero, sign, direction, overflow */
    image->mxcsr = 0x1f80 | (image->mxcsr & 0xe03f); /* rounding, flush to zero, what has happened */
    image->control = 0x7f | (image->control & 0xf00);
    image->level = __builtin_cpu_supports("avx512f") ? 2 : __builtin_cpu_supports("avx") ? 1 : 0;
    for (unsigned i = 0; i < 8; i++) {
        image->x87[i][7] |= 0x80; /* a normal number, and with a middling exponent */
        image->x87[i][9] = 0x3f | (image->x87[i][9] & 0x80);
        image->mask[i] &= 0xffff;
    }
}

/* What is kept nowhere is compared as well: it was filled in on both sides. */
static inline bool same(const struct image *a, const struct image *b) {
    unsigned vectors = a->level == 2 ? 32 : 16;
    size_t width = a->level == 2 ? 64 : a->level == 1 ? 32 : 16;
    if (memcmp(a->general, b->general, sizeof a->general) != 0 || a->flags != b->flags || a->mxcsr != b->mxcsr || a->control != b->control)
        return false;
    for (unsigned i = 0; i < 8; i++)
        if (memcmp(a->x87[i], b->x87[i], 10) != 0) return false;
    for (unsigned i = 0; i < vectors; i++)
        if (memcmp(a->vector[i], b->vector[i], width) != 0) return false;
    return a->level < 2 || memcmp(a->mask, b->mask, sizeof a->mask) == 0;
}

/* For hold_registers to store to: nothing is there yet. */
static inline void image_blank(struct image *out, const struct image *in) {
    memset(out, 0, sizeof *out);
    out->level = in->level;
}

/* Where `same` looks in any case: from the beginning to here. */
enum { IMAGE_PLAIN = offsetof(struct image, level) };
static inline unsigned char *image_last_vector(struct image *image) { return image->vector[15]; }

#endif
