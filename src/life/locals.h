/* Process-local values: the array of one process, in its struct member (life/context.c).
 *
 *   locals_destroy    outside of any section: it calls functions of the program's
 *   all others        the process that has the values; locals_inherit, its spawner */
#ifndef WEFT_LIFE_LOCALS_H
#define WEFT_LIFE_LOCALS_H

#include "sched/sched.h"

struct locals;

/* Whether a process that is spawned might get some of these; NULL: it gets none. */
bool locals_are_inherited(const struct locals *locals);
/* *locals, which is NULL, becomes what a process inherits from one with *from: 0 or WEFT_ENOMEM, and then it has some of it. The section of `local` is left meanwhile. */
int locals_inherit(struct local *local, struct locals *const *from, struct locals **locals);
/* Calls what the keys say and frees the array. */
void locals_destroy(struct locals *locals);

#endif
