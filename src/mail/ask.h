/* A request whose payload owns something: weft_call for the rooms above.
 *
 * Caller: a stackful process. */
#ifndef WEFT_MAIL_ASK_H
#define WEFT_MAIL_ASK_H

#include <weft/message.h>

struct ask_payload {
    const void *data;
    size_t size;
    /* Both NULL: plain bytes. Else `hold` is called with the copy of the data that the request has, once it is made, and `release` when that is
     * freed, whether the receiver has read it or not. */
    void (*hold)(void *copy);
    void (*release)(void *copy);
};

/* As weft_call. Dumps, and messages about misuse, name `call`. */
int ask_call(weft_pid to, uint64_t tag, const struct ask_payload *payload, weft_msg **reply, uint64_t deadline, const char *call);

#endif
