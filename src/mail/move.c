/* weft_send_move: large payloads are moved, not copied. */
#include "fiber/fiber.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/rt_enter.h"

#include <weft/message.h>

/* The receiver is not in this program: the router (weft/router.h) sends a copy, and the buffer is released. */
static int move_by_router(weft_pid to, uint64_t tag, void *buffer, size_t size, void (*release)(void *buffer)) {
    int error = send_by_router(weft_self(), to, tag, buffer, size);
    if (!error && release) release(buffer);
    return error;
}

int weft_send_move(weft_pid to, uint64_t tag, void *buffer, size_t size, void (*release)(void *buffer)) {
    struct rt_entry entry;
    if (!rt_enter(&entry, to, "weft_send_move")) return move_by_router(to, tag, buffer, size, release);
    struct local *local = entry.local;
    struct message *message = message_new_moved(&local->cache, buffer, size, release);
    int error = WEFT_ENOMEM;
    if (message) {
        message->tag = tag;
        message->from = weft_self();
        error = send_message(local, entry.self, to, message);
        count(error ? &local->counters.refused : &local->counters.sent);
        if (error) message_moved(message)->release = NULL; /* the buffer is still the caller's */
        if (error) message_free(&local->cache, message);
    }
    rt_leave(&entry);
    return error;
}

void *weft_msg_take(weft_msg *opaque) {
    struct message *message = (struct message *)opaque;
    if (message->type != MESSAGE_MOVED) return NULL;
    struct message_moved *moved = message_moved(message);
    void *buffer = moved->buffer;
    *moved = (struct message_moved){NULL, 0, NULL};
    return buffer;
}
