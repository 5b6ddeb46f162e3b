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

void actor_init(struct actor *actor, struct runtime *runtime) {
    actor->runtime = runtime;
    actor->closed = NO_STACK;
    actor->closed_size = SIGNAL_STACK;
    section_init(&actor->section);
    cache_init(&actor->cache.pool, &message_pool);
    actor->cache.rooms = &actor->blocks;
    cache_init(&actor->blocks, &runtime->pool);
    shelf_init(&actor->shelf, &runtime->table);
    stack_cache_init(&actor->stacks, &runtime->stacks);
}
