/* A bounded mailbox: how many messages, and how many bytes, a process may have waiting for it, and what becomes of one more. A process that
 * was given a weft_mailbox has its box diverted (queue/mpsc.h, M8) to such a struct, which keeps its messages, under a lock. No other
 * process's mailbox costs anything more.
 *
 *     sender ──bounds_put──> urgent, ordinary ──bounds_take──> the receiver; a stackful one may put messages aside, and they go on counting
 *        │ full, and it waits        ^                                 │ bounds_received: there is room
 *        └──bounds_queue──> senders ─┴─────── in order of arrival ─────┘
 *
 *   operation                          caller
 *   bounds_begin                       the spawner
 *   bounds_put, bounds_usage           any thread
 *   bounds_queue, then bounds_wait     a sender that may wait: a stackful process, or a thread that is not a worker; bounds_readmit if it failed
 *   bounds_received, bounds_urgent     the receiver
 *   bounds_forsake                     the thread that takes the runtime down, for a process that would not end
 *   the functions of the detour        as mpsc.h says
 *
 *   N1  `messages` and `bytes` are those of ordinary messages that the receiver has not received: of what lies here, and of what it has put
 *       aside. Replies, completions and notices never count, and are never refused.
 *   N2  Senders that wait are admitted in order of arrival, by the receiver, when it has received something: no sender overtakes them. The
 *       receiver puts the waiting message into the mailbox itself. So one sender's messages stay in order.
 *   N3  A sender waits only while the message does not fit. It is woken once: admitted (BOUNDS_ADMITTED), or because the receiver has ended
 *       (BOUNDS_GONE).
 *   N4  The memory stays a struct bounds as long as a thread may know its address (bounds_spare.c), and serves one process after another. `pid`
 *       says which one has it; a sender that comes too late finds another there, or none.
 *   N5  Of the pushes between two takes one finds nothing queued, and wakes the receiver, under the lock: it cannot end meanwhile. (mpsc.h, M4)
 *   N6  Once the lock is dropped a receiver that was woken may run, and end, before its waker has queued it: a hand-off claims it without an entry. The
 *       struct may be another process's then, of another runtime even; so the waker has the block from under the lock. */
#ifndef WEFT_MAIL_BOUNDS_H
#define WEFT_MAIL_BOUNDS_H

#include "proc/message.h"
#include "proc/proc.h"
#include "wait/waiters.h"

#include <weft/message.h>

struct bounds {
    struct mpsc_detour detour; /* first: its address is the struct's */
    struct lock lock;
    /* Under the lock. */
    weft_pid pid; /* N4; WEFT_NOBODY: no process has it */
    struct proc *proc;
    weft_mailbox limits;
    uint64_t messages, bytes, dropped; /* N1 */
    struct mpsc_node *first, **end;    /* ordinary messages, and what never counts */
    struct mpsc_node **oldest;         /* no message before this one may be dropped */
    struct mpsc_node *urgent, **urgent_end;
    struct waiters senders;
    uint32_t waiting;    /* how many they are */
    bool over;           /* the receiver has been told to end because it was full */
    struct bounds *next; /* of those that no process has */
    /* circle.c: the process whose mailbox the owner of this one waits for, without a deadline; whether that was reported. */
    atom_u64 blocked_on;
    atom_bool circle_told;
};

enum bounds_how {
    BOUNDS_POLICY, /* as `when_full` says */
    BOUNDS_TICK,   /* likewise, but dropped where its sender would wait or get an error */
    BOUNDS_PASS,   /* in any case */
    BOUNDS_URGENT, /* in any case, before all ordinary ones */
};
/* What became of a message. */
struct bounds_put {
    int answer;                /* 0: taken, or dropped. Else the message is still the caller's: WEFT_EAGAIN, WEFT_ENOBUFS... */
    bool ends;                 /* the caller is to end the receiver */
    struct state_next next;    /* of the receiver, if the caller has woken it: N5 */
    struct proc *proc;         /* the receiver, if it is to be queued: N6 */
    struct mpsc_node *dropped; /* to be freed by the caller, linked by next */
};
/* A sender that waits: on its stack. */
struct bounds_sender {
    struct waiter waiter; /* first: its address is the sender's. `item` is the message; NULL: it waits for room alone */
    struct wait wait;
    struct bounds *own; /* of the sender's own mailbox; NULL: that is not bounded */
};
enum { BOUNDS_ADMITTED = 1, BOUNDS_GONE };

/* Diverts the box of a process that is being spawned. 0, or WEFT_EINVAL, WEFT_ENOMEM. `counted` is the runtime's: bounds_take_spare. */
int bounds_begin(bool *counted, struct proc *proc, weft_pid pid, const weft_mailbox *limits);
struct bounds_put bounds_put(struct bounds *bounds, weft_pid to, struct message *message, enum bounds_how how);
/* As bounds_put by policy; if the answer is WEFT_EAGAIN, the sender has been put into the list, and has to call bounds_wait. */
struct bounds_put bounds_queue(struct bounds *bounds, weft_pid to, struct message *message, uint64_t deadline,
                               struct bounds_sender *sender);
/* 0: the message has been taken. Or WEFT_ENOPROC, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
int bounds_wait(struct bounds *bounds, struct bounds_sender *sender, uint64_t deadline, const char *call);
/* After a wait that has failed: senders behind it may be admitted now, and are to be woken. */
struct bounds_put bounds_readmit(struct bounds *bounds, weft_pid to, struct wakes *wakes);
/* A message that the receiver had put aside, or that mailbox_next gave it, is received. */
void bounds_received(struct bounds *bounds, struct message *message);
/* Takes out all urgent messages, oldest first. They count until bounds_received. */
struct mpsc_node *bounds_urgent(struct bounds *bounds);
/* Takes out the message for which is(message, reference) holds, which must be one that does not count. NULL: there is none. */
struct mpsc_node *bounds_pick(struct bounds *bounds, bool (*is)(struct mpsc_node *node, uint64_t reference), uint64_t reference);
/* Its senders are told that the process has ended. */
void bounds_forsake(struct proc *proc);
/* For dumps, which must not wait: false, if the lock is held. */
bool bounds_glance(struct bounds *bounds, weft_mailbox_use *use);
/* 0 or WEFT_ENOPROC. */
int bounds_usage(struct bounds *bounds, weft_pid pid, weft_mailbox_use *use);

/* bounds_spare.c: memory for them. `counted` is the runtime's, false before its first. NULL: there is none. */
struct bounds *bounds_take_spare(bool *counted);
void bounds_give(struct bounds *bounds);
/* The runtime is being taken down, and no thread is inside it any more. */
void bounds_runtime_ends(bool counted);
/* Around bounds_queue and bounds_wait. */
void bounds_sender_begins(void);
void bounds_sender_ends(void);

/* NULL: the process's mailbox is not bounded. */
static inline struct bounds *bounds_of(struct proc *proc) { return (struct bounds *)mpsc_detour(&proc->box); }

#endif
