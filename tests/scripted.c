/* The scripted table of outside effects for fault tests: see scripted.h. */
#include "scripted.h"

#include "base/rng.h"

#include <errno.h>
#include <string.h>

/* A test writes its script while other threads may be reading it; then only which call is the first to fail is undefined. */
#define SCRIPTED __attribute__((no_sanitize("thread")))

struct sys_script sys_script;

/* Time is the real time plus `offset`, or stands still at `frozen_at` when that is not 0. `moves`: the test has moved or stopped it. */
static struct {
    atom_bool moves;
    atom_u64 offset, frozen_at, random_state;
    atom_u64 live, mapped;
} scripted;

/* rlx throughout this file: each cell is an independent counter or setting; nothing is published through them. */
SCRIPTED static uint64_t scripted_count(atom_u64 *counter) { return atom_add_rlx(counter, 1) + 1; }

SCRIPTED static uint64_t scripted_time(void) {
    uint64_t frozen = atom_load_rlx(&scripted.frozen_at);
    return frozen ? frozen : sys_linux.now() + atom_load_rlx(&scripted.offset);
}

SCRIPTED static uint64_t scripted_now(void) {
    scripted_count(&sys_script.counts.now);
    return scripted_time();
}

/* Until when a thread sleeps before it reads the scripted clock again, which may move meanwhile. Most tests never move it, and have hundreds
 * of threads that sleep. */
SCRIPTED static uint64_t scripted_slice(uint64_t deadline) {
    enum { LEAST = 1000 * 1000, MOST = 16 * LEAST };
    uint64_t now = sys_linux.now(), left = deadline - scripted_time();
    if (atom_load_rlx(&scripted.moves) || left < LEAST) return now + LEAST;
    return now + (left < MOST ? left : MOST);
}

SCRIPTED static int scripted_futex_wait(atom_u32 *word, uint32_t expected, uint64_t deadline) {
    uint64_t call = scripted_count(&sys_script.counts.futex_wait);
    if (sys_script.futex_eintr_every && call % sys_script.futex_eintr_every == 0) return -EINTR;
    if (sys_script.futex_spurious_every && call % sys_script.futex_spurious_every == 0) return 0;
    if (deadline == SYS_FOREVER) return sys_linux.futex_wait(word, expected, deadline);
    for (uint64_t until = 0;; until = scripted_slice(deadline)) {
        int error = sys_linux.futex_wait(word, expected, until);
        if (error != -ETIMEDOUT || scripted_time() >= deadline) return error;
    }
}

SCRIPTED static int scripted_futex_wake(atom_u32 *word, uint32_t count) {
    scripted_count(&sys_script.counts.futex_wake);
    return sys_linux.futex_wake(word, count);
}

/* Chunks are counted, and refused, as other memory is. */
SCRIPTED static bool scripted_alloc_fails(void) {
    uint64_t call = scripted_count(&sys_script.counts.alloc);
    return call == sys_script.alloc_fail_at || (sys_script.alloc_fail_from && call >= sys_script.alloc_fail_from);
}

SCRIPTED static void *scripted_allocated(void *memory) {
    if (memory) atom_add_rlx(&scripted.live, 1);
    else scripted_count(&sys_script.counts.alloc_failed);
    return memory;
}

SCRIPTED static void *scripted_alloc(size_t size) { return scripted_allocated(scripted_alloc_fails() ? NULL : sys_linux.alloc(size)); }
SCRIPTED static void *scripted_chunk_take(void) { return scripted_allocated(scripted_alloc_fails() ? NULL : sys_linux.chunk_take()); }

SCRIPTED static void scripted_chunk_give(void *chunk) {
    scripted_count(&sys_script.counts.free);
    atom_sub_rlx(&scripted.live, 1);
    sys_linux.chunk_give(chunk);
}

SCRIPTED static void scripted_free(void *memory, size_t size) {
    scripted_count(&sys_script.counts.free);
    if (memory) atom_sub_rlx(&scripted.live, 1);
    sys_linux.free(memory, size);
}

SCRIPTED static size_t scripted_vm_page(void) { return sys_linux.vm_page(); }

SCRIPTED static void *scripted_vm_map(size_t size) {
    uint64_t call = scripted_count(&sys_script.counts.vm_map);
    if (sys_script.map_fail_from && call >= sys_script.map_fail_from) return NULL;
    if (sys_script.map_most && size > sys_script.map_most) return NULL;
    void *memory = sys_linux.vm_map(size);
    if (memory) atom_add_rlx(&scripted.mapped, size);
    return memory;
}

SCRIPTED static void scripted_vm_unmap(void *memory, size_t size) {
    atom_sub_rlx(&scripted.mapped, size);
    sys_linux.vm_unmap(memory, size);
}

SCRIPTED static int scripted_vm_advise(void *memory, size_t size, enum sys_vm what) {
    uint64_t call = scripted_count(&sys_script.counts.vm_advise[what]);
    if (sys_script.advise_error[what] && call > sys_script.advise_allowed[what]) return sys_script.advise_error[what];
    return sys_linux.vm_advise(memory, size, what);
}

SCRIPTED static int scripted_vm_guards(void *memory, size_t size, size_t stride, unsigned count) {
    if (sys_script.guards_error) return sys_script.guards_error;
    if (sys_script.advise_error[SYS_VM_GUARD]) return sys_script.advise_error[SYS_VM_GUARD];
    int error = sys_linux.vm_guards(memory, size, stride, count);
    if (error == 0) atom_add_rlx(&sys_script.counts.vm_guards, count); /* those that were installed */
    return error;
}

SCRIPTED static int scripted_vm_resident(void *memory, size_t size, unsigned char *pages) {
    if (sys_script.resident_error) return sys_script.resident_error;
    return sys_linux.vm_resident(memory, size, pages);
}

SCRIPTED static void scripted_thread_name(const char *name) { sys_linux.thread_name(name); }

SCRIPTED static int scripted_thread_start(sys_thread *thread, void *(*entry)(void *), void *arg) {
    uint64_t call = scripted_count(&sys_script.counts.thread_start);
    if (sys_script.threads_limited && call > sys_script.threads_allowed) return -EAGAIN;
    return sys_linux.thread_start(thread, entry, arg);
}

SCRIPTED static int scripted_thread_join(sys_thread thread) {
    scripted_count(&sys_script.counts.thread_join);
    return sys_linux.thread_join(thread);
}

SCRIPTED static int scripted_signal_stack(const void *stack, void *before) { return sys_linux.signal_stack(stack, before); }

SCRIPTED static int scripted_signal_action(int number, const struct sigaction *action, struct sigaction *before) {
    return sys_linux.signal_action(number, action, before);
}

SCRIPTED static void scripted_yield(void) {
    scripted_count(&sys_script.counts.yield);
    sys_linux.yield();
}
SCRIPTED static uint32_t scripted_thread_id(void) { return sys_linux.thread_id(); }
SCRIPTED static int scripted_thread_time(uint32_t id, uint64_t *time) { return sys_linux.thread_time(id, time); }
SCRIPTED static int scripted_thread_signal(uint32_t id, int number) { return sys_linux.thread_signal(id, number); }
SCRIPTED static bool scripted_thread_asleep(uint32_t id) { return sys_linux.thread_asleep(id); }
SCRIPTED static void scripted_thread_patient(uint32_t id, bool patient) { sys_linux.thread_patient(id, patient); }
SCRIPTED static int scripted_alarm_make(sys_alarm *alarm, enum sys_alarm_kind kind, int signal) {
    if (sys_script.alarm_error[kind]) {
        scripted_count(&sys_script.counts.alarm_refused);
        return sys_script.alarm_error[kind];
    }
    int error = sys_linux.alarm_make(alarm, kind, signal);
    if (error == 0) scripted_count(&sys_script.counts.alarm_make);
    return error;
}
SCRIPTED static void scripted_alarm_set(sys_alarm *alarm, uint64_t at) {
    scripted_count(&sys_script.counts.alarm_set);
    sys_linux.alarm_set(alarm, at);
}
SCRIPTED static void scripted_alarm_drop(sys_alarm *alarm) {
    scripted_count(&sys_script.counts.alarm_drop);
    sys_linux.alarm_drop(alarm);
}
SCRIPTED static int scripted_alloc_apart(void) { return sys_linux.alloc_apart(); }
SCRIPTED static unsigned scripted_thread_count(void) { return sys_linux.thread_count(); }
SCRIPTED static int scripted_thread_where(uint32_t number, int *call, uintptr_t *address) {
    return sys_linux.thread_where(number, call, address);
}

SCRIPTED static int scripted_fence_register(void) { return sys_script.fence_refused ? -ENOSYS : sys_linux.fence_register(); }

SCRIPTED static void scripted_fence_heavy(void) {
    scripted_count(&sys_script.counts.fence_heavy);
    sys_linux.fence_heavy(); /* which is a plain full fence once sys_fence_setup() met the refusal */
}

SCRIPTED static int scripted_random(void *bytes, size_t size) {
    scripted_count(&sys_script.counts.random);
    if (sys_script.random_error) return sys_script.random_error;
    if (!sys_script.random_fixed) return sys_linux.random(bytes, size);
    for (size_t done = 0; done < size;) {
        uint64_t state = sys_script.random_seed;
        state = rng_splitmix(&state) + atom_add_rlx(&scripted.random_state, 1); /* near seeds do not share words */
        uint64_t word = rng_splitmix(&state);
        size_t n = size - done < sizeof word ? size - done : sizeof word;
        memcpy((char *)bytes + done, &word, n);
        done += n;
    }
    return 0;
}

SCRIPTED static unsigned scripted_cpus(void) {
    scripted_count(&sys_script.counts.cpus);
    return sys_script.cpus ? sys_script.cpus : sys_linux.cpus();
}

SCRIPTED static const char *scripted_setting(const char *name) { return sys_linux.setting(name); }

static const struct sys scripted_table = {
    .now = scripted_now,
    .futex_wait = scripted_futex_wait,
    .futex_wake = scripted_futex_wake,
    .alloc = scripted_alloc,
    .chunk_take = scripted_chunk_take,
    .chunk_give = scripted_chunk_give,
    .free = scripted_free,
    .vm_page = scripted_vm_page,
    .vm_map = scripted_vm_map,
    .vm_unmap = scripted_vm_unmap,
    .vm_advise = scripted_vm_advise,
    .vm_guards = scripted_vm_guards,
    .vm_resident = scripted_vm_resident,
    .thread_start = scripted_thread_start,
    .thread_name = scripted_thread_name,
    .thread_join = scripted_thread_join,
    .yield = scripted_yield,
    .thread_id = scripted_thread_id,
    .thread_time = scripted_thread_time,
    .thread_signal = scripted_thread_signal,
    .thread_asleep = scripted_thread_asleep,
    .thread_patient = scripted_thread_patient,
    .alloc_apart = scripted_alloc_apart,
    .alarm_make = scripted_alarm_make,
    .alarm_set = scripted_alarm_set,
    .alarm_drop = scripted_alarm_drop,
    .thread_count = scripted_thread_count,
    .thread_where = scripted_thread_where,
    .signal_stack = scripted_signal_stack,
    .signal_action = scripted_signal_action,
    .fence_heavy = scripted_fence_heavy,
    .fence_register = scripted_fence_register,
    .random = scripted_random,
    .cpus = scripted_cpus,
    .setting = scripted_setting,
    .file = &scripted_file_table,
    .net = &sys_scripted_net,
};

SCRIPTED static void scripted_forget(void) {
    memset(&sys_script, 0, sizeof sys_script); /* no other thread looks now, so its cells may be plain bytes */
    memset(&scripted, 0, sizeof scripted);
}

void sys_scripted_install(void) {
    scripted_forget();
    sys = &scripted_table;
}

void sys_scripted_reset(void) {
    scripted_forget();
    sys = &sys_linux;
    sys_fence_setup();
}

void sys_scripted_recount(void) {
    atom_store_rlx(&sys_script.counts.alloc, 0);
    atom_store_rlx(&sys_script.counts.alloc_failed, 0);
    atom_store_rlx(&sys_script.counts.thread_start, 0);
    for (unsigned i = 0; i < SYS_FILE_CALLS; i++)
        atom_store_rlx(&sys_script.counts.file[i], 0);
}

uint64_t sys_scripted_live(void) { return atom_load_rlx(&scripted.live); }
uint64_t sys_scripted_mapped(void) { return atom_load_rlx(&scripted.mapped); }

void sys_scripted_jump(int64_t nanoseconds) {
    atom_store_rlx(&scripted.moves, true);
    atom_add_rlx(&scripted.offset, (uint64_t)nanoseconds);
    if (atom_load_rlx(&scripted.frozen_at)) atom_add_rlx(&scripted.frozen_at, (uint64_t)nanoseconds);
}

void sys_scripted_freeze(void) {
    atom_store_rlx(&scripted.moves, true);
    atom_store_rlx(&scripted.frozen_at, scripted_time());
}

void sys_scripted_unfreeze(void) {
    uint64_t frozen = atom_load_rlx(&scripted.frozen_at);
    if (!frozen) return;
    atom_store_rlx(&scripted.offset, frozen - sys_linux.now());
    atom_store_rlx(&scripted.frozen_at, 0);
}
