/* 000.3: stealing only when one's own queue is locked. */
#include "idle_stack.h"

SHARED struct thread own, other;
SHARED struct process stolen, late;
static struct thread *const threads[] = {&own, &other};

static void setup(void) { thread_fill(&other, &stolen); }

static struct process *try_dequeue_from_any(void) {
    for (int i = 0; i < 2; i++) {
        struct process *p;
        thread_try_dequeue(threads[i], &p);
        if (p != NULL) return p;
    }
    return NULL;
}

/* As printed: an empty own queue is a success, with Null, and ends the search. */
static struct process *dequeue_from_thread(struct thread *t) {
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        struct process *p;
        if (thread_try_dequeue(t, &p)) return p;
        p = try_dequeue_from_any();
        if (p != NULL) return p;
    }
}

static void hungry(void) {
    struct process *p = dequeue_from_thread(&own);
    chk_assert(p != NULL, "a thread without work finds what is queued on another");
}
static void hungry_corrected(void) {
    struct process *p = take_from_any((struct thread **)threads, 2);
    chk_assert(p != NULL, "a thread without work finds what is queued on another");
}
/* Holds the other queue's lock for a while. */
static void spawner(void) {
    bool was_empty;
    atom_store_sc(&late.state, QUEUED);
    struct spin spin = spin_begin();
    while (!thread_try_enqueue(&other, &late, &was_empty))
        spin_wait(&spin);
}

SCENARIO(flaw_000_3_empty_thread_never_steals, .about = "DequeueFromThread ends with Null when only its own queue is empty", .setup = setup,
         .threads = {hungry, spawner}, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_000_3_null_only_if_all_empty, .about = "own queue, then the others, again if one was locked", .setup = setup,
         .threads = {hungry_corrected, spawner})
