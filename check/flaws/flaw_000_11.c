/* 000.11: the earlier revision (001): EnqueueOnAnyThread leaves only after a queue that was empty, and reads emptiness
 * before it takes the lock. */
#include "thread_queue.h"

SHARED struct thread full, empty;
SHARED struct process old, fresh;

static void setup(void) {
    thread_fill(&full, &old);
    atom_store_rlx(&fresh.state, QUEUED);
}
static void enqueue_on_any_printed(void) {
    struct thread *threads[] = {&full, &empty};
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        for (int i = 0; i < 2; i++) {
            bool ignored, was_empty = thread_is_empty(threads[i]);
            if (!thread_try_enqueue(threads[i], &fresh, &ignored) || !was_empty) continue;
            thread_wakeup(threads[i]);
            return;
        }
    }
}
static void enqueue_on_any_corrected(void) {
    struct thread *threads[] = {&full, &empty};
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        for (int i = 0; i < 2; i++) {
            bool was_empty;
            if (!thread_try_enqueue(threads[i], &fresh, &was_empty)) continue;
            if (was_empty) thread_wakeup(threads[i]);
            return;
        }
    }
}
static void worker(void) {
    struct process *p;
    if (thread_try_dequeue(&full, &p) && p != NULL) process_run(p);
}
static void each_once(void) {
    for (struct process *p; (p = thread_drain(&full)) != NULL || (p = thread_drain(&empty)) != NULL;)
        process_run(p);
    chk_assert(atom_load_rlx(&old.runs) == 1 && atom_load_rlx(&fresh.runs) == 1, "each process ran");
}

SCENARIO(flaw_000_11_enqueued_on_several_threads, .about = "after a queue that was not empty the scan goes on and enqueues again",
         .setup = setup, .threads = {enqueue_on_any_printed, worker}, .finish = each_once, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_000_11_enqueued_once, .about = "one success ends the scan", .setup = setup, .threads = {enqueue_on_any_corrected, worker},
         .finish = each_once)

/* Emptiness. One thread, which has one process to run and then waits for the next. */
static void submit_printed(void) {
    bool ignored, was_empty = thread_is_empty(&full);
    struct spin spin = spin_begin();
    while (!thread_try_enqueue(&full, &fresh, &ignored))
        spin_wait(&spin);
    if (was_empty) thread_wakeup(&full);
}
static void submit_corrected(void) {
    bool was_empty;
    struct spin spin = spin_begin();
    while (!thread_try_enqueue(&full, &fresh, &was_empty))
        spin_wait(&spin);
    if (was_empty) thread_wakeup(&full);
}
static void owner(void) {
    for (int n = 0; n < 2; n++) {
        struct process *p;
        struct spin spin = spin_begin();
        thread_wait(&full);
        while (!thread_try_dequeue(&full, &p))
            spin_wait(&spin);
        process_run(p);
    }
}

SCENARIO(flaw_000_11_emptiness_read_before_lock, .about = "not empty, says the look; empty when locked: no thread rings, the owner sleeps",
         .setup = setup, .threads = {owner, submit_printed}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
SCENARIO(fixed_000_11_emptiness_under_the_lock, .about = "TryEnqueue tells what it found when it held the lock", .setup = setup,
         .threads = {owner, submit_corrected})
