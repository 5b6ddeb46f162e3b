/* Values of atomic objects that are not 1, 2, 4 or 8 bytes big. An event has room for 64 bits, so such a value goes by a number: equal bytes have the same
 * number, for as long as the program runs. */
#ifndef CHECK_WIDE_H
#define CHECK_WIDE_H

#include "graph.h"

enum { WIDE_MAX = 64 };

static inline bool wide_size(unsigned size) { return size > 8 || (size & (size - 1)) != 0; }

uint64_t wide_number(const void *bytes, unsigned size);
void wide_bytes(uint64_t number, void *bytes, unsigned size);

/* What an operation on 16 bytes makes of a value. */
uint64_t wide_rmw(enum op op, uint64_t value, uint64_t operand);

#endif
