/* Children of this program, as operating systems know them. */
#ifndef WEFT_CHILD_H
#define WEFT_CHILD_H

#include <weft/process.h>

#include <sys/types.h>

WEFT_BEGIN

/* Waits until the child has ended, and takes note of it: 0 and *status (may be NULL) as waitpid(2) has it, for WIFEXITED and the like.
 * From a stackful process, or a thread of one's own. WEFT_ECHILD: there is no such child, or somebody else has waited for it;
 * WEFT_EINVAL: not the PID of one child; WEFT_ETIMEDOUT, WEFT_ECANCELED: it may be waited for again. A deadline that has passed: only if
 * it has ended already.
 *
 * Where the kernel cannot be asked to tell (before Linux 5.3, or no descriptors are left), the call looks every few milliseconds. */
WEFT_API int weft_waitpid(pid_t child, int *status, uint64_t deadline);

WEFT_END

#endif
