#include "fiber/ending.h"

#include "fiber/callout.h"
#include "sched/thread.h"

#include <stddef.h>
#include <unwind.h>

/* Where there is C++ there is an unwinder. Programs without need none, and are not to be linked with one because of this. */
#pragma weak _Unwind_ForcedUnwind
#pragma weak _Unwind_GetCFA
#pragma weak _Unwind_Resume
#pragma weak _Unwind_SetIP

#define ENDING_CLASS UINT64_C(0x574546540045584e) /* "WEFT", 0, "EXN": whose exception it is */

struct ending {
    struct _Unwind_Exception exception; /* first: its address is the ending's */
    struct fiber *fiber;
    int reason;
};
_Static_assert(sizeof(struct ending) <= POOL_LEAST, "the smallest block");

/* ---- callouts ------------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
enum { CALLOUT_AT = 0 }; /* where callout_call has its last argument, from its stack pointer on */
#else
enum { CALLOUT_AT = 16 };
#endif

static struct callout *ending_callout(struct _Unwind_Context *context) {
    return *(struct callout **)((uintptr_t)_Unwind_GetCFA(context) + CALLOUT_AT);
}

static bool ending_in_process(void) {
    struct worker *worker = worker_here();
    return (worker && worker->current && worker->current->stackful) || (my_thread && my_thread->caller);
}

/* Called by the unwinder for a frame of callout_call. */
_Unwind_Reason_Code callout_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                        struct _Unwind_Exception *exception, struct _Unwind_Context *context)
    __attribute__((visibility("hidden"), used));
_Unwind_Reason_Code callout_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                        struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)version;
    if (actions & _UA_FORCE_UNWIND && class != ENDING_CLASS && ending_in_process()) /* T5 */
        WEFT_MISUSE("pthread_exit", "called in a process, or its thread was cancelled: threads are weft's", "call weft_exit or weft_cancel");
    if (!_Unwind_GetCFA || !_Unwind_SetIP) return _URC_CONTINUE_UNWIND;
    struct callout *callout = ending_callout(context);
    if (actions & _UA_SEARCH_PHASE) {
        if (callout->strict) /* T6 */
            WEFT_MISUSE(callout->strict, "an exception was thrown out of a function that weft has called", "catch it in the function");
        return _URC_CONTINUE_UNWIND;
    }
    callout->thrown = exception;
    _Unwind_SetIP(context, (_Unwind_Ptr)(uintptr_t)callout_back);
    return _URC_INSTALL_CONTEXT;
}

void callout_go_on(struct callout *callout) {
    _Unwind_Resume(callout->thrown);
    __builtin_unreachable();
}

/* ---- the end of a process --------------------------------------------------------------------------------------------------- */

/* Before each frame. T1, T4 */
static _Unwind_Reason_Code ending_stop(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                       struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *argument) {
    struct ending *ending = argument;
    (void)version, (void)class, (void)exception;
    if (actions & _UA_END_OF_STACK) fiber_quit_here(ending_landed(ending));
    cleanup_run_within(ending->fiber->proc, (uintptr_t)__builtin_frame_address(0), (uintptr_t)_Unwind_GetCFA(context));
    return _URC_NO_REASON;
}

/* T3 */
static void ending_swallowed(_Unwind_Reason_Code code, struct _Unwind_Exception *exception) {
    struct ending *ending = (struct ending *)exception;
    (void)code;
    _Unwind_ForcedUnwind(exception, ending_stop, ending);
    fiber_quit_here(ending_landed(ending));
}

void ending_unwind(struct worker *worker, int reason) {
    if (!_Unwind_ForcedUnwind || !_Unwind_GetCFA || !_Unwind_SetIP || !_Unwind_Resume) return;
    struct ending *ending = pool_take(&worker->actor.cache, 0);
    if (!ending) return;
    struct fiber *fiber = fiber_of(worker->current);
    *ending = (struct ending){.exception = {.exception_class = ENDING_CLASS, .exception_cleanup = ending_swallowed}, .fiber = fiber, .reason = reason};
    fiber->shields++; /* T2; for good, since the process ends */
    _Unwind_ForcedUnwind(&ending->exception, ending_stop, ending);
    fiber_quit_here(ending_landed(ending));
}

int ending_landed(void *thrown) {
    struct ending *ending = thrown;
    int reason = ending->reason;
    pool_give(&worker_here()->actor.cache, 0, ending);
    return reason;
}
