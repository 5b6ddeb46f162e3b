/* Containment: a fault in a process's own code ends that process alone (weft_config.contain_faults). Called by the handler of fault.h.
 *
 * Nothing that others use may be half done. So all of these must hold, or the program ends, with a report, a dump of all processes, and what
 * did not hold:
 *
 *   N1  A process was running, not in a blocking call, and on a stack of its own (a step process: on its worker's).
 *   N2  It holds no lock that weft knows of: mutexes of sync/, mutexes of weft_debug_mutex_lock, a passage of weft_nopreempt_begin; and it is in no
 *       fork/join region. (What a step process holds is not counted.)
 *   N3  The program counter, and every return address up to its entry function, is in own code (own_code.h). Frames of weft may lie only above
 *       an upcall (upcall.h), where weft expects that a process may end. The frames are followed by the tables that debuggers use
 *       (ctx/unwind.h); where that fails the stack may be damaged.
 *   N4  Two things look as if a library were involved, and are not. A jump to an address without code: then the caller is looked at. And abort,
 *       called by own code, or by assert in own code: the C library lets a handler of SIGABRT leave it by a jump.
 *   N5  A call of weft that refuses its caller (WEFT_REFUSE) has changed nothing. Other misuse ends the program.
 *
 * A stackful process ends on a spare stack (fault.h, V1), without unwinding. A step is abandoned: the context becomes that of the call of the
 * step in its worker, with all registers that the caller relies on, as the tables restore them, and WEFT_EFAULTED as what the step has
 * returned. What follows is what follows on any error of a step: its messages are freed, `close` is called. */
#ifndef WEFT_FIBER_CONTAIN_H
#define WEFT_FIBER_CONTAIN_H

#include "fiber/fault.h"

/* Before the handler is installed. */
void contain_begin(void);
/* True: the process will end. False: the signal goes on as it would without weft; a report and a dump have been printed, if faults are
 * contained in the process's runtime. */
bool contain_handle(const struct fault *fault);
/* Whether that has printed, or would have. */
bool contain_has_told(const struct fault *fault);

#endif
