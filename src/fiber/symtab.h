/* Names of functions, static ones included, out of an object's file: reports and dumps show them. It takes no lock and allocates nothing, so a
 * signal handler may ask, and a thread that another one has interrupted anywhere. */
#ifndef WEFT_FIBER_SYMTAB_H
#define WEFT_FIBER_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function at `address`, as the file has it (without the place where it is loaded): its name, and how far into it that is. False: the
 * file cannot be read, is stripped, or has no such function. */
bool symtab_find(const char *path, uintptr_t address, char *name, size_t size, uintptr_t *offset);

#endif
