/* The context switch for x86-64, System V calling convention. Included by ctx/ctx.h. */
#ifndef WEFT_CTX_X86_64_H
#define WEFT_CTX_X86_64_H

#include "ctx/ctx.h"

#if defined(__x86_64__)

struct ctx_frame {
    void *pc;
    void *sp;
    void *fp;   /* rbp: a compiler that uses it as a frame pointer does not take it as a clobber */
    void *base; /* rbx: clang's base register in functions that align their stack, e.g. for the address sanitizer */
    uint32_t mxcsr;
    uint16_t fpucw;
};

#if defined(__AVX512F__)
#define CTX_CLOBBER_WIDE                                                                                                                   \
    "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", \
        "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#else
#define CTX_CLOBBER_WIDE
#endif

/* Where the compiler marks the targets of indirect branches (-fcf-protection), this is one. */
#if defined(__CET__)
#define CTX_LANDING "endbr64"
#else
#define CTX_LANDING ""
#endif

/* The control word is compared because loading it is slow on some processors; mxcsr is not, see ctx/ctx.h. */
static inline __attribute__((always_inline)) void *ctx_switch_unchecked(struct ctx *save, struct ctx *to, void *gift) {
    struct ctx_frame frame, *mine = &frame, *theirs = to->frame;
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                     "stmxcsr %c[mxcsr](%[mine])\n\t"
                     "fnstcw %c[fpucw](%[mine])\n\t"
                     "movq %%rax, %c[pc](%[mine])\n\t"
                     "movq %%rsp, %c[sp](%[mine])\n\t"
                     "movq %%rbp, %c[fp](%[mine])\n\t"
                     "movq %%rbx, %c[base](%[mine])\n\t"
                     "movq %[mine], (%[save])\n\t"
                     "ldmxcsr %c[mxcsr](%[theirs])\n\t"
                     "movzwl %c[fpucw](%[mine]), %%eax\n\t"
                     "cmpw %c[fpucw](%[theirs]), %%ax\n\t"
                     "jne 3f\n"
                     "2:\n\t"
                     "movq %c[fp](%[theirs]), %%rbp\n\t"
                     "movq %c[base](%[theirs]), %%rbx\n\t"
                     "movq %c[sp](%[theirs]), %%rsp\n\t"
                     "jmpq *%c[pc](%[theirs])\n"
                     "3:\n\t"
                     "fldcw %c[fpucw](%[theirs])\n\t"
                     "jmp 2b\n"
                     "1:\n\t" CTX_LANDING
                     : [mine] "+S"(mine), [theirs] "+D"(theirs), [gift] "+d"(gift), [save] "+c"(save)
                     : [pc] "i"(offsetof(struct ctx_frame, pc)), [sp] "i"(offsetof(struct ctx_frame, sp)),
                       [fp] "i"(offsetof(struct ctx_frame, fp)), [base] "i"(offsetof(struct ctx_frame, base)),
                       [mxcsr] "i"(offsetof(struct ctx_frame, mxcsr)), [fpucw] "i"(offsetof(struct ctx_frame, fpucw))
                     : "rax", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", CTX_CLOBBER_WIDE "st", "st(1)",
                       "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc", "memory");
    return gift;
}

#endif

#endif
