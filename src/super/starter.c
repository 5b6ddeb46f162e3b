/* The wait of a spawner for the first answer of its process. */
#include "super/starter.h"

#include "base/assert.h"
#include "sync/sem.h"
#include "sys/deadline.h"
#include "sys/sys.h"
#include "wait/wait.h"

#include <weft/time.h>

#define STARTER_LOOKS (50 * WEFT_MILLISECOND)

struct starter *starter_new(void) {
    struct starter *starter = sys->alloc(sizeof *starter);
    if (!starter) return NULL;
    weft_sem_init(&starter->answered, 0);
    atom_store_rlx(&starter->holders, 2); /* rlx: no other thread knows it yet */
    return starter;
}

static void starter_drop(struct starter *starter, unsigned holds) {
    /* acqrel: what the other did with it happens before it is freed. */
    if (atom_sub_acqrel(&starter->holders, holds) == holds) sys->free(starter, sizeof *starter);
}

void starter_let_go(struct starter *starter, bool spawned) {
    if (starter) starter_drop(starter, spawned ? 1 : 2);
}

void starter_answer(struct starter *starter, int error) {
    if (!starter) return;
    starter->error = error;
    sem_release(sem_of(&starter->answered), 1);
    starter_drop(starter, 1);
}

int starter_wait(struct starter *starter, weft_pid pid, uint64_t deadline, const char *call) {
    int error;
    bool alive;
    deadline_check(deadline, call); /* here: the semaphore would name itself */
    do {                            /* once more after it has ended: the answer may have come between the two looks */
        alive = weft_alive(pid);
        uint64_t look = weft_in(alive ? STARTER_LOOKS : 0);
        error = weft_sem_acquire(&starter->answered, 1, look < deadline ? look : deadline);
    } while (error == WEFT_ETIMEDOUT && alive && sys->now() < deadline);
    if (error == 0) return starter->error;
    return error == WEFT_ETIMEDOUT && !alive ? WEFT_EKILLED : error;
}

int cancel_and_wait(weft_pid pid, uint64_t deadline, const char *call) {
    wait_check(call); /* before it cancels */
    if (weft_self() == pid) WEFT_REFUSE(call, "a process waits for its own end", "stop another, or return");
    int error = weft_cancel(pid);
    if (error) return error;
    deadline_check(deadline, call); /* here: weft_join would name itself */
    error = weft_join(pid, NULL, deadline);
    return error == WEFT_ENOPROC ? 0 : error; /* it has ended between the two */
}
