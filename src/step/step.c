/* Running one step. Of a step process: fill the events, call the step, carry out its output, go on to the next state. Of a stackful one: switch to it
 * until it leaves its stack. */
#include "step/step.h"

#include "life/ties.h"
#include "mail/send.h"
#include "sched/parts.h"

/* ---- events in ---------------------------------------------------------------------------------------------------- */

/* The event of anything but a plain message. */
static __attribute__((noinline)) void event_other(weft_event *event, struct message *message) {
    struct message_payload payload = message_payload(message);
    event->data = payload.data;
    event->size = payload.size;
    if (message->type == WEFT_EVENT_REQUEST || message->type == WEFT_EVENT_NOTICE) event->type = message->type;
    if (message->type == MESSAGE_RESULT) message_moved(message)->user = MESSAGE_SEEN;
    else if (message->type != WEFT_EVENT_COMPLETION) return;
    event->type = WEFT_EVENT_COMPLETION;
    event->error = (int32_t)message->error;
    event->from = WEFT_NOBODY;
}

static inline void event_from(weft_event *event, struct message *message) {
    event->type = WEFT_EVENT_MESSAGE;
    event->error = 0;
    event->tag = message->tag;
    event->data = message->data;
    event->size = message->size;
    event->from = message->from;
    if (__builtin_expect(message->type != WEFT_EVENT_MESSAGE, 0)) event_other(event, message);
}

/* Fills the worker's events from the mailbox, behind the `count` that are there. *messages is the list of the messages that they point into. */
static inline size_t step_events(struct worker *worker, struct proc *proc, size_t count, struct mpsc_node **messages) {
    struct mpsc_node *node = mpsc_take_all(&proc->box), *last = NULL;
    *messages = node;
    for (; node && count < EVENT_BATCH; node = node->next) {
        event_from(&worker->events[count++], message_of(node));
        last = node;
    }
    if (__builtin_expect(node != NULL, 0)) { /* more than one step gets */
        last->next = NULL;
        mpsc_put_back(&proc->box, node);
    }
    return count;
}

/* The same for a process that was cancelled: that is its first event, once. STEP_ENDS: it was condemned, and has ended. */
#define STEP_ENDS SIZE_MAX
static __attribute__((noinline, cold)) size_t step_events_cancelled(struct worker *worker, struct proc *proc, struct mpsc_node **messages) {
    if (state_condemned(&proc->state)) {
        proc_end(&worker->local, proc, REASON_CONDEMNED);
        return STEP_ENDS;
    }
    size_t told = proc->state.told ? 0 : 1;
    if (told) worker->events[0] = (weft_event){.type = WEFT_EVENT_CANCEL};
    proc->state.told = true;
    return step_events(worker, proc, told, messages);
}

static inline void step_free(struct worker *worker, struct mpsc_node *node) {
    while (node) {
        struct mpsc_node *next = node->next;
        message_free(&worker->local.cache, message_of(node));
        node = next;
    }
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

void weft_out_status(weft_out *out, enum weft_status status) { out->status = status; }

static int handoff_copy(weft_out *out, weft_pid to, uint64_t tag, const void *data, size_t size) {
    struct local *local = &out->worker->local;
    struct message *message = message_copy(&local->cache, worker_pid(out->worker), tag, data, size);
    if (!message) return message_refused(size);
    int error = send_count(local, message, send_unheard(local, to, message));
    if (!error) out->handoff_to = to;
    return error;
}

int weft_out_handoff(weft_out *out, weft_pid to, uint64_t tag, const void *data, size_t size) {
    if (out->handoff_to || pid_instance(to) != out->worker->runtime->instance) return weft_send(to, tag, data, size);
    local_enter(&out->worker->local, "weft_out_handoff");
    int error = handoff_copy(out, to, tag, data, size);
    local_leave(&out->worker->local);
    return error;
}

int weft_out_exit_with(weft_out *out, int code, const void *data, size_t size) {
    if (code > 0) WEFT_REFUSE("weft_out_exit_with", "a code above 0, which no step ends with", "give 0, or one below");
    ties_leave_detail(out->worker->runtime, out->proc, data && size > 0 ? reason_detail_new(code, 0, NULL, data, size) : NULL);
    out->status = WEFT_STEP_DONE;
    return code;
}

/* ---- on to the next state ----------------------------------------------------------------------------------------- */

/* Moves the process to its next state. True: it runs again at once, because it has more messages and `may`. Otherwise a process with many
 * senders would fall behind: in their turns they send more than it handles in its own. */
static bool step_goes_on(struct worker *worker, struct proc *proc, enum weft_status status, bool may) {
    proc->waits = (uint8_t)status;
    if (status == WEFT_STEP_IDLE && mpsc_is_empty(&proc->box)) {
        commit_park(worker, proc, STATE_IDLE, true);
    } else if (status == WEFT_STEP_CONTINUE) {
        commit_requeue(worker, proc);
    } else if (!mpsc_is_empty(&proc->box)) {
        /* Must not park: senders of these messages may not have set NOTIFIED (it was READY, or the box was not empty). */
        if (may) return true;
        commit_requeue(worker, proc);
    } else {
        commit_park(worker, proc, STATE_BLOCKED, true);
    }
    return false;
}

/* Hands off after the step: returns the receiver, claimed, if possible. The sender is queued behind the others. */
static struct proc *step_handoff(struct worker *worker, weft_pid to) {
    struct proc *target = send_wake(&worker->local, worker, to, handoff_is_allowed(worker));
    handoff_count(worker, target != NULL);
    return target;
}

/* Carries out what a step left in its output besides the status: rare, and kept out of the path of steps that only send. */
static __attribute__((noinline, cold)) struct proc *step_output(struct worker *worker, struct proc *proc) {
    struct weft_out *out = &worker->out;
    while (out->yields) {
        struct message *yield = out->yields;
        out->yields = (struct message *)yield->node.next;
        parts.begin_command(worker, proc, yield);
    }
    out->yields_end = &out->yields;
    struct proc *target = out->handoff_to ? step_handoff(worker, out->handoff_to) : NULL;
    out->handoff_to = WEFT_NOBODY;
    return target;
}

/* A stackful process takes its messages itself. When its step returns, other processes may have run after it, each moving on the one
 * before (fiber.h, F1). *own becomes the worker that the thread drives now, or NULL (thread.h, D4). Returns a process that was claimed
 * meanwhile and could not be switched to, or NULL. */
static inline struct proc *step_stackful(struct worker **own, struct proc *proc) {
    struct worker *worker = *own;
    local_begin(&worker->local); /* until the process, which may not have a stack yet, has arrived on it */
    worker->current = proc;
    worker->claimed = NULL;
    sim_note("runs", 0);
    count(&worker->local.counters.steps);
    int error = atom_load_rlx(&proc->behavior)->step(proc->self, NULL, 0, &worker->out);
    *own = worker = my_worker;
    if (__builtin_expect(!worker, 0)) return NULL;
    worker->current = NULL;
    if (__builtin_expect(error < 0, 0)) proc_end(&worker->local, proc, error); /* it could not get a stack */
    return worker->claimed;
}

/* The step of a process without a stack. Returns the process to run next: the one it handed off to, itself, or NULL: the next in the worker's order. */
static inline struct proc *step_once(struct worker *worker, struct proc *proc, bool may) {
    struct weft_out *out = &worker->out;
    struct mpsc_node *messages;
    size_t count_events;
    if (__builtin_expect(!state_is_cancelled(&proc->state), 1)) count_events = step_events(worker, proc, 0, &messages);
    else if ((count_events = step_events_cancelled(worker, proc, &messages)) == STEP_ENDS) return NULL;
    if (__builtin_expect(count_events == 0 && proc->waits != WEFT_STEP_CONTINUE, 0)) {
        /* A late wake-up: the process had already handled what it was for. */
        step_goes_on(worker, proc, proc->waits, false);
        return NULL;
    }
    out->proc = proc;
    out->status = WEFT_STEP_IDLE;
    worker->current = proc;
    sim_note("runs", count_events);
    count(&worker->local.counters.steps); /* before the step: it tells sysmon that the worker runs one */
    local_leave(&worker->local);
    int error = atom_load_rlx(&proc->behavior)->step(proc->self, worker->events, count_events, out);
    worker->current = NULL;
    local_begin(&worker->local);
    step_free(worker, messages);
    struct proc *target = NULL;
    if (__builtin_expect(out->yields || out->handoff_to, 0)) target = step_output(worker, proc);
    enum weft_status status = out->status;
    if (__builtin_expect(error < 0 || status == WEFT_STEP_DONE, 0)) proc_end(&worker->local, proc, error < 0 ? error : 0);
    else if (step_goes_on(worker, proc, status, may && !target)) return proc;
    return target;
}

__attribute__((flatten)) struct worker *step_run(struct worker *worker, struct proc *proc) {
    worker->fair.handoffs = 0; /* the budget is for one chain */
    for (unsigned turns = 1; proc; turns++) {
        struct proc *next = proc->stackful ? step_stackful(&worker, proc) : step_once(worker, proc, turns < STEPS_MAX);
        if (next == proc) tick_charge(worker); /* another step counts like another process */
        else turns = 0;
        proc = next;
    }
    return worker;
}
