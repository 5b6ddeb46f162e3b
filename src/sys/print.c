/* Printing a line without allocating: see sys/print.h. */
#include "sys/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void print_line(int descriptor, const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length > (int)sizeof line - 1) length = sizeof line - 1;
    for (int done = 0; done < length;) {
        ssize_t n = write(descriptor, line + done, (size_t)(length - done));
        if (n <= 0) return; /* cannot be written: give up */
        done += (int)n;
    }
}
