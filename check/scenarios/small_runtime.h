/* A runtime for scenarios: the real structures and the real sources of the scheduler, with workers that the scenario's threads
 * play, and nothing started.
 *
 *     static void setup(void) {
 *         small_begin(POLICY_RING, 2, 4);             two workers, room for four processes
 *         pid = small_spawn(&behavior);            its entry is in the queue of worker 0
 *         proc = policy_pop(small_worker(0));      claimed
 *     }
 *     static void thread(void) { step_run(small_play(0), proc); }
 *     static void finish(void) { small_end(); }    takes the runtime down: what is left over is a leak
 *
 * Not the real ones: threads, which the checker has none of to give, and the doors of foreign threads (sched/door.c), which are kept
 * here, one lock each. A door is chosen by the number of the thread. The runtime may start and join workers' threads all the same: a
 * thread of the scenario stands by for each (small_wait_to_begin). */
#ifndef WEFT_CHECK_SCENARIOS_SMALL_RUNTIME_H
#define WEFT_CHECK_SCENARIOS_SMALL_RUNTIME_H

#include "chk.h"
#include "sched/sched.h"

extern struct runtime *small;

/* In setup. Names the cells that matter in traces. */
void small_begin(enum policy_name policy, unsigned workers, unsigned processes);
/* In setup: a new process, its entry in the queue of worker 0. */
weft_pid small_spawn(const weft_behavior *behavior);
struct proc *small_proc(weft_pid pid);
/* In traces. small_spawn does it. */
void small_name(weft_pid pid);

static inline struct worker *small_worker(unsigned index) { return atom_load_rlx(&small->workers[index]); /* rlx: made in setup */ }
/* The calling thread is this worker from now on. */
struct worker *small_play(unsigned index);
/* In setup: a thread of the scenario plays this worker already. */
void small_has_begun(unsigned index);
/* Waits until the runtime has started a thread for this worker, and is that thread until small_has_ended. */
struct worker *small_wait_to_begin(unsigned index);
void small_has_ended(struct worker *worker);
/* How often it has: to be waited for by a thread that is to be the next one. */
unsigned small_given(unsigned index);
/* In setup: so many times in a row no thread can be started. By one thread at a time. */
void small_refuse_threads(unsigned times);
/* In setup: processes may be stopped (thread/stopped.h). */
void small_preempt(void);
/* In setup: this worker is brisk (sched/brisk.h). */
void small_brisk(unsigned index);
/* Runs what is in the worker's own queue, until it is empty. */
void small_run_own(struct worker *worker);

/* A message that belongs to the scenario: it is given back to a cache when it has been read, but is no block of the pool's. */
/* weft_send(to, tag, NULL, 0) by a process that runs on the worker, with this message's block: its short form, if the receiver waits. */
int small_send_short(struct worker *worker, weft_pid to, struct message *block, uint64_t tag);
struct message *small_message(struct message *message, uint64_t tag);

/* In finish. */
void small_end(void);

#endif
