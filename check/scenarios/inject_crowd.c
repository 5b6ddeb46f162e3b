/* The global FIFO, four threads and more operations each.
 *
 * The lock has scenarios of its own (lock.c here), and what it promises is what a mutex promises. With its spinning and
 * sleeping the four threads below have some ten million behaviours that differ in nothing but which thread waited how; so here
 * the checker's own mutex stands in for it, under the real source of the queue. */
#include "base/atom.h"
#include "chk.h"

#define WEFT_QUEUE_LOCK_H /* instead of queue/lock.h */
struct lock {
    struct chk_mutex mutex;
};
static inline void lock_init(struct lock *lock) { (void)lock; } /* zeroed is unlocked */
/* setup and finish are no threads, and alone. */
static inline void lock_take(struct lock *lock) {
    if (chk_self() < CHK_THREADS) chk_lock(&lock->mutex);
}
static inline void lock_drop(struct lock *lock) {
    if (chk_self() < CHK_THREADS) chk_unlock(&lock->mutex);
}

/* Beside the ones in the library. */
#define inject_init crowd_init
#define inject_destroy crowd_destroy
#define inject_reserve crowd_reserve
#define inject_push crowd_push
#define inject_push_batch crowd_push_batch
#define inject_take_batch crowd_take_batch
#define inject_take_newest crowd_take_newest
#define inject_size crowd_size
#include "queue/inject.c"

#include "inject_items.h"

SCENARIO(inject_crowd_batches, .about = "2 producers of a batch, 2 takers of a batch, with growth", .setup = set_up,
         .threads = {batch_0_1, batch_2_3, take_2, take_3}, .finish = finish_2)
SCENARIO(inject_crowd_singles, .about = "2 producers of two entries, 2 takers of a batch, with growth", .setup = set_up,
         .threads = {push_0_1, push_2_3, take_2, take_3}, .finish = finish_2)
SCENARIO(inject_crowd_order, .about = "a producer of two entries, 2 takers", .setup = set_up, .threads = {push_0_1, take_1, take_2},
         .finish = finish_1)
SCENARIO(inject_crowd_growth, .about = "a wrapped array grows between 3 takers", .setup = set_up_wrapped,
         .threads = {batch_2_3, take_1, take_1, take_2}, .finish = finish_2)
