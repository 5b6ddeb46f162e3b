/* Sending and handing the worker over to the receiver, by a stackful process. */
#include "fiber/fiber.h"
#include "mail/send.h"

int weft_handoff(weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct worker *worker = fiber_worker("weft_handoff");
    if (__builtin_expect(state_is_cancelled(&worker->current->state), 0)) fiber_heed(worker);
    if (pid_instance(to) != worker->runtime->instance) return weft_send(to, tag, data, size);
    struct message *message = message_copy(&worker->local.cache, worker_pid(worker), tag, data, size);
    if (!message) return message_refused(size);
    struct proc *target;
    int error = send_message_handoff(worker, to, message, &target);
    if (__builtin_expect(error == WEFT_EAGAIN, 0)) return send_wait_counted(to, message, WEFT_FOREVER, "weft_handoff");
    error = send_count(&worker->local, message, error);
    if (error) return error;
    if (target) fiber_leave_to(worker, WEFT_STEP_CONTINUE, target);
    else fiber_leave(worker, WEFT_STEP_CONTINUE); /* the receiver runs elsewhere, or hand-offs are used up: the sender yields */
    return 0;
}
