#include "small_runtime.h"

#include "mem/bundle.h"
#include "mem/pool_chunk.h"
#include "runtime/stop.h"
#include "step/step.h"
#include "thread/stopped.h"
#include "thread/thread.h"
#include "thread/worker.h"

struct runtime *small;

/* What thread-local storage would hold; the first is setup's and finish's. */
static struct worker *played[CHK_THREADS + 1];
struct worker **chk_worker(void) {
    return &played[chk_self() + 1];
}

/* ---- doors -------------------------------------------------------------------------------------------------------- */

static struct lock doors[DOORS];
static bool open;

struct local *door_enter(unsigned instance, unsigned *door) {
    *door = (chk_self() + 1) % DOORS;
    lock_take(&doors[*door]);
    if (open && instance == small->instance) return &small->doors[*door];
    lock_drop(&doors[*door]);
    return NULL;
}

void door_leave(unsigned instance, unsigned door) {
    (void)instance;
    lock_drop(&doors[door]);
}

int door_open(struct runtime *runtime) {
    static const char *const names[] = {"door[0]", "door[1]"};
    for (unsigned i = 0; i < DOORS; i++) {
        lock_init(&doors[i]);
        chk_name(&doors[i], names[i]);
    }
    open = true;
    runtime->instance = runtime->table.instance = 1;
    return 0;
}

void door_settle(unsigned instance) {
    (void)instance;
    for (unsigned i = 0; i < DOORS; i++) {
        lock_take(&doors[i]);
        lock_drop(&doors[i]);
    }
}

void door_close(struct runtime *runtime, bool again) {
    (void)runtime, (void)again;
    for (unsigned i = 0; i < DOORS; i++)
        lock_take(&doors[i]);
    open = false;
    for (unsigned i = 0; i < DOORS; i++)
        lock_drop(&doors[i]);
}

/* ---- threads of workers ------------------------------------------------------------------------------------------- */

enum { NOT_YET, RUNS, ENDED };
static atom_u32 threads[PLACES_MAX], given[PLACES_MAX];
static unsigned refused; /* how many times no thread is to be had; kept by the thread that gives, so not for two at once */
void small_refuse_threads(unsigned times) { refused = times; }

int thread_give(struct runtime *runtime, struct worker *worker) {
    (void)runtime;
    if (refused > 0) {
        refused--;
        return WEFT_EAGAIN;
    }
    atom_store_rel(&threads[worker->index], RUNS); /* rel: as creating a thread does, or waking one */
    atom_add_rel(&given[worker->index], 1);        /* rel: likewise */
    return 0;
}
unsigned small_given(unsigned index) { return atom_load_acq(&given[index]); }
void threads_init(struct threads *threads, unsigned most) { (void)threads, (void)most; }
bool threads_end(struct runtime *runtime) {
    (void)runtime;
    return true;
}

struct worker *small_wait_to_begin(unsigned index) {
    struct spin spin = spin_begin();
    while (atom_load_acq(&threads[index]) != RUNS)
        spin_wait(&spin);
    return small_play(index);
}
void small_has_ended(struct worker *worker) { atom_store_rel(&threads[worker->index], ENDED); }

void small_has_begun(unsigned index) {
    thread_give(small, small_worker(index));
    atom_store_rlx(&small_worker(index)->driven, true);
}

static void threads_begin(void) {
    refused = 0;
    static const char *const names[] = {"thread[0]", "thread[1]", "thread[2]", "thread[3]"};
    for (unsigned i = 0; i < PLACES_MAX; i++) {
        atom_store_rlx(&threads[i], NOT_YET);
        chk_name(&threads[i], names[i]);
        atom_store_rlx(&given[i], 0);
    }
}

/* There are no stacks, and no sysmon but for its sleep. */
void ctx_adopt(void) {}
int sysmon_start(struct runtime *runtime) {
    (void)runtime;
    return 0;
}
void sysmon_stop(struct runtime *runtime) { (void)runtime; }

static bool brisks;
__attribute__((no_sanitize_thread)) bool chk_brisk(void) { return brisks; }
void small_brisk(unsigned index) {
    brisks = true;
    atom_store_rlx(&small_worker(index)->brisk, true); /* rlx: in setup */
}

static bool preempts;
__attribute__((no_sanitize_thread)) bool chk_preempts(void) { return preempts; }
void small_preempt(void) {
    preempts = true;
    lock_init(&small->preempt.lock);
    atom_store_rlx(&small->preempt.on, true);
}

/* ---- the runtime -------------------------------------------------------------------------------------------------- */

static void name_worker(struct worker *worker) {
    static const char *const names[][6] = {
        {"section[0]", "head[0]", "tail[0]", "next[0]", "line[0]", "bed[0]"},
        {"section[1]", "head[1]", "tail[1]", "next[1]", "line[1]", "bed[1]"},
        {"section[2]", "head[2]", "tail[2]", "next[2]", "line[2]", "bed[2]"},
    };
    const char *const *name = names[worker->index % 3];
    chk_name(&worker->local.section.count, name[0]);
    chk_name(&worker->ring.head, name[1]);
    chk_name(&worker->ring.tail, name[2]);
    chk_name(&worker->ring.next, name[3]);
    chk_name(&worker->line.head, name[4]);
    chk_name(&worker->parker.word, name[5]);
    chk_name(&worker->leave, "leave");
    chk_name(&worker->local.counters.spawned, "spawned");
    chk_name(&worker->local.counters.ended, "ended");
}

void small_begin(enum policy_name policy, unsigned workers, unsigned processes) {
    threads_begin();
    preempts = brisks = false;
    small = sys->alloc(sizeof *small);
    small->policy = policy;
    small->seed = 1;
    int error = runtime_init(small, processes);
    chk_assert(error == 0, "a small runtime");
    for (unsigned i = 0; i < CHK_THREADS + 1; i++)
        played[i] = NULL;
    for (unsigned i = 0; i < workers; i++)
        name_worker(worker_new(small, i));
    idle_resize(&small->idle, workers);
    atom_store_rlx(&small->wanted, workers);
    chk_name(&small->idle.searching, "searching");
    chk_name(&small->idle.sleeping[0], "sleeping");
    chk_name(&small->inject.lock, "inject.lock");
    chk_name(&small->inject.size, "inject.size");
    chk_name(&small->stopping, "stopping");
    chk_name(&small->stopper, "stopper");
    for (unsigned i = 0; i < DOORS; i++) {
        chk_name(&small->doors[i].counters.spawned, "spawned by foreign");
        chk_name(&small->doors[i].section.count, "foreign section");
    }
}

struct proc *small_proc(weft_pid pid) {
    return table_at(&small->table, pid_slot(pid));
}

void small_name(weft_pid pid) {
    static const char *const names[][3] = {{"pid", "box", "state"}, {"pid'", "box'", "state'"}, {"pid\"", "box\"", "state\""}};
    struct proc *proc = small_proc(pid);
    const char *const *name = names[(pid_slot(pid) - 1) % 3];
    chk_name(&proc->pid, name[0]);
    chk_name(&proc->box.head, name[1]);
    chk_name(&proc->state.word, name[2]);
    chk_name(&proc->state.asked, "asked");
}

weft_pid small_spawn(const weft_behavior *behavior) {
    weft_pid pid;
    small_play(0);
    int error = weft_spawn_step(behavior, NULL, &pid);
    chk_assert(error == 0, "spawned in setup");
    small_name(pid);
    return pid;
}

struct worker *small_play(unsigned index) {
    return my_worker = small_worker(index);
}

void small_run_own(struct worker *worker) {
    for (struct proc *proc; (proc = policy_pop(worker)) != NULL;)
        step_run(worker, proc);
}

int small_send_short(struct worker *worker, weft_pid to, struct message *block, uint64_t tag) {
    static struct proc senders[PLACES_MAX];
    worker->current = &senders[worker->index];
    pool_give(&worker->local.cache.pool, 0, block);
    int error = weft_send(to, tag, NULL, 0);
    worker->current = NULL;
    return error;
}

struct message *small_message(struct message *message, uint64_t tag) {
    message->tag = tag;
    message->from = WEFT_NOBODY;
    message->type = WEFT_EVENT_MESSAGE;
    message->size = 0;
    message->class = 0;
    return message;
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

static bool of_pool(void *block) {
    struct pool_chunk *chunk = message_pool.chunks;
    while (chunk && chunk != chunk_of(block))
        chunk = chunk->next;
    return chunk != NULL;
}

/* Messages of the scenario's own (small_message) are not the pool's: they are left out. */
static void sort_blocks(unsigned class, void *const *blocks, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (of_pool(blocks[i])) pool_give_back(&message_pool, class, blocks[i]);
}
static void sort_cache(struct pool_cache *cache) {
    for (unsigned class = 0; class < POOL_CLASSES; class ++) {
        sort_blocks(class, cache->shelf[class] + 1, pool_count(cache, class));
    }
    cache_init(cache, cache->pool);
}
static void sort_depot(unsigned class) {
    struct pool_bundle *bundle = message_pool.class[class].lists, *next;
    void *blocks[POOL_BATCH];
    message_pool.class[class].lists = NULL;
    message_pool.class[class].count = 0;
    for (; bundle; bundle = next) {
        next = bundle->next;
        sort_blocks(class, blocks, bundle_open(bundle, blocks, false));
    }
}

void small_end(void) {
    for (unsigned i = 0; i < atom_load_rlx(&small->made); i++)
        sort_cache(&atom_load_rlx(&small->workers[i])->local.cache.pool);
    for (unsigned i = 0; i < DOORS; i++)
        sort_cache(&small->doors[i].cache.pool);
    for (unsigned class = 0; class < POOL_CLASSES; class ++)
        sort_depot(class);
    runtime_destroy(small);
}
