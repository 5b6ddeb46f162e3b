/* The state word: each transition from each state, and a hammer in which processes send each other letters through
 * it. */
#include "base/rng.h"
#include "proc/state.h"
#include "queue/lock.h"
#include "queue/parker.h"
#include "sys/sys.h"
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static enum state_name name_of(struct state *s) { return state_of(atom_load_rlx(&s->word)); }

/* A process in the given state. */
static struct state in(enum state_name name) {
    static struct state s;
    uint16_t ticket = state_init(&s);
    if (name == STATE_READY) return s;
    EXPECT(state_claim(&s, ticket));
    if (name == STATE_IDLE || name == STATE_BLOCKED) EXPECT_EQ(state_park(&s, name).verdict, STATE_NOTHING);
    if (name == STATE_COMPLETE) state_complete(&s);
    return s;
}

static const enum state_name names[] = {STATE_READY, STATE_RUNNING, STATE_BLOCKED, STATE_IDLE, STATE_COMPLETE};
enum { NAMES = sizeof names / sizeof names[0] };

TEST(state_starts_ready_and_has_names) {
    struct state s;
    state_init(&s);
    EXPECT_EQ(name_of(&s), STATE_READY);
    EXPECT(!state_is_cancelled(&s) && !state_is_preempted(&s));
    EXPECT(strcmp(state_text(STATE_BLOCKED), "Blocked") == 0);
    for (int i = 0; i < NAMES; i++)
        for (int k = 0; k < i; k++)
            EXPECT(strcmp(state_text(names[i]), state_text(names[k])) != 0);
}

TEST(state_claim_needs_ready_and_the_ticket) {
    for (int i = 0; i < NAMES; i++) {
        struct state s = in(names[i]);
        uint16_t ticket = state_ticket(atom_load_rlx(&s.word));
        EXPECT(!state_claim(&s, (uint16_t)(ticket + 1)));
        EXPECT(!state_claim(&s, (uint16_t)(ticket - 1)));
        EXPECT_EQ(name_of(&s), names[i]);
        EXPECT(state_claim(&s, ticket) == (names[i] == STATE_READY));
        s = in(names[i]);
        EXPECT(state_claim_any(&s) == (names[i] == STATE_READY));
        EXPECT_EQ(name_of(&s), names[i] == STATE_READY ? STATE_RUNNING : names[i]);
    }
}

TEST(state_wake_from_each_state) {
    static const enum state_verdict verdicts[] = {STATE_NOTHING, STATE_NOTHING, STATE_ENQUEUE, STATE_ENQUEUE, STATE_DEAD};
    static const enum state_name after[] = {STATE_READY, STATE_RUNNING, STATE_READY, STATE_READY, STATE_COMPLETE};
    for (int i = 0; i < NAMES; i++) {
        struct state s = in(names[i]);
        uint16_t ticket = state_ticket(atom_load_rlx(&s.word));
        struct state_next next = state_wake(&s);
        EXPECT_EQ(next.verdict, verdicts[i]);
        EXPECT_EQ(name_of(&s), after[i]);
        if (next.verdict == STATE_ENQUEUE) {
            EXPECT_EQ(next.ticket, (uint16_t)(ticket + 1));
            EXPECT(!state_claim(&s, ticket));
            EXPECT(state_claim(&s, next.ticket));
        }
        EXPECT_EQ(state_wake(&s).verdict, names[i] == STATE_COMPLETE ? STATE_DEAD : STATE_NOTHING);
    }
}

TEST(state_hand_off_from_each_state) {
    static const enum state_verdict verdicts[] = {STATE_RUN, STATE_NOTHING, STATE_RUN, STATE_RUN, STATE_DEAD};
    for (int i = 0; i < NAMES; i++) {
        struct state s = in(names[i]);
        uint16_t ticket = state_ticket(atom_load_rlx(&s.word));
        EXPECT_EQ(state_wake_to_run(&s).verdict, verdicts[i]);
        if (verdicts[i] == STATE_RUN) {
            EXPECT_EQ(name_of(&s), STATE_RUNNING);
            EXPECT(!state_claim(&s, ticket));                   /* the entry it may have had is stale */
            EXPECT_EQ(state_yield(&s), (uint16_t)(ticket + 1)); /* and so it is after the next step to Ready */
            EXPECT(!state_claim(&s, ticket));
        }
    }
}

TEST(state_hold_and_take_from_each_state) {
    for (int i = 0; i < NAMES; i++) {
        struct state s = in(names[i]);
        struct state_next next;
        EXPECT(state_hold(&s, &next) == (names[i] == STATE_IDLE));
        EXPECT_EQ(name_of(&s), names[i] == STATE_IDLE ? STATE_RUNNING : names[i]);

        bool waits = names[i] == STATE_IDLE || names[i] == STATE_BLOCKED;
        s = in(names[i]);
        EXPECT(state_take(&s, false) == waits);
        EXPECT_EQ(name_of(&s), waits ? STATE_RUNNING : names[i]);
        s = in(names[i]);
        EXPECT(state_take(&s, true) == (waits || names[i] == STATE_READY));
    }
}

TEST(state_held_is_woken_once) {
    struct state s = in(STATE_IDLE);
    uint16_t ticket = state_ticket(atom_load_rlx(&s.word));
    struct state_next next;
    EXPECT(state_hold(&s, &next) && next.verdict == STATE_RUN && next.ticket == (uint16_t)(ticket + 1));
    EXPECT_EQ(state_wake(&s).verdict, STATE_NOTHING); /* it is let go soon, and runs then */
    next = state_let_go(&s);
    EXPECT(next.verdict == STATE_ENQUEUE && next.ticket == (uint16_t)(ticket + 1));
    EXPECT(state_claim(&s, next.ticket));
    EXPECT_EQ(state_park(&s, STATE_IDLE).verdict, STATE_NOTHING);
}

TEST(state_take_leaves_the_pinned_alone) {
    struct state s = in(STATE_RUNNING);
    state_pin(&s, 3);
    EXPECT_EQ(state_park(&s, STATE_IDLE).verdict, STATE_NOTHING);
    EXPECT(!state_take(&s, true));
    struct state_next next;
    EXPECT(state_hold(&s, &next) && next.pinned_to == 3); /* only to give it a message */
    EXPECT_EQ(state_let_go(&s).pinned_to, 3);
}

TEST(state_confirm_has_one_winner) {
    struct state s = in(STATE_IDLE);
    struct state_next next;
    EXPECT(state_hold(&s, &next));
    EXPECT_EQ(state_wake(&s).verdict, STATE_NOTHING);
    EXPECT(state_confirm(&s, next.ticket) && !state_confirm(&s, next.ticket));
    EXPECT_EQ(state_park(&s, STATE_IDLE).verdict, STATE_ENQUEUE); /* the wake-up was not erased */
    EXPECT(!state_confirm(&s, state_ticket(atom_load_rlx(&s.word))));
}

TEST(state_parks_after_a_wake_for_mail_and_looks) {
    struct state s = in(STATE_RUNNING);
    EXPECT_EQ(state_wake_for_mail(&s).verdict, STATE_NOTHING);
    EXPECT_EQ(state_park(&s, STATE_IDLE).verdict, STATE_LOOK);
    EXPECT_EQ(name_of(&s), STATE_IDLE);
    EXPECT_EQ(state_wake_for_mail(&s).verdict, STATE_ENQUEUE);

    s = in(STATE_RUNNING);
    state_wake_for_mail(&s);
    EXPECT_EQ(state_park(&s, STATE_BLOCKED).verdict, STATE_ENQUEUE); /* it waits for something else */
    s = in(STATE_RUNNING);
    state_wake_for_mail(&s);
    state_wake(&s);
    EXPECT_EQ(state_park(&s, STATE_IDLE).verdict, STATE_ENQUEUE);
}

TEST(state_park_after_a_wake_runs_again) {
    for (int i = 0; i < 2; i++) {
        enum state_name how = i ? STATE_BLOCKED : STATE_IDLE;
        struct state s = in(STATE_RUNNING);
        EXPECT_EQ(state_park(&s, how).verdict, STATE_NOTHING);
        EXPECT_EQ(name_of(&s), how);

        s = in(STATE_RUNNING);
        EXPECT_EQ(state_wake(&s).verdict, STATE_NOTHING);
        EXPECT_EQ(state_wake(&s).verdict, STATE_NOTHING);
        struct state_next next = state_park(&s, how);
        EXPECT_EQ(next.verdict, STATE_ENQUEUE);
        EXPECT_EQ(name_of(&s), STATE_READY);
        EXPECT(state_claim(&s, next.ticket));
        EXPECT_EQ(state_park(&s, how).verdict, STATE_NOTHING); /* the two wakes were one notice, and it is used up */
    }
}

TEST(state_yield_takes_the_notice_along) {
    struct state s = in(STATE_RUNNING);
    state_wake(&s);
    uint16_t ticket = state_yield(&s);
    EXPECT(state_claim(&s, ticket));
    EXPECT_EQ(state_park(&s, STATE_IDLE).verdict, STATE_NOTHING);
}

TEST(state_pinned_is_not_claimed_by_an_entry_nor_handed_over) {
    struct state s = in(STATE_RUNNING);
    state_pin(&s, 1024);
    EXPECT_EQ(state_pinned_to(&s), 1024);
    uint16_t ticket = state_yield(&s);
    EXPECT_EQ(state_pinned_to(&s), 1024); /* no transition changes it */
    EXPECT(!state_claim(&s, ticket));
    EXPECT_EQ(state_wake_to_run(&s).verdict, STATE_NOTHING);
    EXPECT_EQ(name_of(&s), STATE_READY);
    EXPECT(state_claim_any(&s));
    EXPECT_EQ(state_wake_to_run(&s).verdict, STATE_NOTHING); /* notified */
    EXPECT_EQ(state_park(&s, STATE_BLOCKED).verdict, STATE_ENQUEUE);
    EXPECT(state_claim_any(&s));
    EXPECT_EQ(state_park(&s, STATE_BLOCKED).verdict, STATE_NOTHING);
    struct state_next next = state_wake_to_run(&s); /* a wake, no more */
    EXPECT_EQ(next.verdict, STATE_ENQUEUE);
    EXPECT(!state_claim(&s, next.ticket) && state_claim_any(&s));
    state_wake(&s);
    state_unpin(&s); /* and keeps the notice */
    EXPECT_EQ(state_pinned_to(&s), 0);
    next = state_park(&s, STATE_IDLE);
    EXPECT_EQ(next.verdict, STATE_ENQUEUE);
    EXPECT(state_claim(&s, next.ticket));
}

TEST(state_ticket_comes_round) {
    struct state s;
    uint16_t ticket = state_init(&s);
    uint64_t between = UINT64_C(0x1eadbeef) << 18; /* what a later part may keep there */
    atom_or_rlx(&s.word, between);
    for (unsigned i = 0; i < 70000; i++) {
        EXPECT(state_claim(&s, ticket));
        uint16_t next = state_yield(&s);
        EXPECT_EQ(next, (uint16_t)(ticket + 1));
        EXPECT(!state_claim(&s, ticket));
        ticket = next;
        EXPECT((atom_load_rlx(&s.word) & (UINT64_C(0x3fffffff) << 18)) == between);
    }
}

/* Until its first claim, and never again. */
TEST(state_newborn_until_it_runs) {
    struct state s;
    state_init_complete(&s);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(!state_is_newborn(&s));
        uint16_t ticket = state_revive(&s);
        EXPECT(state_is_newborn(&s));
        state_wake(&s);
        EXPECT(state_is_newborn(&s) && state_is_current(&s, ticket));
        EXPECT(i == 0 ? state_claim(&s, ticket) : i == 1 ? state_claim_any(&s) : state_wake_to_run(&s).verdict == STATE_RUN);
        EXPECT(!state_is_newborn(&s));
        EXPECT(state_claim(&s, state_yield(&s)) && !state_is_newborn(&s));
        state_complete(&s);
    }
}

TEST(state_revive_goes_on_with_the_tickets) {
    struct state s = in(STATE_COMPLETE);
    uint16_t former = state_ticket(atom_load_rlx(&s.word));
    state_cancel(&s);
    state_forget(&s);
    uint16_t ticket = state_revive(&s);
    EXPECT(ticket != former);
    EXPECT(!state_is_cancelled(&s));
    EXPECT(!state_claim(&s, former));
    EXPECT(state_claim(&s, ticket));
}

TEST(state_requests_survive_every_transition) {
    struct state s = in(STATE_RUNNING);
    state_preempt(&s);
    EXPECT(state_cancel(&s));
    EXPECT(!state_cancel(&s)); /* not the first */
    uint16_t ticket = state_yield(&s);
    EXPECT(state_claim(&s, ticket));
    state_park(&s, STATE_IDLE);
    EXPECT(state_claim(&s, state_wake(&s).ticket));
    EXPECT(state_is_cancelled(&s) && state_is_preempted(&s));
    state_preempt_forget(&s);
    EXPECT(state_is_cancelled(&s) && !state_is_preempted(&s));
    state_complete(&s);
    EXPECT(state_is_cancelled(&s));
}

#if WEFT_DEBUG
static void yields_idle(void) {
    struct state s = in(STATE_IDLE);
    state_yield(&s);
}
static void completes_twice(void) {
    struct state s = in(STATE_COMPLETE);
    state_complete(&s);
}
static void revives_the_living(void) {
    struct state s = in(STATE_BLOCKED);
    state_revive(&s);
}

TEST(state_illegal_transition_panics_with_both_states) {
    EXPECT_ABORT(yields_idle, "is Idle and should be Running");
    EXPECT_ABORT(completes_twice, "is Complete and should be Running");
    EXPECT_ABORT(revives_the_living, "is Blocked and should be Complete");
}
#endif

/* ---- The hammer --------------------------------------------------------------------------------------------------
 *
 * A number of letters goes round among the processes: a process that reads one sends one. Workers run the processes; queue
 * entries are delivered at least once, often twice, as the real run queues may. After reading, a process runs once
 * more without a letter and parks then, so that letters meet it at every moment. With one letter in all, a wake-up
 * that is lost stops everything. Sent = read, and no process is run by two. */
enum { PROCESSES = 16, WORKERS = 2, QUEUE = 1 << 12 };

static struct process {
    struct state state;
    atom_u32 letters;
    unsigned running; /* plain: 1 while a worker runs it */
    uint64_t read, sent;
} processes[PROCESSES];

static struct {
    struct lock lock;
    struct entry {
        unsigned process;
        uint16_t ticket;
    } entry[QUEUE];
    unsigned head, tail;
} queue;

static unsigned crowd;  /* processes that take part */
static atom_u64 budget; /* letters that may still be sent */
static atom_u64 ended;  /* letters that were not sent on */
static atom_bool stop;
static uint64_t seed;

static void enqueue(unsigned process, uint16_t ticket) {
    lock_take(&queue.lock);
    EXPECT(queue.tail - queue.head < QUEUE);
    queue.entry[queue.tail++ % QUEUE] = (struct entry){process, ticket};
    lock_drop(&queue.lock);
}

static bool dequeue(struct entry *entry, bool keep) {
    lock_take(&queue.lock);
    bool any = queue.head != queue.tail;
    if (any) *entry = queue.entry[queue.head % QUEUE];
    if (any && !keep) queue.head++; /* kept: delivered once more later */
    lock_drop(&queue.lock);
    return any;
}

/* So that things which happen one after the other here meet all moments of what happens there. */
static void dawdle(struct rng *rng) {
    for (unsigned spins = rng_below(rng, 256); spins > 0; spins--)
        __asm__ volatile("");
}

static void run_process(unsigned id, struct rng *rng);

static void send(unsigned to, struct rng *rng, bool hand_off) {
    struct process *p = &processes[to];
    atom_add_rlx(&p->letters, 1); /* rlx: the state word orders it before the receiver's look */
    struct state_next next = hand_off ? state_wake_to_run(&p->state) : state_wake(&p->state);
    EXPECT(next.verdict != STATE_DEAD);
    if (next.verdict == STATE_ENQUEUE) enqueue(to, next.ticket);
    if (next.verdict == STATE_RUN) run_process(to, rng);
}

/* One run of a process that the caller has claimed. */
static void run_process(unsigned id, struct rng *rng) {
    struct process *p = &processes[id];
    EXPECT_EQ(p->running, 0);
    p->running = 1;
    uint32_t letters = atom_swap_rlx(&p->letters, 0), sends = 0;
    p->read += letters;
    for (uint32_t i = 0; i < letters; i++) {
        uint64_t left = atom_load_rlx(&budget);
        while (left > 0 && !atom_cas_rlx_rlx(&budget, &left, left - 1)) {}
        sends += left > 0;
    }
    p->sent += sends;
    dawdle(rng);
    EXPECT_EQ(p->running, 1);
    p->running = 0;
    if (letters > 0) {
        enqueue(id, state_yield(&p->state));
    } else {
        struct state_next next = state_park(&p->state, rng_below(rng, 2) ? STATE_IDLE : STATE_BLOCKED);
        if (next.verdict == STATE_ENQUEUE) enqueue(id, next.ticket);
    }
    /* Sent after the process was given up: it may write to itself, and a hand-off does not nest in it. */
    dawdle(rng);
    for (unsigned i = 0; i < sends; i++)
        send(rng_below(rng, crowd), rng, rng_below(rng, 8) == 0);
    atom_add_rel(&ended, letters - sends);
}

static void *works(void *arg) {
    struct rng rng;
    rng_seed(&rng, seed, (uintptr_t)arg);
    while (!atom_load_acq(&stop)) {
        struct entry entry;
        if (!dequeue(&entry, rng_below(&rng, 2) == 0)) {
            sys->yield();
            continue;
        }
        dawdle(&rng);
        if (state_claim(&processes[entry.process].state, entry.ticket)) run_process(entry.process, &rng);
    }
    return NULL;
}

static void hammer(unsigned processes_used, unsigned letters, uint64_t sends) {
    seed = test_seed(1);
    crowd = processes_used;
    atom_store_rlx(&budget, sends * test_scale());
    lock_init(&queue.lock);
    for (unsigned i = 0; i < crowd; i++)
        enqueue(i, state_init(&processes[i].state));
    sys_thread threads[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        EXPECT_EQ(sys->thread_start(&threads[i], works, (void *)i), 0);
    struct rng rng;
    rng_seed(&rng, seed, WORKERS);
    for (unsigned i = 0; i < letters; i++)
        send(rng_below(&rng, crowd), &rng, false);
    while (atom_load_acq(&ended) < letters)
        sys->yield(); /* hangs if a letter is never read */
    atom_store_rel(&stop, true);
    for (unsigned i = 0; i < WORKERS; i++)
        EXPECT_EQ(sys->thread_join(threads[i]), 0);
    uint64_t sent = letters, read = 0;
    for (unsigned i = 0; i < crowd; i++) {
        sent += processes[i].sent;
        read += processes[i].read;
    }
    EXPECT_EQ(sent, read);
}

TEST(state_stress_one_letter) { hammer(2, 1, 500000); }
TEST(state_stress_few_letters) { hammer(3, 3, 500000); }
TEST(state_stress_many_letters) { hammer(PROCESSES, 64, 800000); }

int main(int argc, char **argv) { return test_main(argc, argv); }
