/* 000.7: hand-off: the sender becomes visible while it still stands on its stack; the target may be gone. */
#include "thread_queue.h"

SHARED struct thread other;
SHARED struct process current, target;
SHARED int stack; /* current's; plain, as a stack is */

static void setup(void) {
    atom_store_rlx(&current.state, RUNNING);
    stack = 1;
}
static void enqueue_current(void) {
    bool was_empty;
    process_change_state(&current, RUNNING, QUEUED);
    struct spin spin = spin_begin();
    while (!thread_try_enqueue(&other, &current, &was_empty))
        spin_wait(&spin);
}
/* As printed: SendToProcess runs on Current's stack, and goes on doing so until the thread switches to Target. */
static void send_to_process(void) {
    if (process_change_state(&target, SLEEPING, RUNNING)) enqueue_current();
    stack++; /* returns, saves the registers, switches */
}
static void send_to_process_corrected(void) {
    bool woken = process_change_state(&target, SLEEPING, RUNNING);
    stack++;
    if (woken) enqueue_current(); /* on Target's stack */
}
static void other_thread(void) {
    struct process *p;
    struct spin spin = spin_begin();
    while (!thread_try_dequeue(&other, &p) || p == NULL)
        spin_wait(&spin);
    process_run(p);
    stack++;
}

SCENARIO(flaw_000_7_two_threads_on_one_stack, .about = "SendToProcess queues Current before the thread has left Current's stack",
         .setup = setup, .threads = {send_to_process, other_thread}, .flawed_in = CHK_ALL, .flaw = CHK_RACE)
SCENARIO(fixed_000_7_commit_after_the_switch, .about = "Current is queued from the far side of the switch", .setup = setup,
         .threads = {send_to_process_corrected, other_thread})

/* The target, asleep, is killed meanwhile, and its memory is given back. */
SHARED struct process *mortal;

static void setup_mortal(void) {
    mortal = sys->alloc(sizeof *mortal);
    atom_store_rlx(&mortal->state, SLEEPING);
}
static void sender(void) { process_change_state(mortal, SLEEPING, RUNNING); }
static void target_ends(void) { sys->free(mortal, sizeof *mortal); }

SCENARIO(flaw_000_7_target_dies_meanwhile, .about = "SendToProcess looks at a process that has ended and whose memory is gone",
         .setup = setup_mortal, .threads = {sender, target_ends}, .flawed_in = CHK_ALL, .flaw = CHK_USE_AFTER_FREE)

/* Corrected: type-stable blocks, and the generation in the same word as the state. */
SHARED atom_u32 word;
enum { GENERATION = 4 };

static void setup_word(void) { atom_store_rlx(&word, 1 * GENERATION + SLEEPING); }
static void sender_corrected(void) {
    uint32_t w = atom_load_sc(&word);
    while (w == 1 * GENERATION + SLEEPING)
        if (atom_cas_sc_sc(&word, &w, 1 * GENERATION + RUNNING)) return;
}
static void target_ends_corrected(void) {
    uint32_t w = 1 * GENERATION + SLEEPING;
    if (atom_cas_sc_sc(&word, &w, 2 * GENERATION + SLEEPING)) return; /* a kill that won; next tenant */
}
static void next_tenant_sleeps(void) {
    uint32_t w = atom_load_rlx(&word);
    chk_assert(w / GENERATION == 1 || w % GENERATION == SLEEPING, "a send to the dead never starts the next tenant");
}

SCENARIO(fixed_000_7_generation_in_the_word, .about = "control blocks stay; a send names the generation it means", .setup = setup_word,
         .threads = {sender_corrected, target_ends_corrected}, .finish = next_tenant_sleeps)
