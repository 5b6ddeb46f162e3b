/* Ties between two processes: a monitor (weft_monitor), or one half of a link (link.h). A tie tells one process, its owner, of the end of another, its
 * target. The record is the notice that the owner will be sent: it exists from the beginning, so the notice needs no memory when it is due.
 *
 *     the target ends                                  the owner gives the tie up (weft_demonitor, weft_unlink, its own end)
 *     1  under the target's slot's lock: out of its    1  under the owner's lock of ties: out of its list, GIVEN UP
 *        list, TOLD
 *     2  under the owner's lock of ties: GIVEN UP?     2  under the target's slot's lock: TOLD? else out of its list
 *        else out of the owner's list, and into its
 *        mailbox; the owner is woken
 *
 *   G1  A tie is in the list of its target's slot (monitor.h) and in its owner's (ties.h) until one of the two ends takes it out. Lock order:
 *       ties.h, Y1.
 *   G2  The thread that is first under the owner's lock decides. If it is the teller, the tie is a message from then on, and nothing else refers
 *       to it. If it is the owner, the teller leaves the record alone, and the owner frees it.
 *   G3  As long as a tie is in its owner's list, the owner's block has no other process, and the owner's runtime is there: the teller reaches
 *       the owner without looking it up, also in another runtime.
 *   G4  The owner's runtime, or its process, may go as soon as the owner's lock is dropped. The target's may go when the owner has given the tie
 *       up: by then the teller has marked it LEFT, or will never come. */
#ifndef WEFT_LIFE_TIE_H
#define WEFT_LIFE_TIE_H

#include "life/monitor.h"
#include "life/ties.h"
#include "sched/rt_enter.h"

/* One block, first as a tie, then as the message that tells of the end:
 *
 *     byte 0                          32                                                           112
 *          | the message's header     | monitor, next, link, runtime, owner, reference ...          |   while it is in the lists
 *          | the message's header     | weft_notice, the message's payload       |                      from tie_send on
 */
struct tie {
    union {
        struct message message; /* its tag is that of the notice; from is the target. All there is of it from tie_send on */
        struct {
            unsigned char header[sizeof(struct message)];
            struct monitor monitor; /* in the list of the target's slot */
            struct tie *next, **link;
            struct runtime *runtime; /* the owner's, as is `owner` */
            struct proc *owner;
            union {
                uint64_t reference; /* of a monitor */
                struct tie *twin;   /* of a link: its other half */
            };
            uint8_t kind;   /* enum weft_notice_kind */
            bool given_up;  /* under the owner's lock */
            atom_bool left; /* the teller is done with a tie that was given up */
        };
    };
};
_Static_assert(sizeof(struct tie) <= MESSAGE_NOTICE_BLOCK, "the block that message_free gives back");
_Static_assert(sizeof(struct message) + sizeof(weft_notice) <= MESSAGE_NOTICE_BLOCK, "and its payload");

/* A tie in no list yet; NULL: there is no memory. `local` is any that the caller has, `runtime` the owner's. */
struct tie *tie_new(struct local *local, struct runtime *runtime, struct proc *owner, weft_pid target, enum weft_notice_kind kind);
/* The next reference of a monitor of that process; never 0. Once it has a tie. */
uint64_t tie_reference(struct worker *self);
/* In no list. */
void tie_free(struct local *local, struct tie *tie);
/* Into the owner's list, and out of it. By a thread that knows that the owner has not given up its ties. Its ties have memory, and it has
 * STATE_OWNS (ties.h, Y2). */
void tie_own(struct tie *tie);
void tie_disown(struct tie *tie);
/* The owner's link to this process, or NULL. */
struct tie *tie_find_link(struct runtime *runtime, uint32_t owner, weft_pid pid);

/* The owner has ended: gives up all its ties. */
void tie_give_up_all(struct local *local, uint32_t owner);
/* By the process that runs on `self`: gives up the monitor. False: it has been told, or never was. */
bool tie_demonitor(struct worker *self, uint64_t reference);

#endif
