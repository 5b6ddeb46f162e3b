/* Treiber's stack: with nodes from the heap, where a pop uses a node that another pop has freed; with nodes from a pool, where the compare-and-swap takes an
 * old node for the same (ABA); and with a count beside the pointer, in a word of 16 bytes. */
#include <stdatomic.h>
#include <stdlib.h>
#include <weft/chk.h>

struct node {
    _Atomic(struct node *) next;
    int value;
};

/* ---- the heap ---- */

static _Atomic(struct node *) head;
static void push(struct node *n) {
    struct node *old = atomic_load_explicit(&head, memory_order_relaxed);
    do
        atomic_store_explicit(&n->next, old, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&head, &old, n, memory_order_release, memory_order_relaxed));
}
static struct node *pop(void) {
    struct node *old = atomic_load_explicit(&head, memory_order_acquire);
    while (old && !atomic_compare_exchange_weak_explicit(&head, &old, atomic_load_explicit(&old->next, memory_order_relaxed),
                                                         memory_order_acquire, memory_order_acquire)) {}
    return old;
}
static void push_new(void) {
    struct node *n = malloc(sizeof *n);
    n->value = (int)chk_self() + 1;
    push(n);
}
static void pop_and_free(void) { free(pop()); }
static void two_nodes(void) {
    push_new();
    push_new();
}
static void pop_rest(void) {
    for (struct node *n = pop(); n; n = pop())
        free(n);
}
CHK_SCENARIO(stack_pushes, .about = "three pushes, one pop", .threads = {push_new, push_new, push_new, pop_and_free}, .finish = pop_rest)
CHK_SCENARIO(stack_pops, .about = "two pops that free", .setup = two_nodes, .threads = {pop_and_free, pop_and_free}, .finish = pop_rest,
             .flawed_in = CHK_ALL, .flaw = CHK_USE_AFTER_FREE)
CHK_SCENARIO(stack_forgotten, .about = "nodes that nobody takes", .setup = two_nodes, .threads = {pop_and_free}, .flawed_in = CHK_ALL,
             .flaw = CHK_LEAK)

/* ---- a pool ---- */

static struct node pool[3];
static atomic_int taken[3];
static void fill_stack(void) {
    for (int i = 2; i >= 0; i--)
        push(&pool[i]);
}
static void mark(struct node *n, int by) {
    if (n) chk_assert(atomic_fetch_add(&taken[n - pool], by) == (by > 0 ? 0 : 1), "a node has one owner");
}
static void pop_one(void) { mark(pop(), 1); }
static void pop_two_push_first(void) {
    struct node *n = pop(), *m = pop();
    mark(n, 1);
    mark(m, 1);
    if (!n) return;
    mark(n, -1);
    push(n);
}
static void pop_both(void) {
    pop_one();
    pop_one();
}
CHK_SCENARIO(stack_aba, .about = "a node that was away and is back is taken for one that never left", .setup = fill_stack,
             .threads = {pop_both, pop_two_push_first}, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

/* ---- with a count ---- */

struct top {
    struct node *node;
    uintptr_t count;
};
static _Atomic struct top top;
static void counted_push(struct node *n) {
    struct top old = atomic_load(&top), new;
    do {
        atomic_store_explicit(&n->next, old.node, memory_order_relaxed);
        new = (struct top){n, old.count + 1};
    } while (!atomic_compare_exchange_weak(&top, &old, new));
}
static struct node *counted_pop(void) {
    struct top old = atomic_load(&top), new;
    do {
        if (!old.node) return NULL;
        new = (struct top){atomic_load_explicit(&old.node->next, memory_order_relaxed), old.count + 1};
    } while (!atomic_compare_exchange_weak(&top, &old, new));
    return old.node;
}
static void fill_counted(void) {
    for (int i = 2; i >= 0; i--)
        counted_push(&pool[i]);
}
static void counted_both(void) {
    mark(counted_pop(), 1);
    mark(counted_pop(), 1);
}
static void counted_two_push_first(void) {
    struct node *n = counted_pop(), *m = counted_pop();
    mark(n, 1);
    mark(m, 1);
    if (!n) return;
    mark(n, -1);
    counted_push(n);
}
CHK_SCENARIO(stack_counted, .about = "the same with a count of 8 bytes beside the pointer", .setup = fill_counted,
             .threads = {counted_both, counted_two_push_first})
