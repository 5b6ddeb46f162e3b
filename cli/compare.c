/* `weft compare`: the driver is a script of the source tree, where the peers' programs are too. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes its path, seen from this command in build/ or in build/release/. -1, with a message, if it is in neither place. */
static int find_driver(char *path, size_t size) {
    static const char *const places[] = {"../", "../../"};
    char self[4096];
    if (cli_directory(self, sizeof self) != 0) return -1;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int used = snprintf(path, size, "%s%stools/compare", self, places[i]);
        if (used > 0 && (size_t)used < size && access(path, X_OK) == 0) return 0;
    }
    fprintf(
        stderr,
        "weft compare measures weft beside Go, Tokio, Erlang and others. It needs weft's source tree, where the programs for that are, and %s is not in its build\n"
        "folder: run `make compare` there. docs/comparison.md explains it.\n",
        self);
    return -1;
}

int cli_compare(int argc, char **argv) {
    char path[8192], self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0 || find_driver(path, sizeof path) != 0) return 1;
    self[length] = '\0';
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (!arguments || setenv("WEFT_COMMAND", self, 1)) {
        perror("weft compare");
        free(arguments);
        return 1;
    }
    arguments[0] = path;
    if (argc > 0) memcpy(arguments + 1, argv, (size_t)argc * sizeof *arguments);
    execv(path, arguments);
    fprintf(stderr, "weft compare: %s: %s\n", path, strerror(errno));
    free(arguments);
    return 1;
}
