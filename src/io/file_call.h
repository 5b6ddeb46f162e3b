/* What all calls of this room are made of.
 *
 *     io_enter, io_leave     around what may block: the process keeps its thread, and loses its worker if that lasts
 *     IO_CALL                a call of the operating system between the two, repeated while signals interrupt it
 *     io_wait                until a descriptor is ready; ends early by its deadline and by a cancellation. A process parks and the poller
 *                            holds the descriptor; threads, and processes in a blocking call of their own, wait in poll(2)
 *
 * From stackful processes and from threads that are not workers. In a step process they abort, naming the call. */
#ifndef WEFT_IO_FILE_CALL_H
#define WEFT_IO_FILE_CALL_H

#include "fiber/fiber.h"
#include "sys/sys_file.h"

#include <weft/blocking.h>

#include <errno.h>

/* The process that calls; NULL: none, a thread of the program's own. */
struct proc *io_caller(const char *call);

/* 0: io_leave is to follow. Or WEFT_ECANCELED, WEFT_EAGAIN (no thread, and the program wants to hear of that). `is_long`: it is known to
 * take long. */
int io_enter(const char *call, bool is_long);
static inline void io_leave(void) { weft_blocking_leave(); }

/* What `expression` answers, or why it was not asked. */
#define IO_CALL_AS(call, is_long, expression)                                                                                              \
    ({                                                                                                                                     \
        int64_t io_result = io_enter(call, is_long);                                                                                       \
        if (io_result == 0) {                                                                                                              \
            do                                                                                                                             \
                io_result = (expression);                                                                                                  \
            while (io_result == -EINTR);                                                                                                   \
            io_leave();                                                                                                                    \
        }                                                                                                                                  \
        io_result;                                                                                                                         \
    })
#define IO_CALL(call, expression) IO_CALL_AS(call, false, expression)
#define IO_CALL_LONG(call, expression) IO_CALL_AS(call, true, expression)

/* 0 when poll has any of `events`, an error or a hang-up to tell of the descriptor; or WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENOMEM. */
int io_wait(int descriptor, short events, uint64_t deadline, const char *call);

#endif
