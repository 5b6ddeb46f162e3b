/* What weft's own scenario files tell the model checker: the public <weft/chk.h>, and what only weft's files need.
 *
 * Scenario files and the parts they exercise are compiled with race detector instrumentation (-fsanitize=thread), so every plain and atomic
 * access reaches the checker by itself.
 *
 *     static struct mpsc box;
 *     static void setup(void)    { mpsc_init(&box); }
 *     static void producer(void) { ... }
 *     static void consumer(void) { ... chk_assert(n == 2, "both arrived"); }
 *     static void finish(void)   { ... }
 *     SCENARIO(mpsc_one_producer, .about = "one producer, one consumer",
 *              .setup = setup, .threads = {producer, consumer}, .finish = finish)
 *
 * Rules, beside those of <weft/chk.h>. A scenario's own bookkeeping that threads share is atomic or is kept one array a thread and summed in finish.
 * Loops that wait use base/spin.h. Memory comes from sys->alloc. */
#ifndef WEFT_CHECK_CHK_H
#define WEFT_CHECK_CHK_H

#include <weft/chk.h>

/* A scenario whose waiting loops all use base/spin.h. */
#define SCENARIO(id, ...) CHK_SCENARIO(id, .marked_loops = true, __VA_ARGS__)

/* Static data that threads share. The enumerator (check/axioms) knows only this; the checker puts back all static data. */
#define SHARED __attribute__((section("chk_shared"))) static

/* A full fence and the two asymmetric ones, for litmus tests; parts use base/atom.h and sys/sys.h. */
void chk_fence_sc(void);
void chk_fence_acq(void);
void chk_fence_rel(void);
void chk_fence_acqrel(void);
void chk_fence_light(void);
void chk_fence_heavy(void);

/* In setup: what sys->now answers in this run. Without it time stands still. */
void chk_clock(uint64_t (*clock)(void));

#endif
