/* A thread that is about to make a call of the operating system which may block, and how its worker is retaken meanwhile.
 *
 *     the thread                                   the retaker: sysmon, or the thread itself
 *     1  oscall_enter: my worker is IN A CALL      1  oscall_seen: it is in a call, number n
 *     2  the call                                  2  oscall_retake(n): mine
 *     3  oscall_leave(n): still mine?              3  thread_give
 *
 *   E1  Of oscall_leave(n) and oscall_retake(n) one succeeds: the number says which call is meant, so a slow retaker cannot take the worker
 *       out of a later one.
 *   E2  Between oscall_enter and a successful oscall_leave the thread does not touch the worker.
 *   E3  `away` counts the threads that have lost their workers and do not know it yet, and those that make a call without one (thread.h,
 *       D3).
 *   E4  A worker with pinned processes stays with its thread: only a runtime that stops takes it out of a call. Processes are pinned and
 *       unpinned on this very thread, so a thread that sees the call sees how many are pinned, as long as the call lasts. */
#ifndef WEFT_THREAD_OSCALL_H
#define WEFT_THREAD_OSCALL_H

#include "thread/thread.h"

/* By the thread that drives the worker; returns the number of the call. */
uint32_t oscall_enter(struct worker *own);
/* True: the worker is still the caller's. False: it was retaken, and the thread drives none. */
bool oscall_leave(struct worker *worker, uint32_t number);

/* Back from a call that was made without a worker. */
void oscall_back(struct runtime *runtime);

/* The number of the call that the worker's thread is in; 0: in none. */
uint32_t oscall_seen(struct worker *worker);
/* Whether the worker stays with its thread although that is in a call: by that thread, or by one that has seen the call (E4). */
bool oscall_stays(struct worker *worker);
/* `number` comes from oscall_seen, or from the caller's own oscall_enter. True: the worker is the caller's, to be given to a thread. */
bool oscall_retake(struct worker *worker, uint32_t number);
/* The same, and gives the worker to another thread at once, if there is one to be had. */
bool oscall_hand_over(struct worker *worker, uint32_t number);
/* By sysmon: gives a thread to a worker that lost its own when there was no other. True: it has one again. */
bool oscall_drive_again(struct worker *worker);

#endif
