/* A stack unwinder for signal handlers: walks the stack frame by frame, by the tables that compilers leave for exceptions and debuggers
 * (DWARF call frame information).
 *
 * It allocates and locks nothing, and whatever the tables say, it reads no memory but the tables themselves and the stack between two
 * limits. (The unwinders of the C library and of libgcc trust the tables: an assembler function that does not say where it has saved a
 * register would lead them anywhere.) Expressions, frames of signal handlers and code without tables end the walk. */
#ifndef WEFT_CTX_UNWIND_H
#define WEFT_CTX_UNWIND_H

#include "base/config.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

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

/* Where a signal handler has interrupted the thread. The stack may be read from there up to `high`. */
void unwind_begin(struct unwind *unwind, const ucontext_t *context, uintptr_t high);
/* Goes on to the caller's frame. False: it cannot be found. The stack pointer never goes down. */
bool unwind_step(struct unwind *unwind);
/* From a place that has no code, because the last call or jump went wrong: goes on to the caller, as if the function had just been called. */
bool unwind_call(struct unwind *unwind);
/* Where the function begins that the frame is of; 0: not known. */
uint64_t unwind_function(const struct unwind *unwind);
/* Writes the frame into the context: when the handler returns, the thread goes on there, with `result` as what the called function has returned.
 * False: registers that the caller relies on are not known. */
bool unwind_resume(const struct unwind *unwind, ucontext_t *context, uint64_t result);

#endif
