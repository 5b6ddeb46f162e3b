/* The table of outside effects in the simulation (sys/sys.h). */
#include "table.h"

#include "base/sim_hooks.h"
#include "real.h"
#include "sim.h"
#include "world/file.h"
#include "world/net.h"

#include "sys/sys.h"

#include <errno.h>
#include <string.h>

enum { TABLE_CPUS_MOST = 4 };

static int64_t table_live; /* allocations that have not been freed */

int64_t table_leaks(void) { return table_live; }

static int table_futex_wait(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    sim_effect("futex_wait", expected);
    if (word->cell != expected) return -EAGAIN;
    if (sim_fault(SIM_FAULT_WAKE, SIM_SPURIOUS)) return sim_draw(SIM_SPURIOUS, 2) ? 0 : -EINTR;
    return deadline <= sim_now() ? -ETIMEDOUT : sim_block("a sleep", word, deadline);
}

static int table_futex_wake(atom_u32 *word, uint32_t count) {
    sim_effect("futex_wake", count);
    return (int)sim_unblock(word, count, 0);
}

static bool table_has_none(void) { return sim_fault_is_on(SIM_FAULT_MEMORY) && sim_fault(SIM_FAULT_MEMORY, SIM_MEMORY); }

/* Whether memory is refused; counted, if not. */
static bool table_refuses(void) {
    bool refused = table_has_none();
    if (!refused) table_live++;
    return refused;
}

static void *table_alloc(size_t size) { return table_refuses() ? NULL : sys_linux.alloc(size); }
static void table_free(void *memory, size_t size) {
    if (memory) table_live--;
    sys_linux.free(memory, size);
}
static int table_alloc_apart(void) { return sys_linux.alloc_apart(); }
static void *table_chunk_take(void) { return table_refuses() ? NULL : sys_linux.chunk_take(); }
static void table_chunk_give(void *chunk) {
    table_live--;
    sys_linux.chunk_give(chunk);
}

static size_t table_vm_page(void) { return sys_linux.vm_page(); }
static void *table_vm_map(size_t size) { return table_has_none() ? NULL : sys_linux.vm_map(size); }
static void table_vm_unmap(void *memory, size_t size) { sys_linux.vm_unmap(memory, size); }
static int table_vm_advise(void *memory, size_t size, enum sys_vm what) { return sys_linux.vm_advise(memory, size, what); }
static int table_vm_guards(void *memory, size_t size, size_t stride, unsigned count) {
    return sys_linux.vm_guards(memory, size, stride, count);
}
static int table_vm_resident(void *memory, size_t size, unsigned char *pages) { return sys_linux.vm_resident(memory, size, pages); }

static void table_thread_name(const char *name) { (void)name; }

static int table_thread_start(sys_thread *thread, void *(*entry)(void *), void *arg) {
    struct sim_thread *started;
    sim_effect("thread_start", sim_thread_count());
    if (sim_fault(SIM_FAULT_THREAD, SIM_THREAD)) return -EAGAIN;
    int error = sim_thread_start(&started, entry, arg);
    if (!error) thread->handle = started->index;
    return error;
}

static int table_thread_join(sys_thread thread) {
    sim_effect("thread_join", thread.handle);
    struct sim_thread *ended = sim_thread_at((unsigned)thread.handle);
    sim_thread_wait(ended);
    return -real()->pthread_join((pthread_t)ended->handle, NULL);
}

static void table_yield(void) { sim_spin(); }

/* Threads are numbered from 1 on: 0 is no thread. */
static struct sim_thread *table_thread(uint32_t id) { return id && id <= sim_thread_count() ? sim_thread_at(id - 1) : NULL; }

static uint32_t table_thread_id(void) {
    struct sim_thread *me = sim_me();
    return me ? me->index + 1 : 0;
}

static int table_thread_time(uint32_t id, uint64_t *time) {
    struct sim_thread *thread = table_thread(id);
    if (!thread || thread->state == SIM_ENDED) return -ESRCH;
    *time = thread->time;
    return 0;
}

/* Preemption by signals is outside: a thread can be switched away from at any point, and a process is asked to yield at weft's own. */
static int table_thread_signal(uint32_t id, int number) {
    (void)number;
    return table_thread(id) ? 0 : -ESRCH;
}

static bool table_thread_asleep(uint32_t id) {
    struct sim_thread *thread = table_thread(id);
    return thread && thread->state == SIM_BLOCKED && !thread->stalled;
}

static void table_thread_patient(uint32_t id, bool patient) { (void)id, (void)patient; }

static int table_alarm_make(sys_alarm *alarm, enum sys_alarm_kind kind, int signal) {
    (void)alarm, (void)kind, (void)signal;
    return -EAGAIN;
}
static void table_alarm_set(sys_alarm *alarm, uint64_t at) { (void)alarm, (void)at; }
static void table_alarm_drop(sys_alarm *alarm) { (void)alarm; }

static unsigned table_thread_count(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < sim_thread_count(); i++)
        count += !sim_thread_at(i)->left && !sim_thread_at(i)->crashed;
    return count;
}

static int table_thread_where(uint32_t number, int *call, uintptr_t *address) {
    (void)number, (void)call, (void)address;
    return -ENOENT;
}

static int table_signal_stack(const void *stack, void *before) { return sys_linux.signal_stack(stack, before); }
static int table_signal_action(int number, const struct sigaction *action, struct sigaction *before) {
    return sys_linux.signal_action(number, action, before);
}

/* One thread runs at a time, and a switch is a full fence. */
static void table_fence_heavy(void) { sim_effect("fence", 0); }
static int table_fence_register(void) { return 0; }

static int table_random(void *bytes, size_t size) {
    for (unsigned char *at = bytes; size > 0; at++, size--)
        *at = (unsigned char)sim_draw(SIM_RANDOM, 256);
    return 0;
}

static unsigned table_cpus(void) { return 1 + (unsigned)sim_draw(SIM_CPUS, TABLE_CPUS_MOST); }
static const char *table_setting(const char *name) { return sys_linux.setting(name); }

/* Most blocking functions are short; some are not. */
void sim_blocking(void) {
    sim_effect("blocking", 0);
    uint64_t shift = sim_draw(SIM_BLOCKING, 16);
    uint64_t time = shift ? sim_draw(SIM_BLOCKING, UINT64_C(1) << (shift + 10)) : 0;
    if (time) sim_block("a blocking function", &table_live, sim_now() + time);
}

const struct sys sim_sys = {
    .now = sim_now,
    .futex_wait = table_futex_wait,
    .futex_wake = table_futex_wake,
    .alloc = table_alloc,
    .free = table_free,
    .alloc_apart = table_alloc_apart,
    .chunk_take = table_chunk_take,
    .chunk_give = table_chunk_give,
    .vm_page = table_vm_page,
    .vm_map = table_vm_map,
    .vm_unmap = table_vm_unmap,
    .vm_advise = table_vm_advise,
    .vm_guards = table_vm_guards,
    .vm_resident = table_vm_resident,
    .thread_start = table_thread_start,
    .thread_name = table_thread_name,
    .thread_join = table_thread_join,
    .yield = table_yield,
    .thread_id = table_thread_id,
    .thread_time = table_thread_time,
    .thread_signal = table_thread_signal,
    .thread_asleep = table_thread_asleep,
    .thread_patient = table_thread_patient,
    .alarm_make = table_alarm_make,
    .alarm_set = table_alarm_set,
    .alarm_drop = table_alarm_drop,
    .thread_count = table_thread_count,
    .thread_where = table_thread_where,
    .signal_stack = table_signal_stack,
    .signal_action = table_signal_action,
    .fence_heavy = table_fence_heavy,
    .fence_register = table_fence_register,
    .random = table_random,
    .cpus = table_cpus,
    .setting = table_setting,
    .file = &sim_file,
    .net = &sim_net,
};
