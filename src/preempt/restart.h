/* Restarting system calls that weft's signal has interrupted.
 *
 * With SA_RESTART the kernel restarts most of them. Some return EINTR all the same: poll, nanosleep, epoll_wait and the like. The handler's
 * context is then just behind the system call instruction, and the arguments are still in the registers, except for the one that the result
 * has replaced: the call's number on x86-64, its first argument on 64-bit ARM. That is read from the code before the instruction, if it has
 * a known shape: what compilers make of a C library's calls. If not, the caller sees EINTR, as with any signal.
 *
 * A signal that the program ignores may have interrupted the call just before: then the kernel has prepared restart_syscall in its place, and the
 * context is at the instruction. But a handler's return makes the kernel forget what to restart, and that call answers EINTR. So the number of
 * the call itself is put back there too. */
#ifndef WEFT_PREEMPT_RESTART_H
#define WEFT_PREEMPT_RESTART_H

#include "base/atom.h"

#include <stdbool.h>
#include <ucontext.h>

/* In a signal handler: whether it has interrupted a system call that would return EINTR. */
bool restart_is_due(const ucontext_t *context);
/* Whether the usual shapes are known in this C library: most calls that a signal interrupts can be restarted. */
bool restart_is_usual(void);
/* In a signal handler: whether it has interrupted any system call that has not come to its end. (On ARM also: the thread was about to make one.) */
bool restart_in_call(const ucontext_t *context);
/* In the first case, and while all other signals are blocked: a call that has done nothing yet is restarted when the handler returns. Not if a
 * handler of the program has interrupted it too: then the program must see EINTR.
 * `at_once`: it cannot have waited for long, or has waited for no more than a time slice and only this once (thread/stopped.h, A8), so calls with a timeout
 * relative to their beginning may be restarted as well.
 * `low`: the stack can be read from there up to the interrupted stack pointer; equal to that pointer if nothing is known. */
void restart_call(ucontext_t *context, bool at_once, uintptr_t low);

/* How often a call was restarted, since the program began. For tests. */
extern atom_u64 restarted_calls;

#endif
