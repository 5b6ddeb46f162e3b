/* Packed processes: of a process that has waited for a while, only the used part of its stack is kept, without its zeros. Its stack's pages
 * go back to the system. When it runs again, its stack is made as it was, at the same addresses. The program asks for that
 * (WEFT_SPAWN_PACK) and promises that nothing points into the stack while the process waits.
 *
 *   sysmon                                        the process                              the loop
 *   1  finds that it has waited for a second:     2  wakes up for nothing, sees `asked`,   3  saves the stack, gives its pages back,
 *      `asked`, and wakes it                         leaves for the loop (pack_leave)         and parks the process (pack_left)
 *                                                                                          4  later, when it is claimed: pack_restore
 *
 *   G1  Only the thread that has claimed the process touches its stack or its bytes: it is RUNNING until pack_left has packed it, and again
 *       before pack_restore. A wake-up in between finds the process as it finds every other, and queues it.
 *   G2  A process that is packed is PROC_PACKED: other processes switch to the loop, which restores it, as they do for one without a stack.
 *   G3  It is packed in a wait of which no part lies on its stack: weft_recv without a deadline; or one whose `struct wait`, timer and place
 *       in a list lie in the process's room (pack_room), beside its block. In other waits it ignores the request.
 *   G4  As long as its stack is not whole it is PROC_PACKED: a signal handler that interrupts its thread meanwhile, which may be behind a system
 *       call, looks at nothing of it. Its `struct fiber` lies there, too. */
#ifndef WEFT_FIBER_PACK_H
#define WEFT_FIBER_PACK_H

#include "fiber/fiber.h"
#include "proc/packing.h"

/* Room for what a wait leaves in lists: wait/waiters.h, struct turn. */
struct pack_room {
    _Alignas(8) unsigned char bytes[192];
};

/* At birth: the record of a process that may be packed; NULL: no memory. */
struct packing *pack_begin(struct runtime *runtime, struct proc *proc);
void pack_destroy_all(struct runtime *runtime);

/* Where the calling process may leave what other threads look at while it waits: its room, if it may be packed; else `own`. */
void *pack_room_made(struct worker *worker, void *own);
static inline void *pack_room(struct worker *worker, void *own, size_t size) {
#if WEFT_CHECK
    return (void)worker, (void)size, own;
#else
    struct proc *proc = worker ? worker->current : NULL;
    bool packs = proc && proc->stackful && fiber_of(proc)->packing && size <= sizeof(struct pack_room);
    return __builtin_expect(packs, 0) ? pack_room_made(worker, own) : own;
#endif
}

/* fiber_leave in a wait that may be packed: `part` is the part of it that other threads look at; NULL: none. */
struct worker *pack_leave_asked(struct worker *worker, enum weft_status status, const void *part) __attribute__((noinline, cold));
static inline struct worker *pack_leave(struct worker *worker, enum weft_status status, const void *part) {
    struct proc *proc = worker->current;
    struct packing *packing = WEFT_CHECK ? NULL : fiber_of(proc)->packing;
    bool asked = __builtin_expect(packing != NULL, 0) && atom_load_rlx(&packing->asked) == proc_generation(proc);
    return __builtin_expect(asked, 0) ? pack_leave_asked(worker, status, part) : fiber_leave(worker, status);
}

/* On the loop: the process has left its stack to be packed. Packs it, if that is worth it, and parks it. Never inlined: its frame is large, and
 * processes that wait have the caller's frame on their stacks. */
void pack_left(struct worker *worker, struct fiber *fiber) __attribute__((noinline, cold));
/* On the loop: makes the stack of a PROC_PACKED process as it was. */
void pack_restore(struct local *local, struct proc *proc) __attribute__((noinline, cold));
/* The runtime is taken down with a process that is packed: frees what is left of it, or makes its stack as it was if that is needed. */
void pack_abandon(struct local *local, struct proc *proc);

#endif
