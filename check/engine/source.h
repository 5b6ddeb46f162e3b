/* What the program's own file tells of it: the source line of an instruction, the variable at an address. */
#ifndef CHECK_SOURCE_H
#define CHECK_SOURCE_H

#include <stddef.h>
#include <stdint.h>

/* Lines: wanted ones are collected, then found all at once. */
void source_begin(void);
void source_want(uint32_t pc);
void source_find(void);
/* "file.c:12"; empty if it is not known. */
const char *source_line(uint32_t pc);
/* All of that at once. */
const char *source_one_line(uint32_t pc);

/* The variable that this address is in, and where in it; NULL if it is in none. */
const char *source_variable(uintptr_t address, size_t *offset);

#endif
