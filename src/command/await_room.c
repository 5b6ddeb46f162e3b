/* The command of step processes that waits for room in a bounded mailbox: done by a helper, which stands in the list of senders
 * (command/job.h, mail/bounds.h). */
#include "command/job.h"
#include "mail/send_bounded.h"

static void await_room_run(struct job *job) {
    weft_pid to;
    memcpy(&to, job->data, sizeof to);
    job_done(job, send_await_room(to), 0);
}

int command_await_room(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user;
    if (size != sizeof(weft_pid)) return WEFT_EINVAL;
    struct job *job = job_new(completion, await_room_run, size, data, size);
    if (!job) return WEFT_ENOMEM;
    job->waits = true;
    return job_start(job);
}

int weft_out_await_room(weft_out *out, weft_pid pid, uint64_t tag) { return weft_out_yield(out, COMMAND_ROOM, tag, &pid, sizeof pid); }
