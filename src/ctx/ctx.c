/* Making of contexts and their floating-point modes: see ctx/ctx.h. */
#include "ctx/ctx.h"

#include "base/assert.h"
#include "base/atom.h"

/* ctx/start_*.S */
void ctx_start(void);

/* The floating-point modes of new contexts. rlx: nothing is published with this word. */
static atom_u64 ctx_modes;

#if defined(__x86_64__)
/* As the ABI sets them when a program begins: round to nearest, all exceptions masked, extended precision. */
enum { CTX_MXCSR = 0x1f80, CTX_FPUCW = 0x37f };

void ctx_adopt(void) {
    uint32_t mxcsr;
    uint16_t fpucw;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(fpucw));
    atom_store_rlx(&ctx_modes, (uint64_t)fpucw << 32 | (mxcsr & ~UINT32_C(0x3f)));
}

static void ctx_set_modes(struct ctx_frame *frame) {
    uint64_t modes = atom_load_rlx(&ctx_modes);
    frame->mxcsr = modes ? (uint32_t)modes : CTX_MXCSR;
    frame->fpucw = modes ? (uint16_t)(modes >> 32) : CTX_FPUCW;
}

void ctx_begin(void) {
    struct ctx_frame frame;
    ctx_set_modes(&frame);
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(frame.mxcsr), "m"(frame.fpucw));
}

/* Without asking what they are now: stmxcsr takes 15 cycles on Zen 4, both loads 4. */
void ctx_renew(void) { ctx_begin(); }
#else
void ctx_adopt(void) {
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    atom_store_rlx(&ctx_modes, fpcr);
}

static void ctx_set_modes(struct ctx_frame *frame) { frame->fpcr = atom_load_rlx(&ctx_modes); }

void ctx_begin(void) { __asm__ volatile("msr fpcr, %0" : : "r"(atom_load_rlx(&ctx_modes))); }

void ctx_renew(void) {
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    if (__builtin_expect(fpcr != atom_load_rlx(&ctx_modes), 0)) ctx_begin();
}
#endif

void ctx_nowhere(struct ctx *to) { WEFT_PANIC("a switch to a context at %p that was never made", (void *)to); }

/* The frame lies above what the entry will use, so that it needs no stack of its own and the first page holds both. */
void ctx_make(struct ctx *ctx, void *top, void (*entry)(void *gift)) {
    struct ctx_frame *frame = (struct ctx_frame *)((uintptr_t)top & ~(uintptr_t)15) - 1;
    frame = (struct ctx_frame *)((uintptr_t)frame & ~(uintptr_t)15);
    frame->pc = (void *)ctx_start;
    frame->sp = frame;
    frame->fp = NULL;
    frame->base = (void *)entry;
    ctx_set_modes(frame);
    ctx->frame = frame;
}
