/* weft_send_move: large payloads are moved, not copied. */
#include "fiber/fiber.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/heed.h"
#include "sched/rt_enter.h"

#include <weft/message.h>

/* The receiver is not in this program: the router (weft/router.h) sends a copy, and the buffer is released. */
static int move_by_router(weft_pid to, uint64_t tag, const struct message_moved *moved) {
    int error = send_by_router(weft_self(), to, tag, moved->buffer, moved->size);
    if (!error && moved->release) moved->release(moved->buffer, moved->size, moved->user);
    return error;
}

/* The receiver's mailbox is full. */
static int move_wait(weft_pid to, struct message *message) {
    int error = send_wait(to, message, WEFT_FOREVER, "weft_send_move");
    if (!error) return 0;
    message_moved(message)->release = NULL; /* the buffer is still the caller's */
    message_free_anywhere(message);
    return error;
}

int weft_send_move(weft_pid to, uint64_t tag, void *buffer, size_t size, weft_release release, void *user) {
    struct message_moved moved = {buffer, size, release, user};
    struct rt_entry entry;
    heed(my_worker);
    if (!rt_enter(&entry, to, "weft_send_move")) return move_by_router(to, tag, &moved);
    struct local *local = entry.local;
    struct message *message = message_new_moved(&local->cache, &moved);
    int error = message ? 0 : message_refused(size);
    if (message) {
        message->tag = tag;
        message->from = weft_self();
        error = send_message(local, entry.self, to, message);
        if (error && error != WEFT_EAGAIN) message_moved(message)->release = NULL; /* the buffer is still the caller's */
        if (error != WEFT_EAGAIN) error = send_count(local, message, error);
    }
    rt_leave(&entry);
    return __builtin_expect(error == WEFT_EAGAIN, 0) ? move_wait(to, message) : error;
}

void *weft_msg_take(weft_msg *opaque) {
    struct message *message = (struct message *)opaque;
    if (message->type != MESSAGE_MOVED) return NULL;
    struct message_moved *moved = message_moved(message);
    void *buffer = moved->buffer;
    message_uncharge(message);
    *moved = (struct message_moved){.buffer = NULL};
    return buffer;
}
