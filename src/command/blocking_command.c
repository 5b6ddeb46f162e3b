/* The command that calls a blocking function, for step processes: done by a helper (command/job.h). */
#include "command/job.h"

#include <weft/blocking.h>

enum { CALL_STACK = 256 << 10 }; /* functions of libraries expect more stack than most processes have */

/* `flags` keeps the function's result: other commands use it otherwise. */
static void job_call_blocking(void *argument) {
    struct job *job = argument;
    job->flags = job->call.run(job->data, job->size);
}

static void job_call_drop(struct job *job) {
    if (job->call.drop) job->call.drop(job->data, job->size);
}

static void job_call(struct job *job) {
    int error = job->call.is_long ? weft_blocking_long(job_call_blocking, job) : weft_blocking(job_call_blocking, job);
    if (error != WEFT_EAGAIN) {
        job_done(job, job->flags, job->size);
        return;
    }
    job_call_drop(job); /* it was not called */
    job->drop = NULL;
    job_done(job, error, 0);
}

int command_call(void *user, weft_completion completion, const void *data, size_t size) {
    weft_command_call call;
    (void)user;
    if (size < sizeof call) return WEFT_EINVAL;
    memcpy(&call, data, sizeof call);
    if (!call.run) return WEFT_EINVAL;
    size -= sizeof call;
    void *given = (char *)data + sizeof call; /* a copy already, owned by this command */
    struct job *job = job_new(completion, job_call, size, given, size);
    if (!job) {
        if (call.drop) call.drop(given, size);
        return WEFT_ENOMEM;
    }
    job->call = call;
    job->drop = job_call_drop;
    job->stack_size = CALL_STACK;
    return job_start(job);
}
