/* 000.4: a sleeping thread that is on no list any more. */
#include "idle_stack.h"

SHARED struct idle idle;
SHARED struct roster roster;
SHARED struct thread busy, dozer;
SHARED struct process one, two;
static struct thread *threads[] = {&busy, &dozer};

static void ready(struct process *p) { atom_store_rlx(&p->state, QUEUED); }

static void setup_stolen(void) {
    ready(&one);
    ready(&two);
    idle_push(&idle, &dozer);
}
static void submit_both(void) {
    enqueue_on_any(&idle, threads, 2, &one);
    enqueue_on_any(&idle, threads, 2, &two);
}
static void submit_both_corrected(void) {
    submit(&roster, threads, 2, &one);
    submit(&roster, threads, 2, &two);
}
static void doze(void) { thread_wait(&dozer); }
static void doze_corrected(void) { process_run(find_or_sleep(&roster, &dozer, threads, 2)); }

static void thief(void) {
    struct process *p;
    if (thread_try_dequeue(&dozer, &p) && p != NULL) process_run(p);
}
static void thief_corrected(void) {
    struct process *p;
    if (thread_try_dequeue(&busy, &p) && p != NULL) process_run(p);
}

SCENARIO(flaw_000_4_robbed_sleeper_is_forgotten,
         .about = "robbed before it woke, it waits again, off the idle stack, while work waits elsewhere", .setup = setup_stolen,
         .threads = {doze, submit_both, thief}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(fixed_000_4_robbed_sleeper_lists_again, .about = "a sleeper lists itself again before every sleep, and rescans",
         .setup = setup_stolen, .threads = {doze_corrected, submit_both_corrected, thief_corrected})

static void setup_locked(void) {
    ready(&two);
    thread_fill(&dozer, &one);
    idle_push(&idle, &dozer);
}
static void submit_two(void) { enqueue_on_any(&idle, threads, 2, &two); }
static void submit_two_corrected(void) { submit(&roster, threads, 2, &two); }

SCENARIO(flaw_000_4_popped_but_locked_is_forgotten,
         .about = "popped while a thief held its queue: TryEnqueue fails, and no thread wakes it or puts it back", .setup = setup_locked,
         .threads = {doze, submit_two, thief}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(fixed_000_4_popped_is_always_woken, .about = "the thread that takes a sleeper off the list wakes it, wherever the work went",
         .setup = setup_locked, .threads = {doze_corrected, submit_two_corrected, thief})
