/* Checks of what a program does with the messages that it has received, in debug builds; in others all of this is nothing.
 *
 *   A message that has been freed is marked until its block is used again: freeing it or looking at it once more is misuse, by name. (With AddressSanitizer the
 *   block is poisoned too.)
 *
 *   The messages that programs have received and not freed are listed, from message_given to message_gone; what is left of a runtime's when it stops is
 *   told. WEFT_CHECK_MESSAGES=0 leaves that out: the list has one lock.
 *
 *   message_given       the receiver
 *   message_gone        any thread, before the block is given back
 *   message_check_left  the thread that stops the runtime */
#ifndef WEFT_PROC_MESSAGE_CHECK_H
#define WEFT_PROC_MESSAGE_CHECK_H

#include "base/config.h"

#include <weft/runtime.h>

struct message;

enum { MESSAGE_CHECKED = WEFT_DEBUG && !WEFT_CHECK };

/* The type of a message that was freed by the program. */
enum { MESSAGE_FREED = 0xfe };

void message_check_begin(void);
void message_check_given(struct message *message, weft_pid to);
void message_check_gone(const struct message *message);
/* One line for each message that a process of this runtime has received and that is not freed yet. */
void message_check_left(unsigned instance);
void message_check_used(const struct message *message, const char *call);

static inline void message_given(struct message *message, weft_pid to) {
    if (MESSAGE_CHECKED) message_check_given(message, to);
}
static inline void message_gone(const struct message *message) {
    if (MESSAGE_CHECKED) message_check_gone(message);
}
/* The program looks at it, or frees it. */
static inline void message_used(const struct message *message, const char *call) {
    if (MESSAGE_CHECKED) message_check_used(message, call);
}

#endif
