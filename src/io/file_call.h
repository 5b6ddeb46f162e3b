/* What all file calls are made of.
 *
 *     io_enter, io_leave     around a call that may block: the process keeps its thread, and loses its worker if the call lasts
 *     IO_CALL                a call of the operating system between the two, repeated while signals interrupt it
 *     io_wait                until a descriptor is ready; ends early by its deadline and by a cancellation. A process parks, and the descriptor
 *                            is registered with the netpoll; threads, and processes inside weft_blocking, wait in poll(2)
 *
 * From stackful processes and from threads that are not workers. In a step process they abort, naming the call. */
#ifndef WEFT_IO_FILE_CALL_H
#define WEFT_IO_FILE_CALL_H

#include "fiber/fiber.h"
#include "sys/sys_file.h"

#include <weft/blocking.h>

#include <errno.h>

/* The calling process; NULL: the caller is a thread of the program's own. */
struct proc *io_caller(const char *call);

/* 0: io_leave has to follow. Or WEFT_ECANCELED, WEFT_EAGAIN (at the limit of threads, with at_max_threads "error"). `is_long`: the call is
 * known to take long. */
int io_enter(const char *call, bool is_long);
static inline void io_leave(void) { weft_blocking_leave(); }

/* The value of `expression`, or the error for which it was not evaluated. */
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

/* 0 when poll reports any of `events`, an error or a hang-up of the descriptor; or WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENOMEM. */
int io_wait(int descriptor, short events, uint64_t deadline, const char *call);

#endif
