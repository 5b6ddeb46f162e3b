/* Names of C++ functions as a person reads them: what the compiler made of them begins with _Z.
 *
 * Only the name, without parameters and template arguments: app::worker, app::{lambda}. A function object that weft/weft.hpp has spawned has its own
 * name, and not that of the template which calls it. For reports of all kinds: takes no memory and no lock, and may be called by a signal handler. */
#ifndef WEFT_FIBER_DEMANGLE_H
#define WEFT_FIBER_DEMANGLE_H

#include <stddef.h>

/* Writes the name, cut off at `size`; or what it was given, if that is no such name, or has something in it that is not known here. */
void demangle(const char *mangled, char *text, size_t size);

#endif
