/* When a process's stack runs over.
 *
 * Each worker's thread has a stack for signal handlers. A fault comes to overflow_signal there, which decides:
 *
 *   the fault is in the guard of the stack that the thread runs on, reached by growing    an overflow: reported
 *       in the process's own code, and it holds nothing                                   that process ends (V1)
 *       anywhere else                                                                     the program aborts with a dump (V2)
 *   the kernel found no room on the process's stack for the frame of another handler      reported, and the process goes on (V4)
 *   any other                                                                             goes where it would have gone without weft (V3)
 *
 *   V1  The handler does not jump: it takes another stack, writes that and overflow_landed into the interrupted context, and returns. So
 *       the kernel restores the signal mask and the thread's signal stack is free again. It may take a stack because nothing of weft
 *       is under way on this thread.
 *   V2  "Own code" is the main program and the object of the entry function, except for weft itself if it is linked into them. Where the
 *       C library is linked into the program (static programs) nobody can tell, so nothing is own code.
 *   V3  The handler before ours is called, or the default action restored and the instruction repeated.
 *   V4  The handler of a signal runs on the process's stack unless it was installed with SA_ONSTACK. If there is no room for its frame, the kernel
 *       drops that signal and sends SIGSEGV instead. Nothing has been written, so the process is unharmed; which signal it was nobody knows.
 *
 * Handlers are installed with the first runtime and go with the last, if nobody has changed them meanwhile. */
#ifndef WEFT_FIBER_OVERFLOW_H
#define WEFT_FIBER_OVERFLOW_H

#include "fiber/fiber.h"

#include <signal.h>

/* What stopped the thread, read from the interrupted context. */
struct fault {
    uintptr_t address, pc, sp;
};

enum overflow_kind {
    OVERFLOW_NONE,
    OVERFLOW_HERE,   /* of the stack that the process runs on */
    OVERFLOW_BEYOND, /* so large a step that it came down in another's guard */
};

/* Is the fault of this worker an overflow? *place is where it was. */
enum overflow_kind overflow_kind(struct worker *worker, const struct fault *fault, struct stack_place *place);

/* Takes a stack for the worker to have at hand, if it has none; for now and then. By its own thread, outside of signal handlers. */
void overflow_prepare(struct worker *worker);

/* Why the process cannot just end; NULL: it can. The text is in `text` or constant. */
const char *overflow_why_not(struct worker *worker, const struct fault *fault, enum overflow_kind kind, char *text, size_t size);

/* A runtime more, one less. */
void overflow_begin(void);
void overflow_finish(void);
/* A worker's thread begins and ends. */
void overflow_thread_begin(struct signal_stack *mine, struct loop *loop);
void overflow_thread_end(struct signal_stack *mine);

#endif
