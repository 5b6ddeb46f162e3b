/* Names of processes that end meanwhile: the real registry, state word, spawn and end of a process.
 *
 * A name is one process's at a time. When a process ends, its names are gone before its monitors are told, and none is left. What the lists
 * are made of is plain memory: changing them without the lock is a race, and a name that is left over a leak. */
#include "mortal.h"

#include "life/spawn.h"
#include "mail/send.h"
#include "registry/registry.h"
#include "step/step.h"

enum { PROCESSES = 2 };
static const char name[] = "n";
static weft_pid pids[PROCESSES];
static struct proc *procs[PROCESSES];
SHARED int results[PROCESSES];
SHARED struct listener ear;

/* ---- setup and finish ---------------------------------------------------------------------------------------------------------- */

static size_t names_left(void) {
    struct registry *registry = registry_of(small);
    return registry ? registry->names.count : 0;
}
/* A monitor of the first process, in the thread that ends it. */
static bool hears_of_the_end(struct local *local, struct worker *self, struct monitor *monitor, const struct reason *reason) {
    hear(local, self, monitor, reason);
    chk_assert(weft_whereis_in((weft_runtime *)small, name) != pids[0], "the name is gone before the end is told");
    return false;
}
static void set_up(void) {
    small_begin(POLICY_RING, 4, 4);
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = small_spawn(&mortal);
        procs[i] = policy_pop(small_worker(0));
        results[i] = 77;
    }
    ear.monitor.tell = hears_of_the_end;
    chk_assert(monitor_add(&small_play(1)->local, pids[0], &ear.monitor) == 0, "monitored in setup");
}
static void set_up_named(void) {
    set_up();
    small_play(1);
    chk_assert(weft_register(name, pids[0]) == 0, "named in setup");
    chk_name(&procs[0]->state.word, "state");
    chk_name(&procs[0]->state.asked, "asked");
    chk_name(&registry_of(small)->names_lock, "names_lock");
}
static void end_all(void) {
    for (unsigned i = 0; i < PROCESSES; i++)
        if (small_proc(pids[i]) == procs[i] && pid_is_open(small, pids[i])) step_run(small_play(0), procs[i]);
    chk_assert(names_left() == 0, "no name is left when all processes have ended");
    chk_assert(ear.told == 1, "its end was told");
    small_end();
}

/* ---- threads ------------------------------------------------------------------------------------------------------------------------ */

static void ends(void) { step_run(small_play(0), procs[0]); }
static void names(unsigned worker, unsigned which) {
    small_play(worker);
    results[which] = weft_register(name, pids[which]);
}
static void names_0(void) {
    names(1, 0);
    chk_assert(results[0] == 0 || results[0] == WEFT_ENOPROC, "it lives, or has ended");
}
static void names_0_of_two(void) { names(1, 0); }
static void names_1(void) { names(2, 1); }
static void takes_back(void) {
    small_play(2);
    results[0] = weft_unregister((weft_runtime *)small, name);
    chk_assert(results[0] == 0 || results[0] == WEFT_ENOENT, "taken back, or gone");
}
static void one_has_it(void) {
    chk_assert((results[0] == 0) + (results[1] == 0) == 1, "one of the two has the name");
    chk_assert(weft_whereis_in((weft_runtime *)small, name) == pids[results[0] == 0 ? 0 : 1], "and is found by it");
    end_all();
}
static void the_second_has_it_if_told(void) {
    chk_assert(results[1] == 0 || results[1] == WEFT_EEXIST, "it was free, or the first still lived");
    chk_assert(weft_whereis_in((weft_runtime *)small, name) == (results[1] == 0 ? pids[1] : WEFT_NOBODY), "and is found by it");
    end_all();
}

SCENARIO(registry_end, .about = "a process ends || is given a name", .setup = set_up, .threads = {ends, names_0}, .finish = end_all)
SCENARIO(registry_take_over, .about = "a process with a name ends || another is given the name", .setup = set_up_named,
         .threads = {ends, names_1}, .finish = the_second_has_it_if_told)
SCENARIO(registry_take_back, .about = "a process with a name ends || the name is taken back", .setup = set_up_named,
         .threads = {ends, takes_back}, .finish = end_all)
/* The table is there already: the two would make it, and the checker wants each thread's blocks in the same order in every execution. */
static void set_up_known(void) {
    set_up_named();
    chk_assert(weft_unregister((weft_runtime *)small, name) == 0, "taken back in setup");
}
SCENARIO(registry_race, .about = "two processes are given one name", .setup = set_up_known, .threads = {names_0_of_two, names_1},
         .finish = one_has_it)

/* ---- asking, and listing -------------------------------------------------------------------------------------------------------------- */

static void reads_the_name(void) {
    char text[8];
    small_play(2);
    names_last(small, proc_slot(procs[0]), true, text, sizeof text);
    chk_assert(!*text || strcmp(text, name) == 0, "its name, or none");
}
SCENARIO(registry_last, .about = "a process with a name ends || is asked about", .setup = set_up_named, .threads = {ends, reads_the_name},
         .finish = end_all)

static void is_one_of_them(const char *text, weft_pid pid, void *count) {
    chk_assert(strcmp(text, name) == 0 && pid == pids[1], "the name and its process");
    ++*(unsigned *)count;
}
static void lists(void) {
    unsigned count = 0;
    small_play(3);
    chk_assert(weft_names((weft_runtime *)small, is_one_of_them, &count) == count && count <= 1, "it is there, or not yet");
}
SCENARIO(registry_list, .about = "a process is given a name || all names are listed", .setup = set_up_known, .threads = {names_1, lists},
         .finish = end_all)

/* The first two names of a runtime: both threads make the registry, and one of them is used. */
SHARED struct registry *made[2];
static void makes_0(void) { made[0] = registry_make(small); }
static void makes_1(void) { made[1] = registry_make(small); }
static void one_was_made(void) {
    chk_assert(made[0] && made[0] == made[1] && registry_of(small) == made[0], "both have the same");
    small_end();
}
static void writes_first(void) {
    makes_0();
    lock_take(&made[0]->names_lock);
    lock_drop(&made[0]->names_lock);
}
static void writes_second(void) {
    makes_1();
    lock_take(&made[1]->names_lock);
    lock_drop(&made[1]->names_lock);
}
static void empty(void) { small_begin(POLICY_RING, 2, 2); }
SCENARIO(registry_two_make, .about = "two threads give the runtime its first names", .setup = empty,
         .threads = {writes_first, writes_second}, .finish = one_was_made)

/* ---- born with a name --------------------------------------------------------------------------------------------------------------- */

static weft_pid born;
SHARED struct message letter;
SHARED bool delivered;
static int reader_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)out;
    delivered |= count > 0;
    return 0;
}
static const weft_behavior reader = {.name = "reader", .step = reader_step};
static void no_process_yet(void) { small_begin(POLICY_RING, 2, 2); }
static void spawns_named(void) {
    small_play(0);
    results[0] = weft_spawn_step(&reader, &(weft_spawn_options){.register_as = name}, &born);
    chk_assert(results[0] == 0, "spawned");
}
SHARED bool found;
static void sends_if_found(void) {
    struct worker *worker = small_play(1);
    weft_pid pid = weft_whereis_in((weft_runtime *)small, name);
    if (pid == WEFT_NOBODY) return;
    found = true;
    chk_assert(send_message(&worker->local, worker, pid, small_message(&letter, 1)) == 0, "a process that is found takes messages");
}
static void it_was_read(void) {
    small_run_own(small_play(0));
    small_run_own(small_play(1));
    chk_assert(delivered == found, "the message was read");
    chk_assert(names_left() == 1, "it has its name");
    small_end();
}
SCENARIO(registry_born, .about = "a process is born with a name || is looked up and sent to", .setup = no_process_yet,
         .threads = {spawns_named, sends_if_found}, .finish = it_was_read)

/* ---- twins that are wrong: the two words alone --------------------------------------------------------------------------------------- */

SHARED struct state word;
SHARED struct lock lock;
SHARED unsigned listed;

static void twin_set_up(void) {
    state_init(&word);
    chk_assert(state_claim_any(&word), "it runs");
    lock_init(&lock);
    results[0] = 77;
}
static void twin_ends(void) {
    if (!(state_complete(&word) & STATE_OWNS)) return;
    lock_take(&lock);
    listed = 0;
    lock_drop(&lock);
}
static void twin_none_left(void) { chk_assert(listed == 0, "no name is left"); }
static void twin_names(void) {
    lock_take(&lock);
    if (state_give(&word)) listed = 1;
    lock_drop(&lock);
}
SCENARIO(registry_words, .about = "the two words alone: COMPLETE, then OWNS? || OWNS, then COMPLETE?", .setup = twin_set_up,
         .threads = {twin_ends, twin_names}, .finish = twin_none_left)
static void names_without_a_look(void) {
    lock_take(&lock);
    atom_or_sc(&word.asked, STATE_OWNS);
    listed = 1;
    lock_drop(&lock);
}
SCENARIO(registry_no_look, .about = "broken: COMPLETE is not asked for", .setup = twin_set_up, .threads = {twin_ends, names_without_a_look},
         .finish = twin_none_left, .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
static void names_weakly(void) {
    lock_take(&lock);
    atom_or_acqrel(&word.asked, STATE_OWNS);
    if (state_of(atom_load_acq(&word.word)) != STATE_COMPLETE) listed = 1;
    lock_drop(&lock);
}
SCENARIO(registry_weak, .about = "broken: acquire and release only", .setup = twin_set_up, .threads = {twin_ends, names_weakly},
         .finish = twin_none_left, .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
