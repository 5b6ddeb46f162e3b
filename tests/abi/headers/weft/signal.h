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

/* From now on the signal is a message with this tag to `to`, until the runtime of `to` has stopped or weft_signal_unwatch is called; then
 * its former action is restored, unless the program has set another action meanwhile. If `to` has ended when a signal comes, the
 * watching ends and that signal goes to the former action. In a child made by fork, until it loads a program of its own, the former action
 * holds. From anywhere but signal handlers. 0; WEFT_EINVAL: not a signal that can be watched (those that a fault raises, SIGKILL, SIGSTOP,
 * and SIGURG, which weft needs itself); WEFT_EBUSY: it is watched already, in this runtime or another; WEFT_EFOREIGN: there is no such
 * runtime in this program, or it has no sysmon thread. */
WEFT_API int weft_signal_watch(int number, weft_pid to, uint64_t tag);
/* From anywhere but signal handlers. 0: the former action is restored, and everything that was noticed before has been sent. WEFT_ENOENT:
 * the signal is not watched. WEFT_ENOMEM: it is watched as before, because there is no memory for the last message. */
WEFT_API int weft_signal_unwatch(int number);

/* ---- in signal handlers of the program's own ---- */

/* How much data weft_signal_send takes, in bytes. */
enum { WEFT_SIGNAL_SEND_MOST = 64 };

/* Sends a message from a signal handler: the one weft call that is async-signal-safe, beside weft_now, weft_in, weft_self, weft_strerror
 * and weft_errno. In any thread, a worker's or another, whatever code it interrupted. It takes no lock, allocates nothing and leaves errno
 * as it was: the message is put into one of 64 slots of the runtime, and the runtime's sysmon thread sends it, as soon as the kernel
 * schedules that thread. The sender's PID is WEFT_NOBODY. Messages from one handler to one receiver arrive in order. 0: it will be sent; if
 * the receiver has ended, it is dropped. WEFT_EAGAIN: 64 messages wait to be sent already, and this one is not sent: count it, or leave it
 * to the next signal. WEFT_EMSGSIZE: more than WEFT_SIGNAL_SEND_MOST bytes. WEFT_EFOREIGN: no such runtime in this program, it has stopped,
 * or this is a child made by fork. Outside of handlers it works as well, but weft_send is faster. A handler must not be left by siglongjmp
 * out of this call. */
WEFT_API int weft_signal_send(weft_pid to, uint64_t tag, const void *data, size_t size);

WEFT_END

#endif
