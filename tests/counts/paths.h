/* The hot paths that counts.c counts: each is run again and again in a child and ends every round with a mark. */
#ifndef WEFT_TESTS_COUNTS_PATHS_H
#define WEFT_TESTS_COUNTS_PATHS_H

#include <weft/weft.h>

enum { WARM = 200 }; /* rounds before the counting, so that caches are filled */

/* `policy`: NULL for a path that makes its own runtime, and returns never. `marks`: a round is so many marks, of which the shortest piece
 * counts. `skip`: the marks that end what is not counted, from the beginning of a round. */
struct path {
    const char *name;
    void (*run)(void *unused);
    const char *policy;
    unsigned marks, skip;
};
extern const struct path paths_stackful[], paths_select[], paths_step[], paths_steal[]; /* each ends with a name of NULL */

/* The end of one round, in the child. */
extern unsigned rounds;
void mark(void);

#endif
