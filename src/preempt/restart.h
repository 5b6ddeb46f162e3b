/* System calls that a signal has interrupted.
 *
 * SA_RESTART has most of them begun again by the kernel. Some say EINTR all the same: poll, nanosleep, epoll_wait and their like. The context of
 * the handler is then just behind the instruction of the call, and what the call needs is in the registers, except for what its result has
 * replaced: its number on x86-64, its first argument on 64-bit ARM. That is found in the code which leads there, if it is of a shape that is
 * known: what compilers make of a C library's calls. If not, the caller hears of the signal as of any other. */
#ifndef WEFT_PREEMPT_RESTART_H
#define WEFT_PREEMPT_RESTART_H

#include "base/atom.h"

#include <stdbool.h>
#include <ucontext.h>

/* In a signal handler: whether it has interrupted a call that would say so. */
bool restart_is_due(const ucontext_t *context);
/* Then, if all other signals are blocked: a call that has done nothing yet is begun again when the handler returns. Not if a handler of the
 * program's has interrupted it too: then the program is to hear of it.
 * `at_once`: it cannot have waited for long, so those that have a time to wait from their beginning may begin again as well.
 * `low`: from there up to the interrupted stack pointer the stack can be read; that pointer itself, if nothing is known. */
void restart_call(ucontext_t *context, bool at_once, uintptr_t low);

/* So often it was, since the program began. For tests. */
extern atom_u64 restarted_calls;

#endif
