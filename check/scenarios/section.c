/* Read-side sections and the magazine: a block goes to its next process when no thread can hold a look-up of the former one.
 *
 * One block, one thread that ends its process and takes the block again for another (real magazine and table), and threads that look it up
 * by its PID. What a looker reads in the block is plain here, so that "the block was made new while another thread looked at it" is a race.
 *
 * The broken twins are a copy of the protocol in a dozen lines, with one fault each. */
#include "base/spin.h"
#include "chk.h"
#include "proc/table.h"

enum { LOOKERS = 2, GENERATION = 1 };

static struct table table;
static struct magazine magazine;
static struct section sections[LOOKERS];
static struct proc *block;

static void set_up(unsigned added) {
    static const char *const names[] = {"section[0]", "section[1]"};
    int error;
    table_init(&table, 1);
    magazine_init(&magazine, &table);
    for (unsigned i = 0; i < LOOKERS; i++) {
        section_init(&sections[i]);
        chk_name(&sections[i].count, names[i]);
        if (i < added) chk_assert(table_add_section(&table, &sections[i]) == 0, "there is room for two");
    }
    block = magazine_take(&magazine, &error);
    block->self = NULL;
    mpsc_init(&block->box);
    state_revive(&block->state);
    state_claim_any(&block->state);
    chk_assert(proc_generation(block) == GENERATION, "the first tenant");
    chk_name(&block->pid, "pid");
    chk_name(&block->box.head, "box");
    chk_name(&block->state.word, "state");
    chk_name(&table.section_count, "section count");
    chk_name(&table.lock, "table.lock");
}
static void set_up_one(void) { set_up(1); }
static void set_up_two(void) { set_up(2); }

static void tear_down(void) { table_destroy(&table); }

/* ---- the look-up --------------------------------------------------------------------------------------------------- */

static struct mpsc_node letters[LOOKERS];

static void look_up_and_push(unsigned me) {
    section_enter(&sections[me]);
    struct proc *proc = table_at(&table, 1);
    if (proc && atom_load_acq(&proc->pid) == pid_make(0, GENERATION, 1)) { /* as in proc_find */
        chk_assert(proc->self == NULL, "what is looked at belongs to the tenant that was meant");
        mpsc_push(&proc->box, &letters[me]);
    }
    section_leave(&sections[me]);
}
static void looks_once(void) { look_up_and_push(chk_self()); }
static void looks_twice(void) {
    look_up_and_push(chk_self());
    section_enter(&sections[chk_self()]);
    section_leave(&sections[chk_self()]);
}
/* A thread that comes late: its section was not known when the process ended, perhaps. */
static void comes_and_looks(void) {
    chk_assert(table_add_section(&table, &sections[chk_self()]) == 0, "there is room");
    look_up_and_push(chk_self());
}

/* ---- ending the process and taking the block for the next ----------------------------------------------------------- */

static void ends(struct proc *proc) {
    proc_end_pid(proc);
    mpsc_close(&proc->box);
    state_complete(&proc->state);
    magazine_retire(&magazine, proc);
}
/* Only what follows when the block could be had is of interest. */
static void begins(void) {
    int error;
    struct proc *next = magazine_take(&magazine, &error);
    chk_assume(next != NULL);
    chk_assert(next == block, "there is one block");
    next->self = &magazine;
    mpsc_init(&next->box);
    state_revive(&next->state);
    chk_assert(mpsc_pop(&next->box) == NULL, "no message for the former tenant is here");
}
static void keeper(void) {
    ends(block);
    begins();
}
static void box_is_empty(void) {
    chk_assert(mpsc_is_empty(&block->box), "no message reaches the next tenant");
    chk_assert(proc_generation(block) == GENERATION + 2, "the second tenant");
    tear_down();
}

SCENARIO(section_one, .about = "a look-up and push || the process ends, its block is used again", .setup = set_up_one,
         .threads = {looks_once, keeper}, .finish = box_is_empty)
SCENARIO(section_two, .about = "the same with two threads that look up", .setup = set_up_two, .threads = {looks_once, looks_once, keeper},
         .finish = box_is_empty)
SCENARIO(section_anew, .about = "the same with a thread that leaves and enters anew: its count is odd again, and is another (N2)",
         .setup = set_up_one, .threads = {looks_twice, keeper}, .finish = box_is_empty)
SCENARIO(section_late, .about = "the same, the section of the second is added while the process ends", .setup = set_up_one,
         .threads = {looks_once, comes_and_looks, keeper}, .finish = box_is_empty)

/* Two that come late at once. */
static void set_up_none(void) { set_up(0); }
static void comes(void) { chk_assert(table_add_section(&table, &sections[chk_self()]) == 0, "there is room"); }
static void both_have_come(void) {
    chk_assert(atom_load_rlx(&table.section_count) == LOOKERS, "both are counted");
    chk_assert(atom_load_rlx(&table.sections[0]) != atom_load_rlx(&table.sections[1]), "each is there");
    tear_down();
}
SCENARIO(section_two_late, .about = "two sections are added", .setup = set_up_none, .threads = {comes, comes}, .finish = both_have_come)

/* The block goes through the depot to another thread's magazine. */
static struct magazine other_magazine;
static void set_up_depot(void) {
    set_up(1);
    magazine_init(&other_magazine, &table);
}
static void ends_and_flushes(void) {
    ends(block);
    magazine_flush(&magazine);
}
static void begins_elsewhere(void) {
    int error;
    struct proc *next = magazine_take(&other_magazine, &error);
    chk_assume(next != NULL);
    next->self = &magazine;
    mpsc_init(&next->box);
    state_revive(&next->state);
    chk_assert(mpsc_pop(&next->box) == NULL, "no message for the former tenant is here");
}
SCENARIO(section_depot, .about = "a look-up and push || the process ends, its magazine is flushed || another magazine takes the block",
         .setup = set_up_depot, .threads = {looks_once, ends_and_flushes, begins_elsewhere}, .finish = box_is_empty)

/* ---- broken twins: the same protocol in small, with one fault ----------------------------------------------------------- */

enum fault { FAULTLESS, NO_FENCE_A, NO_FENCE_B, NOTED_FIRST, NOT_AWAITED, LEFT_RELAXED, ENTERED_RELAXED, SECTIONLESS };

SHARED atom_u32 generation, inside;
SHARED unsigned tenant; /* plain: the block */

static void twin_looks(enum fault fault) {
    if (fault != SECTIONLESS) atom_store_rlx(&inside, 1);
    if (fault != NO_FENCE_B) atom_fence_light();
    if (atom_load_acq(&generation) == 0) chk_assert(tenant == 0, "the tenant that was meant");
    if (fault == LEFT_RELAXED) atom_store_rlx(&inside, 2);
    else atom_store_rel(&inside, 2);
    if (fault == ENTERED_RELAXED) atom_store_rlx(&inside, 3);
    else atom_store_rel(&inside, 3);
    atom_store_rel(&inside, 4);
}
static void twin_keeps(enum fault fault) {
    uint32_t noted = 0;
    if (fault == NOTED_FIRST) noted = atom_load_acq(&inside);
    atom_store_rel(&generation, 1);
    if (fault != NO_FENCE_A) sys_fence_heavy();
    if (fault != NOTED_FIRST) noted = atom_load_acq(&inside);
    struct spin spin = spin_begin();
    while (fault != NOT_AWAITED && noted % 2 == 1 && atom_load_acq(&inside) == noted)
        spin_wait(&spin);
    tenant = 1;
}

#define TWIN(id, fault, ...)                                                                                                               \
    static void id##_looks(void) { twin_looks(fault); }                                                                                    \
    static void id##_keeps(void) { twin_keeps(fault); }                                                                                    \
    SCENARIO(id, .threads = {id##_looks, id##_keeps}, __VA_ARGS__)

TWIN(section_twin, FAULTLESS, .about = "the twin of which the following are broken")
TWIN(section_twin_no_fence_a, NO_FENCE_A, .about = "the generation is still in the store buffer when sections are noted",
     .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_NONE)
TWIN(section_twin_no_fence_b, NO_FENCE_B, .about = "the count is still in the store buffer when the block is looked up",
     .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_NONE)
TWIN(section_twin_noted_first, NOTED_FIRST, .about = "sections are noted before the generation changes", .flawed_in = CHK_ALL)
TWIN(section_twin_not_awaited, NOT_AWAITED, .about = "the block is used again at once", .flawed_in = CHK_ALL)
TWIN(section_twin_left_relaxed, LEFT_RELAXED, .about = "leaving does not publish what was done inside", .flawed_in = CHK_C11,
     .flaw = CHK_RACE)
TWIN(section_twin_entered_relaxed, ENTERED_RELAXED, .about = "a thread that sees the next entry has not seen the leaving before it",
     .flawed_in = CHK_C11, .flaw = CHK_RACE)
TWIN(section_twin_no_section, SECTIONLESS, .about = "look-up without a section", .flawed_in = CHK_ALL)
