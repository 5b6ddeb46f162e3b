/* Routing: messages to PIDs of other runtimes and nodes are given to a function of the program. */
#ifndef WEFT_ROUTER_H
#define WEFT_ROUTER_H

#include <weft/runtime.h>

WEFT_BEGIN

/* What weft_send does with a PID of another runtime or node. The router is given every such message. */
typedef int (*weft_router)(void *user, weft_pid from, weft_pid to, uint64_t tag, const void *data, size_t size);
/* NULL removes it. 0, or WEFT_EBUSY when there is one already. */
WEFT_API int weft_set_router(weft_router router, void *user);

WEFT_END

#endif
