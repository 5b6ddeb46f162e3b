/* `weft demo`: which of them, and how large. */
#include "cli/cli.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DEMO_PROCESSES = 1000000, DEMO_PROCESSES_MAX = 16000000, DEMO_WORKERS_MAX = 1024 };

static int usage(FILE *to) {
    fprintf(to, "usage: weft demo [--n N] [--policy ring|deque|line] [--workers N]\n"
                "       weft demo hogs [--policy ring|deque|line] [--workers N]\n"
                "       weft demo checker\n\n"
                "The first spawns a million processes on each scheduling policy, passes messages along them and adds up what\n"
                "they know. The second shows how late a ticker is beside processes that compute or block, and comes after the\n"
                "first when there are no options. The third tells the story of synch2, a lock for two, with the model checker.\n"
                "  --n N        processes, 1 to 16000000\n"
                "  --policy P   only this one\n"
                "  --workers N  1 to 1024 (WEFT_WORKERS, or the CPUs there are)\n");
    return to == stderr ? 2 : 0;
}

static bool is_policy(const char *text) {
    if (text && (strcmp(text, "ring") == 0 || strcmp(text, "deque") == 0 || strcmp(text, "line") == 0)) return true;
    fprintf(stderr, "weft demo: --policy needs one of ring deque line, not `%s`\n", text ? text : "nothing");
    return false;
}

int cli_demo(int argc, char **argv) {
    struct demo_options options = {.n = DEMO_PROCESSES};
    bool checker = argc > 0 && strcmp(argv[0], "checker") == 0;
    bool hogs = argc > 0 && strcmp(argv[0], "hogs") == 0;
    if (checker && argc == 1) return demo_checker();
    for (int i = checker || hogs; i < argc; i += 2) {
        const char *argument = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool good = true;
        if (strcmp(argument, "--help") == 0) return usage(stdout);
        if (!checker && !hogs && strcmp(argument, "--n") == 0) {
            good = (options.n = cli_number("demo", argument, value, DEMO_PROCESSES_MAX)) != 0;
        } else if (!checker && strcmp(argument, "--workers") == 0) {
            good = (options.workers = (unsigned)cli_number("demo", argument, value, DEMO_WORKERS_MAX)) != 0;
        } else if (!checker && strcmp(argument, "--policy") == 0) {
            good = is_policy(options.policy = value);
        } else {
            fprintf(stderr, "weft demo: what is `%s`?\n", argument);
            return usage(stderr);
        }
        if (!good) return 2;
    }
    if (hogs) return demo_hogs(&options);
    int status = demo_processes(&options);
    if (status || argc > 0) return status;
    printf("\n");
    return demo_hogs(&options);
}
