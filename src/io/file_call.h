/* What the calls of this room are made of: files, directories, standard input and output.
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

#include <weft/errors.h>

#include <errno.h>

/* The calling process; NULL: the caller is a thread of the program's own. */
struct proc *io_caller(const char *call);

/* 0: io_leave has to follow. Or WEFT_ECANCELED, WEFT_EAGAIN (at the limit of threads, with at_max_threads "error"). `is_long`: the call is
 * known to take long. */
int io_enter(const char *call, bool is_long);
static inline void io_leave(void) { blocking_leave(); }

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

/* ---- moving all (file_all.c) ---------------------------------------------------------------------------------------------- */

/* Bytes to be read from or written to a descriptor, at its own position or from an offset on. */
struct file_span {
    int descriptor;
    bool writes;
    unsigned char *data;
    size_t size;
    int64_t offset; /* below 0: the descriptor's own position */
};
/* From byte `done` of the data on: how many bytes were moved, 0 at the end, or an error. */
ssize_t file_move_some(const struct file_span *span, size_t done, uint64_t deadline);
/* The error when some are left, and none is moved: the file has ended, or a device takes nothing and reports no error. */
static inline int file_moves_none(bool writes) { return writes ? WEFT_EIO : WEFT_EEOF; }

#endif
