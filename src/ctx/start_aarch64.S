/* The first instructions of a new context (ctx_make): entry is in x19, the gift in x0. It has no caller: the call-frame
 * information marks the return address as undefined. */
#if defined(__aarch64__)
        .text
        .globl  ctx_start
        .hidden ctx_start
        .type   ctx_start, %function
        .p2align 4
ctx_start:
        .cfi_startproc
        .cfi_undefined x30
        hint    36
        blr     x19
        brk     #1
        .cfi_endproc
        .size   ctx_start, . - ctx_start
#endif
        .section .note.GNU-stack, "", %progbits
