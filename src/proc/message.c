#include "proc/message.h"

struct message *message_new_large(size_t size) {
    if (size > UINT32_MAX) return NULL;
    struct message *message = sys->alloc(sizeof *message + size);
    if (!message) return NULL;
    message->size = (uint32_t)size;
    message->class = POOL_CLASSES;
    return message;
}

void message_free_large(struct message *message) { sys->free(message, sizeof *message + message->size); }
