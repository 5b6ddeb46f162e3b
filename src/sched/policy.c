/* A worker's run queue: three policies, one interface.
 *
 *   ring    a one-slot LIFO (`slot` for a process that its sender holds, else the ring's `next`; one of them is empty), then a FIFO of RING_SIZE; when it is
 *           full the oldest go to the global queue; processes that have never run go to the worker's newborn queue, when there are RING_SHORT;
 *           thieves take the older half, or a batch
 *   deque   LIFO for the owner, oldest first for thieves; wake-ups go to the global FIFO
 *   line    a linked FIFO with a lock that no thread waits for (try-lock); thieves take the head
 *
 * Beside it is the ring of processes that are due, the same for all.
 *
 * A policy decides only the order within a worker's own queue; all that the policies share is in other files. */
#include "sched/newborn.h"
#include "sched/sched.h"

/* ---- processes that are due: whatever the policy ------------------------------------------------------------------ */

static __attribute__((noinline, cold)) bool due_push(struct worker *own, uint64_t entry) {
    own->fair.due = true;
    return ring_push(&own->due, entry);
}

static __attribute__((noinline)) struct proc *due_pop(struct worker *own) {
    for (uint64_t entry; (entry = ring_pop(&own->due)) != ENTRY_NONE;) {
        struct proc *proc = find_claim(entry);
        if (!proc) continue;
        if (own->policy == POLICY_RING) slot_row_begin(own); /* what it wakes begins a row of its own */
        own->fair.chain = CHAIN_WHOLE;
        return proc;
    }
    own->fair.due = own->fair.due_turn = false;
    return NULL;
}

struct proc *policy_pop_due(struct worker *own) {
    if (!own->fair.due) return NULL;
    own->fair.due_turn = !own->fair.due_turn;
    return own->fair.due_turn ? due_pop(own) : NULL;
}

struct proc *policy_steal_due(struct worker *own, struct worker *victim, bool *busy) {
    uint64_t first;
    int got = ring_steal(&own->due, &victim->due, &first);
    if (got < 0) *busy = true;
    if (got <= 0) return NULL;
    own->fair.due = true;
    count(&own->local.counters.steals);
    count_many(&own->local.counters.stolen, (uint64_t)got);
    struct proc *proc = find_claim(first);
    return proc ? proc : due_pop(own); /* the oldest was stale; the other stolen entries are here now */
}

/* ---- ring --------------------------------------------------------------------------------------------------------- */

/* To the global queue. Cannot fail: room for every process was reserved when it was spawned. */
static void ring_inject(struct worker *own, const uint64_t *entries, unsigned n) {
    int error = inject_push_batch(&own->runtime->inject, entries, n);
    WEFT_ENSURE(error == 0, "no room in the global queue: %d", error);
    count_many(&own->local.counters.injected, n);
}

static bool ring_is_newborn(uint64_t entry) {
    struct state *state = &((struct proc *)entry_ptr(entry))->state;
    return state_is_newborn(state) && state_is_current(state, entry_ticket(entry));
}

/* The oldest entries and the new one go elsewhere, except stale ones. */
static __attribute__((noinline, cold)) void ring_spill(struct worker *own, uint64_t entry) {
    uint64_t batch[RING_BATCH + 1], newborn[RING_BATCH + 1];
    unsigned n = ring_overflow(&own->ring, batch), old = 0, young = 0;
    if (n == 0 && ring_push(&own->ring, entry)) return; /* thieves have made room */
    batch[n++] = entry;
    for (unsigned i = 0; i < n; i++) {
        struct state *state = &((struct proc *)entry_ptr(batch[i]))->state;
        if (!state_is_current(state, entry_ticket(batch[i]))) continue;
        if (state_is_newborn(state)) newborn[young++] = batch[i];
        else batch[old++] = batch[i];
    }
    ring_inject(own, batch, old);
    if (!newborn_put(own, newborn, young)) ring_inject(own, newborn, young);
}

/* A newborn process that finds many before it. If newborns are the oldest a tree is growing, and it makes room as if the ring were full; else the others keep
 * their places, and it goes where newborns go. */
static bool ring_add_newborn(struct worker *own, uint64_t entry) {
    if (!ring_is_newborn(entry)) return false;
    uint64_t oldest = ring_oldest(&own->ring);
    if (oldest == ENTRY_NONE) return false; /* thieves have taken all, and nothing has lain there yet */
    if (!ring_is_newborn(oldest)) return newborn_put(own, &entry, 1);
    ring_spill(own, entry);
    return true;
}

static __attribute__((noinline)) void ring_add_to_long(struct worker *own, uint64_t entry) {
    if (!ring_add_newborn(own, entry) && !ring_push(&own->ring, entry)) ring_spill(own, entry);
}

static bool ring_add(struct worker *own, uint64_t entry) {
    if (__builtin_expect(!ring_push_below(&own->ring, entry, RING_SHORT), 0)) ring_add_to_long(own, entry);
    return true;
}

__attribute__((noinline, cold)) struct proc *slot_confirm(uint64_t entry) {
    struct proc *proc = entry_ptr(entry);
    return entry != ENTRY_NONE && state_confirm(&proc->state, entry_ticket(entry)) ? proc : NULL;
}
/* The same for what the owner has got out of its own. */
static inline struct proc *slot_proc(struct slot_got got) {
    return __builtin_expect(got.sure, 1) ? entry_ptr(got.entry) : slot_confirm(got.entry);
}
/* The same, into the ring. False: there is nothing. */
static __attribute__((noinline)) bool slot_push_out(struct worker *own, struct slot_got got) {
    struct proc *proc = slot_proc(got);
    return proc && ring_add(own, entry_make(proc, state_let_go(&proc->state).ticket));
}

void policy_put_held(struct worker *own, struct proc *proc, uint16_t ticket) {
    if (__builtin_expect(own->fair.firing, 0)) {
        ready(own->runtime, own, proc, state_let_go(&proc->state).ticket, READY_WOKEN);
        return;
    }
    uint64_t next = ring_take_next(&own->ring);
    struct slot_got before = slot_put(&own->slot, entry_make(proc, ticket));
    bool more = next != ENTRY_NONE && ring_add(own, next);
    if (before.entry != ENTRY_NONE && slot_push_out(own, before)) more = true;
    if (more) ready_tell(own);
}

void policy_let_go(struct worker *worker) {
    struct proc *proc = slot_confirm(slot_steal(&worker->slot));
    if (proc) state_let_go(&proc->state);
}

/* The same with a process that is not held: `next` is empty. */
static __attribute__((noinline)) bool ring_push_over_slot(struct worker *own, uint64_t entry) {
    bool more = slot_push_out(own, slot_take(&own->slot));
    ring_put_next(&own->ring, entry);
    return more;
}

/* A process that was woken or spawned goes to the slot and pushes out the one that was there. Alone in the slot it is not worth waking a
 * sleeper: this worker runs it next, and one half of a ping-pong pair is best left where its partner runs. */
static bool ring_policy_push(struct worker *own, uint64_t entry, enum ready_why why) {
    if (why == READY_YIELDED) return ring_add(own, entry);
    if (__builtin_expect(!slot_is_empty(&own->slot), 0)) return ring_push_over_slot(own, entry);
    uint64_t pushed_out = ring_put_next(&own->ring, entry);
    return pushed_out != ENTRY_NONE && ring_add(own, pushed_out);
}

/* What the owner got is not surely its own, or has run often enough. */
static __attribute__((noinline, cold)) struct proc *slot_pop_otherwise(struct worker *own, struct slot_got got) {
    if (own->fair.slot_runs < SLOT_RUNS_MAX) {
        own->fair.slot_runs++;
        return slot_proc(got);
    }
    slot_push_out(own, got);
    return NULL;
}

/* What runs next, if it may, and else begins a new chain. */
static inline struct proc *ring_pop_next(struct worker *own) {
    uint64_t entry = ring_take_next(&own->ring);
    if (entry != ENTRY_NONE && own->fair.slot_runs >= SLOT_RUNS_MAX) {
        ring_add(own, entry);
        entry = ENTRY_NONE;
    }
    if (entry != ENTRY_NONE) {
        own->fair.slot_runs++;
        struct proc *proc = find_claim(entry);
        if (proc) return proc;
    }
    slot_row_begin(own);
    return NULL;
}

static inline struct proc *ring_policy_pop(struct worker *own) {
    for (uint64_t entry; (entry = ring_pop(&own->ring)) != ENTRY_NONE;) {
        struct proc *proc = find_claim(entry);
        if (proc) return proc;
    }
    return NULL;
}

static __attribute__((noinline)) struct proc *slot_steal_proc(struct worker *own, struct worker *victim) {
    struct proc *proc = slot_confirm(slot_steal(&victim->slot));
    if (!proc) return NULL;
    count(&own->local.counters.steals);
    count(&own->local.counters.stolen);
    return proc;
}

void policy_even_out(struct worker *own, struct worker *victim) {
    unsigned theirs = ring_size(&victim->ring);
    uint64_t first;
    if (theirs < RING_SHORT || theirs < ring_size(&own->ring) + 2 * RING_BATCH) return;
    int got = ring_steal(&own->ring, &victim->ring, &first);
    if (got <= 0) return;
    count(&own->local.counters.steals);
    count_many(&own->local.counters.stolen, (uint64_t)got);
    ring_add(own, first);
}

static struct proc *ring_policy_steal(struct worker *own, struct worker *victim, bool last_pass, bool *busy) {
    uint64_t first;
    struct proc *early = newborn_is_empty(victim) ? NULL : newborn_steal(own, victim);
    if (early) return early;
    int got = ring_steal(&own->ring, &victim->ring, &first);
    if (got < 0) *busy = true;
    if (got <= 0) {
        if (!last_pass) return NULL;
        if ((first = ring_steal_next(&victim->ring)) == ENTRY_NONE) return slot_steal_proc(own, victim);
        got = 1;
    }
    count(&own->local.counters.steals);
    count_many(&own->local.counters.stolen, (uint64_t)got);
    struct proc *proc = find_claim(first);
    return proc ? proc : policy_pop(own); /* the oldest was stale; the other stolen entries are in this ring now */
}

/* ---- deque -------------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool deque_policy_push(struct worker *own, uint64_t entry, enum ready_why why) {
    /* A spawned process runs depth-first, on this worker; so does a woken one with `deque_local`. Other woken processes, and those that
     * yield, go behind the rest, or LIFO would run them again for ever. */
    bool here = why == READY_SPAWNED || (why == READY_WOKEN && own->runtime->deque_local);
    if (here && deque_push(&own->deque, entry) == 0) return true;
    int error = inject_push(&own->runtime->inject, entry);
    WEFT_ENSURE(error == 0, "no room in the global queue: %d", error);
    count(&own->local.counters.injected);
    return true;
}

static __attribute__((noinline)) struct proc *deque_policy_pop(struct worker *own) {
    uint64_t entry;
    /* A process that spawns its successor, or two that wake each other, would be the newest for ever: after so many the oldest runs. */
    if (++own->fair.slot_runs > (own->runtime->deque_local ? GLOBAL_TICK : NEWEST_RUNS_MAX)) {
        own->fair.slot_runs = 0;
        struct proc *oldest = deque_steal(&own->deque, &entry) > 0 ? find_claim(entry) : NULL;
        if (oldest) return oldest;
    }
    while ((entry = deque_pop(&own->deque)) != ENTRY_NONE) {
        struct proc *proc = find_claim(entry);
        if (proc) return proc;
    }
    return NULL;
}

static struct proc *deque_policy_steal(struct worker *own, struct worker *victim, bool *busy) {
    uint64_t first;
    int got = deque_steal_half(&own->deque, &victim->deque, &first);
    if (got < 0) *busy = true;
    if (got <= 0) return NULL;
    count(&own->local.counters.steals);
    count_many(&own->local.counters.stolen, (uint64_t)got);
    struct proc *proc = find_claim(first);
    return proc ? proc : policy_pop(own);
}

/* ---- line --------------------------------------------------------------------------------------------------------- */

static struct proc *line_proc(struct line_node *node) { return (struct proc *)((unsigned char *)node - offsetof(struct proc, node)); }

/* Into the worker's own line, or into the next one whose lock is free. */
static __attribute__((noinline)) bool line_policy_push(struct worker *own, struct proc *proc) {
    struct runtime *runtime = own->runtime;
    /* acq: pairs with the rel that parked the process. The thread that last took it out of a line released its node before the process
     * ran; without this the waker would not see that, because a wake alone does not see what the process did. */
    uint64_t word = atom_load_acq(&proc->state.word);
    WEFT_ASSERT(state_of(word) == STATE_READY && line_node_is_free(&proc->node), "a process goes into a line that should not");
    (void)word;
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
        for (unsigned i = 0; i < made; i++) {
            struct worker *worker = atom_load_rlx(&runtime->workers[(own->index + i) % made]); /* rlx: published by `made` */
            if (line_try_enqueue(&worker->line, &proc->node).success) return true;
        }
    }
}

static struct proc *line_claim(struct line_node *node) {
    struct proc *proc = line_proc(node);
    bool claimed = state_claim_any(&proc->state);
    WEFT_ENSURE(claimed, "a process in a line was not ready");
    return proc;
}

static __attribute__((noinline)) struct proc *line_policy_pop(struct worker *own) {
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        struct line_dequeued got = line_try_dequeue(&own->line);
        if (got.success) return got.node ? line_claim(got.node) : NULL;
    }
}

static struct proc *line_policy_steal(struct worker *own, struct worker *victim, bool *busy) {
    struct line_dequeued got = line_try_dequeue(&victim->line);
    if (!got.success) *busy = true;
    if (!got.node) return NULL;
    count(&own->local.counters.steals);
    count(&own->local.counters.stolen);
    return line_claim(got.node);
}

/* Claims a process for hand-off. A process that this wake makes ready is claimed by the waker, which would have queued it; a queued one
 * is claimed by taking its node out of its line. */
static struct state_next line_wake_to_run(struct proc *proc) {
    struct state_next next = state_wake(&proc->state);
    if (next.verdict == STATE_ENQUEUE && next.pinned_to) return next; /* pinned: to its own worker */
    struct line *line = line_node_owner(&proc->node);
    bool mine = next.verdict == STATE_ENQUEUE || (next.verdict == STATE_NOTHING && line && line_try_dequeue_entry(line, &proc->node));
    if (!mine) return next;
    line_claim(&proc->node);
    return (struct state_next){.verdict = STATE_RUN};
}

struct state_next policy_wake_to_run(struct runtime *runtime, struct proc *proc) {
    return runtime->policy == POLICY_LINE ? line_wake_to_run(proc) : state_wake_to_run(&proc->state);
}

/* ---- the interface ------------------------------------------------------------------------------------------------ */

/* In the `next` of a ring that is not used: policy_put_alone finds that it is not empty, and need not ask for the policy (3 instructions of a message). */
#define POLICY_NO_NEXT UINT64_C(1)

int policy_init(struct worker *worker) {
    ring_init(&worker->due);
    ring_init(&worker->ring);
    if (worker->runtime->policy != POLICY_RING) ring_put_next(&worker->ring, POLICY_NO_NEXT);
    slot_init(&worker->slot);
    inject_init(&worker->newborn);
    line_init(&worker->line);
    return worker->runtime->policy == POLICY_DEQUE ? deque_init(&worker->deque) : 0;
}

void policy_destroy(struct worker *worker) {
    inject_destroy(&worker->newborn);
    if (worker->runtime->policy == POLICY_DEQUE) deque_destroy(&worker->deque);
}

bool policy_push(struct worker *own, struct proc *proc, uint16_t ticket, enum ready_why why) {
    if (__builtin_expect(own->fair.firing, 0)) {
        if (due_push(own, entry_make(proc, ticket))) return false; /* find_due tells of them */
        why = READY_YIELDED;                                       /* there are very many: to the end of the queue */
    }
    if (__builtin_expect(own->policy == POLICY_RING, 1)) return ring_policy_push(own, entry_make(proc, ticket), why);
    return own->policy == POLICY_DEQUE ? deque_policy_push(own, entry_make(proc, ticket), why) : line_policy_push(own, proc);
}

/* The same without what lay in the slot, or `got` from there. */
static inline struct proc *policy_pop_rest(struct worker *own, struct slot_got got) {
    struct proc *held = __builtin_expect(got.entry != ENTRY_NONE, 0) ? slot_pop_otherwise(own, got) : NULL;
    if (held) return held;
    bool ring = __builtin_expect(own->policy == POLICY_RING, 1);
    struct proc *proc = ring ? ring_pop_next(own) : NULL;
    if (!proc && __builtin_expect(own->fair.due, 0)) proc = policy_pop_due(own);
    if (proc) return proc;
    if (ring) proc = ring_policy_pop(own);
    else proc = own->policy == POLICY_DEQUE ? deque_policy_pop(own) : line_policy_pop(own);
    return proc || !own->fair.due || find_has_stored(own) ? proc : due_pop(own); /* those have this turn, if there are some */
}
/* The slot first, whatever the policy: with the others it is empty. A process that lies there is the most common answer, and costs no look at the policy. */
struct proc *policy_pop(struct worker *own) {
    struct slot_got got = slot_take(&own->slot);
    if (__builtin_expect(!got.sure || own->fair.slot_runs >= SLOT_RUNS_MAX, 0)) return policy_pop_rest(own, got);
    own->fair.slot_runs++;
    struct proc *proc = entry_ptr(got.entry);
    if (!proc) __builtin_unreachable(); /* spares the caller its look */
    return proc;
}

uint64_t policy_take_held(struct worker *own, bool *sure) {
    uint64_t entry = slot_look(&own->slot);
    if (entry == ENTRY_NONE || own->fair.slot_runs >= SLOT_RUNS_MAX || !tick_take(own)) return ENTRY_NONE;
    own->fair.slot_runs++;
    *sure = slot_clear(&own->slot);
    return entry;
}

struct proc *policy_steal(struct worker *own, struct worker *victim, bool last_pass, bool *busy) {
    switch (own->policy) {
    case POLICY_RING: return ring_policy_steal(own, victim, last_pass, busy);
    case POLICY_DEQUE: return deque_policy_steal(own, victim, busy);
    case POLICY_LINE: return line_policy_steal(own, victim, busy);
    }
    return NULL;
}

bool policy_is_empty(struct worker *worker) {
    if (!ring_is_empty(&worker->due)) return false;
    switch (worker->policy) {
    case POLICY_RING: return slot_is_empty(&worker->slot) && ring_is_empty(&worker->ring) && newborn_is_empty(worker);
    case POLICY_DEQUE: return deque_is_empty(&worker->deque);
    case POLICY_LINE: return line_is_empty(&worker->line);
    }
    return true;
}
