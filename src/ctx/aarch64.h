/* The context switch for 64-bit ARM, AAPCS64. Included by ctx/ctx.h. */
#ifndef WEFT_CTX_AARCH64_H
#define WEFT_CTX_AARCH64_H

#include "ctx/ctx.h"

#if defined(__aarch64__)

struct ctx_frame {
    void *pc;
    void *sp;
    void *fp;   /* x29 */
    void *base; /* x19: clang's base register */
    uint64_t fpcr;
};

/* Writing fpcr is slow, so it is compared first. "hint 36" is `bti j`: the target of an indirect jump. */
static inline __attribute__((always_inline)) void *ctx_switch_unchecked(struct ctx *save, struct ctx *to, void *gift) {
    register void *gift_in_x0 __asm__("x0") = gift;
    register struct ctx_frame *theirs __asm__("x1") = to->frame;
    struct ctx_frame frame;
    register struct ctx_frame *mine __asm__("x2") = &frame;
    register struct ctx *save_in_x7 __asm__("x7") = save;
    __asm__ volatile(
        "adr x3, 1f\n\t"
        "mov x4, sp\n\t"
        "mrs x5, fpcr\n\t"
        "stp x3, x4, [%[mine], %[pc]]\n\t"
        "stp x29, x19, [%[mine], %[fp]]\n\t"
        "str x5, [%[mine], %[fpcr]]\n\t"
        "str %[mine], [%[save]]\n\t"
        "ldr x6, [%[theirs], %[fpcr]]\n\t"
        "cmp x5, x6\n\t"
        "b.eq 2f\n\t"
        "msr fpcr, x6\n"
        "2:\n\t"
        "ldp x3, x4, [%[theirs], %[pc]]\n\t"
        "ldp x29, x19, [%[theirs], %[fp]]\n\t"
        "mov sp, x4\n\t"
        "br x3\n"
        "1:\n\t"
        "hint 36"
        : [mine] "+r"(mine), [theirs] "+r"(theirs), [gift] "+r"(gift_in_x0), [save] "+r"(save_in_x7)
        : [pc] "i"(offsetof(struct ctx_frame, pc)), [fp] "i"(offsetof(struct ctx_frame, fp)), [fpcr] "i"(offsetof(struct ctx_frame, fpcr))
        : "x3", "x4", "x5", "x6", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x20", "x21", "x22", "x23",
          "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
          "cc", "memory");
    return gift_in_x0;
}

_Static_assert(offsetof(struct ctx_frame, sp) == offsetof(struct ctx_frame, pc) + 8 &&
                   offsetof(struct ctx_frame, base) == offsetof(struct ctx_frame, fp) + 8,
               "stored in pairs");

#endif

#endif
