/* Signals of the operating system as messages to a process.
 *
 *     weft_signal_watch(SIGTERM, weft_self(), 1);
 *     weft_recv(&message, WEFT_FOREVER);               its data is a weft_signal
 *
 * Signals that are sent to the program as a whole: SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1 and so on. As with handlers, several that come
 * close together may be one message, which says how many of them were noticed. */
#ifndef WEFT_SIGNAL_H
#define WEFT_SIGNAL_H

#include <weft/process.h>

WEFT_BEGIN

typedef struct weft_signal {
    int number;
    uint64_t count; /* since the last message: 1 or more */
} weft_signal;

/* From now on the signal is a message with this tag to `to`, until the runtime stops, weft_signal_unwatch is called, or one comes after that
 * process has ended (which is lost); then what was done about it before is done again. Called in a process. 0; WEFT_EINVAL: not a signal that can be had so (those that a fault raises,
 * SIGKILL, SIGSTOP, and SIGURG, which weft needs itself); WEFT_EBUSY: it is watched already, in this runtime or another; WEFT_ENOTINSIDE,
 * WEFT_ENOMEM, WEFT_EMFILE ... */
WEFT_API int weft_signal_watch(int number, weft_pid to, uint64_t tag);
/* From anywhere. 0, or WEFT_ENOENT: it is not watched. A message may still be under way. */
WEFT_API int weft_signal_unwatch(int number);

WEFT_END

#endif
