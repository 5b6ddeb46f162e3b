/* The commands of step processes that wait for other processes: a request and its reply, a join. Done by a helper (command/job.h). */
#include "command/job.h"
#include "command/yield.h"
#include "sys/deadline.h"

#include <weft/stackful.h>

static const struct command_ask *talk_ask(const struct job *job) { return (const struct command_ask *)job->data; }

static void talk_run_ask(struct job *job) {
    const struct command_ask *ask = talk_ask(job);
    weft_msg *reply = NULL;
    int error = weft_call(ask->to, ask->tag, ask + 1, job->size - sizeof *ask, &reply, ask->deadline);
    job_answer(job, error, error ? NULL : weft_msg_data(reply), error ? 0 : weft_msg_len(reply));
    weft_msg_free(reply);
}

static void talk_run_join(struct job *job) {
    int reason, error = weft_join(talk_ask(job)->to, &reason, talk_ask(job)->deadline);
    job_answer(job, error, &reason, error ? 0 : sizeof reason);
}

static int talk_start(weft_completion completion, void (*run)(struct job *job), const void *data, size_t size) {
    if (size < sizeof(struct command_ask)) return WEFT_EINVAL;
    struct job *job = job_new(completion, run, size, data, size);
    if (!job) return WEFT_ENOMEM;
    job->waits = true;
    return job_start(job);
}

int command_ask(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user;
    return talk_start(completion, talk_run_ask, data, size);
}

int command_join(void *user, weft_completion completion, const void *data, size_t size) {
    (void)user;
    return talk_start(completion, talk_run_join, data, size);
}

int weft_out_ask(weft_out *out, uint64_t tag, weft_pid to, uint64_t request_tag, const void *data, size_t size, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_ask ask = {to, request_tag, deadline};
    return yield_two(out, COMMAND_ASK, tag, &ask, sizeof ask, data, size);
}

int weft_out_join(weft_out *out, uint64_t tag, weft_pid pid, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_ask join = {pid, 0, deadline};
    return weft_out_yield(out, COMMAND_JOIN, tag, &join, sizeof join);
}
