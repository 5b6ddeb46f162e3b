/* `weft check`: the model checker is a program of its own, because it is compiled in its own configuration. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_directory(char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0) {
        fprintf(stderr, "weft: cannot tell where this command is: %s\n", strerror(errno));
        return -1;
    }
    path[length] = '\0';
    *(strrchr(path, '/') + 1) = '\0';
    return 0;
}

int cli_find_checker(char *path, size_t size) {
    static const char *const places[] = {"", WEFT_LIBEXEC "/"};
    char self[4096];
    if (cli_directory(self, sizeof self) != 0) return -1;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int used = snprintf(path, size, "%s%sweft-check", self, places[i]);
        if (used > 0 && (size_t)used < size && access(path, X_OK) == 0) return 0;
    }
    fprintf(stderr, "weft: the model checker, weft-check, is neither in %s nor in %s%s; `make` builds it\n", self, self, WEFT_LIBEXEC);
    return -1;
}

int cli_check(int argc, char **argv) {
    char path[4096];
    if (check_names_file(argc, argv)) return check_own(argc, argv);
    if (cli_find_checker(path, sizeof path) != 0) return 1;
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (!arguments) {
        perror("weft check");
        return 1;
    }
    arguments[0] = path;
    if (argc > 0) memcpy(arguments + 1, argv, (size_t)argc * sizeof *arguments);
    execv(path, arguments);
    fprintf(stderr, "weft: %s: %s\n", path, strerror(errno));
    free(arguments);
    return 1;
}
