/* weft_main: a runtime with the whole program in its first process. */
#include "fiber/upcall.h"
#include "sys/setting.h"

#include <weft/time.h>

#include <stdio.h>

enum {
    MAIN_CLEANUP_SECONDS = 1
}; /* when the first process has ended, the others have their grace period, and this long to clean up if they are forced */

struct main_call {
    int argc;
    char **argv;
    int (*app)(int, char **);
    int result;
    bool returned; /* from app, as opposed to weft_exit */
};

static void main_process(void *arg) {
    struct main_call *call = arg;
    struct upcall upcall = {0};
    /* Dumps and reports name the first process by the program's function, which is called only here. */
    fiber_start_of(worker_here()->current)->entry = (weft_entry)(uintptr_t)call->app;
    call->result = (int)upcall_here((uintptr_t)call->app, (uintptr_t)call->argc, (uintptr_t)call->argv, &upcall);
    upcall_pass_on(&upcall);
    call->returned = true;
}

/* ---- deadlock ---------------------------------------------------------------------------------------------------- */

void weft_on_deadlock(enum weft_deadlock action) {
    struct worker *self = worker_here();
    /* rlx: carries nothing else. Only used under weft_main. */
    if (self && atom_load_rlx(&self->runtime->deadlock.action) != DEADLOCK_UNWATCHED)
        atom_store_rlx(&self->runtime->deadlock.action, action);
}

static int main_watch_deadlock(struct runtime *runtime) {
    static const char *const names[] = {[WEFT_DEADLOCK_STOP] = "stop",
                                        [WEFT_DEADLOCK_ABORT] = "abort",
                                        [WEFT_DEADLOCK_REPORT] = "report",
                                        [WEFT_DEADLOCK_IGNORE] = "ignore"};
    const char *wanted = setting_value(SETTING_DEADLOCK);
    unsigned action = WEFT_DEADLOCK_STOP;
    if (wanted && *wanted)
        while (strcmp(names[action], wanted) != 0)
            if (++action > WEFT_DEADLOCK_IGNORE) {
                fprintf(stderr, "weft: WEFT_DEADLOCK is '%s'; it must be stop, abort, report or ignore\n", wanted);
                return WEFT_EINVAL;
            }
    if (ANNOTATE_THREAD) {
        unsigned own = atom_load_rlx(&runtime->threads.living) + 2 + runtime->preempt.maker.started; /* as in deadlock_is */
        runtime->deadlock.strangers = sys->thread_count() - own;
    }
    atom_store_rel(&runtime->deadlock.action, action); /* rel: pairs with the acq in deadlock_check; `strangers` */
    return 0;
}

/* ---- the program -------------------------------------------------------------------------------------------------- */

static int main_failed(const char *what, int error) {
    fprintf(stderr, "weft: %s: %s\n", what, weft_strerror(error));
    return 1;
}

int weft_main_with_sized(const weft_config *config, size_t config_size, int argc, char **argv, int (*app)(int argc, char **argv)) {
    struct main_call call = {.argc = argc, .argv = argv, .app = app, .result = 1};
    weft_runtime *runtime;
    weft_pid pid;
    int error = weft_start_sized(config, config_size, &runtime), reason = 0;
    if (error) return main_failed("cannot start", error);
    weft_stackful_options options = {.runtime = runtime, .name = "main", .flags = WEFT_SPAWN_STACK_NOW | WEFT_SPAWN_JOINABLE};
    error = main_watch_deadlock((struct runtime *)runtime);
    if (!error) error = weft_spawn_with(main_process, &call, &options, &pid);
    if (!error) atom_store_rlx(&((struct runtime *)runtime)->deadlock.first, pid); /* rlx: no deadlock before it is seen (deadlock.c, Z6) */
    if (error) main_failed("cannot begin the first process", error);
    else if ((error = weft_join(pid, &reason, WEFT_FOREVER)) != 0) main_failed("cannot wait for the first process", error);
    else if (reason < 0) call.result = main_failed("the first process ended", reason);
    else if (!call.returned) call.result = reason;
    if (atom_load_rlx(&((struct runtime *)runtime)->deadlock.found)) call.result = WEFT_EXIT_DEADLOCK; /* rlx: it ended by that */
    uint64_t patience = ((struct runtime *)runtime)->grace + MAIN_CLEANUP_SECONDS * WEFT_SECOND;
    weft_stop(runtime, NULL, weft_in(patience)); /* processes that are left then have been reported; the program ends without them */
    return call.result;
}

int weft_main(int argc, char **argv, int (*app)(int argc, char **argv)) { return weft_main_with(NULL, argc, argv, app); }
