/* The commands of step processes that start a child program and wait for one: done by a helper (command/job.h). */
#include "command/job.h"
#include "command/yield.h"
#include "net/desc.h"
#include "sys/deadline.h"

#include <weft/child.h>

#include <string.h>

/* ---- starting ---------------------------------------------------------------------------------------------------------------------- */

/* The arguments are at the beginning of the job's data; behind them is room for the list, which begins here. */
static size_t child_list_at(size_t size) { return (size + sizeof(char *) - 1) / sizeof(char *) * sizeof(char *); }

/* No process has got its pipes (job.h, J3). */
static void child_close_unseen(struct job *job) {
    weft_child child;
    memcpy(&child, job->data, sizeof child);
    desc_close(child.in, false); /* without effect if it is WEFT_NO_FD */
    desc_close(child.out, false);
    desc_close(child.err, false);
}

static void child_command_start(struct job *job) {
    size_t size = (size_t)job->offset, count = 0; /* of the arguments */
    const char **list = (const char **)(job->data + child_list_at(size));
    for (const char *at = (const char *)job->data; at < (const char *)job->data + size; at += strlen(at) + 1)
        list[count++] = at;
    list[count] = NULL;
    weft_child child;
    int error = weft_child_start(list, (unsigned)job->flags, &child);
    if (!error) {
        memcpy(job->data, &child, sizeof child);
        job->drop = child_close_unseen;
    }
    job_done(job, error, error ? 0 : sizeof child);
}

static int child_command_start_job(weft_completion completion, const struct command_child *command, const char *arguments, size_t size) {
    size_t count = 0;
    if (size == 0 || arguments[size - 1] != '\0') return WEFT_EINVAL;
    for (size_t i = 0; i < size; i++)
        count += arguments[i] == '\0';
    size_t room = child_list_at(size) + (count + 1) * sizeof(char *);
    struct job *job = job_new(completion, child_command_start, room > sizeof(weft_child) ? room : sizeof(weft_child), arguments, size);
    if (!job) return WEFT_ENOMEM;
    job->offset = (int64_t)size;
    job->flags = (int)command->pipes;
    return job_start(job);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------------------------- */

static void child_command_wait(struct job *job) {
    int status = 0, error = weft_waitpid((pid_t)job->descriptor, &status, job->deadline);
    memcpy(job->data, &status, sizeof status);
    job_done(job, error, error ? 0 : sizeof status);
}

int command_child(void *user, weft_completion completion, const void *data, size_t size) {
    struct command_child command;
    (void)user;
    if (size < sizeof command) return WEFT_EINVAL;
    memcpy(&command, data, sizeof command);
    if (command.pid == 0) return child_command_start_job(completion, &command, (const char *)data + sizeof command, size - sizeof command);
    struct job *job = job_new(completion, child_command_wait, sizeof(int), NULL, 0);
    if (!job) return WEFT_ENOMEM;
    job->descriptor = command.pid;
    job->deadline = command.deadline;
    job->waits = command.deadline > 0;
    return job_start(job);
}

/* ---- yielding ---------------------------------------------------------------------------------------------------------------------- */

int weft_out_child_start(weft_out *out, uint64_t tag, const char *const *arguments, unsigned pipes) {
    struct command_child command = {.pipes = pipes};
    size_t size = 0, at = 0;
    if (!arguments || !arguments[0]) return WEFT_EINVAL;
    for (size_t i = 0; arguments[i]; i++)
        size += strlen(arguments[i]) + 1;
    char *all = sys->alloc(size);
    if (!all) return WEFT_ENOMEM;
    for (size_t i = 0; arguments[i]; at += strlen(arguments[i++]) + 1)
        memcpy(all + at, arguments[i], strlen(arguments[i]) + 1);
    int error = yield_two(out, COMMAND_CHILD, tag, &command, sizeof command, all, size);
    sys->free(all, size);
    return error;
}

int weft_out_waitpid(weft_out *out, uint64_t tag, pid_t child, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_child command = {.pid = child, .deadline = deadline};
    return child > 0 ? weft_out_yield(out, COMMAND_CHILD, tag, &command, sizeof command) : WEFT_EINVAL;
}
