/* 000.1: taking one particular process out of a queue, when it is the head. */
#include "thread_queue.h"

SHARED struct thread queue;
SHARED struct process first, second;

static bool entry_claim(struct thread *t, struct process *p, struct process **head) {
    if (!thread_lock(t, head, false)) return false;
    if (atom_load_rlx(&p->owner) == t && process_change_state(p, QUEUED, RUNNING)) return true;
    atom_store_sc(&t->head, *head);
    return false;
}

static void entry_unlink_inner(struct thread *t, struct process *p) {
    struct process *next = atom_load_rlx(&p->next);
    struct process *previous = atom_load_rlx(&p->previous);
    atom_store_rlx(&previous->next, next);
    if (next == NULL) atom_store_rlx(&t->tail, previous);
    else atom_store_rlx(&next->previous, previous);
}

static void entry_forget(struct process *p) {
    atom_store_rlx(&p->owner, NULL);
    atom_store_rlx(&p->next, NULL);
    atom_store_rlx(&p->previous, NULL);
}

/* As printed: Head is the sentinel while it is locked, so Head.Next is not the queue's second, and the last line stores
 * the process that was just taken back as head. */
static bool try_dequeue_entry(struct thread *t, struct process *p) {
    struct process *h;
    if (!entry_claim(t, p, &h)) return false;
    if (h == p) {
        if (h == atom_load_rlx(&t->tail)) atom_store_rlx(&t->tail, NULL);
        atom_store_sc(&t->head, atom_load_rlx(&atom_load_sc(&t->head)->next));
    } else {
        entry_unlink_inner(t, p);
    }
    entry_forget(p);
    atom_store_sc(&t->head, h);
    return true;
}

static bool try_dequeue_entry_corrected(struct thread *t, struct process *p) {
    struct process *h;
    if (!entry_claim(t, p, &h)) return false;
    if (h == p) {
        h = atom_load_rlx(&p->next);
        if (h == NULL) atom_store_rlx(&t->tail, NULL);
        else atom_store_rlx(&h->previous, NULL);
    } else {
        entry_unlink_inner(t, p);
    }
    entry_forget(p);
    atom_store_sc(&t->head, h);
    return true;
}

static void setup_two(void) {
    thread_fill(&queue, &first);
    thread_fill(&queue, &second);
}
static void setup_one(void) { thread_fill(&queue, &first); }

static void hand_off(void) {
    if (try_dequeue_entry(&queue, &first)) process_run(&first);
}
static void hand_off_corrected(void) {
    if (try_dequeue_entry_corrected(&queue, &first)) process_run(&first);
}
static void worker(void) {
    struct process *p;
    if (thread_try_dequeue(&queue, &p) && p != NULL) process_run(p);
}
static void spawner(void) {
    bool was_empty;
    atom_store_sc(&second.state, QUEUED);
    struct spin spin = spin_begin();
    while (!thread_try_enqueue(&queue, &second, &was_empty))
        spin_wait(&spin);
}
static void finish(void) {
    for (struct process *p; (p = thread_drain(&queue)) != NULL;)
        process_run(p);
    chk_assert(atom_load_rlx(&first.runs) == 1 && atom_load_rlx(&second.runs) == 1, "each process ran");
}

SCENARIO(flaw_000_1_head_entry_runs_twice, .about = "TryDequeueEntry of the head stores the taken process back as head", .setup = setup_two,
         .threads = {hand_off, worker}, .finish = finish, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_000_1_head_entry_runs_once, .about = "the new head is computed in a local and stored last", .setup = setup_two,
         .threads = {hand_off_corrected, worker}, .finish = finish)

SCENARIO(flaw_000_1_sole_entry_loses_tail, .about = "TryDequeueEntry of the only element leaves no tail behind a head", .setup = setup_one,
         .threads = {hand_off, spawner}, .finish = finish, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
SCENARIO(fixed_000_1_sole_entry_leaves_empty, .about = "taking the only element leaves an empty queue", .setup = setup_one,
         .threads = {hand_off_corrected, spawner}, .finish = finish)
