/* Messages, as a stackful process receives them. (A step process is given them as events: weft/process.h.) */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <weft/process.h>

WEFT_BEGIN

typedef struct weft_msg weft_msg;

/* The oldest message of the calling process; waits for one. It is the caller's then, to be freed once. 0, or WEFT_ETIMEDOUT,
 * WEFT_ECANCELED. A deadline that has passed (0, say) means: only what is there already. */
WEFT_API int weft_recv(weft_msg **message, uint64_t deadline);

WEFT_API weft_pid weft_msg_from(const weft_msg *message);
WEFT_API uint64_t weft_msg_tag(const weft_msg *message);
WEFT_API void *weft_msg_data(weft_msg *message);
WEFT_API size_t weft_msg_len(const weft_msg *message);
/* From anywhere. */
WEFT_API void weft_msg_free(weft_msg *message);

WEFT_END

#endif
