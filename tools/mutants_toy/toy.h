/* A part made to be weakened: tools/mutants --self-test knows which of its mutants the model checker must notice. */
#ifndef WEFT_TOOLS_TOY_H
#define WEFT_TOOLS_TOY_H

#include "base/atom.h"
#include "queue/lock.h"

struct toy {
    int data;
    atom_u32 ready, hits, busy[2];
    struct lock lock;
    int score, unused;
};

/* In a header, so that a weakened header is tried too. */
static inline void toy_publish(struct toy *toy, int data) {
    toy->data = data;
    atom_store_rel(&toy->ready, 1);
}
int toy_consume(struct toy *toy);
void toy_hit(struct toy *toy);
bool toy_enter(struct toy *toy, unsigned me);
bool toy_see_often(struct toy *toy);
bool toy_see_rarely(struct toy *toy);
void toy_score(struct toy *toy);
int toy_peek(struct toy *toy);

#endif
