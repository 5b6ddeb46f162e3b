/* A stack unwinder for signal handlers: walks the stack frame by frame, by the tables that compilers leave for exceptions and debuggers
 * (DWARF call frame information).
 *
 * It allocates and locks nothing, and whatever the tables say, it reads no memory but the tables themselves and the stack between two
 * limits. (The unwinders of the C library and of libgcc trust the tables: an assembler function that does not say where it has saved a
 * register would lead them anywhere.) Expressions, frames of signal handlers and code without tables end the walk. */
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

/* Goes on to the caller's frame. False: it cannot be found. The stack pointer never goes down. */
bool unwind_step(struct unwind *unwind);

#endif
