/* A process goes to sleep while messages and cancellations come for it: real send, step, mailbox, state word and run queues.
 *
 * One process. The thread that is told to make it ready puts it into the queue of its own worker, and runs what is in that queue before it
 * ends. What is left in a queue then, finish runs. So a process that has not seen everything sleeps beside a message. Its private
 * data is plain: run by two at once it is a race. */
#include "small_runtime.h"

#include "mail/send.h"
#include "sched/door.h"
#include "step/step.h"

enum { LETTERS = 3, CANCELLED = 1 << LETTERS };

SHARED struct message letters[LETTERS];
static weft_pid pid;
static struct proc *proc;
static unsigned wanted; /* a bit for each letter, and CANCELLED */
static enum weft_status sleeps_as;
SHARED unsigned seen; /* likewise; belongs to the process */
SHARED unsigned last; /* the last letter seen; likewise */

static int reader_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    for (size_t i = 0; i < count; i++) {
        unsigned bit = events[i].type == WEFT_EVENT_CANCEL ? CANCELLED : 1u << events[i].tag;
        chk_assert(!(seen & bit), "an event comes once");
        seen |= bit;
        last = (unsigned)events[i].tag;
    }
    weft_out_status(out, sleeps_as);
    return 0;
}
static const weft_behavior reader = {.name = "reader", .step = reader_step};

/* ---- setup -------------------------------------------------------------------------------------------------------- */

static void set_up(enum policy_name policy, unsigned wants) {
    small_begin(policy, 4, 4);
    wanted = wants;
    sleeps_as = WEFT_STEP_IDLE;
    pid = small_spawn(&reader);
    proc = small_proc(pid);
    for (unsigned i = 0; i < LETTERS; i++)
        small_message(&letters[i], i);
}
/* It runs: thread 0 has claimed it. */
static void set_up_running(enum policy_name policy, unsigned wants) {
    set_up(policy, wants);
    struct proc *claimed = policy_pop(small_worker(0));
    chk_assert(claimed == proc, "it can be claimed");
}
static void running_one(void) { set_up_running(POLICY_RING, 1); }
static void running_one_blocked(void) {
    set_up_running(POLICY_RING, 1);
    sleeps_as = WEFT_STEP_BLOCKED;
}
static void running_two(void) { set_up_running(POLICY_RING, 3); }
static void running_cancel(void) { set_up_running(POLICY_RING, CANCELLED); }
static void running_one_cancel(void) { set_up_running(POLICY_RING, 1 | CANCELLED); }
static void running_one_deque(void) { set_up_running(POLICY_DEQUE, 1); }
static void running_one_line(void) { set_up_running(POLICY_LINE, 1); }
static void running_two_line(void) { set_up_running(POLICY_LINE, 3); }
static void running_one_cancel_line(void) { set_up_running(POLICY_LINE, 1 | CANCELLED); }
static void ready_one(void) { set_up(POLICY_RING, 1); }
static void ready_one_line(void) { set_up(POLICY_LINE, 1); }

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void runs(void) {
    struct worker *worker = small_play(0);
    step_run(worker, proc);
    small_run_own(worker);
}
static void runs_queue(void) { small_run_own(small_play(0)); }

static void send(unsigned letter) {
    struct worker *worker = small_play(1 + letter);
    int error = send_message(&worker->local, worker, pid, &letters[letter]);
    chk_assert(error == 0, "it lives");
    small_run_own(worker);
}
static void sends_0(void) { send(0); }
/* Busy with other things: what it made ready stays in its queue. */
static void sends_1_and_leaves_it(void) {
    struct worker *worker = small_play(2);
    chk_assert(send_message(&worker->local, worker, pid, &letters[1]) == 0, "it lives");
}
/* By a door, and so by the global queue. */
static void sends_from_outside(void) {
    unsigned door;
    struct local *local = door_enter(small->instance, &door);
    int error = send_message(local, NULL, pid, &letters[0]);
    door_leave(small->instance, door);
    chk_assert(error == 0, "it lives");
}

static void cancels(void) {
    struct worker *worker = small_play(3);
    chk_assert(weft_cancel(pid) == 0, "it lives");
    small_run_own(worker);
}
static void one_of_two_cancels(void) {
    struct worker *worker = small_play(chk_self());
    chk_assert(weft_cancel(pid) == 0, "it lives");
    small_run_own(worker);
}
static void steals(void) {
    struct worker *worker = small_play(3);
    bool busy = false;
    struct proc *stolen = policy_steal(worker, small_worker(0), true, &busy);
    if (stolen) step_run(worker, stolen);
    small_run_own(worker);
}

static void has_seen_all(void) {
    for (unsigned w = 0; w < 4; w++)
        small_run_own(small_play(w));
    for (struct proc *left; (left = find_global_one(small_worker(0))) != NULL;)
        step_run(small_play(0), left);
    enum state_name name = state_of(atom_load_rlx(&proc->state.word));
    chk_assert(name == (sleeps_as == WEFT_STEP_IDLE ? STATE_IDLE : STATE_BLOCKED), "it has gone to sleep");
    chk_assert(seen == wanted, "it does not sleep beside what came for it");
    small_end();
}

SCENARIO(wake_send, .about = "a step and a park || a send", .setup = running_one, .threads = {runs, sends_0}, .finish = has_seen_all)
SCENARIO(wake_send_blocked, .about = "the same, parked as Blocked", .setup = running_one_blocked, .threads = {runs, sends_0},
         .finish = has_seen_all)
SCENARIO(wake_send_deque, .about = "a step and a park || a send, policy deque: by the global queue", .setup = running_one_deque,
         .threads = {runs, sends_0}, .finish = has_seen_all)
SCENARIO(wake_send_line, .about = "a step and a park || a send, policy line", .setup = running_one_line, .threads = {runs, sends_0},
         .finish = has_seen_all)
SCENARIO(wake_send_foreign, .about = "a step and a park || a send from outside", .setup = running_one,
         .threads = {runs, sends_from_outside}, .finish = has_seen_all)
SCENARIO(wake_send_two, .about = "a step and a park || two sends", .setup = running_two, .threads = {runs, sends_0, sends_1_and_leaves_it},
         .finish = has_seen_all)
SCENARIO(wake_send_two_line, .about = "the same, policy line", .setup = running_two_line, .threads = {runs, sends_0, sends_1_and_leaves_it},
         .finish = has_seen_all)
SCENARIO(wake_ready, .about = "a ready process is taken from its queue, runs, parks || a send", .setup = ready_one,
         .threads = {runs_queue, sends_0}, .finish = has_seen_all)
SCENARIO(wake_ready_steal, .about = "the same || a thief", .setup = ready_one, .threads = {runs_queue, sends_0, steals},
         .finish = has_seen_all)
SCENARIO(wake_ready_steal_line, .about = "the same, policy line", .setup = ready_one_line, .threads = {runs_queue, sends_0, steals},
         .finish = has_seen_all)

SCENARIO(wake_cancel, .about = "a step and a park || a cancel", .setup = running_cancel, .threads = {runs, cancels}, .finish = has_seen_all)
SCENARIO(wake_cancel_two, .about = "a step and a park || two cancels: one event", .setup = running_cancel,
         .threads = {runs, one_of_two_cancels, one_of_two_cancels}, .finish = has_seen_all)
SCENARIO(wake_send_cancel, .about = "a step and a park || a send || a cancel", .setup = running_one_cancel,
         .threads = {runs, sends_0, cancels}, .finish = has_seen_all)
SCENARIO(wake_send_cancel_line, .about = "the same, policy line", .setup = running_one_cancel_line, .threads = {runs, sends_0, cancels},
         .finish = has_seen_all)

/* ---- a process that waits is held by its sender, and lies in the slot of the sender's worker ------------------------- */

static void set_up_asleep(enum policy_name policy, unsigned wants) {
    set_up_running(policy, wants);
    state_park(&proc->state, STATE_IDLE);
}
static void asleep_one(void) { set_up_asleep(POLICY_RING, 1); }
static void asleep_two(void) { set_up_asleep(POLICY_RING, 3); }
static void asleep_one_cancel(void) { set_up_asleep(POLICY_RING, 1 | CANCELLED); }
static void asleep_two_line(void) { set_up_asleep(POLICY_LINE, 3); }
static void asleep_two_deque(void) { set_up_asleep(POLICY_DEQUE, 3); }
static void sends_1_and_runs(void) { send(1); }
static void steals_from_1(void) {
    struct worker *worker = small_play(3);
    bool busy = false;
    struct proc *stolen = policy_steal(worker, small_worker(1), true, &busy);
    if (stolen) step_run(worker, stolen);
    small_run_own(worker);
}
/* As the thread that takes the runtime down: it is left Ready, and in no queue. */
static void lets_go(void) {
    small_play(3);
    policy_let_go(small_worker(1));
}
static void runs_if_let_go(void) {
    if (state_claim_any(&proc->state)) step_run(small_play(0), proc);
    has_seen_all();
}
SCENARIO(wake_held_steal, .about = "a send to a process that waits || a thief robs the sender's slot", .setup = asleep_one,
         .threads = {sends_0, steals_from_1}, .finish = has_seen_all)
SCENARIO(wake_held_steal_two, .about = "the same || another send", .setup = asleep_two,
         .threads = {sends_0, steals_from_1, sends_1_and_leaves_it}, .finish = has_seen_all, .deep_in = CHK_ALL)
SCENARIO(wake_held_two, .about = "two sends to a process that waits", .setup = asleep_two, .threads = {sends_0, sends_1_and_runs},
         .finish = has_seen_all)
SCENARIO(wake_held_two_line, .about = "the same, policy line", .setup = asleep_two_line, .threads = {sends_0, sends_1_and_runs},
         .finish = has_seen_all)
SCENARIO(wake_held_two_deque, .about = "the same, policy deque", .setup = asleep_two_deque, .threads = {sends_0, sends_1_and_runs},
         .finish = has_seen_all)
SCENARIO(wake_held_cancel, .about = "a send to a process that waits || a cancel", .setup = asleep_one_cancel, .threads = {sends_0, cancels},
         .finish = has_seen_all)
SCENARIO(wake_held_let_go, .about = "a send to a process that waits || the slot is emptied from outside", .setup = asleep_one,
         .threads = {sends_0, lets_go}, .finish = runs_if_let_go)

/* The same by weft_send itself, in its short form. */
static void sends_short(unsigned letter) {
    struct worker *worker = small_play(1 + letter);
    chk_assert(small_send_short(worker, pid, &letters[letter], letter) == 0, "it lives");
    small_run_own(worker);
}
static void sends_0_short(void) { sends_short(0); }
static void sends_1_short(void) { sends_short(1); }
SCENARIO(wake_short, .about = "a step and a park || weft_send of a short message", .setup = running_one, .threads = {runs, sends_0_short},
         .finish = has_seen_all)
SCENARIO(wake_short_held_steal, .about = "a short weft_send to a process that waits || a thief robs the sender's slot", .setup = asleep_one,
         .threads = {sends_0_short, steals_from_1}, .finish = has_seen_all)
SCENARIO(wake_short_held_two, .about = "two short weft_sends to a process that waits", .setup = asleep_two,
         .threads = {sends_0_short, sends_1_short}, .finish = has_seen_all)
SCENARIO(wake_short_held_cancel, .about = "a short weft_send to a process that waits || a cancel", .setup = asleep_one_cancel,
         .threads = {sends_0_short, cancels}, .finish = has_seen_all)
SCENARIO(wake_short_held_let_go, .about = "a short weft_send to a process that waits || the slot is emptied from outside",
         .setup = asleep_one, .threads = {sends_0_short, lets_go}, .finish = runs_if_let_go)

/* ---- broken twins of the short form: the real parts, put together wrongly --------------------------------------------- */

static void sends_0_without_wake(void) {
    struct worker *worker = small_play(1);
    struct state_next next;
    if (deliver_unpinned(proc, &letters[0].node, &next)) policy_put_alone(worker, proc, next.ticket);
    else mpsc_push(&proc->box, &letters[0].node);
    small_run_own(worker);
}
SCENARIO(wake_twin_short_no_wake, .about = "as wake_short, but a process that does not wait is not woken (S3)", .setup = running_one,
         .threads = {runs, sends_0_without_wake}, .finish = has_seen_all, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

static void sends_0_slot_first(void) {
    struct worker *worker = small_play(1);
    struct state_next next;
    chk_assert(mpsc_is_clear(&proc->box) && state_hold_unpinned(&proc->state, &next), "it waits");
    policy_put_alone(worker, proc, next.ticket);
    mpsc_hand_over(&proc->box, &letters[0].node);
    small_run_own(worker);
}
SCENARIO(wake_twin_short_slot_first, .about = "as wake_short_held_steal, but it lies in the slot before it has the letter (V2)",
         .setup = asleep_one, .threads = {sends_0_slot_first, steals_from_1}, .finish = has_seen_all, .flawed_in = CHK_ALL,
         .flaw = CHK_RACE)

/* Holds the process by a load and a store. */
static void sends_1_held_by_store(void) {
    struct worker *worker = small_play(2);
    uint64_t word = atom_load_acq(&proc->state.word);
    if (state_of(word) != STATE_IDLE) {
        sends_1_short();
        return;
    }
    word += STATE_TICKET_ONE + STATE_RUNNING - STATE_IDLE;
    atom_store_rel(&proc->state.word, word);
    mpsc_hand_over(&proc->box, &letters[1].node);
    policy_put_alone(worker, proc, state_ticket(word));
    small_run_own(worker);
}
SCENARIO(wake_twin_short_two_holders, .about = "as wake_short_held_two, but one does not hold the process by a compare-and-swap",
         .setup = asleep_two, .threads = {sends_0_short, sends_1_held_by_store}, .finish = has_seen_all, .flawed_in = CHK_ALL,
         .flaw = CHK_RACE)

static void wakes_and_cancels(void) {
    struct worker *worker = small_play(3);
    proc_wake(small, worker, proc);
    state_cancel(&proc->state);
    small_run_own(worker);
}
SCENARIO(wake_twin_short_cancel_late, .about = "as wake_short_held_cancel, but it is woken before it is cancelled (S6)",
         .setup = asleep_one_cancel, .threads = {sends_0_short, wakes_and_cancels}, .finish = has_seen_all, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)

/* Runs what it takes out of its slot, sure of it or not. */
static void sends_0_and_is_sure(void) {
    struct worker *worker = small_play(1);
    chk_assert(small_send_short(worker, pid, &letters[0], 0) == 0, "it lives");
    struct slot_got got = slot_take(&worker->slot);
    if (got.entry != ENTRY_NONE) step_run(worker, entry_ptr(got.entry));
    small_run_own(worker);
}
SCENARIO(wake_twin_short_unsure, .about = "as wake_short_held_let_go, but the owner of the slot does not ask whether it is alone (T1)",
         .setup = asleep_one, .threads = {sends_0_and_is_sure, lets_go}, .finish = runs_if_let_go, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* ---- more messages than a step is given at once ------------------------------------------------------------------- */

/* Two are in the mailbox, which is one step's fill; the process is ready. */
static void ready_full(void) {
    set_up(POLICY_RING, 7);
    struct worker *worker = small_play(1);
    for (unsigned i = 0; i < 2; i++)
        chk_assert(send_message(&worker->local, worker, pid, &letters[i]) == 0, "sent in setup");
}
static void sends_2(void) { send(2); }
static void in_order(void) {
    chk_assert(last == 2, "what was put back comes before what came later");
    has_seen_all();
}
SCENARIO(wake_full_batch, .about = "a step takes a full batch and parks || a send that finds earlier ones not taken yet",
         .setup = ready_full, .threads = {runs_queue, sends_2}, .finish = in_order)

/* Three are there: the step is given two and puts one back; then comes a fourth. */
SHARED struct message fourth;
static void ready_overfull(void) {
    ready_full();
    struct worker *worker = small_play(1);
    chk_assert(send_message(&worker->local, worker, pid, &letters[2]) == 0, "sent in setup");
    wanted = 7 | 1 << 4;
}
static void sends_fourth(void) {
    struct worker *worker = small_play(1);
    chk_assert(send_message(&worker->local, worker, pid, small_message(&fourth, 4)) == 0, "it lives");
    small_run_own(worker);
}
SCENARIO(wake_overfull_batch, .about = "a step puts one message back and is queued again || a send", .setup = ready_overfull,
         .threads = {runs_queue, sends_fourth}, .finish = has_seen_all)

/* ---- a process that receives by itself: stackful ones do ----------------------------------------------------------- */

/* It takes its messages between claim and park, as mail/receive.c does, and parks by step_commit. One letter has come while it slept for
 * another reason: its wake-up is used up. */
static void running_beside_mail(void) {
    set_up_running(POLICY_RING, 3);
    struct worker *worker = small_play(1);
    chk_assert(send_message(&worker->local, worker, pid, &letters[0]) == 0, "sent in setup");
    step_commit(worker, proc, WEFT_STEP_CONTINUE);
    chk_assert(policy_pop(worker) == proc, "it runs again");
}
static void receives(void) {
    for (struct mpsc_node *node; (node = mpsc_pop(&proc->box)) != NULL;)
        seen |= 1u << message_of(node)->tag;
}
static void receives_and_parks(void) {
    struct worker *worker = small_play(0);
    receives();
    step_commit(worker, proc, WEFT_STEP_IDLE);
    while (policy_pop(worker)) {
        receives();
        step_commit(worker, proc, WEFT_STEP_IDLE);
    }
}
static void sends_1(void) {
    struct worker *worker = small_play(2);
    chk_assert(send_message(&worker->local, worker, pid, &letters[1]) == 0, "it lives");
    while (policy_pop(worker)) {
        receives();
        step_commit(worker, proc, WEFT_STEP_IDLE);
    }
}
static void has_received_all(void) {
    chk_assert(state_of(atom_load_rlx(&proc->state.word)) == STATE_IDLE, "it has gone to sleep");
    chk_assert(seen == wanted, "it does not sleep beside what came for it");
    small_end();
}
SCENARIO(wake_mail, .about = "a process with unread mail empties its mailbox and parks || a send", .setup = running_beside_mail,
         .threads = {receives_and_parks, sends_1}, .finish = has_received_all)

/* mpsc.h, M7: it parks beside its mail. The next letter is not the first, and wakes no worker. */
static void parks_beside_mail(void) { step_commit(small_play(0), proc, WEFT_STEP_IDLE); }
SCENARIO(wake_mail_unread, .about = "broken: a process with unread mail parks until a message comes || a send",
         .setup = running_beside_mail, .threads = {parks_beside_mail, sends_1}, .finish = has_received_all, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)
/* The same where it has received one letter and not looked whether that was the last. */
static void receives_one_and_parks(void) {
    struct mpsc_node *node = mpsc_pop(&proc->box);
    seen |= 1u << message_of(node)->tag;
    step_commit(small_play(0), proc, WEFT_STEP_IDLE);
}
SCENARIO(wake_mail_half_read, .about = "broken: it receives one letter and parks without looking again || a send",
         .setup = running_beside_mail, .threads = {receives_one_and_parks, sends_1}, .finish = has_received_all, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)
