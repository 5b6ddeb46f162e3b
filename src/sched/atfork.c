#include "sched/atfork.h"

#include "sched/door.h"

#if !WEFT_CHECK
#include <pthread.h>

atom_bool child_is_forked;

void child_refuse(const char *call) {
    WEFT_MISUSE(call, "called in a child process made by fork while a runtime was running: its threads are not here",
                "call exec or _exit in the child, or fork before weft_start");
}

/* In the child, before fork returns there. */
static void child_begin(void) {
    if (!foreign_any()) return;
    atom_store_rlx(&child_is_forked, true); /* rlx: there is one thread */
    my_worker = NULL;
    my_thread = NULL;
}

static void child_register(void) { pthread_atfork(NULL, NULL, child_begin); } /* no memory: then nobody is told, and may hang */

void child_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, child_register);
}
#endif
