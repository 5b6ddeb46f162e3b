#include "mutants_toy/toy.h"

#include "sys/sys.h"

int toy_consume(struct toy *toy) {
    if (atom_load_acq(&toy->ready) == 0) /* recheck */
        return 0;
    return toy->data;
}

/* Stronger than it need be: what survives. */
void toy_hit(struct toy *toy) { atom_add_acqrel(&toy->hits, 1); }

bool toy_enter(struct toy *toy, unsigned me) {
    atom_store_sc(&toy->busy[me], 1);
    return atom_load_sc(&toy->busy[1 - me]) == 0;
}

bool toy_see_often(struct toy *toy) {
    atom_store_rlx(&toy->busy[0], 1);
    atom_fence_light();
    return atom_load_rlx(&toy->busy[1]) != 0;
}

bool toy_see_rarely(struct toy *toy) {
    atom_store_rlx(&toy->busy[1], 1);
    sys_fence_heavy();
    return atom_load_rlx(&toy->busy[0]) != 0;
}

void toy_score(struct toy *toy) {
    lock_take(&toy->lock);
    toy->score++;
    lock_drop(&toy->lock);
}

/* Stronger than it need be, too: it is never written. */
int toy_peek(struct toy *toy) {
    lock_take(&toy->lock);
    int found = toy->unused;
    lock_drop(&toy->lock);
    return found;
}

#if !WEFT_CHECK
/* Outside the check configuration: no mutant of it can be noticed, and none is counted. */
uint32_t toy_hits(struct toy *toy);
uint32_t toy_hits(struct toy *toy) { return atom_load_acq(&toy->hits); }
#endif
