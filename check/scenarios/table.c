/* PID reuse, with the real send, spawn and end: no message reaches the slot's next tenant, none is lost silently.
 *
 * There is room for one process. Worker 0 runs the first tenant to its end and spawns the second into the same block; others send
 * to the first one's PID. A message carries the number of the tenant that it is for. */
#include "small_runtime.h"

#include "life/monitor.h"
#include "life/spawn.h"
#include "mail/send.h"
#include "step/step.h"

enum { SENDERS = 2 };

SHARED struct message letters[SENDERS + 1];
SHARED bool accepted[SENDERS + 1];
static weft_pid first, second;

struct tenant {
    unsigned number;
};

static int tenant_init(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)context, (void)method, (void)size;
    ((struct tenant *)self)->number = *(const unsigned *)input;
    return 0;
}
static int tenant_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    unsigned number = ((struct tenant *)self)->number;
    for (size_t i = 0; i < count; i++) {
        bool meant = events[i].type == WEFT_EVENT_CANCEL ? number == 1 : events[i].tag == number;
        chk_assert(meant, "an event reaches the tenant it was sent to");
    }
    weft_out_status(out, number == 1 ? WEFT_STEP_DONE : WEFT_STEP_IDLE);
    return 0;
}
static const weft_behavior tenant = {.name = "tenant", .state_size = sizeof(struct tenant), .init = tenant_init, .step = tenant_step};

static int spawn(weft_pid *pid, unsigned number) {
    return weft_spawn_step(&tenant, &(weft_spawn_options){.input = &number, .input_size = sizeof number}, pid);
}

static int gone_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior tenant_gone = {.name = "gone", .step = gone_step};

static void set_up(void) {
    small_begin(POLICY_RING, 3, 1);
    small_play(0);
    chk_assert(spawn(&first, 1) == 0, "room for one");
    chk_assert(policy_pop(small_worker(0)) == small_proc(first), "it runs");
    small_name(first);
    second = WEFT_NOBODY;
}

static void send(unsigned letter, weft_pid to, uint64_t tag) {
    struct worker *worker = small_play(1 + letter);
    accepted[letter] = send_message(&worker->local, worker, to, small_message(&letters[letter], tag)) == 0;
    small_run_own(worker);
}
static void sender_one(void) { send(0, first, 1); }
static void sender_two(void) { send(1, first, 1); }

/* The first tenant's last step, and the second's first. Only what follows when the block could be had is of interest. */
static void keeper(void) {
    struct worker *worker = small_play(0);
    step_run(worker, small_proc(first));
    chk_assume(spawn(&second, 2) == 0);
    chk_assert(pid_slot(second) == pid_slot(first) && second != first, "the same block, another PID");
    small_run_own(worker);
}

/* Every message that was accepted has been given back, once: it was read, or cleaned up when its receiver ended. */
static void all_accounted_for(void) {
    unsigned back[SENDERS + 1] = {0};
    for (unsigned w = 0; w < 3; w++) {
        const struct pool_cache *cache = &small_worker(w)->local.cache.pool;
        for (uint32_t at = 0; at < pool_count(cache, 0); at++)
            for (unsigned i = 0; i < SENDERS + 1; i++)
                back[i] += cache->shelf[0][1 + at] == &letters[i];
    }
    for (unsigned i = 0; i < SENDERS + 1; i++)
        chk_assert(back[i] == accepted[i], "an accepted message is read or cleaned up once, a refused one stays the sender's");
    chk_assert(mpsc_is_empty(&small_proc(second)->box), "nothing is left in the box of a process that sleeps");
    small_end();
}

SCENARIO(table_reuse, .about = "a send || its receiver ends, the block gets its next tenant", .setup = set_up,
         .threads = {sender_one, keeper}, .finish = all_accounted_for)
SCENARIO(table_reuse_two, .about = "two sends || their receiver ends, the block gets its next tenant", .setup = set_up,
         .threads = {sender_one, sender_two, keeper}, .finish = all_accounted_for)

/* A cancel for the first tenant does not reach the second, whose request word is made new. */
static void cancels_first(void) {
    small_play(1);
    weft_cancel(first);
    small_run_own(small_worker(1));
}
SCENARIO(table_reuse_cancel, .about = "a cancel || its receiver ends, the block gets its next tenant (which would say so)", .setup = set_up,
         .threads = {cancels_first, keeper}, .finish = all_accounted_for)

/* The receiver sleeps; a sender wakes it and runs its last step, so that the block comes to the sender's own magazine, and from there,
 * through the depot, to the thread that spawns. Another sender is on the way. */
static void set_up_asleep(void) {
    set_up();
    state_park(&small_proc(first)->state, STATE_IDLE);
}
static void sends_ends_flushes(void) {
    send(0, first, 1);
    magazine_flush(&small_worker(1)->local.magazine);
}
static void spawns(void) {
    struct worker *worker = small_play(0);
    chk_assume(spawn(&second, 2) == 0);
    small_run_own(worker);
}
SCENARIO(table_reuse_elsewhere, .about = "a send that wakes its receiver, runs it to its end and flushes || a send || a spawn",
         .setup = set_up_asleep, .threads = {sends_ends_flushes, sender_two, spawns}, .finish = all_accounted_for)

/* weft_send itself, in its short form: of two that find the receiver asleep one holds it, and it may have ended when the other looks it up. */
static void sends_short_ends_flushes(void) {
    struct worker *worker = small_play(1);
    accepted[0] = small_send_short(worker, first, &letters[0], 1) == 0;
    small_run_own(worker);
    magazine_flush(&worker->local.magazine);
}
static void sends_short(void) {
    struct worker *worker = small_play(2);
    accepted[1] = small_send_short(worker, first, &letters[1], 1) == 0;
    small_run_own(worker);
}
/* A refused message is freed by weft_send, into the cache that all_accounted_for looks into. */
static void all_accounted_for_short(void) {
    accepted[0] = accepted[1] = true;
    all_accounted_for();
}
SCENARIO(table_reuse_short, .about = "a short weft_send that wakes its receiver, runs it to its end and flushes || another || a spawn",
         .setup = set_up_asleep, .threads = {sends_short_ends_flushes, sends_short, spawns}, .finish = all_accounted_for_short)

/* ---- a PID that no thread was told ----------------------------------------------------------------------------------------- */

/* A thread has guessed the PID of a process that is being born. It is refused, or what it did is seen. */
SHARED bool was_told;
SHARED int cancelled;
static int born_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)out;
    for (size_t i = 0; i < count; i++)
        was_told |= events[i].type == WEFT_EVENT_CANCEL;
    return 0;
}
static const weft_behavior born = {.name = "born", .step = born_step};
static void set_up_unborn(void) {
    small_begin(POLICY_RING, 3, 1);
    small_play(0);
    first = small_spawn(&tenant_gone);
    small_run_own(small_worker(0));
    second = pid_make(pid_instance(first), pid_generation(first) + 2, pid_slot(first));
    was_told = false;
    cancelled = WEFT_ENOPROC;
}
static void is_born(void) {
    struct worker *worker = small_play(0);
    weft_pid pid;
    chk_assume(weft_spawn_step(&born, NULL, &pid) == 0);
    chk_assert(pid == second, "as guessed");
    small_run_own(worker);
}
static void guesses_and_sends(void) { send(0, second, 2); }
static void guesses_and_cancels(void) {
    small_play(1);
    cancelled = weft_cancel(second);
    small_run_own(small_worker(1));
}
static void seen_or_refused(void) {
    chk_assert(was_told == (cancelled == 0), "a cancellation is told, or refused");
    all_accounted_for();
}
SCENARIO(table_guess_send, .about = "a birth || a send to a PID that no thread was told", .setup = set_up_unborn,
         .threads = {is_born, guesses_and_sends}, .finish = seen_or_refused)
SCENARIO(table_guess_cancel, .about = "a birth || a cancel of a PID that no thread was told", .setup = set_up_unborn,
         .threads = {is_born, guesses_and_cancels}, .finish = seen_or_refused)

/* Its spawner watches it, and writes that where the cancellation is written too. */
static bool hears_of_it(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    (void)local, (void)self, (void)monitor, (void)reason;
    return false;
}
SHARED struct monitor spawner;
static void is_born_watched(void) {
    struct worker *worker = small_play(0);
    weft_pid pid;
    uint16_t ticket;
    spawner.tell = hears_of_it;
    chk_assume(spawn_monitored(worker, &pid, &born, &(weft_spawn_options){.method = NULL}, &spawner, &ticket) == 0);
    chk_assert(pid == second, "as guessed");
    small_run_own(worker);
}
SCENARIO(table_guess_cancel_watched, .about = "a birth, watched || a cancel of a PID that no thread was told", .setup = set_up_unborn,
         .threads = {is_born_watched, guesses_and_cancels}, .finish = seen_or_refused)

/* It has a context, which it gives up when it ends: that may be before its spawner has come back from making it ready, if a hand-off runs it at once. */
static weft_context *shared;
static int ends_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior brief = {.name = "brief", .step = ends_step};
static void set_up_unborn_in_context(void) {
    set_up_unborn();
    chk_assert(weft_context_new(NULL, &shared, WEFT_FOREVER) == 0, "there is memory");
}
static void is_born_in_context(void) {
    struct worker *worker = small_play(0);
    weft_pid pid;
    chk_assume(weft_spawn_step(&brief, &(weft_spawn_options){.context = shared}, &pid) == 0);
    chk_assert(pid == second, "as guessed");
    small_run_own(worker);
}
static void guesses_and_hands_off(void) {
    struct worker *worker = small_play(1);
    struct proc *proc;
    accepted[0] = send_message_handoff(worker, second, small_message(&letters[0], 2), &proc) == 0;
    if (accepted[0] && proc) step_run(worker, proc);
    small_run_own(worker);
}
static void ended_and_accounted_for(void) {
    chk_assert(proc_generation(small_proc(second)) == pid_generation(second) + 1, "it has ended");
    weft_context_drop(shared);
    all_accounted_for();
}
SCENARIO(table_guess_handoff,
         .about = "a birth in a context || a hand-off to a PID that no thread was told, which runs the process to its end",
         .setup = set_up_unborn_in_context, .threads = {is_born_in_context, guesses_and_hands_off}, .finish = ended_and_accounted_for)

/* Looks at the word, and leaves it alone when no process seems to live there. */
static void guesses_and_only_looks(void) {
    struct worker *worker = small_play(1);
    section_enter(&worker->local.section);
    struct proc *proc = proc_find(small, second);
    accepted[0] = proc && mpsc_push(&proc->box, &small_message(&letters[0], 2)->node) != MPSC_CLOSED;
    struct state_next next = {.verdict = STATE_NOTHING};
    if (accepted[0] && state_of(atom_load_rlx(&proc->state.word)) != STATE_COMPLETE) next = state_wake(&proc->state);
    section_leave(&worker->local.section);
    if (next.verdict == STATE_ENQUEUE) ready_again(small, worker, proc, next, READY_WOKEN);
    small_run_own(worker);
}
SCENARIO(table_twin_guess_looks, .about = "as table_guess_send, but a thread that finds COMPLETE does not write it", .setup = set_up_unborn,
         .threads = {is_born, guesses_and_only_looks}, .finish = seen_or_refused, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* ---- broken twins: the sender's side done wrongly, the rest real ---------------------------------------------------------- */

/* As send_message, but the thread that gives blocks away does not know that another holds one. */
static void sends_without_section(void) {
    struct worker *worker = small_play(1);
    struct proc *proc = small_proc(first);
    if (atom_load_acq(&proc->pid) != first) return;
    accepted[0] = mpsc_push(&proc->box, &small_message(&letters[0], 1)->node) != MPSC_CLOSED;
    if (accepted[0] && state_wake(&proc->state).verdict == STATE_DEAD) mpsc_shut(&proc->box);
    small_run_own(worker);
}
static void ends_well(void) { small_end(); }
SCENARIO(table_twin_no_section,
         .about = "as table_reuse, but the sender is in no section: its message reaches the next tenant, or is taken twice",
         .setup = set_up, .threads = {sends_without_section, keeper}, .finish = ends_well, .flawed_in = CHK_ALL, .flaw = CHK_NONE)

/* The block is kept, but whose it is is not asked. */
static void sends_to_the_process_that_lives_there(void) {
    struct worker *worker = small_play(1);
    section_enter(&worker->local.section);
    struct proc *proc = small_proc(first);
    accepted[0] = mpsc_push(&proc->box, &small_message(&letters[0], 1)->node) != MPSC_CLOSED;
    if (accepted[0] && state_wake(&proc->state).verdict == STATE_DEAD) mpsc_shut(&proc->box);
    section_leave(&worker->local.section);
}
SCENARIO(table_twin_no_generation, .about = "as table_reuse, but the sender does not compare generations", .setup = set_up,
         .threads = {sends_to_the_process_that_lives_there, keeper}, .finish = ends_well, .flawed_in = CHK_ALL, .flaw = CHK_NONE)
