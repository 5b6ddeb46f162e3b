/* The calls of weft/sync.h for semaphores; the protocol is in sem.h. */
#include "sync/sem.h"
#include "fiber/ret_jump.h"
#include "sched/heed.h"

void weft_sem_init(weft_sem *opaque, uint32_t permits) {
    struct sem *sem = sem_of(opaque);
    if (permits > WEFT_SEM_MAX) WEFT_REFUSE("weft_sem_init", "too many permits", "up to WEFT_SEM_MAX");
    atom_store_rlx(&sem->word, (uint64_t)permits << 1); /* rlx: not shared yet */
    lock_init(&sem->lock);
    sem->waiting.first = sem->waiting.last = NULL;
}

uint32_t weft_sem_available(const weft_sem *sem) {
    return (uint32_t)(atom_load_rlx(&((const struct sem *)(const void *)sem)->word) >> 1); /* rlx: a racy read; the value is a hint */
}

/* Under the lock: gives the permits to the waiters, in order, as long as they suffice for the first. */
static void sem_grant(struct sem *sem, uint64_t permits, struct wakes *wakes) {
    while (sem->waiting.first && sem->waiting.first->amount <= permits) {
        struct waiter *waiter = sem->waiting.first;
        uint64_t amount = waiter->amount;
        if (!waiter_claim(waiter)) continue;
        permits -= amount;
        wakes_add(wakes, waiter);
    }
    bool queue = sem->waiting.first || permits > 0; /* Q3 */
    /* rlx: what is left is taken under the lock (Q3). */
    atom_store_rlx(&sem->word, permits << 1 | (queue ? SEM_QUEUE : 0));
}

bool sem_take(struct sem *sem, uint64_t permits, bool queue) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint64_t found = atom_load_rlx(&sem->word); /* rlx: the exchange decides */
        bool enough = !sem->waiting.first && found >> 1 >= permits;
        if (!enough && (!queue || found & SEM_QUEUE)) return false;
        uint64_t without = found & ~(uint64_t)SEM_QUEUE;
        /* acq: as in sem_try. */
        if (atom_cas_acq_rlx(&sem->word, &found, enough ? without - (permits << 1) : found | SEM_QUEUE)) return enough;
    }
}

/* rlx: with QUEUE only the lock's holder writes it; without it there are no waiters. */
void sem_left(struct sem *sem, struct wakes *wakes) {
    uint64_t found = atom_load_rlx(&sem->word);
    if (found & SEM_QUEUE) sem_grant(sem, found >> 1, wakes);
}

FIBER_SLOW int sem_acquire_slow(struct sem *sem, uint64_t permits, uint64_t deadline);
FIBER_RET_JUMP(sem_acquire_jump, sem_acquire_slow);
/* With the lock held and QUEUE set. */
FIBER_SLOW int sem_acquire_slow(struct sem *sem, uint64_t permits, uint64_t deadline) {
    struct turn turn;
    struct wakes wakes = {NULL, NULL};
    turn_begin(&turn, sem, 1)->amount = permits;
    int why = waiters_wait(&sem->waiting, &turn.waiter, &sem->lock, deadline, "weft_sem_acquire");
    if (__builtin_expect(why > 0, 1)) return 0;
    sem_left(sem, &wakes);
    lock_drop(&sem->lock);
    wakes_run(&wakes, wait_wake);
    return why;
}

int weft_sem_acquire(weft_sem *opaque, uint32_t permits, uint64_t deadline) {
    struct sem *sem = sem_of(opaque);
    if (__builtin_expect(permits > WEFT_SEM_MAX, 0))
        WEFT_REFUSE("weft_sem_acquire", "more permits than there can be", "ask for up to WEFT_SEM_MAX");
    fiber_spend(my_worker, deadline);
    if (__builtin_expect(sem_try(sem, permits), 1)) return 0;
    lock_take(&sem->lock);
    bool taken = sem_take(sem, permits, deadline != 0);
    if (!taken && deadline != 0) return sem_acquire_jump(sem, permits, deadline);
    lock_drop(&sem->lock);
    return taken ? 0 : wait_late();
}

static __attribute__((noinline, cold)) void sem_overflow(void) {
    WEFT_MISUSE("weft_sem_release", "more permits than WEFT_SEM_MAX", "release what was acquired");
}

/* False: QUEUE was cleared meanwhile. */
static __attribute__((noinline)) bool sem_release_slow(struct sem *sem, uint64_t permits) {
    struct wakes wakes = {NULL, NULL};
    lock_take(&sem->lock);
    /* rlx: with QUEUE it was last written under the lock (Q1), and the waiter that set QUEUE has seen what was done before. */
    uint64_t found = atom_load_rlx(&sem->word), sum = (found >> 1) + permits;
    bool queue = found & SEM_QUEUE; /* recheck, without: bool queue = true; */
    if (queue && sum > WEFT_SEM_MAX) sem_overflow();
    if (queue) sem_grant(sem, sum, &wakes);
    lock_drop(&sem->lock);
    wakes_run(&wakes, wait_wake);
    return queue;
}

void sem_release(struct sem *sem, uint32_t permits) {
    for (struct spin spin = spin_begin();; spin_retry(&spin)) {
        uint64_t found = atom_load_rlx(&sem->word); /* rlx: the exchange decides */
        if ((found >> 1) + permits > WEFT_SEM_MAX) sem_overflow();
        uint64_t with = found + ((uint64_t)permits << 1);
        /* rel: pairs with the acq in sem_try and sem_take. */
        if (found & SEM_QUEUE ? sem_release_slow(sem, permits) : atom_cas_rel_rlx(&sem->word, &found, with)) return;
    }
}

void weft_sem_release(weft_sem *sem, uint32_t permits) {
    sem_release(sem_of(sem), permits);
    heed_after(my_worker);
}
