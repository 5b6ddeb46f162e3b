/* Patterns in every register that a call keeps. */
#ifndef WEFT_TESTS_CTX_PATTERN_H
#define WEFT_TESTS_CTX_PATTERN_H

#include <stdint.h>

/* Fills every register that a call keeps from `pattern`, calls f(arg), and returns a bit for each that is another
 * after. */
struct pattern {
    uint64_t general[11]; /* rbx rbp r12-r15; x19-x29 */
    uint64_t vector[8];   /* d8-d15 */
    uint64_t modes;       /* mxcsr and x87 control word; fpcr */
};
unsigned registers_over(void (*f)(void *arg), void *arg, const struct pattern *pattern);

#if defined(__x86_64__)
__asm__(".text\n"
        ".type registers_over, @function\n"
        "registers_over:\n"
        "    .cfi_startproc\n"
        "    pushq %rbx\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rbp\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r12\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r13\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r14\n    .cfi_adjust_cfa_offset 8\n"
        "    pushq %r15\n    .cfi_adjust_cfa_offset 8\n"
        "    subq $40, %rsp\n    .cfi_adjust_cfa_offset 40\n"
        "    movq %rdx, (%rsp)\n"
        "    stmxcsr 8(%rsp)\n"
        "    fnstcw 12(%rsp)\n"
        "    movq (%rdx), %rbx\n"
        "    movq 8(%rdx), %rbp\n"
        "    movq 16(%rdx), %r12\n"
        "    movq 24(%rdx), %r13\n"
        "    movq 32(%rdx), %r14\n"
        "    movq 40(%rdx), %r15\n"
        "    ldmxcsr 152(%rdx)\n"
        "    fldcw 156(%rdx)\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    callq *%rax\n"
        "    movq (%rsp), %rdx\n"
        "    xorl %eax, %eax\n"
        "    cmpq (%rdx), %rbx\n    je 1f\n    orl $1, %eax\n1:\n"
        "    cmpq 8(%rdx), %rbp\n    je 1f\n    orl $2, %eax\n1:\n"
        "    cmpq 16(%rdx), %r12\n    je 1f\n    orl $4, %eax\n1:\n"
        "    cmpq 24(%rdx), %r13\n    je 1f\n    orl $8, %eax\n1:\n"
        "    cmpq 32(%rdx), %r14\n    je 1f\n    orl $16, %eax\n1:\n"
        "    cmpq 40(%rdx), %r15\n    je 1f\n    orl $32, %eax\n1:\n"
        "    stmxcsr 16(%rsp)\n"
        "    movl 16(%rsp), %ecx\n"
        "    xorl 152(%rdx), %ecx\n"
        "    testl $0xffc0, %ecx\n    jz 1f\n    orl $64, %eax\n1:\n"
        "    fnstcw 16(%rsp)\n"
        "    movzwl 16(%rsp), %ecx\n"
        "    cmpw 156(%rdx), %cx\n    je 1f\n    orl $128, %eax\n1:\n"
        "    ldmxcsr 8(%rsp)\n"
        "    fldcw 12(%rsp)\n"
        "    addq $40, %rsp\n    .cfi_adjust_cfa_offset -40\n"
        "    popq %r15\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r14\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r13\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %r12\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rbp\n    .cfi_adjust_cfa_offset -8\n"
        "    popq %rbx\n    .cfi_adjust_cfa_offset -8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size registers_over, . - registers_over\n");

/* Rounding, flush to zero, denormals are zero; rounding and precision of the x87. */
static inline uint64_t some_modes(uint64_t random) {
    uint32_t mxcsr = 0x1f80 | (random & 3) << 13 | (random >> 2 & 1) << 15 | (random >> 3 & 1) << 6;
    uint32_t fpucw = 0x7f | (random >> 4 & 1 ? 2 : 3) << 8 | (random >> 5 & 3) << 10;
    return (uint64_t)fpucw << 32 | mxcsr;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".type registers_over, %function\n"
        "registers_over:\n"
        "    sub sp, sp, #208\n"
        "    stp x19, x20, [sp]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x3, fpcr\n"
        "    stp x2, x3, [sp, #160]\n"
        "    ldp x19, x20, [x2]\n"
        "    ldp x21, x22, [x2, #16]\n"
        "    ldp x23, x24, [x2, #32]\n"
        "    ldp x25, x26, [x2, #48]\n"
        "    ldp x27, x28, [x2, #64]\n"
        "    ldr x29, [x2, #80]\n"
        "    ldp d8, d9, [x2, #88]\n"
        "    ldp d10, d11, [x2, #104]\n"
        "    ldp d12, d13, [x2, #120]\n"
        "    ldp d14, d15, [x2, #136]\n"
        "    ldr x3, [x2, #152]\n"
        "    msr fpcr, x3\n"
        "    mov x4, x0\n"
        "    mov x0, x1\n"
        "    blr x4\n"
        "    ldr x2, [sp, #160]\n"
        "    mov w0, #0\n"
        ".macro same register, at, bit\n"
        "    ldr x3, [x2, #\\at]\n"
        "    cmp \\register, x3\n"
        "    cset w4, ne\n"
        "    orr w0, w0, w4, lsl #\\bit\n"
        ".endm\n"
        ".macro same_vector register, at, bit\n"
        "    fmov x5, \\register\n"
        "    same x5, \\at, \\bit\n"
        ".endm\n"
        "    same x19, 0, 0\n    same x20, 8, 1\n    same x21, 16, 2\n    same x22, 24, 3\n    same x23, 32, 4\n"
        "    same x24, 40, 5\n    same x25, 48, 6\n    same x26, 56, 7\n    same x27, 64, 8\n    same x28, 72, 9\n"
        "    same x29, 80, 10\n"
        "    same_vector d8, 88, 11\n    same_vector d9, 96, 12\n    same_vector d10, 104, 13\n"
        "    same_vector d11, 112, 14\n    same_vector d12, 120, 15\n    same_vector d13, 128, 16\n"
        "    same_vector d14, 136, 17\n    same_vector d15, 144, 18\n"
        "    mrs x5, fpcr\n"
        "    same x5, 152, 19\n"
        "    ldr x3, [sp, #168]\n"
        "    msr fpcr, x3\n"
        "    ldp x19, x20, [sp]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #208\n"
        "    ret\n"
        ".size registers_over, . - registers_over\n");

/* Rounding and flush to zero. */
static inline uint64_t some_modes(uint64_t random) { return (random & 7) << 22; }
#endif

static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static inline void some_pattern(struct pattern *pattern, uint64_t *random) {
    for (unsigned i = 0; i < 11; i++)
        pattern->general[i] = next_random(random);
    for (unsigned i = 0; i < 8; i++)
        pattern->vector[i] = next_random(random);
    pattern->modes = some_modes(next_random(random));
}

#endif
