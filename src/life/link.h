/* Links: two processes share their fate. A link is two ties (tie.h), its halves: each tells one of the two of the other's end.
 *
 *     A ──half owned by B, in the list of A's slot──> tells B of A's end
 *     A <──half owned by A, in the list of B's slot── tells A of B's end
 *
 *   L1  Both halves appear together and are taken out together, under the locks of both slots (one, if both have the same), taken in the order of
 *       their addresses.
 *   L2  A process that ends tells what is in its slot's list before it gives up what it owns. So while a half that A owns is in B's list, B has
 *       not begun to give up the other half, and the two refer to each other validly.
 *   L3  Linking to a process that ends: as for a monitor (monitor.h, H1), with MONITORED and OWNS in one step. Either the linker sees
 *       COMPLETE, and puts in nothing; or the process that ends sees both marks, and has to take its slot's lock before it tells or gives up
 *       anything: it finds both halves. (The halves must not be put in first, and taken out again: a process that had OWNS before may be
 *       giving up its ties at that moment.)
 *   L4  If both end at once, each tells the other, which is dead: the notice is freed, the exit signal has no effect. */
#ifndef WEFT_LIFE_LINK_H
#define WEFT_LIFE_LINK_H

#include "life/tie.h"

/* `mine` is owned by the process that links, and tells it of the end of the other; `theirs` the other way round. */
struct link_halves {
    struct tie *mine, *theirs;
};

/* In no list; `other` NULL: a process that is to be born. 0 or WEFT_ENOMEM. */
int link_new(struct local *local, struct worker *self, struct runtime *runtime, struct proc *other, weft_pid pid,
             struct link_halves *halves);
void link_free(struct local *local, struct link_halves *halves);
/* Makes sure that there is memory for the lists of a process that is linked: 0 or WEFT_ENOMEM. */
int link_reserve(struct runtime *runtime, uint32_t slot);
/* Links the calling process to one that will be born the next moment. Its lists have memory, and the halves have neither runtime nor owner nor
 * target yet. */
void link_newborn(struct runtime *runtime, struct proc *newborn, struct link_halves *halves);

#endif
