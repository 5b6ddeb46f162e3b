/* Child programs that belong to the process which has started them (WEFT_CHILD_OWNED): a cleanup kills and reaps one that was not waited for.
 *
 *   owned_new, owned_free     the process, before the child is there
 *   owned_begin, owned_find   the process
 *
 *   N1  A group is signalled only while its leader has not been reaped: until then its number cannot be another's. */
#ifndef WEFT_OS_OWNED_H
#define WEFT_OS_OWNED_H

#include "fiber/fiber.h"
#include "sys/sys_file.h"

struct owned {
    struct cleanup cleanup;
    pid_t pid;
    bool group;
};

/* NULL: there is no memory. */
struct owned *owned_new(bool group);
void owned_free(struct owned *owned);
void owned_begin(struct owned *owned, pid_t pid);
/* The calling process's record of the child; NULL: it is not its own. */
struct owned *owned_find(struct proc *proc, pid_t pid);
/* The child has been reaped. */
void owned_over(struct proc *proc, struct owned *owned);

/* As weft_waitpid. `ends_group`: what the child leaves of a group that it leads is killed (N1), as with an owned group. */
int child_wait(pid_t child, int *status, uint64_t deadline, bool ends_group);

#endif
