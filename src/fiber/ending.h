/* How a process ends in the middle of its calls, by weft_exit or by force, in a program with C++: its frames are unwound, so that
 * destructors run, as with pthread_exit. fiber_quit calls the unwinder (libgcc's, or LLVM's), which walks the frames. When it reaches
 * the upcall of the process's entry function, that upcall returns, and fiber_main sees in upcall.thrown how it was left.
 *
 *   T1  A frame's destructors run first. A cleanup that lies in a C frame (a scope) runs when that frame is left, with all newer cleanups.
 *       Functions of weft_defer run at the end, as when the entry function returns.
 *   T2  The process is shielded meanwhile (cleanup.h, C2), so destructors can wait.
 *   T3  A catch (...) that does not rethrow does not stop the unwinding: it goes on at the end of that block.
 *   T4  A frame that cannot be unwound ends the unwinding: the remaining destructors do not run, everything else is as in C.
 *   T5  Any other forced unwinding of a process (pthread_exit, pthread_cancel) aborts the program at the first upcall, by name.
 *   T6  A function with upcall.strict is not left by an exception: the program aborts, by name, before anything is unwound. */
#ifndef WEFT_FIBER_ENDING_H
#define WEFT_FIBER_ENDING_H

#include "fiber/fiber.h"

/* Unwinds the calling process. Returns only if the unwinding cannot be begun. */
void ending_unwind(struct worker *worker, int reason);
/* The unwinding is over: it has reached the upcall, or no frame is left. Frees its record and returns the reason of the end. */
int ending_landed(void *thrown);

#endif
