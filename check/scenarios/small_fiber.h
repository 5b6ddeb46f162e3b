/* Stackful processes for scenarios: the real waits, channels and locks, with a thread of the scenario for every process.
 *
 *     static void setup(void) { small_fibers(2); }
 *     static void first(void) { small_process(0); ...weft_chan_send(...); }
 *     static void other(void) { small_thread(); ...; }        one that is not a worker
 *
 * Not the real ones: stacks and switches (fiber/switch.c, fiber/self.c) and the way through the run queues. A process that leaves
 * its worker sleeps on a parker, and is woken there: a token that is put down early is found later, which is what the state word's
 * NOTIFIED does (proved by check/scenarios/state.c and wake.c). All timers are real, and ring when small_clock comes by. */
#ifndef WEFT_CHECK_SCENARIOS_SMALL_FIBER_H
#define WEFT_CHECK_SCENARIOS_SMALL_FIBER_H

#include "chk.h"
#include "wait/waiters.h"

enum { SMALL_FIBERS = 4, SMALL_SOON = 3 };

/* In setup: so many processes, none cancelled. */
void small_fibers(unsigned count);
/* The calling thread is this process from now on, on a worker of its own. */
void small_process(unsigned index);
/* The calling thread is neither. */
void small_thread(void);
/* As weft_cancel. By any process or thread. */
void small_cancel(unsigned index);
/* A message into the mailbox of this process, which is woken if it may sleep, as mail/send.c does it. By any process or thread. */
struct message;
void small_send(unsigned index, struct message *message);
struct mpsc *small_box(unsigned index);
/* Comes by at the worker of this process, after SMALL_SOON: what is due rings. On a worker without a process. */
void small_clock(unsigned index);
/* For chk_clock: 0 until small_clock begins. */
uint64_t small_now(void);

/* In setup: this process stands in the list already, asking for so much. That keeps the search short where there are three. Without a
 * list it comes to stand in one by small_join, called under that list's lock by another. */
void small_join(struct waiters *list);
void small_queue(unsigned index, struct waiters *list, uint64_t amount);
/* Its thread: the process waits until it is served. */
void small_queued(unsigned index);

#endif
