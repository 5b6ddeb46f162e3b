/* Letters to a process that ends: each is read, freed or refused, once (deliver.h, V3 and V4).
 *
 * One process, and its mailbox. It ends without closing the box if it finds nothing there; a sender that pushes later shuts it. Whatever becomes of a letter is noted in
 * a plain variable, so that two threads which take the same letter are a race. */
#include "chk.h"
#include "proc/deliver.h"
#include "proc/section.h"

enum { LETTERS = 2, SLOT = 1, GENERATION = 1 };

struct letter {
    struct mpsc_node node; /* first: a node's address is the letter's */
    unsigned payload;
};

static struct proc proc;
static struct letter letters[LETTERS];
static struct section sections[LETTERS];
static weft_pid pid;
static unsigned unheard;        /* a bit for each letter that no sender wakes the process for */
SHARED unsigned times[LETTERS]; /* how often it was read, freed or refused */
SHARED bool at_its_end;         /* plain: written by the process, read by a sender that was refused (mpsc.h, M6) */

static unsigned letter_of(struct mpsc_node *node) {
    unsigned id = (unsigned)((struct letter *)node - letters);
    chk_assert(id < LETTERS && letters[id].payload == id + 100, "a letter comes as it was sent");
    return id;
}
static void free_all(struct mpsc_node *node) {
    for (struct mpsc_node *next; node; node = next) {
        next = node->next;
        times[letter_of(node)]++;
    }
}
static void reads(void) {
    for (struct mpsc_node *node; (node = mpsc_pop(&proc.box)) != NULL;)
        times[letter_of(node)]++;
}

static void set_up(void) {
    uint16_t ticket = state_init(&proc.state);
    pid = pid_make(0, GENERATION, SLOT);
    atom_store_rlx(&proc.pid, pid);
    mpsc_init(&proc.box);
    unheard = 0;
    for (unsigned i = 0; i < LETTERS; i++)
        section_init(&sections[i]);
    chk_name(&proc.state.word, "state");
    chk_name(&proc.box.head, "box");
    chk_name(&proc.pid, "pid");
    chk_assert(state_claim(&proc.state, ticket), "a fresh process can be claimed");
}
static void set_up_unheard(void) {
    set_up();
    unheard = 1u << 1;
}

/* ---- the process ---------------------------------------------------------------------------------------------------- */

static void ends(void) {
    struct mpsc_node *rest;
    at_its_end = true;
    reads();
    proc_end_pid(&proc);
    deliver_end(&proc, &rest);
    free_all(rest);
}
/* Monitored, say: its box is closed in any case. */
static void ends_with_more_to_do(void) {
    struct mpsc_node *rest;
    at_its_end = true;
    proc_end_pid(&proc);
    state_monitor(&proc.state);
    chk_assert(deliver_end(&proc, &rest) != 0, "there is more to do");
    free_all(rest);
    chk_assert(mpsc_is_closed(&proc.box), "the box is closed");
}
/* And the block is used again, once no sender can be in it (proc/table.c). Only what follows then is of interest. */
static void ends_and_is_used_again(void) {
    ends();
    sys_fence_heavy();
    for (unsigned i = 0; i < LETTERS; i++)
        chk_assume(section_has_left(&sections[i], section_note(&sections[i])));
    free_all(mpsc_renew(&proc.box));
    chk_assert(mpsc_is_closed(&proc.box), "the box is closed before the next process has a PID");
}

/* ---- senders -------------------------------------------------------------------------------------------------------- */

/* As send_found. */
static void send_as(unsigned id, struct mpsc_node *(*too_late)(struct proc *proc, weft_pid to)) {
    struct state_next next = {.verdict = STATE_NOTHING};
    struct mpsc_node *rest = NULL;
    enum mpsc_pushed pushed = MPSC_CLOSED;
    letters[id].payload = id + 100;
    section_enter(&sections[id]);
    if (atom_load_acq(&proc.pid) == pid) pushed = deliver(&proc, &letters[id].node, NULL, &next);
    if (pushed >= 0 && next.verdict == STATE_DEAD) rest = too_late(&proc, pid);
    section_leave(&sections[id]);
    free_all(rest);
    if (pushed < 0) {
        times[id]++;
        chk_assert(at_its_end, "a sender that is refused sees what the process did");
    }
    chk_assert(next.verdict == STATE_NOTHING || next.verdict == STATE_DEAD, "a process that runs need not be queued");
}
static void send(unsigned id) { send_as(id, deliver_too_late); }
static void sends_0(void) { send(0); }
static void sends_1(void) { send(1); }
static void sends_0_1(void) {
    send(0);
    send(1);
}
/* For a hand-off. The receiver is woken later, by its PID, and is not found then. */
static void leaves_1_unheard(void) {
    letters[1].payload = 101;
    section_enter(&sections[1]);
    if (atom_load_acq(&proc.pid) != pid || mpsc_push_unheard(&proc.box, &letters[1].node) < 0) times[1]++;
    section_leave(&sections[1]);
}

/* ---- what must hold ------------------------------------------------------------------------------------------------- */

static void each_once(unsigned of) {
    for (unsigned i = 0; i < LETTERS; i++)
        chk_assert(times[i] == (of >> i & 1), "each letter is read, freed or refused, once");
}
static void one_once(void) { each_once(1); }
static void two_once(void) { each_once(3); }
static void second_once(void) { each_once(2); }

SCENARIO(late_one, .about = "a process ends || a letter", .setup = set_up, .threads = {ends, sends_0}, .finish = one_once)
SCENARIO(late_two, .about = "a process ends || a letter || another", .setup = set_up, .threads = {ends, sends_0, sends_1},
         .finish = two_once)
SCENARIO(late_two_of_one, .about = "a process ends || two letters of one sender", .setup = set_up, .threads = {ends, sends_0_1},
         .finish = two_once)
SCENARIO(late_more_to_do, .about = "a process that is monitored ends || a letter", .setup = set_up,
         .threads = {ends_with_more_to_do, sends_0}, .finish = one_once)
SCENARIO(late_unheard, .about = "a process ends, its block is used again || an unheard letter", .setup = set_up_unheard,
         .threads = {ends_and_is_used_again, leaves_1_unheard}, .finish = second_once)
SCENARIO(late_unheard_beside, .about = "the same || a letter", .setup = set_up_unheard,
         .threads = {ends_and_is_used_again, leaves_1_unheard, sends_0}, .finish = two_once)

/* ---- a process that is being born, whose PID the sender has ---------------------------------------------------------- */

static void set_up_unborn(void) {
    set_up();
    struct mpsc_node *rest;
    atom_store_rlx(&proc.pid, pid - (UINT64_C(1) << PID_SLOT_BITS)); /* that of no process */
    deliver_end(&proc, &rest);
}
/* As magazine_take and spawn_open; then it runs, once. */
static void is_born(void) {
    free_all(mpsc_renew(&proc.box));
    state_forget(&proc.state);
    atom_store_rel(&proc.pid, pid);
    mpsc_init(&proc.box);
    uint16_t ticket = state_revive_any(&proc.state);
    chk_assert(state_claim(&proc.state, ticket), "it runs");
    reads();
    if (state_park(&proc.state, STATE_BLOCKED).verdict == STATE_ENQUEUE) reads();
}
/* It was pushed before the process ran, or it is a message to a process that waits for something else. */
static void read_or_refused(void) {
    if (times[0] == 0) reads();
    one_once();
}
static void send_if_known(struct mpsc_node *(*too_late)(struct proc *proc, weft_pid to)) {
    struct state_next next = {.verdict = STATE_NOTHING};
    enum mpsc_pushed pushed = MPSC_CLOSED;
    letters[0].payload = 100;
    if (atom_load_acq(&proc.pid) == pid) pushed = mpsc_push(&proc.box, &letters[0].node);
    if (pushed == MPSC_PUSHED_FIRST) next = state_wake(&proc.state);
    if (pushed < 0) times[0]++;
    if (next.verdict != STATE_DEAD) return;
    free_all(too_late(&proc, pid));
    chk_assert(!mpsc_is_closed(&proc.box), "the box of a process that is being born stays open");
}
static void sends_0_if_known(void) { send_if_known(deliver_too_late); }
SCENARIO(late_born, .about = "a process is being born || a letter by a thread that has its PID already (V4)", .setup = set_up_unborn,
         .threads = {is_born, sends_0_if_known}, .finish = read_or_refused)

/* ---- broken twins --------------------------------------------------------------------------------------------------- */

static void ends_without_a_look_behind(void) {
    at_its_end = true;
    reads();
    proc_end_pid(&proc);
    if (!mpsc_is_bare(&proc.box)) free_all(mpsc_close(&proc.box));
    state_complete(&proc.state);
}
SCENARIO(late_twin_no_look_behind, .about = "as late_one, but the process looks into its box before it is COMPLETE only", .setup = set_up,
         .threads = {ends_without_a_look_behind, sends_0}, .finish = one_once, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

static struct mpsc_node *leaves_it(struct proc *late, weft_pid to) {
    (void)late, (void)to;
    return NULL;
}
static void sends_0_deaf(void) { send_as(0, leaves_it); }
SCENARIO(late_twin_deaf, .about = "as late_one, but the sender does not heed DEAD", .setup = set_up, .threads = {ends, sends_0_deaf},
         .finish = one_once, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

static struct mpsc_node *shuts_any(struct proc *late, weft_pid to) {
    (void)to;
    return mpsc_shut(&late->box);
}
static void sends_0_and_shuts(void) { send_if_known(shuts_any); }
SCENARIO(late_twin_any_pid, .about = "as late_born, but the sender does not compare PIDs (V4)", .setup = set_up_unborn,
         .threads = {is_born, sends_0_and_shuts}, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)

static struct mpsc_node *compares_early(struct proc *late, weft_pid to) { return proc_pid(late) == to ? NULL : mpsc_shut(&late->box); }
static void sends_0_relaxed(void) { send_as(0, compares_early); }
SCENARIO(late_twin_relaxed, .about = "as late_one, but nothing orders DEAD and the look at the PID", .setup = set_up,
         .threads = {ends, sends_0_relaxed}, .finish = one_once, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)

/* Shut by a sender, and closed by the process with the messages that it has taken: a sender that closes the consumer's side, too. */
static struct mpsc_node *closes_all(struct proc *late, weft_pid to) { return proc_pid(late) == to ? NULL : mpsc_close(&late->box); }
static void sends_0_and_closes(void) { send_as(0, closes_all); }
static void sends_1_and_closes(void) { send_as(1, closes_all); }
SCENARIO(late_twin_closes, .about = "as late_two, but a sender closes the consumer's side too", .setup = set_up,
         .threads = {ends, sends_0_and_closes, sends_1_and_closes}, .finish = two_once, .flawed_in = CHK_ALL, .flaw = CHK_NONE)
