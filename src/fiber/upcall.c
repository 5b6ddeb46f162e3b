/* Upcalls in assembler: an unwinder can walk through them, and lands there (upcall_personality in ending.c). */
#include "fiber/upcall.h"

#if defined(__x86_64__)
__asm__(".pushsection .text\n\t"
        ".p2align 4\n\t"
        ".globl upcall_call\n\t"
        ".hidden upcall_call\n\t"
        ".type upcall_call, @function\n"
        "upcall_call:\n\t"
        ".cfi_startproc\n\t"
        ".cfi_personality 0x1b, upcall_personality\n\t"
        "endbr64\n\t"
        "movq %rsp, (%rsi)\n\t"
        "movq %rdi, %rax\n\t"
        "movq %rdx, %rdi\n\t"
        "movq %rcx, %rsi\n\t"
        "pushq %r8\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        "callq *%rax\n\t"
        ".globl upcall_back\n\t"
        ".hidden upcall_back\n"
        "upcall_back:\n\t"
        "endbr64\n\t"
        "addq $8, %rsp\n\t"
        ".cfi_def_cfa_offset 8\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size upcall_call, . - upcall_call\n\t"
        ".popsection");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n\t"
        ".p2align 4\n\t"
        ".globl upcall_call\n\t"
        ".hidden upcall_call\n\t"
        ".type upcall_call, %function\n"
        "upcall_call:\n\t"
        ".cfi_startproc\n\t"
        ".cfi_personality 0x1b, upcall_personality\n\t"
        "hint 34\n\t"
        "stp x29, x30, [sp, #-32]!\n\t"
        ".cfi_def_cfa_offset 32\n\t"
        ".cfi_offset x29, -32\n\t"
        ".cfi_offset x30, -24\n\t"
        "str x4, [sp, #16]\n\t"
        "mov x29, sp\n\t"
        "str x29, [x1]\n\t"
        "mov x4, x0\n\t"
        "mov x0, x2\n\t"
        "mov x1, x3\n\t"
        "blr x4\n\t"
        ".globl upcall_back\n\t"
        ".hidden upcall_back\n"
        "upcall_back:\n\t"
        "hint 36\n\t"
        "ldp x29, x30, [sp], #32\n\t"
        ".cfi_restore x30\n\t"
        ".cfi_restore x29\n\t"
        ".cfi_def_cfa_offset 0\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size upcall_call, . - upcall_call\n\t"
        ".popsection");
#endif

uintptr_t upcall_here(uintptr_t function, uintptr_t a, uintptr_t b, struct upcall *upcall) {
    struct worker *worker = worker_here();
    struct fiber *fiber = worker && worker->current && worker->current->stackful ? fiber_of(worker->current) : NULL;
    void *nowhere, *outer = fiber ? fiber->floor : NULL;
    uintptr_t result = upcall_call(function, fiber ? &fiber->floor : &nowhere, a, b, upcall);
    if (fiber) fiber->floor = outer;
    return result;
}
