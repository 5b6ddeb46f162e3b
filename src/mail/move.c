/* Large payloads, moved and not copied. */
#include "fiber/fiber.h"
#include "mail/send.h"
#include "sched/door.h"
#include "sched/rt_enter.h"

#include <weft/message.h>

/* Nobody in this program: the router sends a copy, and the buffer has done its service. */
static int move_by_router(weft_pid to, uint64_t tag, void *buffer, size_t size, void (*release)(void *buffer)) {
    int error = send_by_router(weft_self(), to, tag, buffer, size);
    if (!error && release) release(buffer);
    return error;
}

int weft_send_move(weft_pid to, uint64_t tag, void *buffer, size_t size, void (*release)(void *buffer)) {
    struct reach reach;
    if (!reach_begin(&reach, to, "weft_send_move")) return move_by_router(to, tag, buffer, size, release);
    struct actor *actor = reach.actor;
    struct message *message = message_new_moved(&actor->cache, buffer, size, release);
    int error = WEFT_ENOMEM;
    if (message) {
        message->tag = tag;
        message->from = weft_self();
        error = send_message(actor, reach.self, to, message);
        count(error ? &actor->counters.refused : &actor->counters.sent);
        if (error) message_moved(message)->release = NULL; /* still the caller's */
        if (error) message_free(&actor->cache, message);
    }
    reach_end(&reach);
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
