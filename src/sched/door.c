/* Threads that drive no worker enter a runtime by a door: a lock, and behind it a `local`, which holds what a sender needs. There are a
 * few doors, and a thread always takes the same one, so that what it sends to one process arrives in order and threads seldom contend.
 *
 * The doors outlive runtimes: closing takes every lock of the instance in turn, so no thread is inside when the runtime goes. */
#include "sched/door.h"
#include "base/handler.h"
#include "base/sim_hooks.h"
#include "sched/atfork.h"
#include "sched/sched.h"

struct door {
    _Alignas(64) struct lock lock;
    /* The thread that holds the lock may enter again: functions of the program that are called behind the door, such as `release`, may
     * send. */
    ATOM_PTR(void) holder; /* an address in the thread's own storage */
    unsigned again;        /* the holder's */
};
/* Instances are reused; PIDs and timers' serial numbers are not: a runtime's begin above those of all runtimes that had its instance
 * before. */
enum { GENERATIONS_MOST = INT32_MAX }; /* an instance past this is not used again: half of the generations are for one runtime */
static struct instance {
    struct door door[DOORS];
    ATOM_PTR(struct runtime) runtime; /* changed with all doors locked */
    uint32_t generation;              /* under instances_lock, both: where the next runtime begins */
    uint64_t serial;
} instances[INSTANCES];
static struct lock instances_lock;

static _Thread_local unsigned my_door; /* its number + 1 */
static atom_u32 next_door;

static __attribute__((noinline, cold)) void door_again(struct door *door) {
    handler_refuse("a weft call");
    door->again++;
}

struct local *door_enter(unsigned instance, unsigned *door) {
    atfork_check("a weft call");                                         /* callers that can name their call have checked already */
    if (my_door == 0) my_door = atom_add_rlx(&next_door, 1) % DOORS + 1; /* rlx: any distribution will do */
    *door = my_door - 1;
    if (!atom_load_rlx(&instances[instance].runtime)) return NULL; /* rlx: asked again behind the lock */
    struct door *at = &instances[instance].door[*door];
    if (atom_load_rlx(&at->holder) == &my_door) door_again(at); /* rlx: only this thread can have written that */
    else lock_take(&at->lock);
    atom_store_rlx(&at->holder, &my_door);
    struct runtime *runtime = atom_load_rlx(&instances[instance].runtime); /* rlx: written under this lock too */
    if (runtime) return &runtime->doors[*door];
    door_leave(instance, *door);
    return NULL;
}

struct runtime *door_hold(unsigned instance, unsigned *door) {
    for (*door = 0; *door < DOORS; ++*door) {
        if (!lock_try(&instances[instance].door[*door].lock)) continue;
        struct runtime *runtime = atom_load_rlx(&instances[instance].runtime); /* rlx: as in door_enter */
        if (!runtime) lock_drop(&instances[instance].door[*door].lock);
        return runtime;
    }
    return NULL;
}

void door_leave(unsigned instance, unsigned door) {
    struct door *at = &instances[instance].door[door];
    if (at->again > 0) {
        at->again--;
        return;
    }
    atom_store_rlx(&at->holder, NULL);
    lock_drop(&at->lock);
}

void door_settle(unsigned instance) {
    for (unsigned d = 0; d < DOORS; d++) {
        lock_take(&instances[instance].door[d].lock);
        lock_drop(&instances[instance].door[d].lock);
    }
}

/* The PID that a control block has now; for the message of a program that aborts, so it takes no lock. */
static uint64_t door_pid_of(const struct state *state) {
    const struct proc *proc = (const struct proc *)((const unsigned char *)state - offsetof(struct proc, state));
    weft_pid pid = proc_pid(proc);
    struct runtime *runtime = atom_load_rlx(&instances[pid_instance(pid)].runtime); /* rlx: as above */
    return runtime && table_at(&runtime->table, pid_slot(pid)) == proc ? pid : WEFT_NOBODY;
}

/* Under instances_lock. */
static void instance_set(struct instance *instance, struct runtime *runtime) {
    for (unsigned d = 0; d < DOORS; d++)
        lock_take(&instance->door[d].lock);
    atom_store_rlx(&instance->runtime, runtime); /* rlx: as in door_enter */
    for (unsigned d = 0; d < DOORS; d++)
        lock_drop(&instance->door[d].lock);
}

int door_open(struct runtime *runtime) {
    int error = WEFT_ENOBUFS;
    lock_take(&instances_lock);
    state_pid = door_pid_of;
    static unsigned last; /* instances are used round robin, so that generations rise slowly */
    for (unsigned i = 1; i <= INSTANCES && error; i++) {
        unsigned at = (last + i) % INSTANCES;
        struct instance *instance = &instances[at];
        if (atom_load_rlx(&instance->runtime) || instance->generation > GENERATIONS_MOST) continue; /* rlx: written under instances_lock */
        runtime->instance = runtime->table.instance = last = at;
        runtime->table.generation = instance->generation;
        runtime->send_afters.first = runtime->send_afters.serial = instance->serial;
        instance_set(instance, runtime);
        sim_runtime_opened(at);
        error = 0;
    }
    lock_drop(&instances_lock);
    return error;
}

void door_close(struct runtime *runtime, bool again) {
    struct instance *instance = &instances[runtime->instance];
    lock_take(&instances_lock);
    if (atom_load_rlx(&instance->runtime) == runtime) { /* rlx: written under instances_lock */
        instance_set(instance, NULL);
        uint32_t newest = table_newest(&runtime->table);
        instance->generation = again && newest < GENERATIONS_MOST ? (newest + 2) & ~UINT32_C(1) : UINT32_MAX;
        instance->serial = runtime->send_afters.serial;
    }
    lock_drop(&instances_lock);
}

/* rlx: the caller knows that it lives on, if it does. */
struct runtime *door_runtime(unsigned instance) {
    return atom_load_rlx(&instances[instance].runtime);
}

bool door_any(void) {
    for (unsigned i = 0; i < INSTANCES; i++)
        if (atom_load_rlx(&instances[i].runtime)) return true; /* rlx: a hint */
    return false;
}
