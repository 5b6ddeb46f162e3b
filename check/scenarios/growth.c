/* What grows while it is used, the table of control blocks and the workers; and a worker that has nothing to do.
 *
 * A worker is made by one thread while others look at all workers there are; that it was made whole shows in that they find nothing
 * half made. Processes are as in find.c: a worker takes one and is busy with it for ever, so it ends here. */
#include "small_runtime.h"

#include "life/cancel.h"
#include "mail/lane.h"
#include "mail/send.h"
#include "runtime/stop.h"
#include "sched/door.h"
#include "step/step.h"
#include "thread/worker.h"

enum { MOST = 2 };

static weft_pid pid[MOST];
SHARED struct message letters[MOST];
SHARED unsigned runs[MOST]; /* a process's own */
SHARED bool accepted;       /* the guesser's */
static unsigned processes;

static int count_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)events;
    if (count > 0) runs[*(unsigned *)self]++;
    weft_out_status(out, WEFT_STEP_IDLE);
    return 0;
}
static int count_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    *(unsigned *)self = *(const unsigned *)input;
    return 0;
}
static const weft_behavior counts = {.name = "counts", .state_size = sizeof(unsigned), .init = count_init, .step = count_step};

static int spawn(unsigned i) { return weft_spawn_step(&counts, &(weft_spawn_options){.input = &i, .input_size = sizeof i}, &pid[i]); }

/* ---- the table ------------------------------------------------------------------------------------------------------ */

static void two_workers(void) {
    small_begin(POLICY_RING, 2, 4);
    small_message(&letters[0], 0);
    accepted = false;
}
static void is_first_to_spawn(void) {
    struct worker *worker = small_play(0);
    chk_assert(spawn(0) == 0, "there is room");
    small_run_own(worker);
}
/* It was not told the PID, which happens to be right, or not yet. A thread that has guessed a PID has not seen the birth, so the message
 * may lie there until the next one comes; but it finds a whole block. */
static void guesses(void) {
    struct worker *worker = small_play(1);
    weft_pid guess = pid_make(small->instance, 1, 1);
    accepted = send_message(&worker->local, worker, guess, &letters[0]) == 0;
    small_run_own(worker);
}
static void read_only_if_accepted(void) {
    for (unsigned w = 0; w < 2; w++)
        small_run_own(small_play(w));
    chk_assert(pid[0] == pid_make(small->instance, 1, 1), "the guess was good");
    chk_assert(runs[0] <= accepted, "what was refused is not read");
    small_end();
}
static void run_what_is_left(void) {
    for (unsigned w = 0; w < 2; w++)
        small_run_own(small_play(w));
    small_end();
}
SCENARIO(growth_guess, .about = "the first spawn makes a chunk of blocks || a send to a PID that was guessed", .setup = two_workers,
         .threads = {is_first_to_spawn, guesses}, .finish = read_only_if_accepted)

/* A thread that goes through all processes finds whole blocks too, and none that is not there. */
static void asks_all_to_end(void) {
    small_play(1);
    cancel_all(small, NULL);
    small_run_own(small_worker(1));
}
SCENARIO(growth_all_asked, .about = "the first spawn makes a chunk of blocks || all processes are asked to end", .setup = two_workers,
         .threads = {is_first_to_spawn, asks_all_to_end}, .finish = run_what_is_left)

/* No thread looks anything up, so the one block there is must be had again. */
static int short_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior short_lived = {.name = "short-lived", .step = short_step};
static void room_for_one(void) { small_begin(POLICY_RING, 1, 1); }
static void spawns_again_and_again(void) {
    struct worker *worker = small_play(0);
    for (unsigned i = 0; i < 3; i++) {
        weft_pid born;
        chk_assert(weft_spawn_step(&short_lived, NULL, &born) == 0, "the block is free again");
        small_run_own(worker);
    }
}
SCENARIO(growth_none, .about = "room for one process: one after the other finds it", .setup = room_for_one,
         .threads = {spawns_again_and_again}, .finish = small_end)

/* Where there is a limit: what was counted is taken back once. */
static void limit_of_one(void) {
    small_begin(POLICY_RING, 2, 4);
    small->most = 1;
}
static void spawns_if_it_may(void) {
    struct worker *worker = small_play(chk_self());
    weft_pid born;
    int error = weft_spawn_step(&short_lived, NULL, &born);
    chk_assert(error == 0 || error == WEFT_ENOBUFS, "spawned, or refused because of the limit");
    small_run_own(worker);
}
static void none_is_counted(void) {
    chk_assert(atom_load_rlx(&small->living) == 0, "no process lives, none is counted");
    small_end();
}
SCENARIO(growth_limit, .about = "at most one process: two spawn, and run what they got to its end", .setup = limit_of_one,
         .threads = {spawns_if_it_may, spawns_if_it_may}, .finish = none_is_counted)

/* Births whose init is being called at a door: they are counted, and come to nothing here. */
static int refuses(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    return WEFT_EINVAL;
}
static const weft_behavior unborn = {.name = "unborn", .init = refuses, .step = short_step};
static void fails_to_spawn(void) {
    weft_pid pid;
    chk_assert(weft_spawn_step(&unborn, &(weft_spawn_options){.runtime = (weft_runtime *)small}, &pid) == WEFT_EINVAL, "as init says");
}
static void no_birth_is_counted(void) {
    chk_assert(atom_load_rlx(&small->births) == 0, "no birth is under way");
    small_end();
}
SCENARIO(growth_births, .about = "two threads spawn by a door, and init refuses", .setup = two_workers,
         .threads = {fails_to_spawn, fails_to_spawn}, .finish = no_birth_is_counted)

/* ---- the workers ---------------------------------------------------------------------------------------------------- */

/* One worker, and processes that sleep. */
static void one_worker(enum policy_name policy, unsigned count) {
    small_begin(policy, 1, 4);
    small_play(0);
    processes = count;
    for (unsigned i = 0; i < count; i++) {
        chk_assert(spawn(i) == 0, "there is room");
        small_name(pid[i]);
        chk_assert(policy_pop(small_worker(0)) == small_proc(pid[i]), "claimed");
        state_park(&small_proc(pid[i])->state, STATE_IDLE);
        small_message(&letters[i], 0);
    }
}
static void send_inside(struct worker *worker, unsigned i) {
    chk_assert(send_message(&worker->local, worker, pid[i], &letters[i]) == 0, "it lives");
}
static void send_from_outside(unsigned i) {
    unsigned door;
    struct local *local = door_enter(small->instance, &door);
    chk_assert(send_message(local, NULL, pid[i], &letters[i]) == 0, "it lives");
    door_leave(small->instance, door);
}
static void all_ran(void) {
    for (unsigned w = 0; w < atom_load_rlx(&small->made); w++)
        small_run_own(small_play(w));
    for (unsigned i = 0; i < processes; i++)
        chk_assert(runs[i] == 1, "each has run once");
    small_end();
}

static void works_once(void) {
    struct worker *worker = small_play(0);
    step_run(worker, find_work(worker));
}
/* As worker_begin does, but for the thread: it is this one. */
static struct worker *begins_as_second(void) {
    chk_assert(worker_new(small, 1) != NULL, "there is memory");
    idle_resize(&small->idle, 2);
    return small_play(1);
}

/* The new worker makes two processes ready and takes one; the other is for the first worker, which looked everywhere and may be asleep. */
static void brings_two(void) {
    struct worker *worker = begins_as_second();
    send_inside(worker, 0);
    send_inside(worker, 1);
    step_run(worker, find_work(worker));
}
static void two_asleep(void) { one_worker(POLICY_RING, 2); }
SCENARIO(growth_worker, .about = "a worker looks and goes to sleep || another is made, makes two processes ready and runs one",
         .setup = two_asleep, .threads = {works_once, brings_two}, .finish = all_ran)

/* The look at queues without a thread, which every worker takes now and then. */
static void one_queued_and_due(void) {
    one_worker(POLICY_RING, 1);
    send_from_outside(0);
    tick_begin(small_worker(0), 1);
    small_worker(0)->fair.rounds = FAIR_SOURCES - 1; /* these queues are asked first */
}
static void begins(void) { begins_as_second(); }
SCENARIO(growth_worker_due, .about = "a worker looks at the queues that have lost their thread || another worker is made",
         .setup = one_queued_and_due, .threads = {works_once, begins}, .finish = all_ran)

/* The look at another worker's ring, which may be the longer one: here it is the new one's. */
static void one_queued_and_even_out(void) {
    one_queued_and_due();
    struct worker *worker = small_worker(0);
    worker->fair.rounds = EVEN_OUT - 1;
    for (struct rng draws = worker->rng; rng_below(&draws, 2) != 1; draws = worker->rng)
        rng_below(&worker->rng, 2);
}
SCENARIO(growth_worker_even_out, .about = "a worker compares its ring with another's || another worker is made",
         .setup = one_queued_and_even_out, .threads = {works_once, begins}, .finish = all_ran)

/* One that is killed ends at its next call, wherever it runs: all workers are told. */
static void one_running(void) {
    one_worker(POLICY_RING, 1);
    struct state *state = &small_proc(pid[0])->state;
    chk_assert(state_claim(state, state_wake(state).ticket), "it runs");
}
static void kills(void) {
    small_play(0);
    chk_assert(weft_kill(pid[0]) == 0, "it lives");
}
static void runs_to_its_end(void) {
    step_run(small_play(0), small_proc(pid[0]));
    small_end();
}
SCENARIO(growth_worker_kill, .about = "a process is killed || another worker is made", .setup = one_running, .threads = {kills, begins},
         .finish = runs_to_its_end)

/* The look at workers that are held up, where processes are preempted. */
static void one_queued_and_preempted(void) {
    one_worker(POLICY_RING, 1);
    small_preempt();
    send_from_outside(0);
}
SCENARIO(growth_worker_held_up, .about = "a worker looks whether others are held up || another worker is made",
         .setup = one_queued_and_preempted, .threads = {works_once, begins}, .finish = all_ran)

/* Another thread is in the way, so the process goes into the next worker's line, which is new. */
static void one_asleep_one_queued(void) {
    one_worker(POLICY_LINE, 2);
    send_inside(small_worker(0), 1);
}
static void sends_one(void) { send_inside(small_play(0), 0); }
static void begins_and_steals(void) {
    struct worker *worker = begins_as_second();
    bool busy = false;
    struct proc *proc = policy_steal(worker, small_worker(0), true, &busy);
    if (proc) step_run(worker, proc);
}
SCENARIO(growth_worker_line, .about = "a process is queued, its worker's line is locked || another worker is made and looks there",
         .setup = one_asleep_one_queued, .threads = {sends_one, begins_and_steals}, .finish = all_ran)

static void no_process(void) { one_worker(POLICY_RING, 0); }
static void stops(void) { stop_wait(small, SYS_FOREVER); }
SCENARIO(growth_worker_stop, .about = "the stopper counts the processes that live || another worker is made", .setup = no_process,
         .threads = {stops, begins}, .finish = all_ran)

/* ---- nothing to do --------------------------------------------------------------------------------------------------- */

/* It goes to sleep: a thread that waits for that goes on. (To look round and round would lose nothing either.) */
static void one_asleep(void) { one_worker(POLICY_RING, 1); }
static void sends_when_it_sleeps(void) {
    struct spin spin = spin_begin();
    while (atom_load_rlx(&small_worker(0)->local.counters.sleeps) == 0)
        spin_wait(&spin);
    send_from_outside(0);
}
SCENARIO(growth_none_to_do, .about = "a worker has nothing to do and goes to sleep || a send when it has", .setup = one_asleep,
         .threads = {works_once, sends_when_it_sleeps}, .finish = all_ran)

static void is_dismissed(void) { chk_assert(find_work(small_play(0)) == NULL, "there is nothing to do"); }
static void dismisses(void) { worker_dismiss(small, small_worker(0)); }
static void is_dismissed_when_due(void) {
    tick_begin(small_play(0), 1);
    is_dismissed();
}
SCENARIO(growth_less, .about = "a worker has nothing to do and goes to sleep || it is sent away", .setup = no_process,
         .threads = {is_dismissed, dismisses}, .finish = all_ran)
SCENARIO(growth_less_due, .about = "the same, it looks at the others' queues first", .setup = no_process,
         .threads = {is_dismissed_when_due, dismisses}, .finish = all_ran)

/* Two that ask at once whether they may search are both counted, and neither is when both have stopped. */
static void searches(void) {
    small_play(chk_self());
    if (idle_search(&small->idle)) chk_assert(idle_found(&small->idle) == IDLE_NOBODY, "no worker sleeps");
}
static void none_searches(void) {
    chk_assert(idle_searchers(&small->idle) == 0, "no worker is counted as searching (I2)");
    small_end();
}
SCENARIO(growth_searchers, .about = "two workers ask whether they may search, and stop searching", .setup = two_workers,
         .threads = {searches, searches}, .finish = none_searches)

/* The new worker is the first to send something later; a worker that joins it finds that worker by the lane alone. */
static struct timer_event later[2];
static atom_u64 *lane;
static void rings(struct local *local, struct worker *self, struct timer_event *event) { (void)local, (void)self, (void)event; }
static void no_process_later(void) {
    no_process();
    lane = lane_of(small, 1);
    for (unsigned i = 0; i < 2; i++)
        timer_event_init(&later[i], rings);
    chk_name(lane, "lane");
}
static void second_sends_later(void) { lane_arm(small, begins_as_second(), lane, &later[1], 9); }
static void first_sends_later(void) { lane_arm(small, small_play(0), lane, &later[0], 9); }
static void both_later(void) {
    struct timers *place = atom_load_rlx(&later[0].timer.place);
    chk_assert(place == atom_load_rlx(&later[1].timer.place), "one wheel has both");
    for (unsigned i = 0; i < 2; i++)
        chk_assert(timer_event_cancel(&later[i]), "it has not rung");
    small_end();
}
SCENARIO(growth_lane, .about = "another worker is made and sends something later || the first does", .setup = no_process_later,
         .threads = {first_sends_later, second_sends_later}, .finish = both_later)
