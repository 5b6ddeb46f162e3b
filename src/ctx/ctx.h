/* The context switch: one flow of control (a process, or a thread's loop) is suspended, another resumes, on the same
 * thread.
 *
 *   operation      caller
 *   ctx_make       the thread that will switch to it, while the stack is unused
 *   ctx_switch     a running flow, to a saved context that no other flow switches to
 *   ctx_adopt      one thread, before contexts are made (or any time later: it is one word)
 *   ctx_begin      any thread
 *   ctx_renew      a flow that has ended, for the next one on its stack
 *
 * C1  A context is saved from the moment another flow runs. That flow publishes it; then any thread may resume it. (The
 *     flow that is about to switch away must not publish its own context: its stack is still in use. Commit after the
 *     switch.)
 * C2  Kept over a switch: what the platform's calling convention keeps over a call, and nothing else. That is,
 *     beside the general registers, the floating-point modes (rounding, masks, flush to zero); on x86-64 the
 *     floating-point status flags too. Not kept: thread-local storage, which belongs to the thread. A compiler may
 *     compute the address of a thread-local variable (errno is one) before a switch and use it after: a function
 *     that switches touches none, not even through a function that may be inlined into it. Only the gift, the value
 *     passed through the switch, tells a resumed flow which thread or worker it runs on now.
 * C3  A saved context is a `struct ctx_frame` on its own stack, which says where it resumes: program counter, stack
 *     pointer, frame pointer. A debugger that sets these three (and, where the frame has it, the base register) can
 *     unwind to the entry; the compiler's own call-frame information holds there, because the switch moves the stack
 *     pointer only at the very end.
 * C4  Below an entry function is ctx_start, whose return address is undefined: backtraces end there.
 *
 * The switch is inline and names every register as clobbered, so the compiler saves those that are live at that
 * place, in the way it knows best, and the flow resumes by an indirect jump. Measured (Zen 4, ns per switch, two flows
 * in a loop):
 *
 *     a function, push and pop, ret      8.6   the return is predicted to go where the call came from: the other flow
 *     a function, push and pop, jump     4.4   but every return further down is mispredicted: the call had no return
 *     inline, jump                       1.4   no call, so calls and returns stay paired
 *     and the floating-point modes:
 *     mxcsr loaded if it differs         6.5   reading back what was just stored waits for it
 *     mxcsr always loaded                4.9   what is used. The store is 4 ns of that, and hidden when there are 10 ns
 *                                              of other work a switch: then the modes cost nothing measurable
 *
 * The frame is a local variable: no stack space is reserved by hand, so the red zone needs no care. */
#ifndef WEFT_CTX_CTX_H
#define WEFT_CTX_CTX_H

#include "base/config.h"

#include <stddef.h>
#include <stdint.h>

struct ctx_frame;

struct ctx {
    struct ctx_frame *frame;
};

/* A switch to a context that was never made: aborts.
 *
 * It has a second purpose. gcc assumes that an asm with a memory clobber still changes no variable that only this
 * translation unit knows by name (-fipa-reference, from -O1 on): a caller of a function that switches would go on
 * with the old values of its static variables. So the switch also has this call, of a function that the compiler
 * cannot know, on a branch that is never taken. */
void ctx_nowhere(struct ctx *to);

/* The stack pointer, approximately. Not by __builtin_frame_address, for which the compiler sets up a frame. */
static inline __attribute__((always_inline)) uintptr_t ctx_sp(void) {
    uintptr_t sp = 0;
#if WEFT_CHECK
#elif defined(__x86_64__)
    __asm__("movq %%rsp, %0" : "=r"(sp));
#elif defined(__aarch64__)
    __asm__("mov %0, sp" : "=r"(sp));
#endif
    return sp;
}

static inline __attribute__((always_inline)) void ctx_expect(struct ctx *to) {
    if (__builtin_expect(!to->frame, 0)) {
        void (*unknown)(struct ctx *) = ctx_nowhere;
        __asm__ volatile("" : "+r"(unknown));
        unknown(to);
    }
}

/* ctx_switch without ctx_expect: for a function that is called only from where the compiler does not look through the call (FIBER_RET_JUMP). */
static inline __attribute__((always_inline)) void *ctx_switch_unchecked(struct ctx *save, struct ctx *to, void *gift);

#if defined(__x86_64__)
#include "ctx/x86_64.h"
#elif defined(__aarch64__)
#include "ctx/aarch64.h"
#else
#error "there is no context switch for this processor"
#endif

/* Saves the caller's flow in *save and resumes *to. Returns when another flow switches back: the gift that it passed. */
static inline __attribute__((always_inline)) void *ctx_switch(struct ctx *save, struct ctx *to, void *gift) {
    ctx_expect(to);
    return ctx_switch_unchecked(save, to, gift);
}

/* A context whose first switch calls entry(gift) on that stack, from `top` downwards (top is rounded down to 16
 * bytes, and some 80 bytes are used before entry runs). entry does not return: it ends in a switch and is never resumed.
 * Returning traps. */
void ctx_make(struct ctx *ctx, void *top, void (*entry)(void *gift));

/* From now on new contexts begin with the floating-point modes of the calling thread. Before, with those that a program
 * has when it begins. */
void ctx_adopt(void);
/* Gives the calling thread those modes too: a thread inherits its creator's, and the creator may be a flow with other modes. */
void ctx_begin(void);
/* The same if the calling flow has others now, or has left marks of its calculations: the next flow begins on its stack, without a switch. */
void ctx_renew(void);

#endif
