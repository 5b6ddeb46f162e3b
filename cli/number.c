/* Numbers on the command line. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t cli_number(const char *command, const char *option, const char *text, uint64_t max) {
    char *end = NULL;
    errno = 0;
    uint64_t value = text && text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (value >= 1 && value <= max && !errno && *end == '\0') return value;
    fprintf(stderr, "weft %s: %s needs a number from 1 to %llu", command, option, (unsigned long long)max);
    fprintf(stderr, text ? ", not `%s`\n" : "\n", text);
    return 0;
}
