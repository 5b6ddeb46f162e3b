/* A thread that learns that a process has ended sees what it did: by a send that is refused, or by asking. */
#include "small_runtime.h"

#include "mail/send.h"
#include "step/step.h"

static weft_pid pid;
static struct proc *proc;
SHARED struct message letter;
SHARED unsigned result; /* plain: the process's while it lives */

static int last_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    result = 42;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior ends = {.name = "ends", .step = last_step};

static void running(void) {
    small_begin(POLICY_RING, 2, 4);
    pid = small_spawn(&ends);
    proc = policy_pop(small_worker(0));
    small_message(&letter, 0);
}
static void runs(void) { step_run(small_play(0), proc); }

static void sends(void) {
    struct worker *worker = small_play(1);
    if (send_message(&worker->local, worker, pid, &letter) != 0) chk_assert(result == 42, "its last step is seen");
}
static void asks(void) {
    small_play(1);
    if (!weft_alive(pid)) chk_assert(result == 42, "its last step is seen");
}
SCENARIO(ending_refused, .about = "a process ends || a send; if it is refused, the end is seen", .setup = running, .threads = {runs, sends},
         .finish = small_end)
SCENARIO(ending_asked, .about = "a process ends || a thread asks whether it lives", .setup = running, .threads = {runs, asks},
         .finish = small_end)
