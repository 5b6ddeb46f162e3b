/* Ending a process by unwinding its C++ frames; exceptions that leave an upcall. */
#include "fiber/ending.h"

#include "fiber/exceptions.h"
#include "fiber/upcall.h"
#include "thread/thread.h"

/* The part of the unwinder's interface (Itanium C++ ABI, base level) that is needed. It is called through exceptions_unwinder: <unwind.h>
 * would declare functions that a C program does not have. */
enum ending_answer { ENDING_GO_ON = 0, ENDING_LAND = 7, ENDING_NEXT = 8 }; /* _URC_NO_REASON, _INSTALL_CONTEXT, _CONTINUE_UNWIND */
enum { ENDING_SEARCH = 1, ENDING_FORCED = 8, ENDING_OUTERMOST = 16 };      /* _UA_SEARCH_PHASE, _FORCE_UNWIND, _END_OF_STACK */
struct ending_exception {
    uint64_t class;
    void (*cleanup)(int why, struct ending_exception *exception);
    uintptr_t private[2];
} __attribute__((aligned(16)));

#define ENDING_CLASS UINT64_C(0x574546540045584e) /* "WEFT", 0, "EXN": marks an exception as weft's */

struct ending {
    struct ending_exception exception; /* first: its address is the ending's */
    struct fiber *fiber;
    int reason;
    uintptr_t (*unwinder_frame)(void *context);
};
_Static_assert(sizeof(struct ending) <= POOL_LEAST, "the smallest block");

/* ---- upcalls ------------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
enum { UPCALL_AT = 0 }; /* offset of upcall_call's last argument from its stack pointer */
#else
enum { UPCALL_AT = 16 };
#endif

static bool ending_in_process(void) {
    struct worker *worker = worker_here();
    return (worker && worker->current && worker->current->stackful) || (my_thread && my_thread->caller);
}

/* Called by the unwinder for a frame of upcall_call. */
int upcall_personality(int version, int actions, uint64_t class, void *exception, void *context)
    __attribute__((visibility("hidden"), used));
int upcall_personality(int version, int actions, uint64_t class, void *exception, void *context) {
    weft_cxx unwinder;
    (void)version;
    if (actions & ENDING_FORCED && class != ENDING_CLASS && ending_in_process()) /* T5 */
        WEFT_MISUSE("pthread_exit", "called in a process, or its thread was cancelled: threads are weft's",
                    "call weft_exit or weft_cancel");
    if (!exceptions_unwinder(&unwinder)) return ENDING_NEXT;
    struct upcall *upcall = *(struct upcall **)(unwinder.frame(context) + UPCALL_AT);
    if (actions & ENDING_SEARCH) {
        if (upcall->strict) /* T6 */
            WEFT_MISUSE(upcall->strict, "an exception was thrown out of a function that weft has called", "catch it in the function");
        return ENDING_NEXT;
    }
    upcall->thrown = exception;
    unwinder.go_on_at(context, (uintptr_t)upcall_back);
    return ENDING_LAND;
}

void upcall_go_on(struct upcall *upcall) {
    weft_cxx unwinder;
    WEFT_ENSURE(exceptions_unwinder(&unwinder), "an exception was caught, and there is nothing to go on with");
    annotate_unwind();
    unwinder.resume(upcall->thrown);
    __builtin_unreachable();
}

/* ---- the end of a process --------------------------------------------------------------------------------------------------- */

/* Called by the unwinder before each frame. T1, T4 */
static int ending_stop(int version, int actions, uint64_t class, void *exception, void *context, void *argument) {
    struct ending *ending = argument;
    (void)version, (void)class, (void)exception;
    if (actions & ENDING_OUTERMOST) fiber_quit_here(ending_landed(ending));
    cleanup_run_within(ending->fiber->proc, (uintptr_t)__builtin_frame_address(0), ending->unwinder_frame(context));
    return ENDING_GO_ON;
}

/* Returns only if the frames cannot be unwound from here. */
static void ending_begin(struct ending *ending, const weft_cxx *unwinder) {
    ending->unwinder_frame = unwinder->frame;
    annotate_unwind();
    unwinder->forced(&ending->exception, (void *)(uintptr_t)ending_stop, ending);
}

/* A catch (...) has ended without rethrowing (T3). */
static void ending_swallowed(int why, struct ending_exception *exception) {
    struct ending *ending = (struct ending *)exception;
    weft_cxx unwinder;
    (void)why;
    if (exceptions_unwinder(&unwinder)) ending_begin(ending, &unwinder);
    fiber_quit_here(ending_landed(ending));
}

void ending_unwind(struct worker *worker, int reason) {
    weft_cxx unwinder;
    struct ending *ending = exceptions_unwinder(&unwinder) ? pool_take(&worker->local.blocks, 0) : NULL;
    if (!ending) return;
    struct fiber *fiber = fiber_of(worker->current);
    *ending = (struct ending){.exception = {.class = ENDING_CLASS, .cleanup = ending_swallowed}, .fiber = fiber, .reason = reason};
    fiber->shields |= FIBER_DYING; /* T2; for good, since the process ends */
    ending_begin(ending, &unwinder);
    fiber_quit_here(ending_landed(ending));
}

int ending_landed(void *thrown) {
    struct ending *ending = thrown;
    int reason = ending->reason;
    exceptions_forget(); /* this one, which the C++ library may count as in flight, and those being handled */
    pool_give(&worker_here()->local.blocks, 0, ending);
    return reason;
}
