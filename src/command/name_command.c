/* The command of step processes that resolves a name: done by a helper, a stackful process (command/job.h). */
#include "command/job.h"
#include "command/yield.h"
#include "name/name.h"
#include "sys/deadline.h"

#include <string.h>

enum { NAME_COMMAND_MOST = 16 };

/* The list will be at the beginning of the job's data; the names are behind it. */
static void name_command_run(struct job *job) {
    const char *host = (const char *)job->data + NAME_COMMAND_MOST * sizeof(weft_addr), *service = host + strlen(host) + 1;
    int n = weft_resolve(*host ? host : NULL, *service ? service : NULL, NULL, (weft_addr *)job->data, NAME_COMMAND_MOST, job->deadline);
    job_done(job, n < 0 ? n : 0, n < 0 ? 0 : (size_t)n * sizeof(weft_addr));
}

int command_resolve(void *user, weft_completion completion, const void *data, size_t size) {
    const char *names = (const char *)data + sizeof(uint64_t);
    size_t list = NAME_COMMAND_MOST * sizeof(weft_addr);
    (void)user;
    if (size < sizeof(uint64_t) + 2) return WEFT_EINVAL;
    size -= sizeof(uint64_t);
    const char *end = memchr(names, 0, size - 1);
    if (!end || names[size - 1] != '\0') return WEFT_EINVAL; /* exactly two strings */
    struct job *job = job_new(completion, name_command_run, list + size, NULL, 0);
    if (!job) return WEFT_ENOMEM;
    memcpy(job->data + list, names, size);
    memcpy(&job->deadline, data, sizeof job->deadline);
    job->waits = true;
    return job_start(job);
}

/* Both names, after the command's header. */
static int name_yield(weft_out *out, uint32_t command, uint64_t tag, const void *head, size_t head_size, const char *host,
                      const char *service) {
    size_t host_size = host ? strlen(host) + 1 : 1, service_size = service ? strlen(service) + 1 : 1;
    char names[320]; /* longer than any name */
    if (host_size + service_size > sizeof names) return WEFT_EINVAL;
    memcpy(names, host ? host : "", host_size);
    memcpy(names + host_size, service ? service : "", service_size);
    return yield_two(out, command, tag, head, head_size, names, host_size + service_size);
}
int weft_out_resolve(weft_out *out, uint64_t tag, const char *host, const char *service, uint64_t deadline) {
    deadline_check(deadline, __func__);
    return name_yield(out, COMMAND_RESOLVE, tag, &deadline, sizeof deadline, host, service);
}
int weft_out_net_connect_name(weft_out *out, uint64_t tag, const char *host, const char *service, uint64_t deadline) {
    deadline_check(deadline, __func__);
    struct command_net net = {.what = NET_CONNECT_NAME, .deadline = deadline};
    return name_yield(out, COMMAND_NET, tag, &net, sizeof net, host, service);
}
