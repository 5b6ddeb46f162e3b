/* Ret-jump: a call that waited returns to its caller by a jump, because the processor would mispredict the return.
 *
 * A processor predicts a return from the calls it has seen last. After a switch those are another process's calls, so the return
 * from a call that waited is mispredicted, which costs 5 to 10 ns, unless both processes wait at the same place. (Measured: a round trip
 * of two messages takes 61 ns between processes of different functions, and 36 between two of the same.) A jump to the return address is
 * predicted from branch history instead, and that is right most of the time.
 *
 *     int call_slow(int a);                       the part that may wait; everything that follows the wait is in it
 *     FIBER_RET_JUMP(call_jump, call_slow)            declares call_jump: the same function, but it returns by a jump
 *     int call(int a) { return fast(a) ? 0 : call_jump(a); }
 *
 * The last line is compiled to a jump too, so that only call_jump is between the wait and the caller. A call that did not
 * wait must not use it: calls and returns would not stay paired. */
#ifndef WEFT_FIBER_RET_JUMP_H
#define WEFT_FIBER_RET_JUMP_H

#include "base/config.h"

#if defined(__x86_64__)
#define FIBER_RET_JUMP(jump, slow)                                                                                                         \
    __asm__(".pushsection .text\n\t"                                                                                                       \
            ".p2align 4\n\t"                                                                                                               \
            ".globl " #jump "\n\t"                                                                                                         \
            ".hidden " #jump "\n\t"                                                                                                        \
            ".type " #jump ", @function\n" #jump ":\n\t"                                                                                   \
            ".cfi_startproc\n\t"                                                                                                           \
            "subq $8, %rsp\n\t"                                                                                                            \
            ".cfi_adjust_cfa_offset 8\n\t"                                                                                                 \
            "call " #slow "\n\t"                                                                                                           \
            "addq $8, %rsp\n\t"                                                                                                            \
            ".cfi_adjust_cfa_offset -8\n\t"                                                                                                \
            "popq %rcx\n\t"                                                                                                                \
            ".cfi_adjust_cfa_offset -8\n\t"                                                                                                \
            ".cfi_register rip, rcx\n\t"                                                                                                   \
            "jmpq *%rcx\n\t"                                                                                                               \
            ".cfi_endproc\n\t"                                                                                                             \
            ".size " #jump ", . - " #jump "\n\t"                                                                                           \
            ".popsection");                                                                                                                \
    __typeof__(slow) jump __attribute__((visibility("hidden")))
#else
#define FIBER_RET_JUMP(jump, slow) __typeof__(slow) jump __attribute__((visibility("hidden"), alias(#slow)))
#endif

/* For the slow part: the assembler knows it by its name. */
#define FIBER_SLOW __attribute__((noinline, used, visibility("hidden"), flatten))

#endif
