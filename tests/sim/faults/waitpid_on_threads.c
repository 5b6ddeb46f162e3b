/* More processes wait for children than there may be threads, and the others go on. */
#include "oracle.h"

enum { CHILDREN = 8 };

static bool done;
static weft_child children[CHILDREN];

static void waits(void *arg) { MUST(weft_waitpid(((weft_child *)arg)->pid, NULL, WEFT_FOREVER) == 0, "a child is waited for"); }

static void program(void *arg) {
    weft_pid pids[CHILDREN];
    (void)arg;
    weft_sim_child("cat", &(weft_sim_program){.echoes = true});
    for (int i = 0; i < CHILDREN; i++) {
        MUST(weft_child_start((const char *const[]){"cat", NULL}, WEFT_CHILD_IN, &children[i]) == 0, "a child starts");
        pids[i] = weft_spawn_joinable(waits, &children[i]);
    }
    weft_sleep(SECOND); /* all of them wait */
    for (int i = 0; i < CHILDREN; i++)
        weft_fd_close(children[i].in);
    for (int i = 0; i < CHILDREN; i++)
        weft_join(pids[i], NULL, WEFT_FOREVER);
    done = true;
}

static void *watches(void *arg) {
    (void)arg;
    sleep(60);
    MUST(done, "all processes wait for threads");
    return NULL;
}

int main(void) {
    weft_runtime *runtime;
    weft_pid pid;
    weft_sim_thread watcher;
    MUST(weft_sim_thread_start(&watcher, watches, NULL) == 0, "thread");
    MUST(weft_start(&(weft_config){.workers = 2, .max_threads = 4}, &runtime) == 0, "start");
    weft_spawn_with(program, NULL, &(weft_stackful_options){.runtime = runtime, .flags = WEFT_SPAWN_JOINABLE}, &pid);
    weft_join(pid, NULL, WEFT_FOREVER);
    weft_stop(runtime, NULL, WEFT_FOREVER);
    return weft_sim_thread_join(watcher);
}
