/* Pinned processes: the thread that makes one ready wakes the one worker that may run it, and that worker does not leave while it has any.
 *
 * As in find.c: the real find_work; a process that is not found means a worker asleep for ever, which the checker reports. */
#include "small_runtime.h"

#include "mail/send.h"
#include "sched/door.h"
#include "step/step.h"
#include "thread/worker.h"

enum { PINNED_TO = 1 };

static weft_pid pid;
SHARED struct message letters[2];
SHARED unsigned runs, heard; /* the process's own */

static int hears(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)out;
    runs++;
    heard += (unsigned)count;
    return 0;
}
static const weft_behavior listener = {.name = "listener", .step = hears};

/* A process that sleeps and is pinned to the second of two workers. */
static void set_up(enum policy_name policy) {
    small_begin(policy, 2, 4);
    small_play(0);
    pid = small_spawn(&listener);
    struct proc *proc = policy_pop(small_worker(0));
    chk_assert(proc == small_proc(pid) && worker_pin(small_worker(PINNED_TO)), "claimed and pinned");
    state_pin(&proc->state, PINNED_TO + 1);
    state_park(&proc->state, STATE_IDLE);
    proc->waits = WEFT_STEP_IDLE;
    chk_name(&small_worker(PINNED_TO)->pinned_ready.head, "pinned");
    for (unsigned i = 0; i < 2; i++)
        small_message(&letters[i], i);
}
static void set_up_ring(void) { set_up(POLICY_RING); }
static void set_up_line(void) { set_up(POLICY_LINE); }

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void pinned_worker_works(void) {
    struct worker *worker = small_play(PINNED_TO);
    struct proc *proc = find_work(worker);
    chk_assert(proc == small_proc(pid), "there is no other process");
    step_run(worker, proc);
}
/* Until it has heard both. */
static void pinned_worker_works_on(void) {
    while (heard < 2)
        pinned_worker_works();
}
static void sends_from_outside(void) {
    unsigned door;
    struct local *local = door_enter(small->instance, &door);
    chk_assert(send_message(local, NULL, pid, &letters[0]) == 0, "it lives");
    door_leave(small->instance, door);
}
static void other_sends(void) {
    struct worker *worker = small_play(0);
    chk_assert(send_message(&worker->local, worker, pid, &letters[1]) == 0, "it lives");
}
static void other_hands_over(void) {
    struct worker *worker = small_play(0);
    chk_assert(send_unheard(&worker->local, pid, &letters[1]) == 0, "it lives");
    chk_assert(send_wake(&worker->local, worker, pid, true) == NULL, "only its own worker has it");
}

static void ran(void) {
    chk_assert(runs >= 1 && heard >= 1, "it has run");
    chk_assert(mpsc_is_empty(&small_worker(PINNED_TO)->pinned_ready), "nothing is left in the pinned queue");
    chk_assert(idle_searchers(&small->idle) == 0 && idle_sleepers(&small->idle) == 0, "no worker is counted that is not there");
    small_end();
}

/* It may be ready once more, woken by one whose message it had heard already. */
static void heard_both(void) {
    chk_assert(heard == 2, "it has heard both");
    small_end();
}

SCENARIO(pinned_outside, .about = "its worker looks and goes to sleep || a send from outside", .setup = set_up_ring,
         .threads = {pinned_worker_works, sends_from_outside}, .finish = ran)
SCENARIO(pinned_other, .about = "its worker looks and goes to sleep || a send by another worker", .setup = set_up_ring,
         .threads = {pinned_worker_works, other_sends}, .finish = ran)
SCENARIO(pinned_handoff, .about = "its worker looks and goes to sleep || a hand-off by another, which is a send", .setup = set_up_ring,
         .threads = {pinned_worker_works, other_hands_over}, .finish = ran)
SCENARIO(pinned_handoff_line, .about = "the same, policy line", .setup = set_up_line, .threads = {pinned_worker_works, other_hands_over},
         .finish = ran)
SCENARIO(pinned_two, .about = "its worker works until it has heard both || a send || a hand-off", .setup = set_up_ring,
         .threads = {pinned_worker_works_on, sends_from_outside, other_hands_over}, .finish = heard_both, .deep_in = CHK_C11)

/* Woken as if any worker would do: the other one takes the wake-up, and the process lies in the pinned queue of one that sleeps. */
static void wakes_any_worker(void) {
    struct worker *worker = small_play(0);
    struct proc *proc = small_proc(pid);
    chk_assert(send_unheard(&worker->local, pid, &letters[1]) == 0 && state_wake(&proc->state).verdict == STATE_ENQUEUE, "it slept");
    mpsc_push(&small_worker(PINNED_TO)->pinned_ready, &proc->pinned_node);
    int sleeper = idle_wake(&small->idle);
    if (sleeper == PINNED_TO) parker_unpark(&small_worker(PINNED_TO)->parker);
}
static void set_up_other_sleeps(void) {
    set_up(POLICY_RING);
    idle_enter(&small->idle, 0, false);
}
static void ran_though(void) {
    idle_leave(&small->idle, 0, false);
    small_end();
}
SCENARIO(pinned_wakes_any_worker, .about = "broken: any sleeper is woken, and not its worker", .setup = set_up_other_sleeps,
         .threads = {pinned_worker_works, wakes_any_worker}, .finish = ran_though, .flawed_in = CHK_SC | CHK_TSO | CHK_C11)

/* ---- pinned meanwhile --------------------------------------------------------------------------------------------- */

/* A process goes to the end of the queue; before its entry is made, it is handed over to, runs on another worker and is pinned there. The
 * entry is stale then, and must not come into a pinned queue, where it would be a second one. */
static void set_up_running(void) {
    small_begin(POLICY_RING, 2, 4);
    small_play(0);
    pid = small_spawn(&listener);
    chk_assert(policy_pop(small_worker(0)) == small_proc(pid), "it runs on the first worker");
    chk_name(&small_worker(PINNED_TO)->pinned_ready.head, "pinned");
}
static void requeues(void) {
    struct proc *proc = small_proc(pid);
    ready_again(small, small_play(0), proc, state_requeue(&proc->state), READY_YIELDED);
}
static void asks_later(void) {
    struct worker *worker = small_play(0);
    struct proc *proc = small_proc(pid);
    uint16_t ticket = state_yield(&proc->state);
    unsigned pinned_to = state_pinned_to(&proc->state);
    if (pinned_to) ready_pinned(small, worker, proc, pinned_to - 1);
    else ready(small, worker, proc, ticket, READY_YIELDED);
}
static void runs_and_pins(void) {
    struct worker *worker = small_play(PINNED_TO);
    struct proc *proc = small_proc(pid);
    if (policy_wake_to_run(small, proc).verdict != STATE_RUN) return;
    chk_assert(worker_pin(worker), "the worker stays");
    state_pin(&proc->state, PINNED_TO + 1);
    ready_again(small, worker, proc, state_requeue(&proc->state), READY_YIELDED);
    chk_assert(find_work(worker) == proc, "it has its turn");
    state_unpin(&proc->state);
    worker_unpin(worker);
    runs++;
}
static void once(void) {
    if (runs) chk_assert(mpsc_is_empty(&small_worker(PINNED_TO)->pinned_ready), "one entry was made");
    small_end();
}
SCENARIO(pinned_meanwhile, .about = "a process is queued || handed over to, and pinned before the entry is made", .setup = set_up_running,
         .threads = {requeues, runs_and_pins}, .finish = once)
SCENARIO(pinned_asks_later, .about = "broken: where it goes is asked after it was made ready", .setup = set_up_running,
         .threads = {asks_later, runs_and_pins}, .finish = once, .flawed_in = CHK_SC | CHK_TSO | CHK_C11)

/* ---- a worker that is to leave ------------------------------------------------------------------------------------- */

SHARED bool pinned, refused;
static void set_up_leaving(void) {
    small_begin(POLICY_RING, 2, 4);
    small_has_begun(PINNED_TO);
}
static void pins(void) {
    struct worker *worker = small_play(PINNED_TO);
    pinned = worker_pin(worker);
    if (pinned) return;
    chk_assert(find_work(worker) == NULL, "it leaves");
    small_has_ended(worker);
}
static void resizes(void) { refused = workers_set(small, 1) == WEFT_EBUSY; }
static void either(void) {
    chk_assert(pinned == refused, "a worker has pinned processes, or it leaves");
    chk_assert(atom_load_rlx(&small->wanted) == (refused ? 2 : 1), "and the number is right");
    small_end();
}
SCENARIO(pinned_leaving, .about = "a process is pinned || its worker is to leave", .setup = set_up_leaving, .threads = {pins, resizes},
         .finish = either)

/* It is wanted again before its thread has left: a pin that was refused in between is not counted, and the next one finds it open. */
static void pins_at_last(void) {
    struct worker *worker = small_play(PINNED_TO);
    pinned = worker_pin(worker);
}
static void resizes_and_back(void) {
    refused = workers_set(small, 1) == WEFT_EBUSY;
    workers_set(small, 2);
}
static void open_again(void) {
    struct worker *worker = small_worker(PINNED_TO);
    chk_assert(!refused || pinned, "a worker that stays has pinned processes");
    chk_assert(atom_load_rlx(&worker->pinned_count) == pinned, "pinned processes are counted, and no others");
    if (pinned) worker_unpin(worker);
    small_end();
}
SCENARIO(pinned_back, .about = "a process is pinned || its worker is to leave, and is wanted again", .setup = set_up_leaving,
         .threads = {pins_at_last, resizes_and_back}, .finish = open_again)

/* And then that thread does not leave: were a worker open before it is wanted again, a process could be pinned to one whose thread goes. */
static void pins_and_looks(void) {
    struct worker *worker = small_play(PINNED_TO);
    pinned = worker_pin(worker);
    if (!pinned) return;
    lock_take(&small->moving); /* as in worker_leave */
    chk_assert(!atom_load_rlx(&worker->leave), "the thread of a pinned process stays");
    lock_drop(&small->moving);
}
SCENARIO(pinned_stays, .about = "a process is pinned, and its thread does not leave || its worker is to leave, and is wanted again",
         .setup = set_up_leaving, .threads = {pins_and_looks, resizes_and_back}, .finish = open_again)

/* The end: pinned processes must go, and may unpin itself while the worker is closed. */
static void set_up_closing(void) {
    set_up_leaving();
    chk_assert(worker_pin(small_worker(PINNED_TO)), "it is open");
}
static void unpins(void) {
    struct worker *worker = small_play(PINNED_TO);
    worker_unpin(worker);
    pinned = worker_pin(worker);
    if (pinned) worker_unpin(worker);
    worker_main(worker); /* until it is sent away */
    small_has_ended(worker);
}
static void ends_all(void) { workers_set(small, 0); }
static void closed(void) {
    chk_assert(atom_load_rlx(&small_worker(PINNED_TO)->pinned_count) == PINNED_CLOSED, "closed, and no process is pinned");
    small_end();
}
SCENARIO(pinned_closing, .about = "a pinned process unpins itself and pins itself again || all workers are to leave",
         .setup = set_up_closing, .threads = {unpins, ends_all}, .finish = closed)
