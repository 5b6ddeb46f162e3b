/* A job: a command of a step process that a stackful process of its own, the helper, carries out, since it may block.
 *
 *     handler     job_new, fills it in, job_start
 *     helper      job->run(job), which ends with job_done: the job itself becomes the result, and is freed when the event has been seen
 *
 *   J1  Everything belongs to the job: the command's data is copied into it, the result is made in it. Nothing of the process that yielded
 *       is touched, so it may end at any time.
 *   J2  If that process ends while the helper waits for a descriptor, the helper is cancelled, and gives up. The handler of a job that may
 *       wait so sets `waits`.
 *   J3  A result that the process has not seen, because it has ended, is dropped: job->drop undoes what would be lost with it. */
#ifndef WEFT_COMMAND_JOB_H
#define WEFT_COMMAND_JOB_H

#include "command/built_in.h"
#include "life/monitor.h"
#include "sys/sys_file.h"

#include <sys/types.h>

struct job {
    struct monitor monitor; /* of the process that yielded; first */
    ATOM_PTR(struct proc) helper;
    weft_completion completion;
    void (*run)(struct job *job);
    void (*drop)(struct job *job); /* NULL: nothing is lost */
    size_t bytes;                  /* of this block */
    size_t stack_size;
    bool waits;

    /* Parameters of file commands and of calls: file_commands.c, blocking_command.c. */
    int descriptor, flags;
    mode_t mode;
    int64_t offset;
    uint64_t deadline;
    weft_command_call call;

    size_t size; /* of the data: the bytes given, or wanted */
    _Alignas(16) unsigned char data[];
};

/* With room for `size` bytes of data, the first of which are a copy of `given`; NULL when there is no memory. */
struct job *job_new(weft_completion completion, void (*run)(struct job *job), size_t size, const void *given, size_t given_size);
/* 0; or an error, and the job has been freed. The handler returns it. */
int job_start(struct job *job);
/* By the helper, as its last action. The result is the first `size` bytes of the job's data. */
void job_done(struct job *job, int error, size_t size);
/* Likewise. The result is a count, a size_t: so many bytes were moved, whether there is an error or not. */
void job_moved(struct job *job, int error, size_t count);

/* Likewise. The result is a copy of the data. */
void job_answer(struct job *job, int error, const void *data, size_t size);

/* command.c: weft_complete, for weft itself: does not heed. */
int command_answer(weft_completion completion, int error, const void *data, size_t size);
/* command.c: completes a command, on the worker that runs the helper, with a result that is not copied. */
void command_complete(struct worker *own, weft_completion completion, int error, const struct message_moved *result);

#endif
