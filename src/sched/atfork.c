/* Registers the fork handlers, and refuses calls in the child. */
#include "sched/atfork.h"

#include "sched/door.h"

#if !WEFT_CHECK
#include <pthread.h>

atom_bool atfork_is_child;
_Thread_local bool atfork_forks __attribute__((tls_model("initial-exec")));

void atfork_refuse(const char *call) {
    WEFT_MISUSE(call, "called in a child process made by fork while a runtime was running: its threads are not here",
                "call exec or _exit in the child, or fork before weft_start");
}

static void atfork_before(void) { atfork_forks = true; }
static void atfork_after(void) { atfork_forks = false; }

/* In the child, before fork returns there. */
static void atfork_in_child(void) {
    atfork_forks = false;
    if (!door_any()) return;
    atom_store_rlx(&atfork_is_child, true); /* rlx: there is one thread */
    my_worker = NULL;
    my_thread = NULL;
}

static void atfork_install(void) {
    pthread_atfork(atfork_before, atfork_after, atfork_in_child);
} /* without memory it is not registered: a child's call is not refused, and may hang */

void atfork_register(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, atfork_install);
}
#endif
