/* The simulated network: what tests and the other parts of the world may ask of it.
 *
 * A machine has the loopback addresses for itself, the addresses 10.0.0.(machine + 1) and fd00::(machine + 1), and each address that one of
 * its sockets is bound to. */
#ifndef WEFT_SIM_WORLD_NET_H
#define WEFT_SIM_WORLD_NET_H

#include "sim.h"

struct sys_net;
extern const struct sys_net sim_net;

/* No packet passes between the two machines: TCP waits and gives up after 15 minutes, datagrams are lost. `on` false: heals. */
void sim_net_partition(unsigned a, unsigned b, bool on);
/* All partitions end. */
void sim_net_heal(void);

/* For files: UNIX sockets have names among them. Both take the path as it was given; false: no socket has that name. */
bool sim_net_is_socket(const char *path);
bool sim_net_unlink(const char *path);
/* From files (file_table.c): whether a socket may be bound to the path. 0, or -ENOENT, -ENOTDIR: there is no such directory; -EADDRINUSE: there
 * is a file. */
int sim_file_may_bind(const char *path);

/* The machine has crashed: its listeners, connections and names end; other machines notice when they send to it. */
void sim_net_crash(unsigned machine);

#endif
