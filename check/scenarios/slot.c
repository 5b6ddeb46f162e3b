/* The slot of a worker: a process that is held lies there; its owner takes it without a claim, and thieves take it too.
 *
 * The private data of a process is plain: run by two threads at once, it is a race. A process that is in a slot is held: its word says Running. */
#include "queue/slot.h"
#include "chk.h"
#include "proc/state.h"

enum { PROCESSES = 3 };

struct process {
    struct state state;
    unsigned runs; /* plain: its own */
};

static struct slot slot;
static struct process processes[PROCESSES];
static unsigned wanted[PROCESSES]; /* how often each was put */

static uint64_t hold(unsigned id) {
    struct state_next next;
    chk_assert(state_hold(&processes[id].state, &next), "it waits");
    return entry_make(&processes[id], next.ticket);
}
static uint64_t entries[PROCESSES];

static void set_up(void) {
    slot_init(&slot);
    chk_name(&slot.place, "place");
    chk_name(&slot.thieves, "thieves");
    for (unsigned i = 0; i < PROCESSES; i++) {
        uint16_t ticket = state_init(&processes[i].state);
        processes[i].runs = wanted[i] = 0;
        chk_assert(state_claim(&processes[i].state, ticket), "a fresh process can be claimed");
        state_park(&processes[i].state, STATE_IDLE);
        entries[i] = hold(i);
        chk_name(&processes[i].state.word, i ? "state'" : "state");
    }
}

static void run(struct process *process) { process->runs++; }

static bool confirmed(uint64_t entry) { return state_confirm(&((struct process *)entry_ptr(entry))->state, entry_ticket(entry)); }
/* Runs what the owner has got. */
static void got(struct slot_got got) {
    if (got.entry != ENTRY_NONE && (got.sure || confirmed(got.entry))) run(entry_ptr(got.entry));
}

static void put(unsigned id) {
    wanted[id]++;
    got(slot_put(&slot, entries[id]));
}
static void take(void) { got(slot_take(&slot)); }

static void steals(void) {
    uint64_t entry = slot_steal(&slot);
    if (entry != ENTRY_NONE && confirmed(entry)) run(entry_ptr(entry));
}
static void steals_twice(void) {
    steals();
    steals();
}

static void each_ran_once(void) {
    take();
    for (unsigned i = 0; i < PROCESSES; i++)
        chk_assert(processes[i].runs == wanted[i], "each process runs as often as it was put (T1, T3)");
}

static void puts_and_takes(void) {
    put(0);
    take();
}
static void puts_takes_puts(void) {
    put(0);
    take();
    put(1);
    take();
}
static void replaces(void) {
    put(0);
    put(1);
}
static void replaces_and_takes(void) {
    replaces();
    take();
}
SCENARIO(slot_take, .about = "the owner puts and takes || a thief", .setup = set_up, .threads = {puts_and_takes, steals},
         .finish = each_ran_once)
SCENARIO(slot_take_two, .about = "the owner puts and takes || two thieves", .setup = set_up, .threads = {puts_and_takes, steals, steals},
         .finish = each_ran_once)
SCENARIO(slot_take_again, .about = "the owner puts and takes, and once more || a thief that comes twice", .setup = set_up,
         .threads = {puts_takes_puts, steals_twice}, .finish = each_ran_once)
SCENARIO(slot_take_again_two, .about = "the same || two thieves", .setup = set_up, .threads = {puts_takes_puts, steals, steals},
         .finish = each_ran_once, .deep_in = CHK_ALL)
SCENARIO(slot_replace, .about = "the owner replaces what is there || a thief", .setup = set_up, .threads = {replaces, steals},
         .finish = each_ran_once)
SCENARIO(slot_replace_take, .about = "the owner replaces what is there and takes it || a thief that comes twice", .setup = set_up,
         .threads = {replaces_and_takes, steals_twice}, .finish = each_ran_once)

/* The same process is put again as soon as it has run, with the next ticket: it has waited, and was held again. */
static void again(unsigned id) {
    state_park(&processes[id].state, STATE_IDLE);
    entries[id] = hold(id);
}
static void puts_the_same_again(void) {
    put(0);
    struct slot_got first = slot_take(&slot);
    if (first.entry == ENTRY_NONE || !(first.sure || confirmed(first.entry))) return;
    run(&processes[0]);
    again(0);
    put(0);
    take();
}
SCENARIO(slot_same_again, .about = "the owner puts a process, runs it, and puts it again || a thief", .setup = set_up,
         .threads = {puts_the_same_again, steals}, .finish = each_ran_once)
SCENARIO(slot_same_again_twice, .about = "the same || a thief that comes twice", .setup = set_up,
         .threads = {puts_the_same_again, steals_twice}, .finish = each_ran_once)

static void puts_without_a_new_ticket(void) {
    put(0);
    struct slot_got first = slot_take(&slot);
    if (first.entry == ENTRY_NONE || !(first.sure || confirmed(first.entry))) return;
    run(&processes[0]);
    wanted[0]++;
    entries[0] = entry_make(&processes[0], state_ticket(atom_load_rlx(&processes[0].state.word)));
    got(slot_put(&slot, entries[0]));
    take();
}
SCENARIO(slot_same_ticket, .about = "the owner puts a process, runs it, and puts it again with the same ticket || a thief that comes twice",
         .setup = set_up, .threads = {puts_without_a_new_ticket, steals_twice}, .finish = each_ran_once)

/* A waker writes the word while the process lies there: the ticket decides all the same. */
static void wakes(void) { chk_assert(state_wake(&processes[0].state).verdict == STATE_NOTHING, "it is held"); }
SCENARIO(slot_wake, .about = "the owner puts and takes || a thief || a wake-up", .setup = set_up,
         .threads = {puts_and_takes, steals, wakes}, .finish = each_ran_once)

/* ---- broken twins --------------------------------------------------------------------------------------------------- */

/* Looks for thieves first and empties the place then: a thief that comes in between has the entry too. */
static void puts_and_takes_too_early(void) {
    put(0);
    uint64_t entry = atom_load_rlx(&slot.place);
    bool sure = slot_is_sure(&slot);
    atom_store_rlx(&slot.place, ENTRY_NONE);
    got((struct slot_got){entry, sure});
}
SCENARIO(slot_twin_looks_first, .about = "as slot_take, but the owner looks for thieves before it empties the place (T1)", .setup = set_up,
         .threads = {puts_and_takes_too_early, steals}, .finish = each_ran_once, .flawed_in = CHK_ALL)

/* Without the heavy fence. */
static void steals_lightly(void) {
    if (slot_is_empty(&slot)) return;
    atom_store_rlx(&slot.thieves, SLOT_CAME + SLOT_WORKS);
    atom_fence_light();
    uint64_t entry = atom_load_rlx(&slot.place);
    if (entry == ENTRY_NONE || !atom_cas_acq_rlx(&slot.place, &entry, ENTRY_NONE)) return;
    if (confirmed(entry)) run(entry_ptr(entry));
}
SCENARIO(slot_twin_no_fence, .about = "as slot_take, but the thief's fence is a light one too (T1)", .setup = set_up,
         .threads = {puts_and_takes, steals_lightly}, .finish = each_ran_once, .flawed_in = CHK_TSO | CHK_C11)

/* Once it has been seen to come, it is not looked for again while it is at work. */
static void puts_and_trusts(void) {
    for (unsigned i = 0; i < 2; i++) {
        wanted[i]++;
        atom_store_rel(&slot.place, entries[i]);
        uint64_t entry = atom_load_rlx(&slot.place);
        if (entry == ENTRY_NONE) continue;
        atom_store_rlx(&slot.place, ENTRY_NONE);
        atom_fence_light();
        uint64_t thieves = atom_load_rlx(&slot.thieves);
        bool sure = thieves == slot.seen;
        slot.seen = thieves;
        got((struct slot_got){entry, sure});
    }
}
SCENARIO(slot_twin_trusts, .about = "as slot_take_again, but a thief that was seen is taken for one that has left (T2)", .setup = set_up,
         .threads = {puts_and_trusts, steals}, .finish = each_ran_once, .flawed_in = CHK_ALL)
