/* What lies in a mailbox: messages, completions and cancellations, each a block of the pool with its payload behind it. */
#ifndef WEFT_PROC_MESSAGE_H
#define WEFT_PROC_MESSAGE_H

#include "mem/pool.h"
#include "queue/mpsc.h"
#include "sys/sys.h"

#include <weft/process.h>

#include <string.h>

struct message {
    struct mpsc_node node; /* first: a node's address is the message's */
    uint64_t tag;
    union {
        weft_pid from; /* WEFT_MESSAGE */
        int64_t error; /* WEFT_COMPLETION */
    };
    uint32_t size;
    uint8_t type;  /* enum weft_event_type */
    uint8_t class; /* of the pool; POOL_CLASSES: from sys->alloc */
    uint8_t instance; /* of the runtime whose pool it is from; set when a process receives it to keep */
    uint8_t unused;
    unsigned char data[];
};
_Static_assert(sizeof(struct message) == 32, "small messages fit the smallest block");

static inline struct message *message_of(struct mpsc_node *node) { return (struct message *)node; }

struct message *message_new_large(size_t size);
void message_free_large(struct message *message);

/* With room for `size` bytes, tag, from and type not set; NULL when there is no memory. */
static inline struct message *message_new(struct pool_cache *cache, size_t size) {
    if (__builtin_expect(size > pool_class_size(POOL_CLASSES - 1) - sizeof(struct message), 0)) return message_new_large(size);
    unsigned class = pool_class_of(sizeof(struct message) + size);
    struct message *message = pool_take(cache, class);
    if (__builtin_expect(!message, 0)) return NULL;
    message->size = (uint32_t)size;
    message->class = (uint8_t)class;
    return message;
}

static inline void message_free(struct pool_cache *cache, struct message *message) {
    if (__builtin_expect(message->class == POOL_CLASSES, 0))
        message_free_large(message);
    else
        pool_give(cache, message->class, message);
}

#endif
