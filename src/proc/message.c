#include "proc/message.h"

struct message *message_new_large(size_t size) {
    if (size > UINT32_MAX) return NULL;
    struct message *message = sys->alloc(sizeof *message + size);
    if (!message) return NULL;
    message->size = (uint32_t)size;
    message->class = MESSAGE_LARGE;
    return message;
}

struct message *message_new_moved(struct pool_cache *cache, void *buffer, size_t size, void (*release)(void *buffer)) {
    struct message *message = message_new(cache, sizeof(struct message_moved));
    if (!message) return NULL;
    message->class = MESSAGE_SHELL;
    message->type = MESSAGE_MOVED;
    *message_moved(message) = (struct message_moved){buffer, size, release};
    return message;
}

__attribute__((noinline, cold)) void message_free_other(struct pool_cache *cache, struct message *message) {
    if (message->class == MESSAGE_LARGE) {
        sys->free(message, sizeof *message + message->size);
        return;
    }
    struct message_moved moved = *message_moved(message);
    pool_give(cache, 0, message);
    if (moved.release) moved.release(moved.buffer); /* last: it is not ours, and may use weft */
}

__attribute__((noinline)) struct message_payload message_payload_other(struct message *message) {
    switch (message->type) {
    case MESSAGE_RESULT:
    case MESSAGE_MOVED: return (struct message_payload){message_moved(message)->buffer, message_moved(message)->size};
    case WEFT_REQUEST:
    case MESSAGE_REPLY:
        return (struct message_payload){message->data + sizeof(struct message_head), message->size - sizeof(struct message_head)};
    default: return (struct message_payload){message->data, message->size};
    }
}
