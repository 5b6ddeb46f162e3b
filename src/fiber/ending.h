/* How a process ends in the middle of its calls, by weft_exit or by force, in a program with C++: its frames are unwound, so that destructors run, as with
 * pthread_exit. The C library's unwinder (libgcc's, or LLVM's) goes through the frames from within fiber_quit; when it comes to the upcall of
 * the process's function, that returns, and fiber_main sees that it was left so.
 *
 *   T1  A frame's destructors run first. A cleanup that lies in a frame of C (a scope) runs when that frame is left, with all that are newer. What was
 *       deferred runs at the end, as when the function returns.
 *   T2  The process is shielded meanwhile (C2): destructors that wait do wait.
 *   T3  A catch (...) that does not throw on does not stop it: at the end of that block the unwinding goes on.
 *   T4  Frames that nobody can unwind end it there: the rest of the destructors do not run, everything else as in C.
 *   T5  Whoever unwinds a process for another reason than an exception (pthread_exit, pthread_cancel) is stopped by the first upcall, by name.
 *   T6  A function with upcall.strict is not left by an exception: the program aborts, by name, while the exception is still where it was thrown. */
#ifndef WEFT_FIBER_ENDING_H
#define WEFT_FIBER_ENDING_H

#include "fiber/fiber.h"

/* Unwinds the calling process. Returns only if that cannot be begun. */
void ending_unwind(struct worker *worker, int reason);
/* The upcall was left by it, or no frame is left: nothing is on its way any more. The reason. */
int ending_landed(void *thrown);

#endif
