/* System calls that a signal has interrupted.
 *
 * SA_RESTART has most of them begun again by the kernel. Some say EINTR all the same: poll, nanosleep, epoll_wait and their like. The context of
 * the handler is then just behind the instruction of the call, and what the call needs is in the registers, except for what its result has
 * replaced: its number on x86-64, its first argument on 64-bit ARM. That is found in the code which leads there, if it is of a shape that is
 * known: what compilers make of a C library's calls. If not, the caller hears of the signal as of any other. */
#ifndef WEFT_FIBER_RESTART_H
#define WEFT_FIBER_RESTART_H

#include "base/atom.h"

#include <stdbool.h>
#include <ucontext.h>

/* In a signal handler: if a call was interrupted that has done nothing yet, and would say so, it is begun again when the handler returns.
 * `at_once`: it cannot have waited for long, so those that have a time to wait from their beginning may begin again as well. */
void restart_call(ucontext_t *context, bool at_once);

/* So often it was, since the program began. For tests. */
extern atom_u64 restarted_calls;

#endif
