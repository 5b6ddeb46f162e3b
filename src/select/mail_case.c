/* Messages and replies as cases of a select: only the process itself looks into its mailbox. */
#include "select/select.h"

static struct match mail_match(const weft_case *one, struct proc *proc) {
    return (struct match){.tag = one->tag, .any = one->kind == WEFT_CASE_MESSAGE, .proc = proc};
}

/* Whether it is for one message: then nothing has to be put aside for other cases. */
static bool mail_is_single(const struct select *select) { return select->letters == 1 && !(select->has & 1 << WEFT_CASE_REPLY); }

void mail_cases_begin(struct select *select) {
    struct worker *worker = fiber_worker("weft_select");
    select->letter = mail_match(&select->cases[select->letter_number], worker->current);
}

/* ---- several -------------------------------------------------------------------------------------------------------------- */

/* Whether a request that has no reply will have none; to be asked before the box is emptied. */
static void mail_cases_look_gone(struct select *select, struct worker *worker) {
    for (size_t i = 0; i < select->count; i++)
        if (select->cases[i].kind == WEFT_CASE_REPLY) select->room[i].gone = ask_is_gone(worker, select->cases[i].reference);
}

static bool mail_case_there(const weft_case *one, struct worker *worker, const struct select_room *room) {
    if (one->kind == WEFT_CASE_REPLY) return room->gone || ask_has_reply(worker, one->reference);
    struct match match = mail_match(one, worker->current);
    return search_there(&match);
}

/* All messages are put aside first. Else one case might find its message in what another has put aside after the first had looked. */
static void mail_cases_look_all(struct select *select, struct select_draw *draw) {
    struct worker *worker = worker_here();
    mail_cases_look_gone(select, worker);
    search_drain(worker, worker->current);
    for (size_t i = 0; i < select->count; i++)
        if (select_is(&select->cases[i], SELECT_MAIL) && mail_case_there(&select->cases[i], worker, &select->room[i]))
            select_draw(select, draw, i);
}

/* ---- one, or several ------------------------------------------------------------------------------------------------------- */

void mail_cases_look(struct select *select, struct select_draw *draw) {
    if (!mail_is_single(select)) mail_cases_look_all(select, draw);
    else if (search_look(&select->letter)) select_draw(select, draw, select->letter_number);
}

uint32_t mail_cases_wake(void *arg) {
    struct select *select = arg;
    struct select_draw draw = {0, -1};
    mail_cases_look(select, &draw);
    return draw.chosen < 0 ? 0 : select_why((size_t)draw.chosen);
}

int mail_case_take(struct select *select, weft_case *one) {
    if (one->kind == WEFT_CASE_REPLY) return ask_take(worker_here(), one->reference, one->message);
    struct match match = mail_match(one, select->letter.proc);
    *one->message = search_take(&match);
    if (MESSAGE_CHECKED) message_given((struct message *)*one->message, weft_self());
    sim_note("receive", ((struct message *)*one->message)->from);
    return 0;
}
