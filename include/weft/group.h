/* Groups: processes under one name, to send to all of them or to any one. A group is there as long as it has members; each runtime has
 * groups of its own. A process that ends has left all its groups before its end is told. Names as in weft/registry.h; a group and
 * a process may have the same name. `runtime` NULL: the calling process's own. */
#ifndef WEFT_GROUP_H
#define WEFT_GROUP_H

#include <weft/registry.h>

WEFT_BEGIN

/* The calling process joins, and leaves. It may join several times, and is a member until it has left as many times; meanwhile it is one
 * member, which is sent to once. join: 0, or WEFT_ENOMEM, WEFT_EINVAL (the name), WEFT_ENOTINSIDE. leave: 0, or WEFT_ENOENT: it is no
 * member; WEFT_ENOTINSIDE. */
WEFT_API int weft_group_join(const char *group);
WEFT_API int weft_group_leave(const char *group);

/* Sends to every process that is a member at this moment, the caller too if it is one. Returns how many have the message in their mailboxes:
 * fewer than there are members, if some end meanwhile, or have full mailboxes (it waits for none), or there is not enough memory; 0 for a
 * group without members; or, with nothing sent, WEFT_ENOMEM, WEFT_EINVAL (the name), WEFT_ENOTINSIDE. Members need not wait for each other:
 * no lock is held while the messages are sent. */
WEFT_API int64_t weft_group_send_in(weft_runtime *runtime, const char *group, uint64_t tag, const void *data, size_t size);
static inline int64_t weft_group_send(const char *group, uint64_t tag, const void *data, size_t size) {
    return weft_group_send_in(NULL, group, tag, data, size);
}

/* Sends to one member, in turn: each time to the next; a member whose mailbox is full is passed over. 0, or WEFT_ENOPROC: there is no living
 * member; WEFT_EAGAIN, WEFT_ENOBUFS: the mailboxes of all are full, and what the last is to do then says which (a mailbox that drops messages
 * is never full); WEFT_ENOBUFS also at the limit of the program; WEFT_ENOMEM, WEFT_EINVAL, WEFT_ENOTINSIDE. */
WEFT_API int weft_group_send_any_in(weft_runtime *runtime, const char *group, uint64_t tag, const void *data, size_t size);
static inline int weft_group_send_any(const char *group, uint64_t tag, const void *data, size_t size) {
    return weft_group_send_any_in(NULL, group, tag, data, size);
}

/* Writes the PIDs of up to `capacity` members, in no particular order, and returns how many members there are: more than `capacity` means
 * that some were left out. Or WEFT_ENOMEM, WEFT_EINVAL (the name), WEFT_ENOTINSIDE. */
WEFT_API int64_t weft_group_members_in(weft_runtime *runtime, const char *group, weft_pid *pids, size_t capacity);
static inline int64_t weft_group_members(const char *group, weft_pid *pids, size_t capacity) {
    return weft_group_members_in(NULL, group, pids, capacity);
}

WEFT_END

#endif
