/* Finding the waiting loops of code that does not mark them.
 *
 * A thread that comes to an atomic read a second time with the same registers, the same stack and the same operands, and has written nothing in between,
 * has gone round a loop that only read: what it does next depends on what it reads next, and on nothing else. A further round is not explored; the thread
 * waits there, as in base/spin.h, for something that it read to change. That is exact: a loop that counts its rounds is not taken for one that waits.
 *
 * A read-modify-write that leaves the value as it was (a test-and-set of a lock that is held) counts as a read: take it out of an execution, let its readers read what it
 * read, and what is left is an execution of the same values with no more order than before. */
#ifndef CHECK_LOOPS_H
#define CHECK_LOOPS_H

#include "run.h"

enum { LOOPS_VISITS = 32, LOOPS_REGISTERS = 24 };

struct loops_visit {
    uint64_t state;
    uint16_t at; /* the events that the thread had passed */
};
struct loops_seen {
    struct loops_visit visit[LOOPS_VISITS];
    unsigned count;
};
extern struct loops_seen loops_seen[T_MAX];

/* What the caller of a function that reads keeps over the call, the stack pointer first. Such a function is entered at `symbol`, which notes that and
 * goes on at `target`, the function in C. */
extern uint64_t loops_registers[LOOPS_REGISTERS];
#define LOOPS_ENTRY(symbol, target)                                                                                                        \
    __asm__(".text\n.globl " #symbol "\n.type " #symbol ",@function\n" #symbol ":\n" LOOPS_NOTE #target "\n.size " #symbol ",.-" #symbol   \
            "\n");
#if defined(__x86_64__)
#define LOOPS_NOTE                                                                                                                         \
    "  movq %rsp, loops_registers(%rip)\n  movq %rbx, loops_registers+8(%rip)\n  movq %rbp, loops_registers+16(%rip)\n"                    \
    "  movq %r12, loops_registers+24(%rip)\n  movq %r13, loops_registers+32(%rip)\n  movq %r14, loops_registers+40(%rip)\n"                \
    "  movq %r15, loops_registers+48(%rip)\n  jmp "
#else
#define LOOPS_NOTE                                                                                                                         \
    "  adrp x16, loops_registers\n  add x16, x16, :lo12:loops_registers\n  mov x17, sp\n  stp x17, x19, [x16]\n"                           \
    "  stp x20, x21, [x16, #16]\n  stp x22, x23, [x16, #32]\n  stp x24, x25, [x16, #48]\n  stp x26, x27, [x16, #64]\n"                     \
    "  stp x28, x29, [x16, #80]\n  stp d8, d9, [x16, #96]\n  stp d10, d11, [x16, #112]\n  stp d12, d13, [x16, #128]\n"                     \
    "  stp d14, d15, [x16, #144]\n  b "
#endif

/* The current thread is about to do an atomic read with these operands. Waits if it has been here before. */
void loops_read(uintptr_t pc, uintptr_t address, uint64_t operand, uint64_t expected);

/* The current thread has changed something outside its stack: no earlier state comes back. */
static inline void loops_wrote(void) { loops_seen[run.current].count = 0; }

/* A new run. */
void loops_forget(void);

#endif
