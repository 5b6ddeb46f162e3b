/* 000.5: the idle stack: pushed twice, and ABA. */
#include "idle_stack.h"

SHARED struct idle idle;
SHARED struct thread dozer, spare;
SHARED struct process one, two;
static struct thread *threads[] = {&dozer};

static void ready_both(void) {
    atom_store_rlx(&one.state, QUEUED);
    atom_store_rlx(&two.state, QUEUED);
}
static void submit_both(void) {
    enqueue_on_any(&idle, threads, 1, &one);
    enqueue_on_any(&idle, threads, 1, &two);
}
/* Two rounds of the printed outer loop. */
static void doze_twice(void) {
    for (int round = 0; round < 2; round++) {
        idle_push(&idle, &dozer);
        thread_wait(&dozer);
        process_run(take_from_any(threads, 1));
    }
}
static void stack_ends(void) {
    int n = 0;
    for (struct thread *t = atom_load_rlx(&idle.top); t != NULL; t = atom_load_rlx(&t->below))
        chk_assert(n++ < 1, "the one thread is on the idle stack at most once");
}

SCENARIO(flaw_000_5_second_push_makes_a_cycle,
         .about = "woken by the scan over all threads it is still on the stack; pushed again it points to itself", .setup = ready_both,
         .threads = {doze_twice, submit_both}, .finish = stack_ends, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* One membership bit: the thread that sets it pushes, the thread that pops clears it. */
SHARED atom_bool listed;

static void doze_twice_corrected(void) {
    for (int round = 0; round < 2; round++) {
        if (!atom_swap_sc(&listed, true)) idle_push(&idle, &dozer);
        thread_wait(&dozer);
        process_run(take_from_any(threads, 1));
    }
}
static void submit_one_corrected(struct process *p) {
    struct thread *t = idle_pop(&idle);
    if (t != NULL) atom_store_sc(&listed, false);
    bool was_empty;
    struct spin spin = spin_begin();
    while (!thread_try_enqueue(&dozer, p, &was_empty))
        spin_wait(&spin);
    if (was_empty || t != NULL) thread_wakeup(&dozer);
}
static void submit_both_corrected(void) {
    submit_one_corrected(&one);
    submit_one_corrected(&two);
}

SCENARIO(fixed_000_5_one_membership_bit, .about = "a thread pushes itself only if its bit says it is not on the stack", .setup = ready_both,
         .threads = {doze_twice_corrected, submit_both_corrected}, .finish = stack_ends)

/* ABA: the stack is dozer, spare. One pops; another pops both and pushes dozer back. */
SHARED struct thread *popped[3];

static void setup_aba(void) {
    idle_push(&idle, &spare);
    idle_push(&idle, &dozer);
}
static void pop_one(void) { popped[0] = idle_pop(&idle); }
static void pop_two_push_one(void) {
    struct thread *t = idle_pop(&idle);
    popped[1] = idle_pop(&idle);
    if (t != NULL) idle_push(&idle, t);
}
static void held_or_listed(void) {
    int seen[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (popped[i] != NULL) seen[popped[i] == &spare]++;
    for (struct thread *t = atom_load_rlx(&idle.top); t != NULL; t = atom_load_rlx(&t->below))
        chk_assert(++seen[t == &spare] == 1, "a thread that was popped is not on the stack");
}

SCENARIO(flaw_000_5_pop_has_aba,
         .about = "popped, popped, pushed back: the CAS of a late pop finds its old top and puts a "
                  "popped thread on the stack",
         .setup = setup_aba, .threads = {pop_one, pop_two_push_one}, .finish = held_or_listed, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* Corrected: the head is an index (1 dozer, 2 spare) and a tag that grows with every push. */
SHARED atom_u32 tagged, below[3];
SHARED uint32_t held[2];
enum { INDEX = 15, TAG = 16 };

static void tagged_push(uint32_t t) {
    uint32_t top = atom_load_sc(&tagged);
    do
        atom_store_rlx(&below[t], top & INDEX);
    while (!atom_cas_sc_sc(&tagged, &top, ((top & ~(uint32_t)INDEX) + TAG) | t));
}
static uint32_t tagged_pop(void) {
    uint32_t top = atom_load_sc(&tagged);
    while ((top & INDEX) != 0 && !atom_cas_sc_sc(&tagged, &top, (top & ~(uint32_t)INDEX) | atom_load_rlx(&below[top & INDEX])))
        continue;
    return top & INDEX;
}
static void setup_tagged(void) {
    tagged_push(2);
    tagged_push(1);
}
static void tagged_pop_one(void) { held[0] = tagged_pop(); }
static void tagged_pop_two_push_one(void) {
    uint32_t t = tagged_pop();
    held[1] = tagged_pop();
    if (t != 0) tagged_push(t);
}
static void tagged_held_or_listed(void) {
    int seen[3] = {0, 0, 0};
    for (int i = 0; i < 2; i++)
        seen[held[i]]++;
    for (uint32_t t = atom_load_rlx(&tagged) & INDEX; t != 0; t = atom_load_rlx(&below[t]))
        chk_assert(++seen[t] == 1, "a thread that was popped is not on the stack");
    chk_assert(seen[1] == 1 && seen[2] == 1, "each thread is held once or on the stack once");
}

SCENARIO(fixed_000_5_tagged_head, .about = "the head carries a tag that every push changes", .setup = setup_tagged,
         .threads = {tagged_pop_one, tagged_pop_two_push_one}, .finish = tagged_held_or_listed)
