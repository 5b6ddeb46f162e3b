/* Making and freeing the messages that are no plain small copy: see proc/message.h. */
#include "proc/message.h"

#include "base/assert.h"
#include "proc/reason.h"

struct pool message_pool;

/* ---- the limit -------------------------------------------------------------------------------------------------------------- */

__attribute__((noinline, cold)) struct message *message_new_again(struct message_cache *cache, unsigned class) {
    if (!pool_is_limited(&message_pool)) return NULL;
    pool_trim_all(&message_pool);
    return pool_take(&cache->pool, class);
}

__attribute__((noinline, cold)) int message_refused(size_t size) {
    return pool_is_full(&message_pool, size > SYS_CHUNK ? size : SYS_CHUNK) ? WEFT_ENOBUFS : WEFT_ENOMEM;
}

/* Charges the bytes that a message has besides its block. False: there is no room for them. */
static bool message_charge(struct message *message, size_t bytes) {
    message->charged = pool_is_limited(&message_pool);
    return !message->charged || pool_charge(&message_pool, bytes);
}

void message_uncharge(struct message *message) {
    bool large = message->class == MESSAGE_LARGE, shell = message->class == MESSAGE_SHELL && message->type == MESSAGE_MOVED;
    bool moved = shell || message->class == MESSAGE_REPLY_SHELL; /* not by its type alone: that of a room for a completion is not set */
    if (!(large || moved) || !message->charged) return;
    pool_uncharge(&message_pool, large ? sizeof *message + message->size : message_shell(message)->size);
    message->charged = false;
}

/* ---- making ------------------------------------------------------------------------------------------------------------------- */

struct message *message_new_large(size_t size) {
    if (size > UINT32_MAX) return NULL;
    struct message *message = sys->alloc(sizeof *message + size);
    if (!message) return NULL;
    if (!message_charge(message, sizeof *message + size)) {
        sys->free(message, sizeof *message + size);
        return NULL;
    }
    message->size = (uint32_t)size;
    message->class = MESSAGE_LARGE;
    return message;
}

struct message *message_new_moved(struct message_cache *cache, const struct message_moved *moved) {
    struct message *message = message_new(cache, sizeof(struct message_moved));
    if (!message) return NULL;
    if (!message_charge(message, moved->size)) {
        pool_give(&cache->pool, message->class, message);
        return NULL;
    }
    message->class = MESSAGE_SHELL;
    message->type = MESSAGE_MOVED;
    *message_moved(message) = *moved;
    return message;
}

enum { MESSAGE_REPLY_SHELL_BLOCK = sizeof(struct message) + sizeof(struct message_head) + sizeof(struct message_moved) };

struct message *message_new_moved_reply(struct message_cache *cache, const struct message_moved *moved, uint64_t reference) {
    struct message *message = message_new(cache, sizeof(struct message_head) + sizeof(struct message_moved));
    if (!message) return NULL;
    if (!message_charge(message, moved->size)) {
        pool_give(&cache->pool, message->class, message);
        return NULL;
    }
    message->class = MESSAGE_REPLY_SHELL;
    message->type = MESSAGE_REPLY;
    *message_head(message) = (struct message_head){.reference = reference};
    *message_shell(message) = *moved;
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

/* ---- freeing ------------------------------------------------------------------------------------------------------------------- */

/* The buffer of a shell; for any other message, one with nothing to release. */
static struct message_moved message_inside(struct message *message) {
    const struct message_moved *shell = message_shell(message);
    return shell ? *shell : (struct message_moved){.release = NULL};
}

static unsigned message_block_class(const struct message *message) {
    unsigned class = message->class & ~(unsigned)MESSAGE_ROOM;
    if (class == MESSAGE_REPLY_SHELL) return pool_class_of(MESSAGE_REPLY_SHELL_BLOCK);
    return class == MESSAGE_SHELL ? 0 : class == MESSAGE_NOTICE ? pool_class_of(MESSAGE_NOTICE_BLOCK) : class;
}

/* The detail of the reason that a notice tells; NULL: none, or the message is no notice. */
static struct reason_detail *message_detail(struct message *message) {
    return message->class == MESSAGE_NOTICE ? ((weft_notice *)message->data)->reason.keeper : NULL;
}

static void message_free_large(struct message *message) {
    struct message_head *head = message->type == WEFT_EVENT_REQUEST ? message_head(message) : NULL;
    if (head && head->release) head->release(head + 1);
    sys->free(message, sizeof *message + message->size);
}

__attribute__((noinline, cold)) struct message_moved message_take_apart(struct message_cache *cache, struct message *message) {
    if (message->class == MESSAGE_NOTICE) { /* it has no buffer, and is not charged */
        reason_detail_drop(message_detail(message));
        pool_give(&cache->pool, pool_class_of(MESSAGE_NOTICE_BLOCK), message);
        return (struct message_moved){.release = NULL};
    }
    message_uncharge(message);
    struct message_moved moved = message_inside(message);
    pool_give(message->class & MESSAGE_ROOM ? cache->rooms : &cache->pool, message_block_class(message), message);
    return moved;
}

__attribute__((noinline, cold)) void message_free_other(struct message_cache *cache, struct message *message) {
    if (message->class == MESSAGE_LARGE) {
        message_uncharge(message);
        message_free_large(message);
        return;
    }
    message_release(message_take_apart(cache, message));
}

void message_free_anywhere(struct message *message) {
    WEFT_ENSURE(!(message->class & MESSAGE_ROOM), "a completion is no message");
    message_gone(message);
    message_uncharge(message);
    if (message->class == MESSAGE_LARGE) {
        message_free_large(message);
        return;
    }
    struct message_moved moved = message_inside(message);
    reason_detail_drop(message_detail(message));
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
