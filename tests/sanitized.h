/* Whether a sanitizer is in the program. Part of the C library is in it then, frames are larger, and others look at stacks, too. */
#ifndef WEFT_TESTS_SANITIZED_H
#define WEFT_TESTS_SANITIZED_H

#include "ctx/annotate.h"

#if ANNOTATE_ADDRESS || ANNOTATE_THREAD
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
