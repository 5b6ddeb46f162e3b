/* Run queues together with the state word: at least once at the queue, exactly once at the claim.
 *
 * A process runs, that is, touches its plain data, when a worker has won the claim with an entry's ticket. It wants a
 * number of runs; after each but the last it is made ready again, with a new ticket, and goes to the queue of the
 * thread that ran it. Two runs at once are a race on its data; an entry lost is a run that is missing in the end; one
 * claimed twice is a run too many. */
#include "base/spin.h"
#include "chk.h"
#include "proc/state.h"
#include "queue/deque.h"
#include "queue/line.h"
#include "queue/ring.h"

enum { PROCESSES = 3 };

struct process {
    struct line_node node; /* first, so that a node's address is the process's */
    struct state state;
    unsigned wanted, runs; /* plain: belong to the worker that runs the process */
};

static struct process processes[PROCESSES];
static unsigned process_count;

static uint64_t process_init(unsigned id, unsigned wanted) {
    struct process *process = &processes[id];
    process->wanted = wanted;
    process->runs = 0;
    return entry_make(process, state_init(&process->state));
}

/* Runs the entry's process if the claim is won; returns the entry to queue then, or ENTRY_NONE. */
static uint64_t run(uint64_t entry) {
    struct process *process = entry_ptr(entry);
    if (entry == ENTRY_NONE || !state_claim(&process->state, entry_ticket(entry))) return ENTRY_NONE;
    chk_assert(process->runs < process->wanted, "one claim for each time it was made ready");
    if (++process->runs < process->wanted) return entry_make(process, state_yield(&process->state));
    state_complete(&process->state);
    return ENTRY_NONE;
}

static void all_complete(void) {
    for (unsigned id = 0; id < process_count; id++)
        chk_assert(processes[id].runs == processes[id].wanted, "no entry is lost: every process has run to its end");
}

/* ---- ring ------------------------------------------------------------------------------------------------------ */

static struct ring rings[3]; /* one a thread */

static void ring_run(uint64_t entry) {
    entry = run(entry);
    if (entry != ENTRY_NONE) chk_assert(ring_push(&rings[chk_self()], entry), "there is room");
}

static void ring_set_up(unsigned count, unsigned wanted) {
    process_count = count;
    for (unsigned i = 0; i < 3; i++)
        ring_init(&rings[i]);
    for (unsigned id = 0; id < count; id++)
        ring_push(&rings[0], process_init(id, wanted));
}
static void ring_set_up_2x2(void) { ring_set_up(2, 2); }
static void ring_set_up_3x1(void) { ring_set_up(3, 1); }
static void ring_set_up_3x2(void) { ring_set_up(3, 2); }

static void ring_finish(void) {
    for (unsigned i = 0; i < 3; i++) {
        uint64_t entry;
        while ((entry = ring_take_next(&rings[i])) != ENTRY_NONE || (entry = ring_pop(&rings[i])) != ENTRY_NONE)
            if ((entry = run(entry)) != ENTRY_NONE) ring_push(&rings[i], entry);
    }
    all_complete();
}

static void ring_pop_once(void) { ring_run(ring_pop(&rings[0])); }
static void ring_pop_twice(void) {
    ring_pop_once();
    ring_pop_once();
}
static void ring_thief(void) {
    uint64_t first;
    if (ring_steal(&rings[chk_self()], &rings[0], &first) > 0) ring_run(first);
    ring_run(ring_pop(&rings[chk_self()]));
}
static void ring_thief_twice(void) {
    ring_thief();
    ring_thief();
}
SCENARIO(ring_claims_3x1, .about = "3 processes that run once: owner pops twice, thief steals and pops", .setup = ring_set_up_3x1,
         .threads = {ring_pop_twice, ring_thief}, .finish = ring_finish)
SCENARIO(ring_claims_2x2, .about = "2 processes that run twice: owner pops twice, thief steals and pops", .setup = ring_set_up_2x2,
         .threads = {ring_pop_twice, ring_thief}, .finish = ring_finish)

SCENARIO(ring_claims_3x2, .about = "3 processes that run twice: owner pops twice, thief steals and pops twice", .setup = ring_set_up_3x2,
         .threads = {ring_pop_twice, ring_thief_twice}, .finish = ring_finish)
SCENARIO(ring_claims_two_thieves, .about = "2 processes that run twice: owner pops twice, two thieves", .setup = ring_set_up_2x2,
         .threads = {ring_pop_twice, ring_thief, ring_thief}, .finish = ring_finish)

/* The owner spawns: the state word is as new as the entry. */
static void ring_set_up_spawn(void) {
    ring_set_up(0, 0);
    process_count = 2;
}
static void ring_spawner(void) {
    uint64_t pushed_out = ring_put_next(&rings[0], process_init(0, 1));
    chk_assert(pushed_out == ENTRY_NONE, "the slot was free");
    pushed_out = ring_put_next(&rings[0], process_init(1, 1));
    if (pushed_out != ENTRY_NONE) ring_push(&rings[0], pushed_out);
    ring_run(ring_take_next(&rings[0]));
    ring_pop_once();
}
static void ring_thief_of_both(void) {
    uint64_t first;
    if (ring_steal(&rings[1], &rings[0], &first) > 0) ring_run(first);
    ring_run(ring_steal_next(&rings[0]));
}
SCENARIO(ring_claims_spawn, .about = "processes go through the LIFO slot and the ring as they are made", .setup = ring_set_up_spawn,
         .threads = {ring_spawner, ring_thief_of_both}, .finish = ring_finish)

/* Hand-off: thread 2 takes one particular process out of the queue, by its state word alone. */
static void ring_hand_off(void) {
    struct process *process = &processes[0];
    if (state_wake_to_run(&process->state).verdict != STATE_RUN) return;
    chk_assert(process->runs < process->wanted, "one claim for each time it was made ready");
    process->runs++;
    state_complete(&process->state);
}
SCENARIO(ring_claims_hand_off, .about = "one process is taken out of the middle by its state word", .setup = ring_set_up_3x1,
         .threads = {ring_pop_once, ring_thief, ring_hand_off}, .finish = ring_finish)

/* ---- deque ----------------------------------------------------------------------------------------------------- */

static struct deque deques[2];

static void deque_run(uint64_t entry) {
    entry = run(entry);
    if (entry != ENTRY_NONE) chk_assert(deque_push(&deques[chk_self()], entry) == 0, "there is memory");
}

static void deque_set_up(unsigned count, unsigned wanted) {
    process_count = count;
    chk_assert(deque_init(&deques[0]) == 0 && deque_init(&deques[1]) == 0, "there is memory");
    for (unsigned id = 0; id < count; id++)
        deque_push(&deques[0], process_init(id, wanted));
}
static void deque_set_up_2x2(void) { deque_set_up(2, 2); }
static void deque_set_up_3x1(void) { deque_set_up(3, 1); }

static void deque_finish(void) {
    for (unsigned i = 0; i < 2; i++) {
        uint64_t entry;
        while ((entry = deque_pop(&deques[i])) != ENTRY_NONE)
            if ((entry = run(entry)) != ENTRY_NONE) deque_push(&deques[i], entry);
        deque_destroy(&deques[i]);
    }
    all_complete();
}

static void deque_pop_twice(void) {
    deque_run(deque_pop(&deques[0]));
    deque_run(deque_pop(&deques[0]));
}
static void deque_thief(void) {
    uint64_t first;
    if (deque_steal_half(&deques[1], &deques[0], &first) > 0) deque_run(first);
    deque_run(deque_pop(&deques[1]));
}
SCENARIO(deque_claims_3x1, .about = "3 processes that run once: owner pops twice, thief steals half and pops", .setup = deque_set_up_3x1,
         .threads = {deque_pop_twice, deque_thief}, .finish = deque_finish)
SCENARIO(deque_claims_2x2, .about = "2 processes that run twice: owner pops twice, thief steals half and pops", .setup = deque_set_up_2x2,
         .threads = {deque_pop_twice, deque_thief}, .finish = deque_finish)

static void deque_set_up_spawn(void) {
    deque_set_up(0, 0);
    process_count = 2;
}
static void deque_spawner(void) {
    deque_push(&deques[0], process_init(0, 1));
    deque_push(&deques[0], process_init(1, 1));
    deque_run(deque_pop(&deques[0]));
}
SCENARIO(deque_claims_spawn, .about = "processes are stolen as they are made", .setup = deque_set_up_spawn,
         .threads = {deque_spawner, deque_thief}, .finish = deque_finish)

/* ---- line ------------------------------------------------------------------------------------------------------ */

static struct line line;

static void line_set_up(unsigned count, unsigned wanted) {
    process_count = count;
    line_init(&line);
    for (unsigned id = 0; id < count; id++) {
        process_init(id, wanted);
        line_node_init(&processes[id].node);
        line_try_enqueue(&line, &processes[id].node);
    }
}
static void line_set_up_2x2(void) { line_set_up(2, 2); }

/* Runs a process whose node the caller got, and enqueues it again if it wants. */
static void line_run(struct line_node *node) {
    if (!node) return;
    struct process *process = (struct process *)node;
    uint64_t word = atom_load_rlx(&process->state.word);
    uint64_t again = run(entry_make(process, state_ticket(word)));
    chk_assert(process->runs > 0, "the worker that gets the node wins the claim");
    struct spin spin = spin_begin();
    while (again != ENTRY_NONE && !line_try_enqueue(&line, node).success)
        spin_wait(&spin);
}
static void line_finish(void) {
    struct line_node *node;
    while ((node = line_try_dequeue(&line).node))
        line_run(node);
    all_complete();
}
static void line_dequeuer(void) {
    line_run(line_try_dequeue(&line).node);
    line_run(line_try_dequeue(&line).node);
}
/* The hand-off of the line policy: a target that is ready is taken through the line. */
static void line_hand_off(void) {
    struct line_node *node = &processes[1].node;
    if (line_try_dequeue_entry(&line, node)) line_run(node);
}
SCENARIO(line_claims_2x2, .about = "2 processes that run twice: a dequeuer, and a hand-off that wants the second", .setup = line_set_up_2x2,
         .threads = {line_dequeuer, line_hand_off}, .finish = line_finish)

/* Why the line policy claims through the line only: a worker that claims by the state word alone may be faster than the waker
 * that is about to enqueue, finds no line to take the process out of, and runs a process that is then put into a
 * line. */
static void line_set_up_idle(void) {
    line_set_up(0, 0);
    process_init(0, 1);
    line_node_init(&processes[0].node);
    state_claim_any(&processes[0].state);
    state_park(&processes[0].state, STATE_IDLE);
}
static void line_waker(void) {
    if (state_wake(&processes[0].state).verdict == STATE_ENQUEUE) line_try_enqueue(&line, &processes[0].node);
}
static void line_claim_by_word(void) {
    if (state_wake_to_run(&processes[0].state).verdict == STATE_RUN && !line_node_is_free(&processes[0].node))
        line_try_dequeue_entry(&line, &processes[0].node);
}
static void line_finish_idle(void) {
    bool ready = state_of(atom_load_rlx(&processes[0].state.word)) == STATE_READY;
    chk_assert(line_node_is_free(&processes[0].node) || ready, "a process in a line is ready");
}
SCENARIO(line_claim_by_word_alone, .about = "a claim that does not go through the line leaves a running process in it",
         .setup = line_set_up_idle, .threads = {line_waker, line_claim_by_word}, .finish = line_finish_idle, .flawed_in = CHK_ALL,
         .flaw = CHK_ASSERT)
