/* Stack overflow of a process: it is recognised, reported, and the process ends. Called by the handler of fault.h.
 *
 *   an overflow in the process's own code (own_code.h), and it holds nothing     the process ends (fault.h, V1)
 *   an overflow anywhere else                                                    the program aborts with a dump
 *
 *   V4  A signal handler runs on the process's stack unless it was installed with SA_ONSTACK. If there is no room for its frame, the
 *       kernel drops that signal and sends SIGSEGV instead. Nothing has been written, so the process is unharmed; the number is lost. */
#ifndef WEFT_FIBER_OVERFLOW_H
#define WEFT_FIBER_OVERFLOW_H

#include "fiber/fault.h"

enum overflow_kind {
    OVERFLOW_NONE,
    OVERFLOW_HERE,   /* of the stack that the process runs on */
    OVERFLOW_BEYOND, /* the step was so large that it reached another stack's guard */
};

/* True: it was an overflow, and the process will end. Does not return when the program aborts. */
bool overflow_handle(const struct fault *fault);
/* V4. Whether the kernel has dropped a signal: it then sends SIGSEGV itself, without an address. */
bool overflow_is_lost_signal(const struct fault *fault);
/* True: a signal was lost on the stack of a process (V4). The process is unharmed, and goes on. */
bool overflow_lost(const struct fault *fault);

#endif
