/* Jobs: commands that wait, each done by a helper, a stackful process of its own. See job.h. */
#include "command/job.h"

#include "fiber/fiber.h"
#include "life/interrupt.h"
#include "life/spawn.h"

#include <weft/stackful.h>

static void job_free(struct job *job) { sys->free(job, job->bytes); }
static struct job *job_of(void *data) { return (struct job *)((unsigned char *)data - offsetof(struct job, data)); }

struct job *job_new(weft_completion completion, void (*run)(struct job *job), size_t size, const void *given, size_t given_size) {
    enum { LEAST = 16 }; /* for results such as a descriptor or a count */
    size_t bytes = sizeof(struct job) + (size > LEAST ? size : LEAST);
    struct job *job = size <= UINT32_MAX ? sys->alloc(bytes) : NULL;
    if (!job) return NULL;
    job->completion = completion;
    job->run = run;
    job->bytes = bytes;
    job->size = size;
    if (given_size > 0) memcpy(job->data, given, given_size);
    return job;
}

/* ---- the process that yielded has ended (J2) ---------------------------------------------------------------------------- */

#define JOB_ABANDONED ((struct proc *)-1)

/* Under the lock of the process's slot, so that the helper cannot get past monitor_remove, and is still alive. */
static bool job_tell(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    struct job *job = (struct job *)monitor;
    (void)reason;
    struct proc *helper = atom_swap_acqrel(&job->helper, JOB_ABANDONED); /* acqrel: pairs with the CAS in job_main */
    if (!helper || !state_cancel(&helper->state)) return false;          /* the helper has not begun, and sees JOB_ABANDONED when it does */
    interrupt_cancelled(local->runtime, helper);
    proc_wake(local->runtime, self, helper);
    return false;
}

/* ---- the helper ----------------------------------------------------------------------------------------------------------- */

static void job_main(void *argument) {
    struct job *job = argument;
    struct proc *self = worker_here()->current;
    struct proc *none = NULL;
    /* acqrel: pairs with the swap in job_tell, so that job_tell sees the helper set up. */
    if (job->waits && !atom_cas_acqrel_acq(&job->helper, &none, self)) state_cancel(&self->state);
    job->run(job);
}

int job_start(struct job *job) {
    struct local *local = &my_worker->local;
    weft_pid unwanted, owner = job->completion.pid;
    int error = 0;
    job->monitor.tell = job_tell;
    if (job->waits) error = monitor_add(local, owner, &job->monitor);
    bool watches = job->waits && !error;
    /* A process that is asked to end, because the runtime stops, may still want to write a file: SPAWN_LATE lets helpers start then too. */
    weft_stackful_options options = {.stack_size = job->stack_size, .name = "command", .flags = WEFT_SPAWN_STACK_NOW | SPAWN_LATE};
    local_leave(local); /* weft_spawn enters by itself */
    if (!error) error = fiber_spawn(job_main, job, &options, &unwanted);
    local_begin(local);
    if (!error) return 0;
    if (watches) monitor_remove(local, owner, &job->monitor);
    if (job->drop) job->drop(job);
    job_free(job);
    return error;
}

/* ---- results -------------------------------------------------------------------------------------------------------------- */

static void job_release(void *data, size_t size, void *user) {
    struct job *job = job_of(data);
    (void)size;
    if (user != MESSAGE_SEEN && job->drop) job->drop(job); /* J3 */
    job_free(job);
}

void job_done(struct job *job, int error, size_t size) {
    if (job->waits) monitor_remove(&worker_here()->local, job->completion.pid, &job->monitor);
    struct message_moved result = {job->data, size, job_release, NULL};
    command_complete(worker_here(), job->completion, error, &result);
}

void job_answer(struct job *job, int error, const void *data, size_t size) {
    if (job->waits) monitor_remove(&worker_here()->local, job->completion.pid, &job->monitor);
    command_answer(job->completion, error, data, size);
    job_free(job);
}

void job_moved(struct job *job, int error, size_t count) {
    memcpy(job->data, &count, sizeof count);
    job_done(job, error, sizeof count);
}
