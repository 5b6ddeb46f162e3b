/* A select of two cases, one of them a moment that is still to come: the other case's own call, with that moment as its deadline.
 *
 * Nothing else can happen before the moment, so the call is the whole select. If the moment or the select's deadline has come already, both cases may be
 * ready, and the long way chooses. */
#include "select/select.h"

#include <weft/channel.h>
#include <weft/message.h>
#include <weft/sync.h>

static bool has_mailbox(const struct worker *worker) {
    struct proc *proc = worker ? worker->current : NULL;
    return proc && proc->stackful == PROC_STACKFUL;
}

/* Whether the case has a call of its own; the others' waits differ from those of their calls. */
static bool has_call(const weft_case *one, const struct worker *worker) {
    if (one->kind == WEFT_CASE_MESSAGE || one->kind == WEFT_CASE_TAG) return has_mailbox(worker);
    return select_is(one, SELECT_LOCKED) && one->chan;
}

static int call(weft_case *one, uint64_t deadline) {
    if (WEFT_CHECK) return WEFT_ENOTSUP; /* the checker has no mailboxes of programs; never called there */
    switch (one->kind) {
    case WEFT_CASE_MESSAGE: return weft_recv(one->message, deadline);
    case WEFT_CASE_TAG: return weft_recv_tag(one->tag, one->message, deadline);
    case WEFT_CASE_SEND: return weft_chan_send(one->chan, one->element, deadline);
    case WEFT_CASE_RECV: return weft_chan_recv(one->chan, one->element, deadline);
    default: return weft_sem_acquire(one->sem, one->permits, deadline);
    }
}

bool beside_moment_may(const weft_case *cases, uint64_t deadline) {
    unsigned moment = cases[1].kind == WEFT_CASE_MOMENT;
    const weft_case *one = &cases[moment ^ 1];
    if (WEFT_CHECK || cases[moment].kind != WEFT_CASE_MOMENT || !has_call(one, worker_here())) return false;
    uint64_t now = sys->now();
    return cases[moment].moment > now && deadline > now;
}

int beside_moment(weft_case *cases, uint64_t deadline) {
    unsigned moment = cases[1].kind == WEFT_CASE_MOMENT, other = moment ^ 1;
    uint64_t until = cases[moment].moment;
    int error = call(&cases[other], until <= deadline ? until : deadline);
    if (error == WEFT_ECANCELED || (error == WEFT_ETIMEDOUT && until > deadline)) return error;
    unsigned happened = error == WEFT_ETIMEDOUT ? moment : other;
    cases[happened].error = happened == moment ? 0 : error;
    return (int)happened;
}
