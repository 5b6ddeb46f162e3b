/* weft_main: a whole program in a process. */
#include "fiber/fiber.h"

#include <stdio.h>

enum { MAIN_PATIENCE_SECONDS = 5 }; /* how long the others are waited for when the first process has ended */

struct main_call {
    int argc;
    char **argv;
    int (*app)(int, char **);
    int result;
    bool returned; /* from app, as opposed to weft_exit */
};

static void main_process(void *arg) {
    struct main_call *call = arg;
    /* Until weft_main waits for it: then its reason cannot be missed. */
    while (!(atom_load_rlx(&worker_here()->current->state.asked) & STATE_WATCHED)) /* rlx: nothing is read on the strength of it */
        weft_yield();
    call->result = call->app(call->argc, call->argv);
    call->returned = true;
}

static int main_failed(const char *what, int error) {
    fprintf(stderr, "weft: %s: %s\n", what, weft_strerror(error));
    return 1;
}

int weft_main(int argc, char **argv, int (*app)(int argc, char **argv)) {
    struct main_call call = {.argc = argc, .argv = argv, .app = app, .result = 1};
    weft_runtime *runtime;
    weft_pid pid;
    int error = weft_start(&runtime, NULL), reason = 0;
    if (error) return main_failed("cannot start", error);
    weft_stackful_options options = {.runtime = runtime, .name = "main", .flags = WEFT_STACK_NOW};
    error = weft_spawn_with(&pid, main_process, &call, &options);
    if (error) main_failed("cannot begin the first process", error);
    else if ((error = weft_join(pid, &reason, WEFT_FOREVER)) != 0) main_failed("cannot wait for the first process", error);
    else if (reason < 0) call.result = main_failed("the first process ended", reason);
    else if (!call.returned) call.result = reason;
    weft_stop_report report;
    if (weft_stop(runtime, weft_now() + MAIN_PATIENCE_SECONDS * UINT64_C(1000000000), &report))
        fprintf(stderr, "weft: %zu processes would not end and were left behind\n", report.left);
    return call.result;
}
