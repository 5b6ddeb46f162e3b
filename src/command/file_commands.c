/* The file commands of step processes. What can be done at once is done, even if the process has ended meanwhile. Waiting for a pipe or a
 * terminal is given up when the process has ended or the runtime stops. */
#include "command/job.h"
#include "io/file_call.h"

#include <weft/file.h>
#include <weft/stackful.h>

/* ---- read and write ------------------------------------------------------------------------------------------------------- */

/* First without waiting, and without regard to a cancellation. */
static int64_t job_move_or_wait(struct job *job, bool writes, size_t done) {
    struct file_span span = {job->descriptor, writes, job->data, job->size, job->offset};
    weft_shield_begin();
    int64_t moved = file_move_some(&span, done, 0);
    weft_shield_end();
    return moved == WEFT_ETIMEDOUT ? file_move_some(&span, done, job->deadline) : moved;
}

static void job_read(struct job *job) {
    int64_t n = job_move_or_wait(job, false, 0);
    job_done(job, n < 0 ? (int)n : 0, n < 0 ? 0 : (size_t)n);
}

static void job_write(struct job *job) {
    size_t written = 0;
    int64_t n = 0;
    while (written < job->size && (n = job_move_or_wait(job, true, written)) > 0)
        written += (size_t)n;
    job_moved(job, n == 0 && written < job->size ? file_moves_none(true) : (int)(n < 0 ? n : 0), written);
}

static int job_start_moving(struct job *job, int descriptor, int64_t offset, uint64_t deadline) {
    if (!job) return WEFT_ENOMEM;
    job->descriptor = descriptor;
    job->offset = offset;
    job->deadline = deadline;
    job->waits = offset < 0 && deadline > 0;
    return job_start(job);
}

int command_read(void *user, weft_completion completion, const void *data, size_t size) {
    struct command_read read;
    (void)user;
    if (size != sizeof read) return WEFT_EINVAL;
    memcpy(&read, data, sizeof read);
    struct job *job = job_new(completion, job_read, read.size, NULL, 0);
    return job_start_moving(job, read.descriptor, read.offset, read.deadline);
}

int command_write(void *user, weft_completion completion, const void *data, size_t size) {
    struct command_write write;
    (void)user;
    if (size < sizeof write) return WEFT_EINVAL;
    memcpy(&write, data, sizeof write);
    size -= sizeof write;
    struct job *job = job_new(completion, job_write, size, (const char *)data + sizeof write, size);
    return job_start_moving(job, write.descriptor, write.offset, write.deadline);
}

/* ---- open, close, sync ------------------------------------------------------------------------------------------------------ */

/* No process has got the descriptor (job.h, J3). */
static void job_close_unseen(struct job *job) {
    if (job->descriptor >= 0) sys->file->close(job->descriptor);
}

static void job_open(struct job *job) {
    weft_shield_begin();
    int fd = weft_file_open((const char *)job->data, job->flags, job->mode);
    weft_shield_end();
    job->descriptor = fd;
    memcpy(job->data, &fd, sizeof fd);
    job_done(job, fd < 0 ? fd : 0, fd < 0 ? 0 : sizeof fd);
}

static void job_close(struct job *job) { job_done(job, weft_file_close(job->descriptor), 0); }

static void job_sync(struct job *job) {
    weft_shield_begin();
    int error = weft_file_sync(job->descriptor);
    weft_shield_end();
    job_done(job, error, 0);
}

int command_open(void *user, weft_completion completion, const void *data, size_t size) {
    struct command_open open;
    (void)user;
    if (size <= sizeof open) return WEFT_EINVAL;
    memcpy(&open, data, sizeof open);
    size -= sizeof open;
    struct job *job = job_new(completion, job_open, size + 1, (const char *)data + sizeof open, size);
    if (!job) return WEFT_ENOMEM;
    job->descriptor = -1;
    job->flags = open.flags;
    job->mode = open.mode;
    job->drop = job_close_unseen;
    return job_start(job);
}

static int job_start_on(void (*run)(struct job *job), weft_completion completion, const void *data, size_t size) {
    int descriptor;
    if (size != sizeof descriptor) return WEFT_EINVAL;
    memcpy(&descriptor, data, sizeof descriptor);
    struct job *job = job_new(completion, run, 0, NULL, 0);
    if (!job) return WEFT_ENOMEM;
    job->descriptor = descriptor;
    return job_start(job);
}

int command_close(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user;
    return job_start_on(job_close, completion, data, size);
}

int command_sync(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user;
    return job_start_on(job_sync, completion, data, size);
}
