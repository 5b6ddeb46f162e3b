/* What lies in a mailbox: messages, completions and cancellations, each a block with its payload behind it.
 *
 * The pool of such blocks is global to the program, not part of a runtime: a received message belongs to its receiver, which
 * may keep it for longer than the runtime lasts. Any thread may free it, whatever runtimes exist then. */
#ifndef WEFT_PROC_MESSAGE_H
#define WEFT_PROC_MESSAGE_H

#include "mem/pool.h"
#include "proc/message_check.h"
#include "queue/mpsc.h"
#include "sys/sys.h"

#include <weft/process.h>

#include <string.h>

struct message {
    struct mpsc_node node; /* first: a node's address is the message's */
    uint64_t tag;
    union {
        weft_pid from; /* WEFT_EVENT_MESSAGE */
        int64_t error; /* WEFT_EVENT_COMPLETION */
    };
    union {
        struct {
            uint32_t size; /* of all that is behind this header */
            uint8_t type;  /* enum weft_event_type or enum message_type; not WEFT_EVENT_MESSAGE: ask message_payload where the payload is */
            uint8_t class; /* of the pool, or enum message_class */
            uint8_t urgent;  /* in a bounded mailbox: it goes before the ordinary ones. Elsewhere not set */
            uint8_t charged; /* MESSAGE_LARGE, MESSAGE_MOVED: its bytes are, to message_pool (pool.h, P3). Elsewhere not set */
        };
        uint64_t short_head; /* of a WEFT_EVENT_MESSAGE in a block of class 0: its size */
    };
    unsigned char data[];
};
_Static_assert(sizeof(struct message) == 32, "small messages fit the smallest block");
_Static_assert(WEFT_EVENT_MESSAGE == 0 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "short_head");

/* Internal types: a step process does not see them as event types. */
enum message_type {
    MESSAGE_REPLY = 0x10,  /* as a WEFT_EVENT_REQUEST: begins with a struct message_head */
    MESSAGE_MOVED = 0x11,  /* data is a struct message_moved */
    MESSAGE_RESULT = 0x12, /* a completion; data is a struct message_moved, the result, whose `user` says whether it was seen */
};
enum message_class {
    MESSAGE_LARGE = POOL_CLASSES, /* from sys->alloc */
    MESSAGE_SHELL,                /* of the smallest class, around a buffer that is released with it */
    MESSAGE_REPLY_SHELL,          /* a reply around such a buffer: its head, and behind that what a shell has (message_reply_open) */
    MESSAGE_NOTICE,               /* of MESSAGE_NOTICE_BLOCK bytes, with a weft_notice (life/tie.h) */
    MESSAGE_ROOM = 0x40,          /* or'ed to a class or MESSAGE_SHELL: room for a completion, freed with the runtime's pool */
};

enum { MESSAGE_NOTICE_BLOCK = 112 };

/* One thread's caches. */
struct message_cache {
    struct pool_cache pool;   /* of message_pool */
    struct pool_cache *rooms; /* of the runtime's own pool */
};

/* Before the payload of requests and replies. */
struct message_head {
    uint64_t reference; /* names the request among those of its sender */
    /* Of a request in a MESSAGE_LARGE: called with the payload before the message is freed, read or not. NULL: nothing. (Payloads are
     * aligned by its size.) */
    void (*release)(void *payload);
};
_Static_assert(sizeof(struct message_head) == 16, "payloads are aligned alike");

struct message_moved {
    void *buffer;
    size_t size;
    weft_release release; /* NULL: not to be released */
    void *user;
};
_Static_assert(sizeof(struct message) + sizeof(struct message_moved) <= POOL_LEAST, "a shell is the smallest block");
/* `user` of a result that the process has been given as an event; before that it is NULL. */
#define MESSAGE_SEEN ((void *)1)

static inline struct message *message_of(struct mpsc_node *node) { return (struct message *)node; }
static inline struct message_head *message_head(struct message *message) { return (struct message_head *)message->data; }
static inline struct message_moved *message_moved(struct message *message) { return (struct message_moved *)message->data; }

extern struct pool message_pool;

struct message *message_new_large(size_t size);
/* The pool has no block of this class, perhaps because of its limit: gives back what other classes do not need, and tries again. */
struct message *message_new_again(struct message_cache *cache, unsigned class);
/* Why there is no message of this size: WEFT_ENOBUFS if the limit is the reason (weft_config.max_mail_bytes), else WEFT_ENOMEM. */
int message_refused(size_t size);
/* The buffer of a moved message is its own no more. */
void message_uncharge(struct message *message);
/* By a thread without a cache. */
void message_free_anywhere(struct message *message);
/* The rest of message_free: large messages, shells, rooms, notices. */
void message_free_other(struct message_cache *cache, struct message *message);
/* The same of all but large messages, in two steps: the first is for a thread inside of weft, the second may call the program. */
struct message_moved message_take_apart(struct message_cache *cache, struct message *message);
static inline void message_release(struct message_moved moved) {
    if (moved.release) moved.release(moved.buffer, moved.size, moved.user); /* last: it is the program's function, and may call weft */
}
/* For a completion that may come when no process waits for it any more, or never; NULL when there is no memory. */
struct message *message_new_room(struct message_cache *cache, size_t size);
static inline size_t message_capacity(const struct message *message) {
    return pool_class_size(message->class & ~MESSAGE_ROOM) - sizeof *message;
}
/* A shell around a buffer, which is released when it is freed; NULL when there is no memory. */
struct message *message_new_moved(struct message_cache *cache, const struct message_moved *moved);
/* The same as a reply to the request with this reference. */
struct message *message_new_moved_reply(struct message_cache *cache, const struct message_moved *moved, uint64_t reference);
/* The request that a reply is to has been found, so its head is not needed any more: one with a buffer becomes a moved message like any other. */
static inline void message_reply_open(struct message *message) {
    if (__builtin_expect(message->class != MESSAGE_REPLY_SHELL, 1)) return;
    memmove(message->data, message->data + sizeof(struct message_head), sizeof(struct message_moved));
    message->type = MESSAGE_MOVED;
}
/* Where a message has its buffer, which it may have to release; NULL: it has none. */
static inline struct message_moved *message_shell(struct message *message) {
    unsigned class = message->class & ~(unsigned)MESSAGE_ROOM;
    if (class == MESSAGE_SHELL || (class == MESSAGE_REPLY_SHELL && message->type == MESSAGE_MOVED)) return message_moved(message);
    return class == MESSAGE_REPLY_SHELL ? (struct message_moved *)(message->data + sizeof(struct message_head)) : NULL;
}

/* What the receiver sees. */
struct message_payload {
    void *data;
    size_t size;
};
struct message_payload message_payload_other(struct message *message);
static inline struct message_payload message_payload(struct message *message) {
    if (__builtin_expect(message->type != WEFT_EVENT_MESSAGE, 0)) return message_payload_other(message);
    return (struct message_payload){message->data, message->size};
}

/* With room for `size` bytes, tag, from and type not set; NULL when there is no memory. */
static inline struct message *message_new(struct message_cache *cache, size_t size) {
    if (__builtin_expect(size > pool_class_size(POOL_CLASSES - 1) - sizeof(struct message), 0)) return message_new_large(size);
    unsigned class = pool_class_of(sizeof(struct message) + size);
    struct message *message = pool_take(&cache->pool, class);
    if (__builtin_expect(!message, 0) && !(message = message_new_again(cache, class))) return NULL;
    message->size = (uint32_t)size;
    message->class = (uint8_t) class;
    return message;
}

/* A plain message, its payload copied; NULL when there is no memory. */
static inline struct message *message_copy(struct message_cache *cache, weft_pid from, uint64_t tag, const void *data, size_t size) {
    struct message *message = message_new(cache, size);
    if (!message) return NULL;
    message->tag = tag;
    message->from = from;
    message->type = WEFT_EVENT_MESSAGE;
    if (size > 0) memcpy(message->data, data, size);
    return message;
}

/* memcpy of at most MESSAGE_SHORT bytes, without a call: by two pieces, which overlap unless the size is twice that of a piece. */
enum { MESSAGE_SHORT = POOL_LEAST - sizeof(struct message) };
static inline void message_fill_short(unsigned char *to, const unsigned char *from, size_t size) {
    if (__builtin_expect(size == 8, 1)) { /* a number or a pointer, which most messages are: 4 instructions less */
        memcpy(to, from, 8);
    } else if (size >= 16) {
        memcpy(to, from, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    } else if (size > 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else if (size > 0) {
        to[0] = from[0];
        to[size / 2] = from[size / 2];
        to[size - 1] = from[size - 1];
    }
}
_Static_assert(MESSAGE_SHORT == 32, "two pieces of 16");

/* As message_copy, of at most MESSAGE_SHORT bytes, and by no call: its caller need not save registers. NULL: the cache has no block at hand. */
static inline struct message *message_copy_short(struct message_cache *cache, weft_pid from, uint64_t tag, const void *data, size_t size) {
    struct message *message = pool_take_hot(&cache->pool, 0);
    if (__builtin_expect(!message, 0)) return NULL;
    message->tag = tag;
    message->from = from;
    message->short_head = size;
    message_fill_short(message->data, data, size);
    return message;
}

static inline void message_free(struct message_cache *cache, struct message *message) {
    message_gone(message);
    if (__builtin_expect(message->class >= POOL_CLASSES, 0)) message_free_other(cache, message);
    else pool_give(&cache->pool, message->class, message);
}
/* A list, linked by node.next; NULL: none. */
static inline void message_free_list(struct message_cache *cache, struct mpsc_node *list) {
    for (struct mpsc_node *node = list, *next; node; node = next) {
        next = node->next;
        message_free(cache, message_of(node));
    }
}

#endif
