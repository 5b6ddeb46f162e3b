/* Bytes on their way in one direction: a pipe, or one half of a connection. A ring of bytes; those at the front have arrived, those behind are
 * on their way still. Descriptors may travel with bytes (UNIX sockets).
 *
 *   L1  arrived <= used <= room. Bytes that are on their way take room, as they do in the kernel's buffers.
 *   L2  A read ends behind bytes that carry descriptors, and takes these. */
#ifndef WEFT_SIM_WORLD_FLOW_H
#define WEFT_SIM_WORLD_FLOW_H

#include "world/fd.h"

/* Descriptors in a message. */
struct parcel {
    struct parcel *next;
    uint64_t first, last; /* the bytes that carry it, counted from the flow's begin: last is behind them */
    unsigned count;
    struct parcel_item {
        struct sim_fd *fd; /* NULL: a real one */
        int number;
    } items[];
};
void parcel_free(struct parcel *parcel);

struct flow {
    unsigned char *data;
    size_t room, head, used, arrived;
    uint64_t taken; /* bytes that were read so far */
    bool full;      /* a writer has found no room since there was an edge */
    struct parcel *parcels;
};

/* False: no memory. */
bool flow_begin(struct flow *flow, size_t room);
void flow_end(struct flow *flow);

size_t parts_size(const struct iovec *parts, int count);
/* The first `size` bytes of the parts go in; the caller has seen that there is room. The parcel (or NULL) goes with them. */
void flow_put(struct flow *flow, const struct iovec *parts, int count, size_t size, struct parcel *parcel);
static inline size_t flow_room(const struct flow *flow) { return flow->room - flow->used; }
static inline void flow_arrive(struct flow *flow, size_t size) { flow->arrived += size; }
/* At most `size` bytes that have arrived. `peek`: they stay, and so does their parcel; otherwise *parcel (or NULL) becomes the caller's. */
size_t flow_take(struct flow *flow, const struct iovec *parts, int count, size_t size, bool peek, struct parcel **parcel);

/* Small or large, as the seed wants it; 0 in a script: `most`. */
size_t flow_draw_room(size_t most, size_t least);
/* How many of `size` bytes are moved: all, or fewer by a fault. */
size_t flow_draw_short(size_t size);

#endif
