/* Shutdown: the stopper comes back when no process lives any more, and not before; every process is told to end, also one that is being
 * born.
 *
 * The stopper is the real stop_wait, spawn, send and end are real too. A stopper that sleeps for ever, or a worker that waits for ever, is
 * reported by the checker. That the stopper came back too early shows in the numbers of births and ends. */
#include "small_runtime.h"

#include "runtime/stop.h"
#include "step/step.h"
#include "thread/worker.h"

static atom_u32 born, closed; /* counted by init, or the first step, and close */
static weft_pid first;
static unsigned workers;

static int count_birth(void *self, weft_context *context, const char *method, const void *input, size_t size) {
    (void)self, (void)context, (void)method, (void)input, (void)size;
    atom_add_rlx(&born, 1);
    return 0;
}
static void count_end(void *self) {
    (void)self;
    atom_add_rlx(&closed, 1);
}
static bool is_cancelled(const weft_event *events, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_EVENT_CANCEL) return true;
    return false;
}

/* Ends when it is asked to. */
static int obedient_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (is_cancelled(events, count)) weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior obedient = {.name = "obedient", .init = count_birth, .step = obedient_step, .close = count_end};
/* The same without an init: counted by its first step. */
static int obedient_plain_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    bool *counted = self;
    if (!*counted) atom_add_rlx(&born, 1);
    *counted = true;
    return obedient_step(self, events, count, out);
}
static const weft_behavior obedient_plain = {
    .name = "obedient, without init", .state_size = sizeof(bool), .step = obedient_plain_step, .close = count_end};

/* Ends by itself. */
static int short_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_STEP_DONE);
    return 0;
}
static const weft_behavior short_lived = {.name = "short-lived", .init = count_birth, .step = short_step, .close = count_end};

/* Has a child and ends. The child would live for ever if it were not told. */
static int parent_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    weft_pid child;
    int error = weft_spawn_step(&obedient, NULL, &child);
    chk_assert(error == 0 || error == WEFT_ESTOPPING, "spawned, or refused because of the stop");
    return short_step(self, events, count, out);
}
static const weft_behavior parental = {.name = "parent", .init = count_birth, .step = parent_step, .close = count_end};

/* ---- setup -------------------------------------------------------------------------------------------------------- */

static void set_up(const weft_behavior *behavior, unsigned count) {
    atom_store_rlx(&born, 0);
    atom_store_rlx(&closed, 0);
    chk_name(&born, "born");
    chk_name(&closed, "closed");
    workers = count;
    small_begin(POLICY_LINE, count, 4); /* the queue with the fewest cells */
    if (behavior) first = small_spawn(behavior);
    pool_refill(&small_worker(0)->local.cache.pool, 0);
}
static void no_process(void) { set_up(NULL, 1); }
static void ready_obedient(void) { set_up(&obedient, 1); }
static void ready_short(void) { set_up(&short_lived, 1); }
static void ready_parent(void) { set_up(&parental, 1); }
static void sleeping_obedient(void) {
    set_up(&obedient, 1);
    policy_pop(small_worker(0));
    state_park(&small_proc(first)->state, STATE_IDLE);
}
static void ready_two(void) {
    set_up(&short_lived, 2);
    small_spawn(&short_lived);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

/* A worker that waits in a loop for work and for being sent away. How it sleeps instead is shown in resize.c. */
static struct proc *find(struct worker *worker) {
    for (struct spin spin = spin_begin();; spin_wait(&spin)) {
        struct proc *proc = policy_pop(worker);
        if (!proc) proc = find_global_one(worker);
        if (proc || atom_load_acq(&worker->leave)) return proc;
    }
}
static void works_as(struct worker *worker) {
    for (struct proc *proc; (proc = find(worker)) != NULL;)
        step_run(worker, proc);
}
static void works(void) { works_as(small_play(chk_self())); }

static void stops(void) {
    stop_wait(small, SYS_FOREVER);
    chk_assert(atom_load_rlx(&born) == atom_load_rlx(&closed), "no process lives when the stopper comes back");
    for (unsigned i = 0; i < workers; i++)
        worker_dismiss(small, small_worker(i));
}

/* From outside. */
static void spawns(void) {
    weft_pid pid;
    int error = weft_spawn_step(&obedient, &(weft_spawn_options){.runtime = (weft_runtime *)small}, &pid);
    chk_assert(error == 0 || error == WEFT_ESTOPPING, "spawned, or refused because of the stop");
}
/* Without an init the door is not left in between. */
static void spawns_plain(void) {
    weft_pid pid;
    int error = weft_spawn_step(&obedient_plain, &(weft_spawn_options){.runtime = (weft_runtime *)small}, &pid);
    chk_assert(error == 0 || error == WEFT_ESTOPPING, "spawned, or refused because of the stop");
}

/* The thread is the worker afterwards: the one that might be there already has nothing to do before. */
static void spawns_and_works(void) {
    spawns();
    works_as(small_play(0));
}
static void spawns_plain_and_works(void) {
    spawns_plain();
    works_as(small_play(0));
}

static void none_lives(void) {
    chk_assert(atom_load_rlx(&born) == atom_load_rlx(&closed), "no process was born after the stop");
    small_end();
}

SCENARIO(shutdown_asleep, .about = "a process sleeps || the stopper", .setup = sleeping_obedient, .threads = {works, stops},
         .finish = none_lives)
SCENARIO(shutdown_ready, .about = "a process runs and parks || the stopper", .setup = ready_obedient, .threads = {works, stops},
         .finish = none_lives)
SCENARIO(shutdown_ends, .about = "a process ends by itself || the stopper", .setup = ready_short, .threads = {works, stops},
         .finish = none_lives)
SCENARIO(shutdown_two_end, .about = "two workers, two processes that end by themselves || the stopper", .setup = ready_two,
         .threads = {works, works, stops}, .finish = none_lives, .deep_in = CHK_TSO | CHK_C11)
SCENARIO(shutdown_child, .about = "a process has a child and ends || the stopper: the child is told", .setup = ready_parent,
         .threads = {works, stops}, .finish = none_lives, .deep_in = CHK_C11)
SCENARIO(shutdown_foreign_plain, .about = "a foreign thread spawns, and is then the worker || the stopper", .setup = no_process,
         .threads = {stops, spawns_plain_and_works}, .finish = none_lives)
SCENARIO(shutdown_foreign_leaves, .about = "the same with an init, during which the thread leaves its door", .setup = no_process,
         .threads = {stops, spawns_and_works}, .finish = none_lives, .deep_in = CHK_TSO | CHK_C11)
SCENARIO(shutdown_foreign, .about = "a foreign thread spawns || a worker || the stopper", .setup = no_process,
         .threads = {works, stops, spawns_plain}, .finish = none_lives, .deep_in = CHK_ALL)
SCENARIO(
    shutdown_foreign_init,
    .about = "the same with an init; few preemptions, since all are too many, and shutdown_foreign_leaves has all with one thread less",
    .setup = no_process, .threads = {works, stops, spawns}, .finish = none_lives, .preemptions = 1, .deep_in = CHK_ALL)

/* ---- broken twins: the same protocol in small, with one fault ----------------------------------------------------------- */

enum fault { FAULTLESS, UNFENCED_END, UNFENCED_BIRTH, NO_SECOND_LOOK, UNSETTLED, END_RELAXED };

static struct parker stopper;
static struct chk_mutex door;
static atom_u32 stopping, spawned, ended, published, cancelled;

static void twin_set_up(void) {
    static const struct {
        atom_u32 *cell;
        const char *name;
    } all[] = {{&stopping, "stopping"}, {&spawned, "spawned"}, {&ended, "ended"}, {&published, "published"}, {&cancelled, "cancelled"}};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        atom_store_rlx(all[i].cell, 0);
        chk_name(all[i].cell, all[i].name);
    }
    door.word = 0;
    parker_init(&stopper);
}
static void twin_stops(enum fault fault) {
    atom_store_rel(&stopping, 1);
    sys_fence_heavy();
    if (fault != UNSETTLED) {
        chk_lock(&door);
        chk_unlock(&door);
    }
    if (atom_load_rlx(&published)) atom_store_rlx(&cancelled, 1);
    for (;;) {
        uint32_t over = atom_load_acq(&ended);
        if (atom_load_rlx(&spawned) == over) break;
        parker_park(&stopper, SYS_FOREVER);
    }
}
static void twin_ends(enum fault fault) {
    uint32_t one_more = atom_load_rlx(&ended) + 1;
    if (fault == END_RELAXED) atom_store_rlx(&ended, one_more);
    else atom_store_rel(&ended, one_more);
    if (fault != UNFENCED_END) atom_fence_light();
    if (atom_load_acq(&stopping)) parker_unpark(&stopper);
}
static bool twin_spawns(enum fault fault) {
    if (atom_load_acq(&stopping)) return false;
    atom_store_rlx(&spawned, atom_load_rlx(&spawned) + 1);
    atom_store_rel(&published, 1);
    if (fault != UNFENCED_BIRTH) atom_fence_light();
    if (fault != NO_SECOND_LOOK && atom_load_rlx(&stopping)) atom_store_rlx(&cancelled, 1);
    return true;
}
static void twin_runs_until_cancelled(enum fault fault) {
    struct spin spin = spin_begin();
    while (!atom_load_rlx(&cancelled))
        spin_wait(&spin);
    twin_ends(fault);
}
/* A foreign thread spawns; from then on the thread is the worker that runs the new process. */
static void twin_foreign(enum fault fault) {
    chk_lock(&door);
    bool lives = twin_spawns(fault);
    chk_unlock(&door);
    if (lives) twin_runs_until_cancelled(fault);
}
/* A process has a child and ends. */
static void twin_parent(enum fault fault) {
    bool lives = twin_spawns(fault);
    twin_ends(fault);
    if (lives) twin_runs_until_cancelled(fault);
}
static void twin_set_up_parent(void) {
    twin_set_up();
    atom_store_rlx(&spawned, 1);
}
static void twin_none_lives(void) { chk_assert(atom_load_rlx(&spawned) == atom_load_rlx(&ended), "no process lives after the stop"); }

#define TWIN(id, fault, set_up, lives, ...)                                                                                                \
    static void id##_stops(void) {                                                                                                         \
        twin_stops(fault);                                                                                                                 \
        twin_none_lives();                                                                                                                 \
    }                                                                                                                                      \
    static void id##_lives(void) { lives(fault); }                                                                                         \
    SCENARIO(id, .setup = set_up, .threads = {id##_stops, id##_lives}, .finish = twin_none_lives, __VA_ARGS__)

TWIN(shutdown_twin_foreign, FAULTLESS, twin_set_up, twin_foreign, .about = "twins of which the following are broken")
TWIN(shutdown_twin_parent, FAULTLESS, twin_set_up_parent, twin_parent, .about = "likewise")
TWIN(shutdown_twin_end, FAULTLESS, twin_set_up_parent, twin_ends, .about = "likewise")
TWIN(shutdown_twin_unfenced_end, UNFENCED_END, twin_set_up_parent, twin_ends,
     .about = "an end and the stopper miss each other: it sleeps for ever", .flawed_in = CHK_TSO | CHK_C11, .flaw = CHK_LOST_WAKEUP)
TWIN(shutdown_twin_unfenced_birth, UNFENCED_BIRTH, twin_set_up_parent, twin_parent,
     .about = "a birth and the stopper miss each other: no thread cancels the new process", .flawed_in = CHK_TSO | CHK_C11,
     .flaw = CHK_LOST_WAKEUP)
TWIN(shutdown_twin_no_second_look, NO_SECOND_LOOK, twin_set_up_parent, twin_parent,
     .about = "a spawner that only looks before: no thread cancels the new process", .flawed_in = CHK_ALL, .flaw = CHK_LOST_WAKEUP)
TWIN(shutdown_twin_unsettled, UNSETTLED, twin_set_up, twin_foreign, .about = "the stopper does not wait for a foreign thread that spawns",
     .flawed_in = CHK_ALL, .flaw = CHK_ASSERT)
TWIN(shutdown_twin_end_relaxed, END_RELAXED, twin_set_up_parent, twin_parent,
     .about = "a thread that sees the parent's end does not see the child's birth", .flawed_in = CHK_C11, .flaw = CHK_ASSERT)
