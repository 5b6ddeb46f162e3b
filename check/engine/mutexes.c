/* Mutexes that the checker knows: its own (chk.h), and those of pthreads and C11 in files that are checked (weft/chk_names.h). The first four
 * bytes are the lock; setup and finish run alone and lock nothing. */
#include "chk.h"
#include "loops.h"
#include "memory.h"
#include "run.h"

#include <errno.h>

#define PC ((uintptr_t)__builtin_return_address(0))

enum { MTX_BUSY = 1 }; /* thrd_busy; not every C library has <threads.h> */

static bool try(uint32_t *word, uintptr_t pc) { return run_rmw(memory_cell((uintptr_t)word, 4), OP_CAS, 1, 0, O_ACQ, O_RLX, pc) == 0; }

static int lock(uint32_t *word, uintptr_t pc) {
    if (run.current == 0) return 0;
    unsigned from = run_at();
    while (!try(word, pc))
        run_block(WAIT_LOCK, from);
    return 0;
}

/* Perhaps in a loop of the caller's. */
static bool try_once(uint32_t *word, uintptr_t pc) {
    if (run.current == 0) return true;
    loops_read(pc, (uintptr_t)word, 1, 0);
    return try(word, pc);
}

static int unlock(uint32_t *word, uintptr_t pc) {
    if (run.current != 0) run_store(memory_cell((uintptr_t)word, 4), O_REL, 0, pc);
    return 0;
}

static int init(uint32_t *word, uintptr_t pc) {
    if (run.current == 0) *word = 0;
    else run_store(memory_cell((uintptr_t)word, 4), O_RLX, 0, pc);
    return 0;
}

void chk_lock(struct chk_mutex *mutex) { lock(&mutex->word, PC); }
void chk_unlock(struct chk_mutex *mutex) { unlock(&mutex->word, PC); }

int chk_pthread_mutex_init(uint32_t *mutex, const void *attributes);
int chk_pthread_mutex_init(uint32_t *mutex, const void *attributes) {
    (void)attributes;
    return init(mutex, PC);
}
int chk_pthread_mutex_destroy(uint32_t *mutex);
int chk_pthread_mutex_destroy(uint32_t *mutex) {
    (void)mutex;
    return 0;
}
int chk_pthread_mutex_lock(uint32_t *mutex);
int chk_pthread_mutex_lock(uint32_t *mutex) { return lock(mutex, PC); }
LOOPS_ENTRY(chk_pthread_mutex_trylock, entered_pthread_mutex_trylock)
int entered_pthread_mutex_trylock(uint32_t *mutex);
int entered_pthread_mutex_trylock(uint32_t *mutex) { return try_once(mutex, PC) ? 0 : EBUSY; }
int chk_pthread_mutex_unlock(uint32_t *mutex);
int chk_pthread_mutex_unlock(uint32_t *mutex) { return unlock(mutex, PC); }

int chk_mtx_init(uint32_t *mutex, int type);
int chk_mtx_init(uint32_t *mutex, int type) {
    (void)type;
    return init(mutex, PC);
}
void chk_mtx_destroy(uint32_t *mutex);
void chk_mtx_destroy(uint32_t *mutex) { (void)mutex; }
int chk_mtx_lock(uint32_t *mutex);
int chk_mtx_lock(uint32_t *mutex) { return lock(mutex, PC); }
LOOPS_ENTRY(chk_mtx_trylock, entered_mtx_trylock)
int entered_mtx_trylock(uint32_t *mutex);
int entered_mtx_trylock(uint32_t *mutex) { return try_once(mutex, PC) ? 0 : MTX_BUSY; }
int chk_mtx_unlock(uint32_t *mutex);
int chk_mtx_unlock(uint32_t *mutex) { return unlock(mutex, PC); }
