/* How a command gets into the output of a step; defined in command.c. */
#ifndef WEFT_COMMAND_YIELD_H
#define WEFT_COMMAND_YIELD_H

#include "sched/sched.h"

/* As weft_out_yield; the data is in two parts. */
int yield_two(weft_out *out, uint32_t command, uint64_t tag, const void *head, size_t head_size, const void *data, size_t size);

#endif
