/* A check in a program that is simulated: a failure says which line it is, and ends the program. */
#ifndef WEFT_TESTS_SIM_NEED_H
#define WEFT_TESTS_SIM_NEED_H

#include <stdio.h>
#include <unistd.h>

#define NEED(what)                                                                                                                         \
    do {                                                                                                                                   \
        if (!(what)) {                                                                                                                     \
            dprintf(STDERR_FILENO, "line %d: not %s\n", __LINE__, #what);                                                                  \
            _exit(1);                                                                                                                      \
        }                                                                                                                                  \
    } while (0)

#endif
