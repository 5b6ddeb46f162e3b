/* A ring for one producer and one consumer, and a scenario for the model checker:
 *
 *     weft check spsc.c
 *
 * spsc_wrong.c is the same ring with one memory order too weak. */
#include <stdatomic.h>
#include <stdbool.h>
#include <weft/chk.h>

enum { ROOM = 2 };

struct ring {
    int slot[ROOM];
    _Atomic unsigned head; /* how many were taken; the consumer writes it */
    _Atomic unsigned tail; /* how many were put in; the producer writes it */
};

static bool ring_push(struct ring *r, int value) {
    unsigned tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&r->head, memory_order_acquire) == ROOM) return false;
    r->slot[tail % ROOM] = value;
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
    return true;
}

static bool ring_pop(struct ring *r, int *value) {
    unsigned head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (head == atomic_load_explicit(&r->tail, memory_order_acquire)) return false;
    *value = r->slot[head % ROOM];
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return true;
}

/* ---- the scenario ---- */

static struct ring ring;

static void names(void) {
    CHK_NAME(ring.head);
    CHK_NAME(ring.tail);
}

static void producer(void) {
    for (int i = 1; i <= 3; i++)
        while (!ring_push(&ring, i)) {}
}

static void consumer(void) {
    for (int i = 1; i <= 3; i++) {
        int value;
        while (!ring_pop(&ring, &value)) {}
        chk_assert(value == i, "values come in order");
    }
}

CHK_SCENARIO(ring_in_order, .about = "three values through two places, in order", .setup = names, .threads = {producer, consumer})
