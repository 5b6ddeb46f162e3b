/* Printing lines for a person to read: dumps and warnings. */
#ifndef WEFT_SYS_PRINT_H
#define WEFT_SYS_PRINT_H

/* A line in one write. Not dprintf, which allocates memory: a dump may be made from a signal handler, in the middle of malloc. */
void print_line(int descriptor, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
