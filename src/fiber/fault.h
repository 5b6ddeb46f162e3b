/* The one handler of the signals that code raises by going wrong: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT. Each worker's thread has a signal stack;
 * the handler runs there and decides, in this order:
 *
 *   the kernel found no room on the process's stack for the frame of another handler      reported, and the process goes on   overflow.h, V4
 *   the fault is in the guard of the stack that the thread runs on, reached by growing    reported: the process ends, or the program aborts
 *                                                                                                                            overflow.h
 *   any other fault of a process, where faults are contained                              reported: the process ends, or the program does
 *                                                                                                                            contain.h
 *   any other fault of a process that will end the program                                one line that names the process
 *   all that have not ended a process                                                     V3
 *
 *   V1  To end a process the handler does not jump: it takes another stack, writes that and a function into the interrupted context, and
 *       returns. So the kernel restores the signal mask, and the thread's signal stack is free again. It may take a stack because the thread
 *       was not inside weft.
 *   V3  The previously installed handler is called, or the default action is restored and the instruction repeated.
 *
 * The handlers are installed with the first runtime and removed with the last, unless the program has replaced them meanwhile. */
#ifndef WEFT_FIBER_FAULT_H
#define WEFT_FIBER_FAULT_H

#include "fiber/fiber.h"

#include <signal.h>
#include <ucontext.h>

struct fault {
    int signal;
    bool sent; /* not raised by an instruction: abort, or another thread */
    uintptr_t address, pc, sp;
    struct worker *worker; /* whose thread this is; NULL: none's, or its process is in a blocking call */
    struct proc *proc;     /* that it runs, NULL: none */
    const siginfo_t *info;
    ucontext_t *context;
};

/* Whether it was raised by the processor and has no address. */
bool fault_is_by_processor(const ucontext_t *context);

/* The runtime whose process it is; NULL if it is none's. */
struct runtime *fault_runtime(const struct fault *fault);
weft_pid fault_pid(const struct fault *fault);
/* Its entry function, or step; 0: there is no process. And the name that it was given, or "process". */
uintptr_t fault_entry(const struct fault *fault);
const char *fault_name(const struct fault *fault);
/* "SIGSEGV"... */
const char *fault_text(int signal);
/* What the stackful process holds that others would wait for; NULL: nothing that weft knows of. The text is in `text` or constant. */
const char *fault_held(struct proc *proc, char *text, size_t size);
/* The same of a step process. */
const char *fault_held_by_step(const struct fault *fault, char *text, size_t size);
/* Whether the signal ends the program, unless a process is ended in its place. */
bool fault_is_fatal(const struct fault *fault);

/* V1: `function` is called with `argument` on the stack below `top`, when the handler has returned. */
void fault_divert(const struct fault *fault, void (*function)(void *), void *argument, void *top);
/* Takes the worker's spare stack, so that the handler need not allocate one; NULL: there is none. A worker that has only run processes that got
 * their stacks elsewhere may have none yet; then it takes one now. */
struct stack *fault_spare(struct worker *worker);
/* Gives the worker a spare stack, if it has none. By its own thread, now and then; in the handler only where V1 allows it. */
void fault_prepare(struct worker *worker);
/* Writes it to standard error, at once. */
void fault_print(const char *text, int length, size_t most);
/* Aborts the program, without another report. */
void fault_abort(void) __attribute__((noreturn));

/* A runtime starts; a runtime has stopped. */
void fault_begin(void);
void fault_finish(void);
/* A worker's thread begins and ends. */
void fault_thread_begin(struct signal_stack *mine, struct loop *loop);
void fault_thread_end(struct signal_stack *mine);

#endif
