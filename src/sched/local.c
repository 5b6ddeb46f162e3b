/* What a thread has of a runtime: the worker that it drives, and its caches. */
#include "sched/sched.h"

#if !WEFT_CHECK && defined(__x86_64__)
_Thread_local struct worker *my_worker __attribute__((tls_model("initial-exec")));
#elif !WEFT_CHECK
static _Thread_local struct worker *worker_of_thread;
__attribute__((noinline)) struct worker **worker_place(void) {
    __asm__ volatile(""); /* so that no call of it is taken for another's result */
    return &worker_of_thread;
}
#endif

__attribute__((noinline)) struct worker *worker_here(void) {
    __asm__ volatile(""); /* so that no call of it is taken for another's result */
    return my_worker;
}

#if !WEFT_CHECK
_Thread_local struct thread *my_thread __attribute__((tls_model("initial-exec")));
#endif

struct worker *worker_first(struct runtime *runtime) {
    unsigned made = atom_load_acq(&runtime->made); /* acq: as in find_steal_pass */
    WEFT_ENSURE(made > 0, "a runtime without workers");
    return atom_load_rlx(&runtime->workers[0]); /* rlx: published by `made` */
}

void local_init(struct local *local, struct runtime *runtime) {
    local->runtime = runtime;
    local->closed = NO_STACK;
    local->closed_size = SIGNAL_STACK;
    section_init(&local->section);
    cache_init(&local->cache.pool, &message_pool);
    local->cache.rooms = &local->blocks;
    cache_init(&local->blocks, &runtime->pool);
    magazine_init(&local->magazine, &runtime->table);
    stack_cache_init(&local->stacks, &runtime->stacks);
    local->pushed = (struct ahead_trail){0};
}
