/* Received messages in debug builds: see message_check.h. */
#include "proc/message_check.h"

#include "base/assert.h"
#include "base/atom.h"
#include "proc/message.h"
#include "proc/proc.h"
#include "queue/lock.h"
#include "sys/setting.h"

#include <stdio.h>

enum { CHECK_BUCKETS = 256, CHECK_TOLD = 20 };

struct received {
    struct received *next;
    const struct message *message;
    uint64_t tag;
    weft_pid from, to;
    size_t size;
};

/* All but `on` under the lock. */
static struct {
    atom_bool on; /* rlx: a switch, set when a runtime starts */
    struct lock lock;
    struct received *buckets[CHECK_BUCKETS];
} received;

static struct received **received_bucket(const struct message *message) {
    return &received.buckets[(uintptr_t)message / POOL_LEAST % CHECK_BUCKETS];
}

void message_check_begin(void) {
    const char *wanted = MESSAGE_CHECKED ? setting_value(SETTING_CHECK_MESSAGES) : NULL;
    atom_store_rlx(&received.on, MESSAGE_CHECKED && !(wanted && *wanted == '0'));
}

void message_check_used(const struct message *message, const char *call) {
    if (message->type == MESSAGE_FREED)
        WEFT_MISUSE(call, "the message has been freed", "free a message once, when it is not needed any more");
}

void message_check_given(struct message *message, weft_pid to) {
    if (!atom_load_rlx(&received.on)) return;
    struct received *one = sys->alloc(sizeof *one);
    if (!one) return; /* it will not be told of */
    struct received **bucket = received_bucket(message);
    *one =
        (struct received){.message = message, .tag = message->tag, .from = message->from, .to = to, .size = message_payload(message).size};
    lock_take(&received.lock);
    one->next = *bucket;
    *bucket = one;
    lock_drop(&received.lock);
}

void message_check_gone(const struct message *message) {
    if (!atom_load_rlx(&received.on)) return;
    lock_take(&received.lock);
    struct received **at = received_bucket(message), *one;
    while (*at && (*at)->message != message)
        at = &(*at)->next;
    one = *at;
    if (one) *at = one->next;
    lock_drop(&received.lock);
    if (one) sys->free(one, sizeof *one);
}

/* Takes those of one runtime out. */
static struct received *received_of(unsigned instance) {
    struct received *all = NULL;
    lock_take(&received.lock);
    for (unsigned i = 0; i < CHECK_BUCKETS; i++)
        for (struct received **at = &received.buckets[i], *one; (one = *at) != NULL;) {
            if (pid_instance(one->to) != instance) {
                at = &one->next;
                continue;
            }
            *at = one->next;
            one->next = all;
            all = one;
        }
    lock_drop(&received.lock);
    return all;
}

void message_check_left(unsigned instance) {
    if (!MESSAGE_CHECKED || !atom_load_rlx(&received.on)) return;
    unsigned count = 0;
    for (struct received *one = received_of(instance), *next; one; one = next, count++) {
        next = one->next;
        if (count < CHECK_TOLD)
            fprintf(stderr, "weft: a message was never freed: tag %lu, %zu bytes, from %016lx, received by %016lx\n",
                    (unsigned long)one->tag, one->size, (unsigned long)one->from, (unsigned long)one->to);
        sys->free(one, sizeof *one);
    }
    if (count > CHECK_TOLD) fprintf(stderr, "weft: and %u more\n", count - CHECK_TOLD);
}
