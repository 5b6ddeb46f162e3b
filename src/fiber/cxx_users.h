/* Which part of the program uses its C++ library.
 *
 * A C program may have one in it all the same: the shared runtimes of the sanitizers need one. Nothing of the program's own throws then. */
#ifndef WEFT_FIBER_CXX_USERS_H
#define WEFT_FIBER_CXX_USERS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether an object of the program, other than the sanitizers' runtimes, has the C++ library in it or needs it as a shared one. `address`
 * is that of a function in the C++ library. */
bool cxx_users_any(uintptr_t address);

#endif
