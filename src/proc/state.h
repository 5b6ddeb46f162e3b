/* The state of a process: one word that decides which thread may run it. Queues only hold hints.
 *
 *                      claim, claim_any, wake_to_run
 *            +--------------------------------------------+
 *            |                                            v
 *   init --> READY <----------- yield ---------------- RUNNING ----- complete ----> COMPLETE
 *            ^  ^               park, if NOTIFIED       |  ^  |                        |
 *            |  |                                       |  |  | wake: sets NOTIFIED    | revive (next process)
 *            |  +--- wake ---- IDLE, BLOCKED <-- park --+  |  +--.                     |
 *            |                       |                     |  ^--'                     |
 *            |                       +---- wake_to_run ----+                           |
 *            +-------------------------------------------------------------------------+
 *
 *   state      meaning                         owner of the process's stack and private data
 *   READY      wants to run                    none; the thread that wins the claim gets them
 *   RUNNING    is being run, or is held by a   the thread that claimed or holds it
 *              sender for a moment
 *   BLOCKED    waits for a completion          none; saved, untouched until it is READY or RUNNING again
 *   IDLE       waits for a message             none; likewise
 *   COMPLETE   has ended                       the slot's keeper, which may reuse or free them
 *
 *   operation                                            caller
 *   state_init, state_forget, state_revive               the slot's keeper: the thread whose magazine has it (proc/table.h)
 *   state_pin, state_unpin                               the process itself, while it runs
 *   state_requeue (state_yield), _park, _complete        the thread that runs the process, once its registers are saved
 *                                                        and its stack is no longer in use ("commit after the switch");
 *                                                        state_requeue also the sender that holds it
 *   state_claim, state_claim_any                         any worker
 *   state_seize                                          the thread that takes the runtime down
 *   state_wake, state_wake_to_run, state_hold, _take     any thread that keeps the block from being freed meanwhile
 *   state_cancel, state_condemn, state_preempt           likewise
 *   state_is_cancelled, state_is_preempted, ..._forget   the process itself
 *
 * S1  A process is run by the one thread whose compare-and-swap moved it to RUNNING; that thread then sees everything that
 *     the previous one did in the process.
 * S2  Every step to READY gives a new ticket, and the verdict carries it to the caller that must make the queue entry. An
 *     entry whose ticket is not the word's is stale. One step to READY, one entry, at most one claim of it.
 * S3  No wake-up is lost: after a wake, either the process is READY or RUNNING and will run again after that wake,
 *     seeing all that the waker did before it, or it was COMPLETE. Therefore a wake always *writes* the word, even
 *     where it changes nothing (READY, NOTIFIED already, COMPLETE): a waker that only read READY would not be ordered before
 *     the claim that follows; the process could look into its mailbox too early, and then park although the message is there.
 *     COMPLETE may be that of a process which is just being spawned, if the waker has guessed its PID (scenario
 *     table_guess_send).
 *     For the same reason no transition of a living process is a plain store, which would cut the chain of
 *     read-modify-writes through which the claim sees the wakers; state_yield_tso says where it may be.
 * S4  NOTIFIED and MAIL exist only beside RUNNING. MAIL is the mark of a wake for a message: a process that parks until a message comes
 *     has looked into its mailbox and need not run again for it, but looks once more whether the mailbox is empty (STATE_LOOK).
 * S5  A wake that did not answer DEAD happens before the return of state_complete: what it delivered can be cleaned
 *     up there.
 * S6  CANCEL and PREEMPT live in another word; no transition can erase them. Set CANCEL first, then wake.
 *
 * A ticket has 16 bits, so that an entry can be a pointer and a ticket in one word. When it wraps around, after 65,536
 * steps to READY, an entry that lay in a queue all that time may claim the process in place of the current entry, which
 * then is the stale one: the order in the queue suffers, S1 and S2's "one claim" do not.
 *
 * S7  PINNED_TO, if not 0, is one more than the number of the only worker that may run the process (fiber/pin.c). A claim by an entry
 *     fails then, and a hand-off is a wake: the process is claimed by that worker alone, out of its pinned queue (state_claim_any).
 *
 * The word: bits 0-2 state, 3 NOTIFIED, 4-15 PINNED_TO, 16 NEWBORN (READY for the first time), 17 MAIL, 18-47 left
 * unchanged by every transition, 48-63 ticket: at the top, where it wraps around by itself. */
#ifndef WEFT_PROC_STATE_H
#define WEFT_PROC_STATE_H

#include "base/assert.h"
#include "base/atom.h"

enum state_name { STATE_READY = 1, STATE_RUNNING, STATE_BLOCKED, STATE_IDLE, STATE_COMPLETE };

struct state {
    atom_u64 word;
    atom_u32 asked; /* STATE_CANCEL ... */
    uint16_t first; /* the ticket of its process's first queue entry, written by the keeper: dumps count turns from there */
    bool told;      /* its step has been told of CANCEL; of the thread that runs it */
};

enum {
    STATE_CANCEL = 1, /* it is asked to end */
    STATE_PREEMPT = 2,
    STATE_MONITORED = 4,
    STATE_OWNS = 8,
    STATE_INTERRUPTIBLE = 16,
    STATE_KILL = 32, /* it is to end, whatever it does. Never without CANCEL */
    STATE_EXIT = 64, /* it is to end because of a link, once it is not shielded. Likewise; its ties have the reason */
    STATE_CONDEMNED = STATE_KILL | STATE_EXIT,
};

/* What the caller has to do now. */
enum state_verdict {
    STATE_NOTHING, /* nothing: the process will see it, or it has parked as asked */
    STATE_ENQUEUE, /* put {process, ticket} into a run queue */
    STATE_RUN,     /* run it: the caller now owns its stack */
    STATE_DEAD,    /* it has ended; no process was woken */
    STATE_LOOK,    /* it has parked, after a wake for a message: if its mailbox is not empty, wake it */
};

struct state_next {
    uint16_t ticket;    /* valid with STATE_ENQUEUE */
    uint16_t pinned_to; /* likewise: PINNED_TO at the step to READY; later the process may run again and change it */
    uint8_t verdict;    /* enum state_verdict */
};

#define STATE_MASK UINT64_C(7)
#define STATE_NOTIFIED UINT64_C(8)
#define STATE_PINNED_TO_SHIFT 4
#define STATE_PINNED_TO (UINT64_C(0xfff) << STATE_PINNED_TO_SHIFT)
#define STATE_NEWBORN (UINT64_C(1) << 16)
#define STATE_MAIL (UINT64_C(1) << 17)
#define STATE_TICKET_SHIFT 48
#define STATE_TICKET_ONE (UINT64_C(1) << STATE_TICKET_SHIFT)

#if WEFT_CHECK
#define STATE_FIRST_TICKET UINT64_C(0xfffe) /* so that scenarios cross the wrap-around */
#else
#define STATE_FIRST_TICKET UINT64_C(0)
#endif

static inline enum state_name state_of(uint64_t word) { return (enum state_name)(word & STATE_MASK); }
static inline uint16_t state_ticket(uint64_t word) { return (uint16_t)(word >> STATE_TICKET_SHIFT); }

/* The name of a state, for messages. */
const char *state_text(enum state_name name);
/* The PID of the process with this state, for messages: set by the code that gives out PIDs, NULL until then. */
extern uint64_t (*state_pid)(const struct state *state);
/* Panics: `operation` met the state that `word` holds. */
void state_illegal(const struct state *state, const char *operation, uint64_t word, enum state_name wanted) __attribute__((noreturn, cold));

/* The same word in another state, neither NOTIFIED nor MAIL nor NEWBORN. */
static inline uint64_t state_with(uint64_t word, enum state_name name) {
    return (word & ~(STATE_MASK | STATE_NOTIFIED | STATE_NEWBORN | STATE_MAIL)) | (uint64_t)name;
}
/* The same word, READY, with the next ticket. */
static inline uint64_t state_made_ready(uint64_t word) { return state_with(word, STATE_READY) + STATE_TICKET_ONE; }
static inline void state_expect(const struct state *state, const char *operation, uint64_t word, enum state_name wanted) {
#if WEFT_DEBUG
    if (state_of(word) != wanted) state_illegal(state, operation, word, wanted);
#else
    (void)state, (void)operation, (void)word, (void)wanted;
#endif
}
static inline struct state_next state_told(uint64_t word, enum state_verdict verdict) {
    return (struct state_next){state_ticket(word), (uint16_t)((word & STATE_PINNED_TO) >> STATE_PINNED_TO_SHIFT), (uint8_t)verdict};
}
static inline struct state_next state_enqueue(uint64_t word) { return state_told(word, STATE_ENQUEUE); }

/* ---- The slot's keeper --------------------------------------------------------------------------------------- */

/* A fresh block: READY. The caller makes the first queue entry with the ticket that is returned. */
static inline uint16_t state_init(struct state *state) {
    /* rlx: not shared yet; the queue that publishes the entry publishes this too. */
    atom_store_rlx(&state->asked, 0);
    atom_store_rlx(&state->word, STATE_FIRST_TICKET << STATE_TICKET_SHIFT | STATE_READY);
    return (uint16_t)STATE_FIRST_TICKET;
}

/* A fresh block for later: COMPLETE, to be revived. */
static inline void state_init_complete(struct state *state) {
    /* rlx: as in state_init. */
    atom_store_rlx(&state->asked, 0);
    atom_store_rlx(&state->word, STATE_FIRST_TICKET << STATE_TICKET_SHIFT | STATE_COMPLETE);
}

/* Clears the requests for the next process. Before its PID is valid: a request from a thread that has guessed the PID stays. */
static inline void state_forget(struct state *state) { atom_store_rlx(&state->asked, 0); } /* rlx: published with the PID */

/* COMPLETE -> READY: the block of a process that has ended serves the next one. Stale entries and late wakers of the former
 * process may still read it, so the ticket goes on where it was. For every machine: */
static inline uint16_t state_revive_any(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: only the keeper moves it on from COMPLETE */
    state_expect(state, "state_revive", word, STATE_COMPLETE);
    word = state_made_ready(word) | STATE_NEWBORN;
    state->first = state_ticket(word);
    /* rel: pairs with the acq of a claim; a stale entry whose ticket has wrapped around may claim before the new entry is
     * pushed, and must find the block fully made. A swap and not a store: a waker that has guessed the PID may have woken
     * the process before it was spawned (S3). */
    atom_swap_rel(&state->word, word);
    return state_ticket(word);
}
/* The same by a plain store, where state_requeue_tso may be. */
static inline uint16_t state_revive_tso(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: as above */
    state_expect(state, "state_revive", word, STATE_COMPLETE);
    word = state_made_ready(word) | STATE_NEWBORN;
    state->first = state_ticket(word);
    atom_store_rel(&state->word, word); /* rel: as above */
    return state_ticket(word);
}
static inline uint16_t state_revive(struct state *state) {
#if defined(__x86_64__) && !WEFT_CHECK
    return state_revive_tso(state);
#else
    return state_revive_any(state);
#endif
}

/* ---- The thread that runs the process ------------------------------------------------------------------------ */

/* RUNNING -> READY: yields. Returns the entry that the caller must make. Clears NOTIFIED: the process will run again anyway.
 * For every machine: */
static inline struct state_next state_requeue_any(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: while RUNNING, other threads change NOTIFIED only */
    state_expect(state, "state_yield", word, STATE_RUNNING);
    word = state_made_ready(word);
    /* rel: pairs with the acq of the claim (S1). A swap and not a store: S3. */
    atom_swap_rel(&state->word, word);
    return state_enqueue(word);
}
/* The same by a plain store, for machines whose cores see all stores in one order (x86): a NOTIFIED that the store
 * erases was written before it, so what its waker delivered is visible to a claim after it. On other machines the claim
 * may come too early to see it (scenario state_yield_store). */
static inline struct state_next state_requeue_tso(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: as above */
    state_expect(state, "state_yield", word, STATE_RUNNING);
    word = state_made_ready(word);
    /* rel: pairs with the acq of the claim (S1). */
    atom_store_rel(&state->word, word);
    return state_enqueue(word);
}
static inline struct state_next state_requeue(struct state *state) {
#if defined(__x86_64__) && !WEFT_CHECK
    return state_requeue_tso(state);
#else
    return state_requeue_any(state);
#endif
}
/* For a process that is not pinned: the ticket alone. */
static inline uint16_t state_yield_any(struct state *state) { return state_requeue_any(state).ticket; }
static inline uint16_t state_yield_tso(struct state *state) { return state_requeue_tso(state).ticket; }
static inline uint16_t state_yield(struct state *state) { return state_requeue(state).ticket; }

/* RUNNING -> `name` (IDLE or BLOCKED): STATE_NOTHING. If a wake came since the process was claimed, RUNNING -> READY:
 * STATE_ENQUEUE. If that was for a message, and it waits for one: RUNNING -> IDLE, STATE_LOOK. */
static inline struct state_next state_park(struct state *state, enum state_name name) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: the swaps below decide */
    state_expect(state, "state_park", word, STATE_RUNNING);
    WEFT_ASSERT(name == STATE_IDLE || name == STATE_BLOCKED, "state_park to %s", state_text(name));
    uint64_t noted = name == STATE_IDLE ? STATE_NOTIFIED : STATE_NOTIFIED | STATE_MAIL;
    /* rel: pairs with the acq of the claim (S1); a wake between the two continues the release sequence. First as if no wake came: then
     * nothing but the state changes, and that is one addition. */
    if (__builtin_expect(!(word & (STATE_NOTIFIED | STATE_MAIL)), 1) &&
        __builtin_expect(atom_cas_rel_rlx(&state->word, &word, word + (uint64_t)name - STATE_RUNNING), 1))
        return (struct state_next){.verdict = STATE_NOTHING};
    while (!(word & noted)) /* acq: pairs with the wakers', for STATE_LOOK */
        if (atom_cas_acqrel_rlx(&state->word, &word, state_with(word, name)))
            return (struct state_next){.verdict = __builtin_expect(word & STATE_MAIL, 0) ? STATE_LOOK : STATE_NOTHING};
    word = state_made_ready(word);
    /* rel: as above. Only wakers write now, and they change nothing more. */
    atom_swap_rel(&state->word, word);
    return state_enqueue(word);
}

/* RUNNING -> COMPLETE. Returns what remains to be done: STATE_MONITORED, tell its monitors; STATE_OWNS, give up what it owns; and whether it
 * was condemned. */
static inline uint32_t state_complete(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: as in state_requeue_any */
    state_expect(state, "state_complete", word, STATE_RUNNING);
    /* acq: pairs with the rel of state_wake_for (S5). sc, with the load after it: of this and state_monitor at least one sees the other. */
    atom_swap_sc(&state->word, state_with(word, STATE_COMPLETE));
    return atom_load_sc(&state->asked) & (STATE_MONITORED | STATE_OWNS | STATE_CONDEMNED);
}

/* ---- A worker with a queue entry, or a worker that wants one particular process ------------------------------ */

/* READY -> RUNNING if the entry's ticket is the current one. False: the entry is stale, forget it. */
static inline bool state_claim(struct state *state, uint16_t ticket) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: the compare-and-swap decides; a stale entry ends here */
    while ((word & (STATE_MASK | STATE_PINNED_TO)) == STATE_READY && state_ticket(word) == ticket) /* S7 */
        /* acq: pairs with the rel that made it READY or parked it (S1) and with the wakers' (S3). */
        if (atom_cas_acq_rlx(&state->word, &word, state_with(word, STATE_RUNNING))) return true;
    return false;
}

/* Is an entry with this ticket worth keeping? A hint: it may go stale at once, but a stale one never comes back. */
static inline bool state_is_current(struct state *state, uint16_t ticket) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: no data is read because of the answer */
    return state_of(word) == STATE_READY && state_ticket(word) == ticket;
}

/* Has it never run? Likewise a hint. */
static inline bool state_is_newborn(struct state *state) { return (atom_load_rlx(&state->word) & STATE_NEWBORN) != 0; }

/* READY -> RUNNING whatever the ticket: takes one particular process out of whatever queue it is in. */
static inline bool state_claim_any(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: as in state_claim */
    while (state_of(word) == STATE_READY)
        if (atom_cas_acq_rlx(&state->word, &word, state_with(word, STATE_RUNNING))) return true; /* acq: S1, S3 */
    return false;
}

/* Claims the process whatever it waits for, to end it. False: it runs or has ended. By the thread that takes the runtime down. */
static inline bool state_seize(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: as in state_claim */
    while (state_of(word) != STATE_RUNNING && state_of(word) != STATE_COMPLETE)
        if (atom_cas_acq_rlx(&state->word, &word, state_with(word, STATE_RUNNING))) return true; /* acq: S1, S3 */
    return false;
}

/* ---- Wakers --------------------------------------------------------------------------------------------------- */

/* `note`: NOTIFIED or MAIL. */
static inline struct state_next state_wake_for(struct state *state, uint64_t note) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: the compare-and-swap decides */
    for (;;) {
        enum state_name name = state_of(word);
        bool asleep = name == STATE_IDLE || name == STATE_BLOCKED;
        uint64_t next = asleep ? state_made_ready(word) : name == STATE_RUNNING ? word | note : word;
        /* rel: pairs with the acq of the claim that follows (S3) and of state_complete (S5). */
        if (!atom_cas_rel_rlx(&state->word, &word, next)) continue;
        if (asleep) return state_enqueue(next);
        return (struct state_next){.verdict = name == STATE_COMPLETE ? STATE_DEAD : STATE_NOTHING};
    }
}
/* The process has something new to do. IDLE, BLOCKED -> READY: STATE_ENQUEUE. RUNNING gets NOTIFIED, READY stays:
 * STATE_NOTHING. COMPLETE: STATE_DEAD. */
static inline struct state_next state_wake(struct state *state) { return state_wake_for(state, STATE_NOTIFIED); }
/* The same for a message in its mailbox: RUNNING gets MAIL. */
static inline struct state_next state_wake_for_mail(struct state *state) { return state_wake_for(state, STATE_MAIL); }

/* `looked_at`: the bits of the word that are those of STATE_IDLE alone. */
static inline __attribute__((always_inline)) bool state_hold_if(struct state *state, uint64_t looked_at, struct state_next *next) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: the compare-and-swap decides */
    if ((word & looked_at) != STATE_IDLE) return false;
    uint64_t held = word + STATE_TICKET_ONE + STATE_RUNNING - STATE_IDLE; /* nothing else is set that state_with clears: S4 */
    *next = state_told(held, STATE_RUN);
    /* acq: pairs with the rel of state_park (S1): the caller writes to what is the process's own. No rel: state_let_go has one. */
    return atom_cas_acq_rlx(&state->word, &word, held);
}
/* Delivery (proc/deliver.h): IDLE -> RUNNING, with the next ticket. True: the caller holds the process, and *next is STATE_RUN with that
 * ticket; soon it lets the process go (state_let_go) or leaves it to a worker as it is (queue/slot.h). False: it is in another state, and
 * nothing was changed. */
static inline bool state_hold(struct state *state, struct state_next *next) { return state_hold_if(state, STATE_MASK, next); }
/* The same, but not of a process that is pinned. An IDLE one is not NOTIFIED (S4): so this compares 16 bits, by one instruction. */
static inline bool state_hold_unpinned(struct state *state, struct state_next *next) {
    return state_hold_if(state, STATE_MASK | STATE_NOTIFIED | STATE_PINNED_TO, next);
}

/* RUNNING, held, to READY, with the ticket that state_hold gave. For every machine, and where state_requeue_tso may be: */
static inline struct state_next state_let_go_any(struct state *state) {
    uint64_t word = state_with(atom_load_rlx(&state->word), STATE_READY); /* rlx: as in state_requeue_any */
    atom_swap_rel(&state->word, word);                                    /* rel: pairs with the acq of the claim (S1). A swap: S3 */
    return state_enqueue(word);
}
static inline struct state_next state_let_go_tso(struct state *state) {
    uint64_t word = state_with(atom_load_rlx(&state->word), STATE_READY); /* rlx: as above */
    atom_store_rel(&state->word, word);                                   /* rel: as above */
    return state_enqueue(word);
}
static inline struct state_next state_let_go(struct state *state) {
#if defined(__x86_64__) && !WEFT_CHECK
    return state_let_go_tso(state);
#else
    return state_let_go_any(state);
#endif
}

/* Of two threads that have taken a held process out of a slot, the owner and a thief, one gets it: true. */
static inline bool state_confirm(struct state *state, uint16_t ticket) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: the compare-and-swap decides */
    while (state_of(word) == STATE_RUNNING && state_ticket(word) == ticket)
        if (atom_cas_rlx_rlx(&state->word, &word, word + STATE_TICKET_ONE)) return true; /* rlx: the slot orders (slot T4) */
    return false;
}

/* The same for a caller that then runs the process (hand-off): IDLE, BLOCKED -> RUNNING, with `ready_too` READY as well; not one that is
 * pinned (S7). */
static inline bool state_take(struct state *state, bool ready_too) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: as above */
    enum state_name name = state_of(word);
    bool can = name == STATE_IDLE || name == STATE_BLOCKED || (ready_too && name == STATE_READY);
    /* acq: as in state_claim. */
    return can && !(word & STATE_PINNED_TO) && atom_cas_acq_rlx(&state->word, &word, state_with(word, STATE_RUNNING));
}

/* Hand-off: the caller wants to run the process itself, now. IDLE, BLOCKED, READY -> RUNNING: STATE_RUN, the caller has
 * claimed it (an entry it had in a queue is stale). RUNNING gets NOTIFIED: STATE_NOTHING. COMPLETE: STATE_DEAD. One that is pinned
 * is only woken (S7). */
static inline struct state_next state_wake_to_run(struct state *state) {
    uint64_t word = atom_load_rlx(&state->word); /* rlx: as in state_wake_for */
    for (;;) {
        enum state_name name = state_of(word);
        if (__builtin_expect(name == STATE_COMPLETE || word & STATE_PINNED_TO, 0)) return state_wake(state);
        if (name == STATE_RUNNING) {
            /* rel: as in state_wake_for. */
            if (atom_cas_rel_rlx(&state->word, &word, word | STATE_NOTIFIED)) return (struct state_next){.verdict = STATE_NOTHING};
        } else {
            /* acq: as in state_claim. No rel: what the caller delivered it will itself find. */
            if (atom_cas_acq_rlx(&state->word, &word, state_with(word, STATE_RUNNING))) return (struct state_next){.verdict = STATE_RUN};
        }
    }
}

/* ---- Pinned processes ----------------------------------------------------------------------------------------- */

/* rlx, all: a thread that makes the process READY changes this same word, and so sees the value. An or, and not a store: S3. */
static inline void state_pin(struct state *state, unsigned pinned_to) {
    WEFT_ASSERT(pinned_to > 0 && pinned_to <= STATE_PINNED_TO >> STATE_PINNED_TO_SHIFT, "a worker with number %u", pinned_to);
    atom_or_rlx(&state->word, (uint64_t)pinned_to << STATE_PINNED_TO_SHIFT);
}
static inline void state_unpin(struct state *state) { atom_and_rlx(&state->word, ~STATE_PINNED_TO); }
/* 0: it may run anywhere. By the thread that runs it or has just made it READY. */
static inline unsigned state_pinned_to(struct state *state) {
    return (unsigned)((atom_load_rlx(&state->word) & STATE_PINNED_TO) >> STATE_PINNED_TO_SHIFT);
}

/* ---- Cancel and preempt: requests in a word of their own ------------------------------------------------------ */

/* Asks the process to end. True for the first caller. The caller wakes the process afterwards. */
static inline bool state_cancel(struct state *state) {
    /* rel: pairs with the acq in state_is_cancelled, for the reason written before. */
    return !(atom_or_rel(&state->asked, STATE_CANCEL) & STATE_CANCEL);
}
static inline bool state_is_cancelled(struct state *state) {
    /* acq: pairs with the or in state_cancel. That it is seen at all after a wake follows from S3. */
    return atom_any_acq(&state->asked, STATE_CANCEL);
}

/* Ends the process: `how` is STATE_KILL or STATE_EXIT. True for the first caller, which wakes the process afterwards. */
static inline bool state_condemn(struct state *state, uint32_t how) {
    return !(atom_or_rel(&state->asked, how | STATE_CANCEL) & how); /* rel: as in state_cancel */
}
/* How it was condemned; 0: it was not. */
static inline uint32_t state_condemned(struct state *state) {
    return atom_load_acq(&state->asked) & STATE_CONDEMNED; /* acq: as in state_is_cancelled */
}
static inline bool state_is_condemned(struct state *state) { return atom_any_acq(&state->asked, STATE_CONDEMNED); } /* acq: likewise */

/* Something is left to do when the process ends, from now on. False: it has ended, and the thread that ended it may have missed this. */
static inline bool state_leave_to_do(struct state *state, uint32_t what) {
    atom_or_sc(&state->asked, what); /* sc, with the load: pairs with state_complete */
    return state_of(atom_load_sc(&state->word)) != STATE_COMPLETE;
}
/* The process has a monitor from now on. False: as above. */
static inline bool state_monitor(struct state *state) { return state_leave_to_do(state, STATE_MONITORED); }
/* By any thread: when the process ends, something is to be given up (registry/registry.h). False: as above. */
static inline bool state_give(struct state *state) { return state_leave_to_do(state, STATE_OWNS); }

/* The same for a link: it also has something to give up. */
static inline bool state_tie(struct state *state) {
    atom_or_sc(&state->asked, STATE_MONITORED | STATE_OWNS); /* sc, with the load: as in state_monitor */
    return state_of(atom_load_sc(&state->word)) != STATE_COMPLETE;
}

static inline bool state_is_monitored(struct state *state) {
    return atom_load_rlx(&state->asked) & STATE_MONITORED;
} /* rlx: under the monitors' lock later */
/* state_monitor by the spawner, before any other thread can know the process. rlx: published with the word. */
static inline void state_monitor_newborn(struct state *state) { atom_or_rlx(&state->asked, STATE_MONITORED); }

/* By the process itself, or its spawner: when it ends, something is to be given up (life/zombie.h). rlx, both: its own; once set, it stays
 * until the process has ended. */
static inline bool state_has_to_give(struct state *state) { return (atom_load_rlx(&state->asked) & STATE_OWNS) != 0; }
static inline void state_owns(struct state *state) {
    if (!state_has_to_give(state)) atom_or_rlx(&state->asked, STATE_OWNS);
}

/* The process is about to wait in a place where the canceller has to interrupt the wait (life/interrupt.h); the second function
 * ends that. False: it has been cancelled already. */
static inline bool state_interruptible(struct state *state) {
    /* acq: pairs with state_cancel, as in state_is_cancelled. */
    return !(atom_or_acq(&state->asked, STATE_INTERRUPTIBLE) & STATE_CANCEL);
}
static inline void state_uninterruptible(struct state *state) {
    atom_and_rlx(&state->asked, ~(uint32_t)STATE_INTERRUPTIBLE); /* rlx: only saves cancellers a look-up */
}
/* By the thread that has just cancelled it. */
static inline bool state_is_interruptible(struct state *state) {
    /* rlx: the canceller looks up the wait under a lock. If the process takes that lock later, it calls state_interruptible
     * later too, and sees the cancellation there. */
    return (atom_load_rlx(&state->asked) & STATE_INTERRUPTIBLE) != 0;
}

/* Whether the process of this block has been spawned and has not ended, for a thread that has found its PID there. */
static inline bool state_lives(struct state *state) {
    return state_of(atom_load_acq(&state->word)) != STATE_COMPLETE; /* acq: pairs with the rel in state_revive_any: its mailbox is open */
}

/* Asks the process to yield soon. rlx, all three: a hint that carries no data; late or missed is harmless. */
static inline void state_preempt(struct state *state) { atom_or_rlx(&state->asked, STATE_PREEMPT); }
static inline bool state_is_preempted(struct state *state) { return (atom_load_rlx(&state->asked) & STATE_PREEMPT) != 0; }
static inline void state_preempt_forget(struct state *state) { atom_and_rlx(&state->asked, ~(uint32_t)STATE_PREEMPT); }

#endif
