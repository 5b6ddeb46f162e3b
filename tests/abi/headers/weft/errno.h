/* errno in a process that may move to another thread.
 *
 * Compilers take errno's address for fixed within a function. In a function that calls weft it is not: the process may go on in another
 * thread. So with this header errno's address is computed at every use. Its value stays with the process. */
#ifndef WEFT_ERRNO_H
#define WEFT_ERRNO_H

#include <weft/api.h>

#include <errno.h>

WEFT_BEGIN
WEFT_API int *weft_errno(void);
WEFT_END

#undef errno
#define errno (*weft_errno())

#endif
