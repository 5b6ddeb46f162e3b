/* The variables of the environment that the simulation reads, WEFT_SIM_...: nonsense in one ends the program, before main, with a sentence and status 2. */
#ifndef WEFT_SIM_SETTING_H
#define WEFT_SIM_SETTING_H

#include <stddef.h>
#include <stdint.h>

/* Refuses variables WEFT_SIM_... that there are not. */
void setting_names_check(void);
/* A number up to `most`; `otherwise` if the variable is not set. */
uint64_t setting_number(const char *name, uint64_t most, uint64_t otherwise);
/* Words with commas between them, each one of these. */
void setting_words_check(const char *name, const char *const *words, size_t count);
/* What the variable has is of no use, because of this. */
void setting_refuse(const char *name, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

#endif
