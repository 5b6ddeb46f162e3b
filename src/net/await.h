/* Waiting until a descriptor is ready; also of the operating system's that are not weft's: the netpoll has it meanwhile, and no thread blocks.
 *
 * The number gets a place (desc.h) for as long as processes wait for it: the first registers it with the netpoll, the last takes it out. */
#ifndef WEFT_NET_AWAIT_H
#define WEFT_NET_AWAIT_H

#include <stdint.h>

struct desc;
/* Without waiting: which of the events (poll(2)'s) there are, or -EAGAIN, -EINTR, an error. The caller uses the descriptor (desc_use). */
int await_look(const struct desc *desc, int number, short events);

/* weft_fd_wait_raw in the name of another call. In a stackful process. Errors besides those of waiting: why it cannot be registered
 * (WEFT_EPERM: the kernel does not know how to wait for it). */
int await_number(int number, int what, uint64_t deadline, const char *call);

#endif
