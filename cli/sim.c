/* `weft sim`: many seeds, one seed or a script. */
#include "cli/sim.h"
#include "cli/cli.h"

volatile sig_atomic_t sim_interrupted;

static void on_interrupt(int number) {
    (void)number;
    sim_interrupted = 1;
}

/* A server that is gone is noticed where it is read from. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int cli_sim(int argc, char **argv) {
    struct sim_options options;
    int status = options_read(&options, argc, argv);
    if (status >= 0) return status;
    catch_signals();
    if (options.shrink && options.replay) return shrink(&options, options.replay);
    if (options.script || options.replay) return replay(&options);
    return sweep(&options);
}
