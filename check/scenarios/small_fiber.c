#include "small_fiber.h"

/* Only its instance number is looked at, which no other runtime of a scenario has: those are entered by doors. */
static struct runtime elsewhere, *const nowhere = &elsewhere;

static struct worker players[SMALL_FIBERS + 1]; /* the last is the clock's */
static struct proc procs[SMALL_FIBERS];
static struct fiber fibers[SMALL_FIBERS];
static struct parker beds[SMALL_FIBERS];

void small_fibers(unsigned count) {
    static const char *const names[][2] = {
        {"parker[0]", "asked[0]"}, {"parker[1]", "asked[1]"}, {"parker[2]", "asked[2]"}, {"parker[3]", "asked[3]"}};
    for (unsigned i = 0; i <= SMALL_FIBERS; i++) {
        players[i].runtime = players[i].local.runtime = nowhere;
        players[i].current = NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        timers_init(&players[i].timers, 0);
        players[i].current = &procs[i];
        procs[i].stackful = true;
        atom_store_rlx(&procs[i].state.asked, 0);
        procs[i].extras = 0;
        mpsc_init(&procs[i].box);
        fibers[i].shields = 0;
        fiber_start_of(&procs[i])->fiber = &fibers[i];
        parker_init(&beds[i]);
        chk_name(&beds[i].word, names[i][0]);
        chk_name(&procs[i].state.asked, names[i][1]);
        chk_name(&players[i].timers.lock, "timers.lock");
        chk_name(&players[i].timers.next, "timers.next");
    }
    my_worker = NULL;
}

void fiber_give_way(void) {}

void small_process(unsigned index) { my_worker = &players[index]; }
void small_thread(void) { my_worker = NULL; }

void small_cancel(unsigned index) {
    if (state_cancel(&procs[index].state)) wait_awake(nowhere, my_worker, &procs[index]);
}

void small_send(unsigned index, struct message *message) {
    enum mpsc_pushed pushed = mpsc_push(&procs[index].box, &message->node);
    chk_assert(pushed >= 0, "its mailbox is open");
    if (pushed == MPSC_PUSHED_FIRST) wait_awake(nowhere, my_worker, &procs[index]);
}
struct mpsc *small_box(unsigned index) {
    return &procs[index].box;
}

static atom_u64 time_of_day;
uint64_t small_now(void) { return atom_load_rlx(&time_of_day); }

void small_clock(unsigned index) {
    atom_store_rlx(&time_of_day, 2 * SMALL_SOON);
    struct worker *self = my_worker = &players[SMALL_FIBERS];
    struct timer *due = timers_run(&players[index].timers, 2 * SMALL_SOON);
    while (due) {
        struct timer *after = due->next;
        struct timer_event *event = (struct timer_event *)((unsigned char *)due - offsetof(struct timer_event, timer));
        event->ring(&self->local, self, event);
        timer_done(due);
        due = after;
    }
}

static struct wait queued_wait;
static struct waiter queued_waiter;

void small_queue(unsigned index, struct waiters *list, uint64_t amount) {
    small_process(index);
    wait_begin(&queued_wait);
    waiter_init(&queued_waiter, &queued_wait, 1);
    queued_waiter.amount = amount;
    if (list) waiters_add(list, &queued_waiter);
    small_thread();
    chk_name(&queued_wait.claimed, "claimed");
}

void small_join(struct waiters *list) { waiters_add(list, &queued_waiter); }

void small_queued(unsigned index) {
    small_process(index);
    chk_assert(wait_for(&queued_wait, WEFT_FOREVER, "queued") == 1, "woken");
}

/* ---- what fiber/ supplies otherwise ---------------------------------------------------------------------------------- */

struct worker *fiber_worker(const char *call) {
    (void)call;
    chk_assert(my_worker && my_worker->current, "called in a process");
    return my_worker;
}

struct worker *fiber_leave(struct worker *worker, enum weft_status status) {
    (void)status;
    chk_assert(parker_park(&beds[worker->current - procs], SYS_FOREVER) == 0, "woken");
    return worker;
}

struct worker *fiber_leave_for_mail(struct worker *worker, struct proc *proc, struct proc *next) {
    (void)proc, (void)next;
    return fiber_leave(worker, WEFT_STEP_IDLE);
}

struct worker *fiber_leave_to(struct worker *worker, enum weft_status status, struct proc *next) {
    (void)next;
    chk_assert(false, "no process was claimed");
    return fiber_leave(worker, status);
}

struct worker *fiber_caller(const char *call) {
    return fiber_worker(call);
}

void wait_awake(struct runtime *runtime, struct worker *self, struct proc *proc) {
    (void)runtime, (void)self;
    parker_unpark(&beds[proc - procs]);
}

/* select/select.c: which of several that are ready. */
uint32_t select_choose(uint32_t n);
uint32_t select_choose(uint32_t n) { return n == 1 ? 0 : chk_choose(n); }
