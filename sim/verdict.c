/* Verdicts of the simulation itself: the program ends with a sentence. */
#include "record.h"
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { VERDICT_STATUS = 86 }; /* exit status of a program in which the simulation has found something */

void sim_fail(const char *kind, const char *format, ...) {
    char text[512];
    uint64_t now = sim_now();
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fflush(NULL);
    dprintf(STDERR_FILENO, "weft sim: %s: %s (seed %llu, at %llu ns)\n", kind, text, (unsigned long long)sim_seed(),
            (unsigned long long)(now < SIM_EPOCH ? 0 : now - SIM_EPOCH)); /* before: the simulation has not begun */
    record_result(kind);
    _exit(VERDICT_STATUS);
}

void sim_deadlock(void) {
    fflush(NULL);
    for (unsigned i = 0; i < sim_thread_count(); i++) {
        struct sim_thread *thread = sim_thread_at(i);
        if (thread->state == SIM_BLOCKED && !thread->left) dprintf(STDERR_FILENO, "weft sim: thread %u waits in %s\n", i, thread->why);
    }
    sim_fail("deadlock", "no thread can ever run again");
}
