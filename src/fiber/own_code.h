/* Whose code an address is in: a process that is abandoned in its own code leaves nothing of weft or of a library half done.
 *
 * "Own code" is the main program and the object of the entry function (or step), except for weft itself if it is linked into them. Where the C
 * library is linked into the program (static programs) the two cannot be told apart, so nothing is own code. In signal handlers too. */
#ifndef WEFT_FIBER_OWN_CODE_H
#define WEFT_FIBER_OWN_CODE_H

#include <stdint.h>

enum code_owner { CODE_OWN, CODE_WEFT, CODE_OTHER };

struct own_code {
    uintptr_t program, weft, entry; /* where these objects begin */
    const char *unclear;            /* not NULL: it cannot be told, and this says why */
};

/* For a process with this entry function. */
void own_code_find(struct own_code *own, uintptr_t entry);
enum code_owner own_code_at(const struct own_code *own, uintptr_t pc);

#endif
