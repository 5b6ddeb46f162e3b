/* Shutdown: the stopper comes back when nobody lives any more, and not before; everybody is told to end, also who was just being born.
 *
 * The stopper is the real stop_wait, spawn, send and end are real too. A stopper that sleeps for ever, or a worker that waits for ever, is
 * reported by the checker. That the stopper came back too early shows in the numbers of births and ends. */
#include "small_runtime.h"

static atom_u32 born, closed; /* counted by init and close */
static weft_pid first, child;
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
        if (events[i].type == WEFT_CANCEL) return true;
    return false;
}

/* Ends when it is asked to. */
static int obedient_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self;
    if (is_cancelled(events, count)) weft_out_status(out, WEFT_DONE);
    return 0;
}
static const weft_behavior obedient = {.name = "obedient", .init = count_birth, .step = obedient_step, .close = count_end};

/* Ends by itself. */
static int short_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    (void)self, (void)events, (void)count;
    weft_out_status(out, WEFT_DONE);
    return 0;
}
static const weft_behavior short_lived = {.name = "short-lived", .init = count_birth, .step = short_step, .close = count_end};

/* Has a child in its first step, and ends when it is asked to and the child has ended, which tells it. */
struct parent {
    bool has_child, cancelled;
};
static void tell_parent(void *self) {
    count_end(self);
    weft_send(first, 0, NULL, 0);
}
static const weft_behavior childlike = {.name = "child", .init = count_birth, .step = obedient_step, .close = tell_parent};
static int parent_step(void *self, const weft_event *events, size_t count, weft_out *out) {
    struct parent *parent = self;
    if (is_cancelled(events, count)) parent->cancelled = true;
    for (size_t i = 0; i < count; i++)
        if (events[i].type == WEFT_MESSAGE) parent->has_child = false;
    if (!child) {
        int error = weft_spawn_step(&child, &childlike, NULL);
        chk_assert(error == 0 || error == WEFT_ESTOPPING, "spawned, or refused because of the stop");
        parent->has_child = error == 0;
        if (error) child = first;
    }
    if (parent->cancelled && !parent->has_child) weft_out_status(out, WEFT_DONE);
    return 0;
}
static const weft_behavior parental = {.name = "parent", .state_size = sizeof(struct parent), .init = count_birth, .step = parent_step,
                                       .close = count_end};

/* ---- setup -------------------------------------------------------------------------------------------------------- */

static void set_up(const weft_behavior *behavior, unsigned count) {
    atom_store_rlx(&born, 0);
    atom_store_rlx(&closed, 0);
    chk_name(&born, "born");
    chk_name(&closed, "closed");
    workers = count;
    child = WEFT_NOBODY;
    small_begin(POLICY_LINE, count, 4); /* the queue with the fewest cells */
    if (behavior) first = small_spawn(behavior);
    pool_refill(&small_worker(0)->actor.cache, 0);
}
static void nobody(void) { set_up(NULL, 1); }
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
static void works(void) {
    struct worker *worker = small_play(chk_self());
    for (struct proc *proc; (proc = find(worker)) != NULL;)
        step_run(worker, proc);
}

static void stops(void) {
    stop_wait(small, SYS_FOREVER);
    chk_assert(atom_load_rlx(&born) == atom_load_rlx(&closed), "nobody lives when the stopper comes back");
    for (unsigned i = 0; i < workers; i++)
        worker_dismiss(small, small_worker(i));
}

/* From outside. */
static void spawns(void) {
    weft_pid pid;
    int error = weft_spawn_step(&pid, &obedient, &(weft_spawn_options){.runtime = (weft_runtime *)small});
    chk_assert(error == 0 || error == WEFT_ESTOPPING, "spawned, or refused because of the stop");
}

static void nobody_lives(void) {
    chk_assert(atom_load_rlx(&born) == atom_load_rlx(&closed), "nobody was born after the stop");
    small_end();
}

SCENARIO(shutdown_asleep, .about = "a process sleeps || the stopper", .setup = sleeping_obedient,
         .threads = {works, stops}, .finish = nobody_lives)
SCENARIO(shutdown_ready, .about = "a process runs and parks || the stopper", .setup = ready_obedient, .threads = {works, stops},
         .finish = nobody_lives)
SCENARIO(shutdown_ends, .about = "a process ends by itself || the stopper", .setup = ready_short, .threads = {works, stops},
         .finish = nobody_lives)
SCENARIO(shutdown_two_end, .about = "two workers, two processes that end by themselves || the stopper", .setup = ready_two,
         .threads = {works, works, stops}, .finish = nobody_lives)
SCENARIO(shutdown_child, .about = "a process has a child and ends after it || the stopper", .setup = ready_parent,
         .threads = {works, stops}, .finish = nobody_lives)
SCENARIO(shutdown_foreign, .about = "a foreign thread spawns || a worker || the stopper", .setup = nobody,
         .threads = {works, stops, spawns}, .finish = nobody_lives)
