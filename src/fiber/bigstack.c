/* weft_call_big: a call on a bigger stack. */
#include "fiber/altstack.h"
#include "fiber/upcall.h"

#include <weft/stack.h>

/* Calls fn(arg) on the stack below `top`. Debuggers can unwind through it: the caller's frame is found by the frame pointer. */
void bigstack_call(void (*fn)(void *arg), void *arg, void *top) __attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".pushsection .text\n\t"
        ".p2align 4\n\t"
        ".globl bigstack_call\n\t"
        ".hidden bigstack_call\n\t"
        ".type bigstack_call, @function\n"
        "bigstack_call:\n\t"
        ".cfi_startproc\n\t"
        "endbr64\n\t"
        "pushq %rbp\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        ".cfi_offset rbp, -16\n\t"
        "movq %rsp, %rbp\n\t"
        ".cfi_def_cfa_register rbp\n\t"
        "movq %rdx, %rsp\n\t"
        "movq %rdi, %rax\n\t"
        "movq %rsi, %rdi\n\t"
        "callq *%rax\n\t"
        "movq %rbp, %rsp\n\t"
        "popq %rbp\n\t"
        ".cfi_def_cfa rsp, 8\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size bigstack_call, . - bigstack_call\n\t"
        ".popsection");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n\t"
        ".p2align 4\n\t"
        ".globl bigstack_call\n\t"
        ".hidden bigstack_call\n\t"
        ".type bigstack_call, %function\n"
        "bigstack_call:\n\t"
        ".cfi_startproc\n\t"
        "hint 34\n\t"
        "stp x29, x30, [sp, #-16]!\n\t"
        ".cfi_def_cfa_offset 16\n\t"
        ".cfi_offset x29, -16\n\t"
        ".cfi_offset x30, -8\n\t"
        "mov x29, sp\n\t"
        ".cfi_def_cfa_register x29\n\t"
        "mov sp, x2\n\t"
        "mov x3, x0\n\t"
        "mov x0, x1\n\t"
        "blr x3\n\t"
        "mov sp, x29\n\t"
        ".cfi_def_cfa_register sp\n\t"
        "ldp x29, x30, [sp], #16\n\t"
        ".cfi_def_cfa_offset 0\n\t"
        "ret\n\t"
        ".cfi_endproc\n\t"
        ".size bigstack_call, . - bigstack_call\n\t"
        ".popsection");
#endif

struct big_call {
    void (*fn)(void *arg);
    void *arg;
    struct altstack *altstack;
    struct fiber *fiber;
    struct upcall upcall;
};

static void big_main(void *arg) {
    struct big_call *call = arg;
    altstack_gone(NULL);
    upcall(call->fiber, call->fn, call->arg, &call->upcall);
    altstack_going(NULL, &call->altstack->before);
}

int bigstack(void (*fn)(void *arg), void *arg, size_t stack_size) {
    struct worker *worker = fiber_worker("weft_call_big");
    if (!fn) WEFT_REFUSE("weft_call_big", "no function", "give one");
    unsigned class = stack_class_of(stack_size);
    if (class == STACK_CLASSES) return WEFT_EINVAL;
    struct stack *stack = stack_take(&worker->local.stacks, class);
    if (!stack) return WEFT_ENOSTACK;
    struct fiber *fiber = fiber_of(worker->current);
    struct big_call call = {fn, arg, altstack_push(fiber, stack), fiber, {0}};
    altstack_going(&call.altstack->before, &fiber->annotate);
    bigstack_call(big_main, &call, call.altstack);
    altstack_gone(&call.altstack->before);
    fiber->annotate = call.altstack->before;
    fiber->altstack = call.altstack->outer;
    stack_give(&worker_here()->local.stacks, stack);
    upcall_pass_on(&call.upcall);
    return 0;
}

int weft_call_big(void (*fn)(void *arg), void *arg, size_t stack_size) {
    fiber_caller("weft_call_big");
    int error = bigstack(fn, arg, stack_size);
    __asm__ volatile(""); /* no tail call: debuggers show this frame */
    return error;
}

void altstack_free_all(struct local *local, struct fiber *fiber) {
    while (fiber->altstack) {
        struct stack *stack = fiber->altstack->stack;
        fiber->altstack = fiber->altstack->outer;
        stack_give(&local->stacks, stack);
    }
}
