/* The beginning and the end of a simulated program: before main the seed is read, the program becomes the first thread of the simulation,
 * and the runtime gets the simulating table. With WEFT_SIM_SERVE it is a server first: for each seed that it is sent, a child goes on to
 * main. That saves the loading of the program. */
#include "record.h"
#include "setting.h"
#include "sim.h"
#include "table.h"

#include "base/sim_hooks.h"
#include "sched/door.h"
#include "sys/sys.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_LINE = 64, START_PRIORITY = 101 /* before all other constructors of the library's */ };

/* Here so that the linker takes this file from the static library. */
int64_t sim_atoms_left = INT64_MAX;

/* All threads on one processor: the baton then passes from one to the next without a detour. */
static void start_pin(void) {
    cpu_set_t set;
    int here = sched_getcpu();
    CPU_ZERO(&set);
    CPU_SET(setting_number("WEFT_SIM_CPU", CPU_SETSIZE - 1, here < 0 ? 0 : (uint64_t)here), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0 && getenv("WEFT_SIM_CPU")) setting_refuse("WEFT_SIM_CPU", "%s", strerror(errno));
}

static bool start_left; /* a thread was still in a process when its runtime was stopped */
void sim_runtime_left(void) { start_left = true; }

/* Memory of runtimes that were not taken down is no leak. With stalls any thread may be late. */
static void start_judge_memory(void) {
    if (start_left && !sim_fault_is_on(SIM_FAULT_STALL))
        sim_fail("unstopped", "weft_stop's time was over while a thread was still in a process: the runtime's memory stays");
    if (!start_left && !sim_any_crashed() && !door_any() && table_leaks() > 0)
        sim_fail("leak", "all runtimes have been stopped, and %lld blocks of their memory have not been freed", (long long)table_leaks());
}

static void start_end(int status, void *nothing) {
    (void)nothing;
    if (status == 0 && sim_me() && sim_me()->machine > 0)
        sim_fail("machine", "machine %u has called exit, which ends all machines: its main function has to return", sim_me()->machine);
    if (status == 0) start_judge_memory();
    record_result(status == 0 ? "ok" : "exit");
}

static void start_seed(uint64_t seed) {
    sim_draw_setup(seed);
    record_setup();
    sim_begin();
    sys = &sim_sys;
    on_exit(start_end, NULL);
}

void sim_start_again(uint64_t seed) {
    sim_end();
    start_seed(seed);
}

/* ---- the server ---------------------------------------------------------------------------------------------------------- */

/* A line without its end; false: there is none. */
static bool serve_line(int from, char *line, size_t size) {
    size_t used = 0;
    while (used < size - 1 && read(from, line + used, 1) == 1 && line[used] != '\n')
        used++;
    line[used] = '\0';
    return used > 0;
}

/* A child keeps nothing of the server's, and ends with it. */
static void serve_child(uint64_t seed, int in, int out) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(in);
    close(out);
    unsetenv("WEFT_SIM_SERVE");
    start_seed(seed);
}

/* Returns in a child that shall go on to main. */
static void serve(int in, int out) {
    char line[START_LINE], before[START_LINE];
    if (!record_share() || dprintf(out, "weft-sim 1\n") < 0) _exit(1);
    while (serve_line(in, line, sizeof line)) {
        int status = 0;
        uint64_t seed = strtoull(line, NULL, 10);
        pid_t child = fork();
        if (child == 0) {
            serve_child(seed, in, out);
            return;
        }
        if (child < 0 || waitpid(child, &status, 0) != child) _exit(1);
        snprintf(before, sizeof before, "%llu %d ", (unsigned long long)seed, status);
        record_tell(out, before);
    }
    _exit(0);
}

__attribute__((constructor(START_PRIORITY))) static void start(void) {
    const char *ends = getenv("WEFT_SIM_SERVE");
    int in, out;
    uint64_t seed = setting_number("WEFT_SIM_SEED", UINT64_MAX, 1);
    setting_names_check();
    setting_number("WEFT_SIM_RESULT", INT_MAX, 0);
    sim_draw_check();
    start_pin();
    pthread_atfork(NULL, NULL, sim_leave_to_kernel);
    if (ends && sscanf(ends, "%d,%d", &in, &out) != 2) setting_refuse("WEFT_SIM_SERVE", "it must be two descriptors, 3,4 say");
    if (ends) serve(in, out);
    else start_seed(seed);
}
