/* Fork and join: the macros of weft/fork.h and the real region. Every task runs once, with the arguments it was given, and its join
 * gets its result; a thief that goes to sleep is woken for what is forked later.
 *
 * The slow halves of fork and join, which in the library know processes, are here with a parker in place of a process that waits. */
#include "base/spin.h"
#include "chk.h"
#include "forkjoin/region.h"
#include "queue/idle.h"
#include "queue/parker.h"
#include "sys/sys.h"

#include <sys/mman.h>

enum { TASKS = 4, STACK_CLASS = 2 };

/* A region is found by its alignment. Most of this is never touched, and all of it stays as it is from run to run. */
static unsigned char *space;
__attribute__((constructor, no_sanitize_thread)) static void map_space(void) {
    space = mmap(NULL, 2 * WEFT_TASKS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
static struct region *region;
SHARED struct {
    struct parker parker;
    unsigned reason; /* plain: written before the owner says that it waits, read by the thread that wakes it */
} owner;
static struct idle idle;
static struct parker thief_parker;
static bool offers; /* the owner looks for a sleeper when it has opened something */

SHARED unsigned ran[TASKS]; /* plain: a task that runs twice at once is a race as well */
static atom_u32 done;

WEFT_TASK(unsigned, work, unsigned, id, unsigned, twice) {
    chk_assert(id < TASKS && twice == 2 * id, "a task gets its arguments");
    ran[id]++;
    return 10 + id;
}

/* ---- what src/forkjoin/tasks.c does ------------------------------------------------------------------------------------ */

void weft_task_not_joined(weft_task *at) {
    (void)at;
    chk_fail("a place that is used again is free", "run");
}

static void open_below(weft_task *end) {
    region_open(region, end, REGION_FIRST + TASKS);
    if (offers && idle_wake(&idle) == 1) parker_unpark(&thief_parker);
}

void weft_task_share(weft_task *at) { open_below(at + 1); }

bool weft_task_settle(weft_task *at, weft_task_run *run) {
    if (at->run == run) {
        if (region_place(region, at) > region->split) open_below(at);
        return true;
    }
    enum region_taken taken = region_take_back(region, at);
    if (taken != REGION_STOLEN) return taken == REGION_MINE;
    owner.reason = 42;
    if (task_await(at, &owner)) parker_park(&owner.parker, SYS_FOREVER);
    task_joined(region, at);
    return false;
}

static void complete(weft_task *task) {
    void *waiter = task_complete(task);
    if (!waiter) return;
    chk_assert(waiter == &owner && owner.reason == 42, "the waiter is the owner, as it was when it began to wait");
    parker_unpark(&owner.parker);
}

/* ---- set-up -------------------------------------------------------------------------------------------------------- */

static void set_up(void) {
    static const char *const names[] = {"state[0]", "state[1]", "state[2]", "state[3]"};
    region = (struct region *)(((uintptr_t)space + WEFT_TASKS_BYTES - 1) & ~(WEFT_TASKS_BYTES - 1));
    region_init(region);
    region->stack_class = STACK_CLASS;
    for (unsigned i = 0; i <= TASKS; i++) {
        region_task(region, REGION_FIRST + i)->run = NULL;
        atom_store_rlx(task_cell(region_task(region, REGION_FIRST + i)), TASK_IDLE);
        if (i < TASKS) chk_name(task_cell(region_task(region, REGION_FIRST + i)), names[i]);
    }
    chk_name(&region->limit, "limit");
    chk_name(&region->bottom, "bottom");
    parker_init(&owner.parker);
    parker_init(&thief_parker);
    chk_name(&owner.parker, "owner");
    chk_name(&thief_parker, "thief");
    atom_store_rlx(&done, 0);
    offers = false;
}

static void set_limit(uint64_t limit) { atom_store_rlx(&region->limit, limit); }
/* No thief asks: nothing is opened. */
static void set_up_unasked(void) {
    set_up();
    set_limit((uint64_t)(uintptr_t)region_task(region, REGION_FIRST + TASKS));
}

static void finish(unsigned tasks) {
    for (unsigned i = 0; i < TASKS; i++)
        chk_assert(ran[i] == (i < tasks), "every task ran once");
    chk_assert(region_end(region), "everything was joined");
}
static void finish_1(void) { finish(1); }
static void finish_2(void) { finish(2); }
static void finish_3(void) { finish(3); }
static void finish_4(void) { finish(4); }

/* ---- threads ------------------------------------------------------------------------------------------------------- */

static weft_task *first(void) { return region_task(region, REGION_FIRST); }
#define FORK(id) WEFT_FORK(work, id, 2 * id)
#define JOIN(id) chk_assert(WEFT_JOIN(work) == 10 + id, "a join gets the result")

static void steal(void) {
    weft_task_run *run;
    weft_task *task = region_steal(region, STACK_CLASS, &run);
    if (!task) return;
    run(task, NULL);
    complete(task);
}
static void steal_or_ask(void) {
    if (region_has_open(region) == STACK_CLASS) steal();
    else region_ask(region);
}
static void steal_twice(void) {
    steal();
    steal();
}
static void ask_steal(void) {
    region_ask(region);
    steal();
}
static void ask_steal_twice(void) {
    ask_steal();
    steal();
}

/* ---- one task: the owner, or a thief ------------------------------------------------------------------------------- */

static void owner_1(void) {
    weft_task *weft_at = first();
    FORK(0);
    JOIN(0);
}
SCENARIO(fork_one, .about = "one task, open from the start: its owner and two thieves want it", .setup = set_up,
         .threads = {owner_1, steal, steal}, .finish = finish_1)
SCENARIO(fork_one_asked, .about = "one task, and thieves that ask for it", .setup = set_up_unasked,
         .threads = {owner_1, steal_or_ask, ask_steal}, .finish = finish_1)

/* ---- three tasks --------------------------------------------------------------------------------------------------- */

static void owner_3(void) {
    weft_task *weft_at = first();
    FORK(0);
    FORK(1);
    FORK(2);
    JOIN(2);
    JOIN(1);
    JOIN(0);
}
SCENARIO(fork_three, .about = "three tasks, a thief that asks and steals twice", .setup = set_up, .threads = {owner_3, ask_steal_twice},
         .finish = finish_3)
SCENARIO(fork_three_unasked, .about = "three tasks, none open at first; one thief asks and steals, another steals", .setup = set_up_unasked,
         .threads = {owner_3, ask_steal, steal}, .finish = finish_3)
SCENARIO(fork_three_two_thieves, .about = "three tasks, two thieves: one asks and steals, one steals twice", .setup = set_up,
         .threads = {owner_3, ask_steal, steal_twice}, .finish = finish_3, .deep_in = CHK_C11)

/* All of them open. */
static void owner_opens_all(void) {
    weft_task *weft_at = first();
    FORK(0);
    FORK(1);
    FORK(2);
    region_open_all(region, weft_at);
    JOIN(2);
    JOIN(1);
    JOIN(0);
}
SCENARIO(fork_all_open, .about = "three tasks, all opened by an owner that is going to wait, two thieves", .setup = set_up,
         .threads = {owner_opens_all, steal_twice, steal}, .finish = finish_3, .deep_in = CHK_C11)

/* ---- places used again: region.h, T1, T4 ---------------------------------------------------------------------------- */

static void owner_again(void) {
    weft_task *weft_at = first();
    FORK(0);
    JOIN(0);
    FORK(1);
    JOIN(1);
}
SCENARIO(fork_again, .about = "a place is joined and forked in again, while a thief comes and asks", .setup = set_up,
         .threads = {owner_again, ask_steal_twice}, .finish = finish_2)
SCENARIO(fork_again_two_thieves, .about = "a place is joined and forked in again under two thieves", .setup = set_up,
         .threads = {owner_again, ask_steal, steal}, .finish = finish_2)

static void owner_tree(void) {
    weft_task *weft_at = first();
    FORK(0);
    FORK(1);
    JOIN(1);
    FORK(2);
    FORK(3);
    JOIN(3);
    JOIN(2);
    JOIN(0);
}
SCENARIO(fork_tree, .about = "a small tree and a thief that asks and steals twice", .setup = set_up,
         .threads = {owner_tree, ask_steal_twice}, .finish = finish_4)

/* ---- a task stays with a thief that has a stack for it ----------------------------------------------------------------------- */

static void steal_small(void) {
    weft_task_run *run;
    chk_assert(!region_steal(region, STACK_CLASS - 1, &run), "a thief with a small stack takes nothing");
}
SCENARIO(fork_small_thief, .about = "a thief whose stack is too small", .setup = set_up, .threads = {owner_1, steal_small},
         .finish = finish_1)

/* ---- going to sleep: region.h, T5 ----------------------------------------------------------------------------------- */

static void set_up_idle(void) {
    set_up_unasked();
    idle_init(&idle, 2);
    chk_name(&idle.sleeping[0], "sleeping");
    chk_name(&idle.searching, "searching");
    offers = true;
}
/* Another thief has asked before. */
static void set_up_idle_asked(void) {
    set_up_idle();
    set_limit(0);
}

static bool thief_runs(void) {
    weft_task_run *run;
    weft_task *task = region_steal(region, STACK_CLASS, &run);
    if (!task) return false;
    run(task, NULL);
    complete(task);
    atom_store_rlx(&done, 1);
    return true;
}
/* As find_sleep. */
static void thief_sleep(bool *searching) {
    idle_enter(&idle, 1, *searching);
    if (region_has_open(region) != REGION_NONE) {
        if (idle_leave(&idle, 1, *searching)) return;
    } else {
        region_ask(region);
    }
    parker_park(&thief_parker, SYS_FOREVER);
    *searching = true;
}
static void thief_sleeps(void) {
    bool searching = false;
    thief_sleep(&searching);
    chk_assert(thief_runs(), "there was something");
}
/* Another may be faster, once; and the wake-up for what that one took may come late. */
static void thief_sleeps_on(void) {
    bool searching = false;
    for (unsigned round = 0; round < 3; round++) {
        thief_sleep(&searching);
        if (thief_runs()) return;
    }
    chk_fail("there was something", "three times");
}
/* The owner waits until the thief has run it; so a thief that was not woken is found asleep. */
static void owner_until_done(weft_task *weft_at) {
    FORK(0);
    for (struct spin spin = spin_begin(); !atom_load_rlx(&done); spin_wait(&spin)) {}
    JOIN(0);
}
static void owner_forks(void) { owner_until_done(first()); }
static void owner_forks_when_asked(void) {
    for (struct spin spin = spin_begin(); atom_load_rlx(&region->limit) != 0; spin_wait(&spin)) {}
    owner_until_done(first());
}
SCENARIO(fork_sleep, .about = "a thief goes to sleep while the owner forks, asked by another", .setup = set_up_idle_asked,
         .threads = {owner_forks, thief_sleeps}, .finish = finish_1)
SCENARIO(fork_sleep_asks, .about = "a thief asks and goes to sleep; the owner's next fork wakes it", .setup = set_up_idle,
         .threads = {owner_forks_when_asked, thief_sleeps}, .finish = finish_1)

/* The owner answers an earlier ask, its task is taken by another thief, and it forks on: the sleeper's own ask must count. */
static void owner_forks_twice(void) {
    weft_task *weft_at = first();
    FORK(1);
    for (struct spin spin = spin_begin(); atom_load_rlx(&region->limit) != 0 && !atom_load_rlx(&done); spin_wait(&spin)) {}
    FORK(0);
    for (struct spin spin = spin_begin(); !atom_load_rlx(&done); spin_wait(&spin)) {}
    JOIN(0);
    JOIN(1);
}
SCENARIO(fork_sleep_asks_again, .about = "an ask that comes while an earlier one is being answered, and a thief that was faster",
         .setup = set_up_idle_asked, .threads = {owner_forks_twice, thief_sleeps_on, steal}, .finish = finish_2, .deep_in = CHK_C11)

/* ---- broken twins --------------------------------------------------------------------------------------------------- */

/* Opened without release. */
static void owner_opens_relaxed(void) {
    weft_task *weft_at = first();
    FORK(0);
    weft_at[-1].run = NULL;
    region->split = REGION_FIRST + 1;
    atom_store_rlx(task_cell(first()), task_word((uintptr_t)work_weft_run, STACK_CLASS, TASK_OPEN));
    JOIN(0);
}
SCENARIO(fork_twin_open_relaxed, .about = "twin: a task is opened without release", .setup = set_up_unasked,
         .threads = {owner_opens_relaxed, steal}, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* Taken without acquire. */
static void steal_relaxed(void) {
    uint64_t word = atom_load_rlx(task_cell(first()));
    if (task_state_of(word) != TASK_OPEN || !atom_cas_rlx_rlx(task_cell(first()), &word, TASK_TAKEN)) return;
    work_weft_run(first(), NULL);
    complete(first());
}
SCENARIO(fork_twin_steal_relaxed, .about = "twin: a task is taken without acquire", .setup = set_up, .threads = {owner_1, steal_relaxed},
         .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* Completed without release: the owner may find the result too early. */
static void steal_complete_relaxed(void) {
    weft_task_run *run;
    weft_task *task = region_steal(region, STACK_CLASS, &run);
    if (!task) return;
    run(task, NULL);
    uint64_t word = TASK_TAKEN;
    if (!atom_cas_rlx_rlx(task_cell(task), &word, TASK_DONE)) complete(task);
}
SCENARIO(fork_twin_complete_relaxed, .about = "twin: a task is completed without release", .setup = set_up,
         .threads = {owner_1, steal_complete_relaxed}, .flawed_in = CHK_C11, .flaw = CHK_RACE)

/* The owner takes back what it sees open, without a compare-and-swap. */
static void owner_takes_blindly(void) {
    weft_task *weft_at = first();
    FORK(0);
    if (task_state_of(atom_load_acq(task_cell(first()))) == TASK_OPEN) {
        atom_store_rlx(task_cell(first()), TASK_IDLE);
        region->split = REGION_FIRST;
        work_weft_call(&weft_at, 0, 0);
    } else {
        JOIN(0);
    }
}
SCENARIO(fork_twin_take_blindly, .about = "twin: the owner takes an open task back by a plain store", .setup = set_up,
         .threads = {owner_takes_blindly, steal}, .flawed_in = CHK_ALL)

/* A thief that completes without looking for a waiter. */
static void steal_tell_no_thief(void) {
    weft_task_run *run;
    weft_task *task = region_steal(region, STACK_CLASS, &run);
    if (!task) return;
    run(task, NULL);
    atom_store_rel(task_cell(task), TASK_DONE);
}
SCENARIO(fork_twin_tell_no_thief, .about = "twin: a thief that does not wake the owner that waits", .setup = set_up,
         .threads = {owner_1, steal_tell_no_thief}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* A thief that asks, looks, and only then goes to sleep. */
static void thief_sleeps_late(void) {
    region_ask(region);
    bool open = region_has_open(region) != REGION_NONE;
    idle_enter(&idle, 1, false);
    if (!open || !idle_leave(&idle, 1, false)) parker_park(&thief_parker, SYS_FOREVER);
    thief_runs();
}
SCENARIO(fork_twin_sleep_late, .about = "twin: a thief looks before it can be seen asleep", .setup = set_up_idle_asked,
         .threads = {owner_forks, thief_sleeps_late}, .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)

/* A thief that sleeps without having asked. */
static void thief_sleeps_unasked(void) {
    idle_enter(&idle, 1, false);
    if (region_has_open(region) == REGION_NONE || !idle_leave(&idle, 1, false)) parker_park(&thief_parker, SYS_FOREVER);
    thief_runs();
}
SCENARIO(fork_twin_sleep_unasked, .about = "twin: a thief goes to sleep and has not asked", .setup = set_up_idle,
         .threads = {owner_forks_twice, thief_sleeps_unasked}, .flawed_in = CHK_ALL)
