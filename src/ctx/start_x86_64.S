/* The first instructions of a new context (ctx_make): entry is in rbx, the gift in rdx. It has no caller: the call-frame
 * information marks the return address as undefined. */
#if defined(__x86_64__)
        .text
        .globl  ctx_start
        .hidden ctx_start
        .type   ctx_start, @function
        .p2align 4
ctx_start:
        .cfi_startproc
        .cfi_undefined rip
        endbr64
        movq    %rdx, %rdi
        callq   *%rbx
        ud2
        .cfi_endproc
        .size   ctx_start, . - ctx_start
#endif
        .section .note.GNU-stack, "", %progbits
