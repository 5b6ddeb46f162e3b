/* What scenarios call (chk.h), and the outside-effects table of the check configuration. */
#include "chk.h"
#include "futex.h"
#include "memory.h"
#include "run.h"
#include "sys/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PC ((uintptr_t)__builtin_return_address(0))

/* ---- scenarios say ---------------------------------------------------------------------------------------------- */

void chk_fail(const char *what, const char *condition) {
    run_place("the assertion", run.current, PC);
    run_violation(CHK_ASSERT, "%s (%s)", what, condition);
}

unsigned chk_choose(unsigned n) { return run.current ? run_choose(n, PC) : 0; }

void chk_stop(void) {
    if (run.current == 0) run_discard();
    run_block(WAIT_STOP, run_at());
    abort();
}

unsigned chk_self(void) { return run.current - 1; }

void chk_fence_sc(void) { run_fence(O_SC, PC); }
void chk_fence_acq(void) { run_fence(O_ACQ, PC); }
void chk_fence_rel(void) { run_fence(O_REL, PC); }
void chk_fence_acqrel(void) { run_fence(O_ACQREL, PC); }
void chk_fence_light(void) {
    if (run.current != 0) run_fence(O_LIGHT, PC);
}
void chk_fence_heavy(void) {
    if (run.current != 0) run_fence(O_HEAVY, PC);
}

/* ---- waiting loops (base/spin.h): the mark is the thread's event count, and the rounds above it ----------------------- */

enum { ROUNDS_MAX = 4 };

uint32_t chk_spin_begin(void);
uint32_t chk_spin_begin(void) { return run.current ? run_at() : 0; }

uint32_t chk_spin_wait(uint32_t mark);
uint32_t chk_spin_wait(uint32_t mark) {
    if (run.current == 0) run_violation(CHK_DEADLOCK, "setup or finish waits in a loop");
    unsigned from = mark & 0xffff, rounds = mark >> 16;
    bool wrote = false;
    for (unsigned i = from; i < run_at(); i++)
        wrote |= run.graph->event[run.current][i].kind != K_READ && run.graph->event[run.current][i].kind != K_FENCE;
    if (!wrote) {
        run_block(WAIT_SPIN, from);
        return mark;
    }
    if (rounds + 1 >= ROUNDS_MAX) run_block(WAIT_ROUNDS, from);
    return (rounds + 1) << 16 | run_at();
}

struct chk_loop chk_loop_begin(void) {
    return (struct chk_loop){chk_spin_begin()};
}

void chk_loop_again(struct chk_loop *loop) { loop->mark = chk_spin_wait(loop->mark); }

/* ---- outside effects -------------------------------------------------------------------------------------------- */

struct futex {
    uint64_t queue;        /* several sleepers: futex.h */
    uint32_t woken[T_MAX]; /* several sleepers: how often each was woken */
    uint32_t wakes;        /* one sleeper: how often it was woken */
};
enum { FUTEXES = 16 };
__attribute__((section("chk_shared"))) static struct futex futexes[FUTEXES];

/* Which word has which futex must not depend on the schedule: once given out, it stays for the search. */
static const atom_u32 *futex_word[FUTEXES];
static unsigned futex_sleeper[FUTEXES];
static unsigned futex_search;
bool futex_several;

static struct futex *futex_of(const atom_u32 *word) {
    if (futex_search != memory_search) {
        memset(futex_word, 0, sizeof futex_word);
        memset(futex_sleeper, 0, sizeof futex_sleeper);
    }
    futex_search = memory_search;
    unsigned i = 0;
    while (i < FUTEXES && futex_word[i] && futex_word[i] != word)
        i++;
    if (i == FUTEXES) {
        fprintf(stderr, "weft check: more than %d futexes\n", FUTEXES);
        exit(3);
    }
    futex_word[i] = word;
    return &futexes[i];
}

#define CELL(field) memory_cell((uintptr_t) & (field), sizeof(field))

/* Joins the queue if the word has its expected value; false if not. */
static bool futex_join(struct futex *futex, atom_u32 *word, uint32_t expected) {
    for (unsigned from = run_at();; run_block(WAIT_SPIN, from)) {
        uint64_t queue = run_load(CELL(futex->queue), O_ACQ, PC);
        if (run_load(memory_cell((uintptr_t)word, 4), O_RLX, PC) != expected) return false;
        uint64_t with = futex_queue_join(queue, run.current);
        if (run_rmw(CELL(futex->queue), OP_CAS, with, queue, O_ACQREL, O_RLX, PC) == queue) return true;
    }
}

/* The sleeper's time is up: false if a waker took it from the queue before. */
static bool futex_give_up(struct futex *futex) {
    for (unsigned from = run_at();; run_block(WAIT_SPIN, from)) {
        uint64_t queue = run_load(CELL(futex->queue), O_ACQ, PC), without = futex_queue_leave(queue, run.current);
        if (without == queue) return false;
        if (run_rmw(CELL(futex->queue), OP_CAS, without, queue, O_ACQREL, O_RLX, PC) == queue) return true;
    }
}

/* With one sleeper there is no queue to speak of: it sleeps from a moment in the sequence of wake calls to the next. */
static int futex_wait_alone(struct futex *futex, atom_u32 *word, uint32_t expected, uint64_t deadline) {
    uint64_t wakes = run_load(CELL(futex->wakes), O_ACQ, PC);
    if (run_load(memory_cell((uintptr_t)word, 4), O_RLX, PC) != expected) return -EAGAIN;
    if (deadline != SYS_FOREVER && run_choose(2, PC) == 1) return -ETIMEDOUT;
    for (unsigned from = run_at(); run_load(CELL(futex->wakes), O_ACQ, PC) == wakes;)
        run_block(deadline == SYS_FOREVER ? WAIT_FUTEX : WAIT_DEADLINE, from);
    return 0;
}

static int futex_wait(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    if (run.current == 0) run_violation(CHK_DEADLOCK, "setup or finish sleeps on a futex");
    struct futex *futex = futex_of(word);
    if (!futex_several) {
        unsigned *sleeper = &futex_sleeper[futex - futexes];
        if (*sleeper != 0 && *sleeper != run.current) {
            futex_several = true;
            run_restart();
        }
        *sleeper = run.current;
        return futex_wait_alone(futex, word, expected, deadline);
    }
    uint64_t woken = run_load(CELL(futex->woken[run.current]), O_RLX, PC);
    if (!futex_join(futex, word, expected)) return -EAGAIN;
    if (deadline != SYS_FOREVER && run_choose(2, PC) == 1 && futex_give_up(futex)) return -ETIMEDOUT;
    for (unsigned from = run_at(); run_load(CELL(futex->woken[run.current]), O_ACQ, PC) == woken;)
        run_block(deadline == SYS_FOREVER ? WAIT_FUTEX : WAIT_DEADLINE, from);
    return 0;
}

static int futex_wake(atom_u32 *word, uint32_t count) {
    if (run.current == 0) return 0;
    struct futex *futex = futex_of(word);
    if (!futex_several) {
        run_rmw(CELL(futex->wakes), OP_ADD, 1, 0, O_ACQREL, O_RLX, PC);
        return 1;
    }
    uint64_t queue = run_rmw(CELL(futex->queue), OP_FUTEX_WAKE, count, 0, O_ACQREL, O_RLX, PC);
    int woken = 0;
    for (uint32_t sleepers = (uint32_t)queue; sleepers != 0 && (uint32_t)woken < count; sleepers >>= FUTEX_SLEEPER_BITS) {
        run_rmw(CELL(futex->woken[sleepers & 15]), OP_ADD, 1, 0, O_REL, O_RLX, PC);
        woken++;
    }
    return woken;
}

static uint64_t (*scenario_clock)(void);
void chk_clock(uint64_t (*clock)(void)) { scenario_clock = clock; }
static uint64_t now(void) { return scenario_clock ? scenario_clock() : 0; }
static void *alloc(size_t size) {
    run.pc = PC;
    return memory_alloc(size);
}
static void release(void *memory, size_t size) {
    (void)size;
    run.pc = PC;
    if (memory) memory_free(memory);
}
static void *chunk_take(void) {
    run.pc = PC;
    return memory_alloc_aligned(SYS_CHUNK, SYS_CHUNK);
}
static void chunk_give(void *chunk) {
    run.pc = PC;
    memory_free(chunk);
}
/* Address space is for stacks, and a scenario's threads have theirs. */
static size_t vm_page(void) { return 4096; }
static void *vm_map(size_t size) {
    (void)size;
    return NULL;
}
static void vm_unmap(void *memory, size_t size) { (void)memory, (void)size; }
static int vm_advise(void *memory, size_t size, enum sys_vm what) {
    (void)memory, (void)size, (void)what;
    return -EINVAL;
}
static int vm_guards(void *memory, size_t size, size_t stride, unsigned count) {
    (void)memory, (void)size, (void)stride, (void)count;
    return -EINVAL;
}
static int vm_resident(void *memory, size_t size, unsigned char *pages) {
    (void)memory, (void)size, (void)pages;
    return -EINVAL;
}
static void thread_name(const char *name) { (void)name; }

static int thread_start(sys_thread *thread, void *(*entry)(void *), void *arg) {
    (void)thread, (void)entry, (void)arg;
    return -EAGAIN; /* a scenario lists its threads */
}
static int thread_join(sys_thread thread) {
    (void)thread;
    return -ESRCH;
}
static void yield(void) {}
static int fill_random(void *bytes, size_t size) {
    memset(bytes, 7, size);
    return 0;
}
static unsigned cpus(void) { return 2; }
static const char *setting(const char *name) {
    (void)name;
    return NULL;
}

static const struct sys sys_check = {
    .now = now,
    .futex_wait = futex_wait,
    .futex_wake = futex_wake,
    .alloc = alloc,
    .free = release,
    .chunk_take = chunk_take,
    .chunk_give = chunk_give,
    .vm_page = vm_page,
    .vm_map = vm_map,
    .vm_unmap = vm_unmap,
    .vm_advise = vm_advise,
    .vm_guards = vm_guards,
    .vm_resident = vm_resident,
    .thread_start = thread_start,
    .thread_name = thread_name,
    .thread_join = thread_join,
    .yield = yield,
    .fence_heavy = chk_fence_heavy,
    .random = fill_random,
    .cpus = cpus,
    .setting = setting,
};
const struct sys *sys = &sys_check;
