/* A thread that is about to make a call which may block, and what becomes of its worker.
 *
 *     the thread                                   whoever needs the worker (sysmon, or the thread itself)
 *     1  oscall_enter: my worker is IN A CALL        1  oscall_seen: it is in a call, number n
 *     2  the call                                  2  oscall_retake(n): mine
 *     3  oscall_leave(n): still mine?                3  thread_give
 *
 *   E1  Of oscall_leave(n) and oscall_retake(n) one succeeds: the number says which call is meant, so a slow retaker cannot take the worker
 *       out of a later one.
 *   E2  Between oscall_enter and a successful oscall_leave the thread does not touch the worker.
 *   E3  `away` counts the threads that have lost their workers and do not know it yet, and those that make a call without one (thread.h, D3).
 *   E4  A worker with pinned processes stays with its thread: it is not taken out of a call, but by a runtime that stops. They come and go on this very
 *       thread, so whoever sees that it is in a call sees how many there are, as long as it is in that call. */
#ifndef WEFT_THREAD_OSCALL_H
#define WEFT_THREAD_OSCALL_H

#include "thread/thread.h"

/* By the thread that drives the worker; the number of the call. */
uint32_t oscall_enter(struct worker *own);
/* True: the worker is still the caller's. False: it drives none. */
bool oscall_leave(struct worker *worker, uint32_t number);

/* Back from a call that was made without a worker. */
void oscall_back(struct runtime *runtime);

/* The number of the call that the worker's thread is in; 0: in none. */
uint32_t oscall_seen(struct worker *worker);
/* Whether the worker stays with its thread all the same: by that thread, or by one that has seen the call (E4). */
bool oscall_stays(struct worker *worker);
/* `number` is of oscall_seen, or of the caller's own oscall_enter. True: the worker is the caller's, to be given to a thread. */
bool oscall_retake(struct worker *worker, uint32_t number);
/* The same and gives it away at once, if there is a thread to be had. */
bool oscall_hand_over(struct worker *worker, uint32_t number);
/* By sysmon: a worker that lost its thread when there was no other. True: it has one again. */
bool oscall_drive_again(struct worker *worker);

#endif
