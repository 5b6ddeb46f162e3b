/* Poll sets of the simulated world: epoll.
 *
 *   E1  As in the kernel, a watch is put into its set's line of ready ones when its open file reports a change that it asks for, and when it is
 *       added or modified while the file is ready. The wait takes it out and asks the file again: nothing there any more, no event.
 *   E2  A watch is found by its number and its open file. It ends with its open file, not with its number.
 *   E3  A real descriptor is ready when it is added, and reports nothing later. */
#ifndef WEFT_SIM_WORLD_NET_POLL_H
#define WEFT_SIM_WORLD_NET_POLL_H

#include "world/fd.h"

#include <sys/epoll.h>

int net_poll_open(void);
int net_poll_change(int set, int operation, int number, uint32_t events, uint64_t data);
/* The thread waits until the deadline; 0: it does not. */
int net_poll_wait(int set, struct epoll_event *events, int most, uint64_t deadline);
/* A real number is closed. */
void net_poll_forget_real(int number);

#endif
