/* Bytes on their way: see flow.h. */
#include "world/flow.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- descriptors ----------------------------------------------------------------------------------------------------------------- */

void parcel_free(struct parcel *parcel) {
    for (unsigned i = 0; parcel && i < parcel->count; i++) {
        if (parcel->items[i].fd) sim_fd_drop(parcel->items[i].fd);
        else close(parcel->items[i].number);
    }
    free(parcel);
}

/* ---- bytes ----------------------------------------------------------------------------------------------------------------------- */

bool flow_begin(struct flow *flow, size_t room) {
    memset(flow, 0, sizeof *flow);
    flow->data = malloc(room);
    flow->room = room;
    return flow->data != NULL;
}

void flow_end(struct flow *flow) {
    while (flow->parcels) {
        struct parcel *parcel = flow->parcels;
        flow->parcels = parcel->next;
        parcel_free(parcel);
    }
    free(flow->data);
    flow->data = NULL;
    flow->room = flow->used = flow->arrived = 0;
}

size_t parts_size(const struct iovec *parts, int count) {
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    return size;
}

/* `size` bytes from the ring's place `at` on, which goes round, to memory or from there. */
static void flow_copy(struct flow *flow, size_t at, void *memory, size_t size, bool in) {
    size_t start = (flow->head + at) % flow->room, first = size < flow->room - start ? size : flow->room - start;
    if (size == 0) return;
    if (in) {
        memcpy(flow->data + start, memory, first);
        memcpy(flow->data, (char *)memory + first, size - first);
    } else {
        memcpy(memory, flow->data + start, first);
        memcpy((char *)memory + first, flow->data, size - first);
    }
}

static void flow_copy_parts(struct flow *flow, size_t at, const struct iovec *parts, int count, size_t size, bool in) {
    for (int i = 0; i < count && size > 0; i++) {
        size_t some = parts[i].iov_len < size ? parts[i].iov_len : size;
        flow_copy(flow, at, parts[i].iov_base, some, in);
        at += some;
        size -= some;
    }
}

void flow_put(struct flow *flow, const struct iovec *parts, int count, size_t size, struct parcel *parcel) {
    flow_copy_parts(flow, flow->used, parts, count, size, true);
    if (parcel) {
        parcel->first = flow->taken + flow->used;
        parcel->last = parcel->first + size;
        struct parcel **end = &flow->parcels;
        while (*end)
            end = &(*end)->next;
        *end = parcel;
    }
    flow->used += size;
}

size_t flow_take(struct flow *flow, const struct iovec *parts, int count, size_t size, bool peek, struct parcel **parcel) {
    struct parcel *first = flow->parcels;
    if (size > flow->arrived) size = flow->arrived;
    bool carries = first && size > 0 && first->first < flow->taken + size;
    if (carries && first->last < flow->taken + size) size = (size_t)(first->last - flow->taken); /* L2 */
    flow_copy_parts(flow, 0, parts, count, size, false);
    *parcel = NULL;
    if (peek) return size;
    if (carries) {
        *parcel = first;
        flow->parcels = first->next;
    }
    flow->head = (flow->head + size) % flow->room;
    flow->taken += size;
    flow->used -= size;
    flow->arrived -= size;
    return size;
}

/* ---- the seed --------------------------------------------------------------------------------------------------------------------- */

size_t flow_draw_room(size_t most, size_t least) {
    size_t room = most >> 2 * sim_draw(SIM_NET, 4);
    if (sim_fault_is_on(SIM_FAULT_SHORT)) room >>= 2 * sim_draw(SIM_NET, 4);
    return room < least ? least : room;
}

size_t flow_draw_short(size_t size) {
    if (size < 2 || !sim_fault(SIM_FAULT_SHORT, SIM_SHORT)) return size;
    return 1 + sim_draw(SIM_SHORT, size - 1);
}
