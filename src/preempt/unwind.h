/* Following a stack frame by frame, by the tables that compilers leave for exceptions and debuggers (DWARF call frame information).
 *
 * For signal handlers: nothing is allocated or locked, and whatever the tables say, no memory is read but the tables themselves and the
 * stack between the two limits. (Those of the C library and of libgcc trust the tables, and a function in assembler that does not tell where it
 * has saved a register would take them anywhere.) What is not understood ends the walk: expressions, frames of signal handlers, code without
 * tables. */
#ifndef WEFT_PREEMPT_UNWIND_H
#define WEFT_PREEMPT_UNWIND_H

#include "base/config.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { UNWIND_SP = 7, UNWIND_RETURN = 16, UNWIND_REGISTERS = 17 };
#define UNWIND_ADDRESS UINT64_MAX
#else
enum { UNWIND_SP = 31, UNWIND_RETURN = 30, UNWIND_REGISTERS = 32 };
#define UNWIND_ADDRESS ((UINT64_C(1) << 48) - 1) /* a return address may be signed, in the bits above */
#endif

struct unwind {
    uint64_t pc;
    uint64_t registers[UNWIND_REGISTERS]; /* by their numbers in the tables */
    uint64_t known;                       /* a bit for each: whether it is known */
    bool called;                          /* pc is a return address, not where it was interrupted */
    uint64_t low, high;                   /* the part of the stack that may be read */
};

/* On to the caller. False: nobody can tell who that is. The stack pointer never goes down. */
bool unwind_step(struct unwind *unwind);

#endif
