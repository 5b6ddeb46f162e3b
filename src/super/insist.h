/* Messages that another process waits for without a deadline, perhaps, and that are sent once: they are sent as soon as there is memory. */
#ifndef WEFT_SUPER_INSIST_H
#define WEFT_SUPER_INSIST_H

#include <weft/errors.h>
#include <weft/time.h>

/* True: there was no memory for the message, and time has passed. False also if the caller is cancelled: its end tells the other process. */
static inline bool insist_again(int error) { return (error == WEFT_ENOMEM || error == WEFT_ENOBUFS) && weft_sleep(WEFT_MILLISECOND) == 0; }

#endif
