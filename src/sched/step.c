/* Running a process once: events in, step, output carried out, and on to its next state. */
#include "sched/sched.h"

/* ---- events in ---------------------------------------------------------------------------------------------------- */

static weft_event *event_from(weft_event *event, struct message *message) {
    bool completion = message->type == WEFT_COMPLETION;
    *event = (weft_event){
        .type = message->type,
        .error = completion ? (int32_t)message->error : 0,
        .tag = message->tag,
        .data = message->data,
        .size = message->size,
        .from = completion ? WEFT_NOBODY : message->from,
    };
    return event + 1;
}

/* Fills the worker's events from the mailbox; the messages they point into are returned as a list. */
static size_t step_events(struct worker *worker, struct proc *proc, struct message *batch[EVENT_BATCH]) {
    weft_event *event = worker->events;
    size_t messages = 0;
    if (__builtin_expect(!proc->cancel_told && state_is_cancelled(&proc->state), 0)) {
        proc->cancel_told = true;
        *event++ = (weft_event){.type = WEFT_CANCEL};
    }
    while (event < worker->events + EVENT_BATCH) {
        struct mpsc_node *node = mpsc_pop(&proc->box);
        if (!node) break;
        batch[messages] = message_of(node);
        event = event_from(event, batch[messages++]);
    }
    batch[messages < EVENT_BATCH ? messages : EVENT_BATCH - 1] = messages < EVENT_BATCH ? NULL : batch[EVENT_BATCH - 1];
    return (size_t)(event - worker->events);
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

void weft_out_status(weft_out *out, enum weft_status status) { out->status = status; }

static struct message *out_message(weft_out *out, uint64_t tag, const void *data, size_t size) {
    struct message *message = message_new(&out->worker->actor.cache, size);
    if (!message) return NULL;
    message->tag = tag;
    message->node.next = NULL;
    if (size > 0) memcpy(message->data, data, size);
    return message;
}

int weft_out_handoff(weft_out *out, weft_pid to, uint64_t tag, const void *data, size_t size) {
    if (out->handoff || pid_instance(to) != out->worker->runtime->instance) return weft_send(to, tag, data, size);
    struct message *message = out_message(out, tag, data, size);
    if (!message) return WEFT_ENOMEM;
    message->type = WEFT_MESSAGE;
    message->from = weft_self();
    out->handoff = message;
    out->handoff_to = to;
    return 0;
}

/* ---- on to the next state ----------------------------------------------------------------------------------------- */

static void step_park(struct worker *worker, struct proc *proc, enum state_name name) {
    struct state_next next = state_park(&proc->state, name);
    if (next.verdict == STATE_ENQUEUE) ready(worker->runtime, worker, proc, next.ticket, READY_YIELDED);
}

static void step_requeue(struct worker *worker, struct proc *proc) {
    ready(worker->runtime, worker, proc, state_yield(&proc->state), READY_YIELDED);
}

static void step_goes_on(struct worker *worker, struct proc *proc, enum weft_status status) {
    if (status == WEFT_CONTINUE || proc->box.taken)
        step_requeue(worker, proc);
    else
        step_park(worker, proc, status == WEFT_BLOCKED ? STATE_BLOCKED : STATE_IDLE);
}

/* Hands over after the step: the receiver, claimed, if it could be had. The sender is queued behind the others. */
static struct proc *step_handoff(struct worker *worker, struct weft_out *out) {
    struct proc *target = NULL;
    bool may = worker->handoffs < HANDOFFS_MAX;
    int error = send_message(&worker->actor, worker, out->handoff_to, out->handoff, may ? &target : NULL);
    if (error) {
        message_free(&worker->actor.cache, out->handoff);
        count(&worker->actor.counters.refused);
        return NULL;
    }
    count(&worker->actor.counters.sent);
    worker->handoffs = target ? worker->handoffs + 1 : 0;
    if (target) count(&worker->actor.counters.handoffs);
    return target;
}

static struct proc *step_once(struct worker *worker, struct proc *proc) {
    struct message *batch[EVENT_BATCH];
    size_t events = step_events(worker, proc, batch), messages = events;
    if (events > 0 && worker->events[0].type == WEFT_CANCEL) messages--;
    struct weft_out out = {.worker = worker, .proc = proc, .status = WEFT_IDLE};
    out.yields_end = &out.yields;
    worker->current = proc;
    atom_store_rlx(&worker->running, proc->slot); /* rlx: for dumps */
    int error = proc->behavior->step(proc->self, worker->events, events, &out);
    worker->current = NULL;
    count(&worker->actor.counters.steps);
    for (size_t i = 0; i < messages; i++)
        message_free(&worker->actor.cache, batch[i]);
    while (__builtin_expect(out.yields != NULL, 0)) {
        struct message *yield = out.yields;
        out.yields = (struct message *)yield->node.next;
        command_dispatch(worker, proc, yield);
    }
    struct proc *target = NULL;
    if (__builtin_expect(out.handoff != NULL, 0)) target = step_handoff(worker, &out);
    if (__builtin_expect(error < 0 || out.status == WEFT_DONE, 0))
        proc_end(&worker->actor, proc, error < 0 ? error : 0);
    else
        step_goes_on(worker, proc, out.status);
    return target;
}

void step_run(struct worker *worker, struct proc *proc) {
    while (proc)
        proc = step_once(worker, proc);
}
