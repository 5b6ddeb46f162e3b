/* A process that waits in a call is cancelled: real interrupt, state word, weft_cancel. The call is a parker, which the poke unparks.
 *
 * A process that waits is poked, or learns before it waits that it was cancelled; after interrupt_end its memory may go: what is written
 * there then is plain, so being poked too late is a race. */
#include "small_runtime.h"

#include "life/interrupt.h"

struct waiting {
    struct interrupt interrupt; /* first */
    struct parker parker;
    unsigned pokes;
};
SHARED struct waiting waiting;
SHARED unsigned reason; /* plain: written before the cancellation */
static weft_pid pid;
static struct proc *proc;

static int nothing_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count, (void)out;
    return 0;
}
static const weft_behavior waiter = {.name = "waiter", .step = nothing_step};

static void poke(struct interrupt *interrupt) {
    struct waiting *own = (struct waiting *)interrupt;
    own->pokes++;
    parker_unpark(&own->parker);
}

static void running(void) {
    small_begin(POLICY_RING, 3, 2);
    pid = small_spawn(&waiter);
    proc = policy_pop(small_worker(0));
    chk_assert(proc == small_proc(pid), "it runs");
    waiting.interrupt.poke = poke;
    parker_init(&waiting.parker);
    chk_name(&proc->state.asked, "asked");
    chk_name(&small->interrupts.lock, "interrupts.lock");
}
static void finish(void) { small_end(); }

/* ---- threads ---------------------------------------------------------------------------------------------------------------- */

static void reuse(void) { waiting.pokes = 77; }

static void waits(void) {
    small_play(0);
    if (interrupt_begin(small, proc, &waiting.interrupt)) {
        parker_park(&waiting.parker, SYS_FOREVER);
        chk_assert(waiting.pokes == 1, "poked once");
        chk_assert(state_is_cancelled(&proc->state), "and for a reason");
        interrupt_end(small, &waiting.interrupt);
    } else {
        chk_assert(reason == 1, "not begun for a reason");
    }
    reuse();
}
/* What it waits for has come by itself: it does not wait. */
static void leaves(void) {
    small_play(0);
    if (interrupt_begin(small, proc, &waiting.interrupt)) interrupt_end(small, &waiting.interrupt);
    reuse();
}
static void leaves_and_waits(void) {
    leaves();
    waiting.pokes = 0;
    parker_init(&waiting.parker);
    waits();
}
static void cancels(void) {
    small_play(1);
    reason = 1;
    chk_assert(weft_cancel(pid) == 0, "it lives");
}
static void cancels_alone(void) {
    small_play(1);
    chk_assert(weft_cancel(pid) == 0, "it lives");
}
static void cancels_too(void) {
    small_play(2);
    chk_assert(weft_cancel(pid) == 0, "it lives");
}
static void waits_unasked(void) {
    reason = 1; /* of two cancellations either may be the one that is seen */
    waits();
}

SCENARIO(interrupt, .about = "a process waits in a call || is cancelled", .setup = running, .threads = {waits, cancels}, .finish = finish)
SCENARIO(interrupt_twice, .about = "a process waits in a call || is cancelled || and once more", .setup = running,
         .threads = {waits_unasked, cancels_alone, cancels_too}, .finish = finish)
SCENARIO(interrupt_end, .about = "a process comes back from a call || is cancelled", .setup = running, .threads = {leaves, cancels},
         .finish = finish)
SCENARIO(interrupt_again, .about = "a process comes back from a call and waits in another || is cancelled", .setup = running,
         .threads = {leaves_and_waits, cancels}, .finish = finish)

/* ---- twins that are wrong --------------------------------------------------------------------------------------------------- */

/* Looks first and marks then. */
static void waits_too_late(void) {
    small_play(0);
    lock_take(&small->interrupts.lock);
    waiting.interrupt.proc = proc;
    small->interrupts.first = &waiting.interrupt;
    lock_drop(&small->interrupts.lock);
    if (!state_is_cancelled(&proc->state)) {
        atom_or_acqrel(&proc->state.asked, STATE_INTERRUPTIBLE);
        parker_park(&waiting.parker, SYS_FOREVER);
    }
    interrupt_end(small, &waiting.interrupt);
}
SCENARIO(interrupt_too_late, .about = "broken: CANCEL? then INTERRUPTIBLE", .setup = running, .threads = {waits_too_late, cancels},
         .finish = finish, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Says that it can be found before it can. */
static void waits_unlisted(void) {
    small_play(0);
    if (!state_interruptible(&proc->state)) return;
    lock_take(&small->interrupts.lock);
    waiting.interrupt.proc = proc;
    small->interrupts.first = &waiting.interrupt;
    lock_drop(&small->interrupts.lock);
    parker_park(&waiting.parker, SYS_FOREVER);
    interrupt_end(small, &waiting.interrupt);
}
SCENARIO(interrupt_unlisted, .about = "broken: INTERRUPTIBLE, then into the list", .setup = running, .threads = {waits_unlisted, cancels},
         .finish = finish, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* Out of the list without the lock. */
static void leaves_unlocked(void) {
    small_play(0);
    if (interrupt_begin(small, proc, &waiting.interrupt)) small->interrupts.first = NULL;
    reuse();
}
SCENARIO(interrupt_unlocked, .about = "broken: out of the list without the lock", .setup = running, .threads = {leaves_unlocked, cancels},
         .finish = finish, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
