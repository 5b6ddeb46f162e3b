/* Making and freeing the messages that are no plain small copy: see proc/message.h. */
#include "proc/message.h"

#include "base/assert.h"

struct pool message_pool;

struct message *message_new_large(size_t size) {
    if (size > UINT32_MAX) return NULL;
    struct message *message = sys->alloc(sizeof *message + size);
    if (!message) return NULL;
    message->size = (uint32_t)size;
    message->class = MESSAGE_LARGE;
    return message;
}

struct message *message_new_moved(struct message_cache *cache, void *buffer, size_t size, void (*release)(void *buffer)) {
    struct message *message = message_new(cache, sizeof(struct message_moved));
    if (!message) return NULL;
    message->class = MESSAGE_SHELL;
    message->type = MESSAGE_MOVED;
    *message_moved(message) = (struct message_moved){buffer, size, release};
    return message;
}

struct message *message_new_room(struct message_cache *cache, size_t size) {
    unsigned class = pool_class_of(sizeof(struct message) + size);
    struct message *message = pool_take(cache->rooms, class);
    if (!message) return NULL;
    message->size = (uint32_t)size;
    message->class = (uint8_t)(MESSAGE_ROOM | class);
    return message;
}

/* The buffer of a shell; for any other message, one with nothing to release. */
static struct message_moved message_inside(struct message *message) {
    bool shell = (message->class & ~MESSAGE_ROOM) == MESSAGE_SHELL;
    return shell ? *message_moved(message) : (struct message_moved){.release = NULL};
}

static unsigned message_block_class(const struct message *message) {
    unsigned class = message->class & ~(unsigned)MESSAGE_ROOM;
    return class == MESSAGE_SHELL ? 0 : class;
}

static void message_release(struct message_moved moved) {
    if (moved.release) moved.release(moved.buffer); /* last: it is the program's function, and may call weft */
}

__attribute__((noinline, cold)) void message_free_other(struct message_cache *cache, struct message *message) {
    if (message->class == MESSAGE_LARGE) {
        sys->free(message, sizeof *message + message->size);
        return;
    }
    struct message_moved moved = message_inside(message);
    pool_give(message->class & MESSAGE_ROOM ? cache->rooms : &cache->pool, message_block_class(message), message);
    message_release(moved);
}

void message_free_anywhere(struct message *message) {
    WEFT_ENSURE(!(message->class & MESSAGE_ROOM), "a completion is no message");
    if (message->class == MESSAGE_LARGE) {
        sys->free(message, sizeof *message + message->size);
        return;
    }
    struct message_moved moved = message_inside(message);
    pool_give_back(&message_pool, message_block_class(message), message);
    message_release(moved);
}

__attribute__((noinline)) struct message_payload message_payload_other(struct message *message) {
    switch (message->type) {
    case MESSAGE_RESULT:
    case MESSAGE_MOVED: return (struct message_payload){message_moved(message)->buffer, message_moved(message)->size};
    case WEFT_EVENT_REQUEST:
    case MESSAGE_REPLY:
        return (struct message_payload){message->data + sizeof(struct message_head), message->size - sizeof(struct message_head)};
    default: return (struct message_payload){message->data, message->size};
    }
}
