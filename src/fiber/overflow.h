/* Stack overflow of a process: the signal handler that recognises it, reports it and ends the process.
 *
 * Each worker's thread has a signal stack. overflow_signal runs there on a fault and decides:
 *
 *   the fault is in the guard of the stack that the thread runs on, reached by growing    an overflow: reported
 *       in the process's own code, and it holds nothing                                   the process ends (V1)
 *       anywhere else                                                                     the program aborts with a dump (V2)
 *   the kernel found no room on the process's stack for the frame of another handler      reported, and the process goes on (V4)
 *   any other                                                                             handled as it would be without weft (V3)
 *
 *   V1  The handler does not jump: it takes another stack, writes that and overflow_landed into the interrupted context, and returns. So
 *       the kernel restores the signal mask, and the thread's signal stack is free again. It may take a stack because the thread was
 *       not inside weft.
 *   V2  "Own code" is the main program and the object of the entry function, except for weft itself if it is linked into them. Where the
 *       C library is linked into the program (static programs) the two cannot be told apart, so nothing is own code.
 *   V3  The previously installed handler is called, or the default action is restored and the instruction repeated.
 *   V4  A signal handler runs on the process's stack unless it was installed with SA_ONSTACK. If there is no room for its frame, the
 *       kernel drops that signal and sends SIGSEGV instead. Nothing has been written, so the process is unharmed; the number is lost.
 *
 * The handlers are installed with the first runtime and removed with the last, unless the program has replaced them meanwhile. */
#ifndef WEFT_FIBER_OVERFLOW_H
#define WEFT_FIBER_OVERFLOW_H

#include "fiber/fiber.h"

#include <signal.h>

/* The fault, read from the interrupted context. */
struct fault {
    uintptr_t address, pc, sp;
};

enum overflow_kind {
    OVERFLOW_NONE,
    OVERFLOW_HERE,   /* of the stack that the process runs on */
    OVERFLOW_BEYOND, /* the step was so large that it reached another stack's guard */
};

/* Whether the fault on this worker is an overflow. *place is where it was. */
enum overflow_kind overflow_kind(struct worker *worker, const struct fault *fault, struct stack_place *place);

/* Gives the worker a spare stack, if it has none. By its own thread, now and then; in the signal handler only where V1 allows it. */
void overflow_prepare(struct worker *worker);

/* Why the process cannot just end; NULL: it can. The text is in `text` or constant. */
const char *overflow_why_not(struct worker *worker, const struct fault *fault, enum overflow_kind kind, char *text, size_t size);

/* A runtime starts; a runtime has stopped. */
void overflow_begin(void);
void overflow_finish(void);
/* A worker's thread begins and ends. */
void overflow_thread_begin(struct signal_stack *mine, struct loop *loop);
void overflow_thread_end(struct signal_stack *mine);

#endif
